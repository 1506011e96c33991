import BindingProtocol

/// The orders of a model's lists, as decided. Each is made from the fields when it is first needed, and dropped when
/// fields change otherwise than by the verbs of lists: after a batch that was not stored, a recovery, a renumbering.
struct ModelLists {
  private var orders: [String: ListOrder] = [:]
  /// Whether the orders of all lists that have elements are here.
  private(set) var isMade = false
  /// What the present commit changed, to undo it: each change with the rank before.
  private var changes: [(list: String, field: FieldID, before: Int64?)] = []
  /// The present commit has deleted fields without regard to their order.
  private var isStale = false

  /// Whether the present commit has changed any order.
  var isChanged: Bool { isStale || !changes.isEmpty }

  subscript(list: String) -> ListOrder? { orders[list] }

  /// The orders of all lists that have elements.
  mutating func make(_ elements: [String: [ListOrder.Entry]], _ fields: FieldSlots) {
    for (list, entries) in elements { orders[list] = ListOrder(entries, fields) }
    isMade = true
  }

  /// Adds a list without elements, unless it is there.
  mutating func add(_ list: String, _ fields: FieldSlots) {
    if orders[list] == nil { orders[list] = ListOrder([], fields) }
  }

  /// Gives an element a rank, or takes it out.
  mutating func set(_ field: FieldID, to rank: Int64?, in list: String, _ fields: FieldSlots) {
    changes.append((list, field, orders[list]?.set(field, to: rank, fields)))
  }

  /// Gives neighbours other ranks.
  mutating func renumber(_ renumbering: RankSpacing.Renumbering, in list: String) {
    for index in renumbering.window {
      if let entry = orders[list]?.entries[index] { changes.append((list, entry.field, entry.rank)) }
    }
    orders[list]?.renumber(renumbering.window) { renumbering.rank($0) }
  }

  /// The present commit deletes all fields.
  mutating func clear() {
    orders.removeAll()
    changes.removeAll()
    (isStale, isMade) = (true, false)
  }

  /// The present commit is decided.
  mutating func keep() {
    changes.removeAll(keepingCapacity: changes.count <= PendingBatch.roomKept)
    isStale = false
  }

  /// The present commit is rolled back.
  mutating func undo(_ fields: FieldSlots) {
    if isStale {
      orders.removeAll()
      isMade = false
    }
    for change in changes.reversed() { orders[change.list]?.set(change.field, to: change.before, fields) }
    keep()
  }

  /// Forgets all orders.
  mutating func forget() {
    orders.removeAll()
    isMade = false
    keep()
  }
}

extension ModelLog {
  /// Whether a peer needs to know lists to read the model: it is described to have one, or names an element.
  var hasLists: Bool { fields.elementNames > 0 || !rules.stored.rules.lists.isEmpty }

  /// The order of a list, as decided. Do not keep it: while there are two, changing one copies it.
  func order(of list: String) -> ListOrder {
    makeOrder(of: list)
    return batch.lists[list] ?? ListOrder([], fields)
  }

  /// Makes the orders of all lists in one pass over the fields, the first time.
  func makeOrder(of list: String) {
    if !batch.lists.isMade {
      var elements: [String: [ListOrder.Entry]] = [:]
      if fields.elementNames > 0 {
        for id in 0..<FieldID(fields.count) where fields[id].isElement && fields.decided(id).hasValue {
          guard let list = ListElements.parts(of: fields[id].name)?.list, let rank = rank(of: id) else { continue }
          elements[String(list), default: []].append(.init(rank: rank, field: id))
        }
      }
      batch.lists.make(elements, fields)
    }
    batch.lists.add(list, fields)
  }

  /// The rank in the decided value of an element; nil: it is none.
  private func rank(of id: FieldID) -> Int64? {
    guard fields.isDecided(id) else { return fields[id].value.withUnsafeBytes { ListElements.rank($0) } }
    return decidedValue(id)?.bytes.withUnsafeBytes { ListElements.rank($0) }
  }

  /// The decided value of a field, also where the pending batch does not name it.
  func presentValue(_ id: FieldID) -> FieldValue? { fields.isDecided(id) ? decidedValue(id) : fields[id].fieldValue }

  /// Sets the heads of lists whose elements the pending batch has recovered or deleted, in a commit without a number:
  /// what replicas tell of heads counts other elements (protocol.md 6.5-9).
  func setRecoveredHeads() {
    let pending = batch.pending
    guard pending.isOpen, fields.elementNames > 0, let last = pending.recoveredFields.last?.field else { return }
    batch.lists.forget()
    var lists: Set<String> = []
    for (field, _) in pending.recoveredFields {
      let name = fields[field].name
      if let list = ListElements.parts(of: name)?.list { lists.insert(String(list)) } else { lists.insert(name) }
    }
    let heads = lists.sorted().compactMap { list -> (String, FieldValue)? in
      let (count, present) = (order(of: list).count, fields.id(of: list).flatMap { presentValue($0) })
      let isHead = present.map { ListElements.count(ofHead: $0) != nil } ?? false
      guard count > 0 || isHead, present != ListElements.head(count) else { return nil }
      return (list, ListElements.head(count))
    }
    guard !heads.isEmpty else { return }
    let version = nextVersion
    let writer = fields.decided(last).writer
    pending.commits.beginCommit(origin: pending.commits.origin(origin(ofWriter: writer)), number: 0, hops: 0)
    for (list, head) in heads {
      let id = fields.id(of: list) ?? introduce(list)
      guard pending.commits.change(id, head) else { break }
      record(id, version, value: pending.commits.lastValue(of: head.bytes.count), by: writer)
    }
    pending.commits.endCommit()
  }
}
