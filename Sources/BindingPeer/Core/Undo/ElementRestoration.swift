import BindingProtocol

/// Brings elements of lists back to what they were: to where they stood, among those that are there now.
struct ElementRestoration {
  private let replica: Replica
  /// The ids that a list has, in its order.
  private let present: (String) -> [String]
  /// By list: its order with the elements that are back.
  private var orders: [String: [String]] = [:]
  /// Elements that are there and go elsewhere: where they are now says nothing about where others go.
  private var moving: Swift.Set<String> = []

  init(over replica: Replica, order present: @escaping (String) -> [String]) {
    (self.replica, self.present) = (replica, present)
  }

  /// The operations that give elements what they had before a step: one that stood behind another comes back after it.
  /// - Parameter value: what each field has.
  mutating func operations(for fields: [UndoField], present value: (String) -> FieldValue?) -> [FieldOperation] {
    moving = Set(fields.filter { moves($0, from: value($0.name)) }.map(\.name))
    var rest = fields
    var names = Set(fields.map(\.name))
    var operations: [FieldOperation] = []
    while !rest.isEmpty {
      let index = rest.firstIndex { field in
        guard let parts = ListElements.parts(of: field.name), let after = field.place?.after else { return true }
        return !names.contains(ListElements.field(of: after, in: String(parts.list)))
      }
      // Two steps in one may name each other.
      let field = rest.remove(at: index ?? 0)
      names.remove(field.name)
      operations += self.operations(for: field, present: value(field.name), before: rest)
      moving.remove(field.name)
    }
    return operations
  }

  private mutating func operations(
    for field: UndoField, present: FieldValue?, before rest: [UndoField]
  ) -> [FieldOperation] {
    guard let parts = ListElements.parts(of: field.name) else { return [] }
    let (list, id) = (String(parts.list), String(parts.id))
    guard let before = field.before, let element = PendingElement.element(of: before) else {
      orders[list] = order(of: list).filter { $0 != id }
      return present == nil ? [] : [FieldOperation(.delete, field.name)]
    }
    guard let present, let now = PendingElement.element(of: present) else {
      return [FieldOperation(.insert, field.name, place(id, of: field, in: list, rest, element).value)]
    }
    var operations: [FieldOperation] = []
    if moves(field, from: present) {
      operations.append(FieldOperation(.move, field.name, place(id, of: field, in: list, rest, nil).value))
    }
    if !FieldValue.isSame(now, element) { operations.append(FieldOperation(.replace, field.name, element)) }
    return operations
  }

  /// Whether an element that is there goes elsewhere.
  private func moves(_ field: UndoField, from present: FieldValue?) -> Bool {
    guard let before = field.before, let present else { return false }
    // While its commit is under way it may be about to move. What the step moved may have its rank again.
    return field.at == nil || field.isMoved
      || ElementRestoration.rank(of: before) != ElementRestoration.rank(of: present)
  }

  /// Puts an element back into the order of its list.
  private mutating func place(
    _ id: String, of field: UndoField, in list: String, _ rest: [UndoField], _ element: FieldValue?
  ) -> ListOperand {
    let order = order(of: list).filter { $0 != id }
    let index = index(of: field, in: order, of: list, rest)
    orders[list] = order[..<index] + [id] + order[index...]
    return ListOperand(
      after: index > 0 ? order[index - 1] : nil, before: index < order.count ? order[index] : nil, element: element)
  }

  /// Behind the element that it followed; else before the first that is there of those that it preceded; else where its
  /// rank is.
  private func index(of field: UndoField, in order: [String], of list: String, _ rest: [UndoField]) -> Int {
    guard let place = field.place else { return index(of: field.before, in: order, of: list) }
    if let after = place.after, let index = order.firstIndex(of: after) { return index + 1 }
    var before = place.before
    // Two steps in one may name each other.
    for _ in 0...rest.count {
      guard let id = before else { return order.count }
      let name = ListElements.field(of: id, in: list)
      if let index = order.firstIndex(of: id), !moving.contains(name) { return index }
      guard let next = rest.first(where: { $0.name == name })?.place else { break }
      before = next.before
    }
    return place.after == nil ? 0 : index(of: field.before, in: order, of: list)
  }

  /// Where the rank of a value is, among ranks as they are now.
  private func index(of value: FieldValue?, in order: [String], of list: String) -> Int {
    guard let rank = value.flatMap(ElementRestoration.rank) else { return order.count }
    return order.firstIndex { other in
      let value = replica.field(ListElements.field(of: other, in: list))?.value
      return value.flatMap(ElementRestoration.rank).map { $0 > rank } ?? false
    } ?? order.count
  }

  private static func rank(of value: FieldValue) -> Int64? {
    value.bytes.withUnsafeBytes { ListElements.rank($0) }
  }

  private func order(of list: String) -> [String] { orders[list] ?? present(list) }
}

/// Where elements stand in what the lists of a model show.
struct ElementPlaces {
  private let lists: ModelLists
  /// By list and id: where the element stands. Only of lists that were asked for.
  private var indices: [String: [String: Int]] = [:]

  init(in lists: ModelLists) { self.lists = lists }

  /// The elements between which one stands; nil: the field is no element that its list shows.
  mutating func place(of field: String) -> ListOperand? {
    guard !lists.isEmpty, let parts = ListElements.parts(of: field) else { return nil }
    let (list, id) = (String(parts.list), String(parts.id))
    guard let ids = lists[list]?.ids else { return nil }
    if indices[list] == nil {
      indices[list] = Dictionary(ids.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
    }
    guard let index = indices[list]?[id] else { return nil }
    return ListOperand(
      after: index > 0 ? ids[index - 1] : nil, before: index + 1 < ids.count ? ids[index + 1] : nil)
  }
}

extension Replica {
  /// The ids of the committed elements of a list, in their order.
  func order(of list: String) -> [String] {
    let committed = fields.lazy.compactMap { field in field.value.map { (name: field.name, value: $0) } }
    return ListElements.ordered(list, in: committed).map(\.id)
  }
}

extension UndoField {
  /// Whether the field is an element of a list.
  var isElement: Bool { ListElements.parts(of: name) != nil }
}

extension FieldOperation {
  /// Whether it changes which elements a list has, or their order.
  var isPlacing: Bool {
    switch verb {
    case .insert, .move: true
    case .delete: ListElements.parts(of: field) != nil
    default: false
    }
  }
}
