import BindingProtocol

/// Brings elements of lists back to what they were: where they stood, among those that are there now.
struct ElementRestoration {
  private struct Place: Comparable {
    let rank: Int64
    let id: String

    static func < (left: Place, right: Place) -> Bool {
      left.rank != right.rank ? left.rank < right.rank : ListElements.precedes(left.id, right.id)
    }
  }

  private let replica: Replica
  /// By list: the elements, in their order.
  private var orders: [String: [Place]] = [:]

  init(over replica: Replica) { self.replica = replica }

  /// The operations that give elements what they had before a step, those of one list in its order: an element is put
  /// back behind one that comes back before it.
  /// - Parameter present: what each field has.
  mutating func operations(
    for fields: [UndoField], present: (String) -> FieldValue?
  ) -> [FieldOperation] {
    let placed = fields.sorted { left, right in
      (ElementRestoration.rank(of: left.before) ?? .max) < (ElementRestoration.rank(of: right.before) ?? .max)
    }
    return placed.flatMap { operations(for: $0, present: present($0.name)) }
  }

  private mutating func operations(for field: UndoField, present: FieldValue?) -> [FieldOperation] {
    guard let parts = ListElements.parts(of: field.name) else { return [] }
    guard let before = field.before, let element = PendingElement.element(of: before) else {
      return present == nil ? [] : [FieldOperation(.delete, field.name)]
    }
    let rank = ElementRestoration.rank(of: before)
    guard let present, let now = PendingElement.element(of: present) else {
      let place = place(of: String(parts.id), at: rank, in: String(parts.list), of: element)
      return [FieldOperation(.insert, field.name, place)]
    }
    var operations: [FieldOperation] = []
    // While its commit is under way the element may be about to move.
    if let rank, field.at == nil || rank != ElementRestoration.rank(of: present) {
      let place = place(of: String(parts.id), at: rank, in: String(parts.list), of: nil)
      operations.append(FieldOperation(.move, field.name, place))
    }
    if !FieldValue.isSame(now, element) { operations.append(FieldOperation(.replace, field.name, element)) }
    return operations
  }

  /// Where an element stands that has a rank again; without a rank at the end.
  private mutating func place(
    of id: String, at rank: Int64?, in list: String, of element: FieldValue?
  ) -> FieldValue {
    guard let rank else { return ListOperand(element: element).value }
    var order = orders[list] ?? self.order(of: list)
    order.removeAll { $0.id == id }
    let place = Place(rank: rank, id: id)
    let index = order.firstIndex { place.rank < $0.rank } ?? order.count
    let (after, before) = (index > 0 ? order[index - 1].id : nil, index < order.count ? order[index].id : nil)
    order.insert(place, at: index)
    orders[list] = order
    return ListOperand(after: after, before: before, element: element).value
  }

  private func order(of list: String) -> [Place] {
    var order: [Place] = []
    for field in replica.fields where field.isElement {
      guard let parts = ListElements.parts(of: field.name), parts.list == list,
        let rank = ElementRestoration.rank(of: field.value)
      else { continue }
      order.append(Place(rank: rank, id: String(parts.id)))
    }
    return order.sorted()
  }

  private static func rank(of value: FieldValue?) -> Int64? {
    value.flatMap { value in value.bytes.withUnsafeBytes { ListElements.rank($0) } }
  }
}

extension ModelSync {
  /// What the field of an element shows; one that the hub has given no rank yet has that of the element before it.
  func placed(_ field: String) -> FieldValue? {
    guard let value = shown(field), let parts = ListElements.parts(of: field), ListElements.stored(value) == nil,
      let element = PendingElement.element(of: value), let list = shownList(String(parts.list)),
      let index = list.ids.firstIndex(of: String(parts.id))
    else { return shown(field) }
    let ranks = list.ids[..<index].reversed().lazy.compactMap { id in
      self.replica.field(ListElements.field(of: id, in: list.name))?.value.flatMap(ListElements.stored)?.rank
    }
    return ListElements.value(at: ranks.first ?? ListElements.ranks.lowerBound, element)
  }
}

extension UndoField {
  /// Whether the field is an element of a list.
  var isElement: Bool { ListElements.parts(of: name) != nil }
}
