import BindingProtocol

/// One list of a model: its committed elements in order, and what it shows. A commit costs what it changes, and moving
/// references; no element is read again that is as it was.
struct ListIndex: Sendable {
  private struct Key: Comparable {
    let rank: Int64
    let id: String

    static func < (left: Key, right: Key) -> Bool {
      left.rank != right.rank ? left.rank < right.rank : ListElements.precedes(left.id, right.id)
    }
  }
  private struct Member {
    let stored: FieldValue
    let rank: Int64
    let element: FieldValue
  }
  /// More changes than these at once, and the order is made anew.
  private static let few = 32

  private var members: [String: Member] = [:]
  private var order: [Key] = []
  private(set) var shown: ShownList
  /// Whether `shown` is what is committed.
  private var isCommitted = true

  init(_ name: String) { shown = ShownList(name: name) }

  /// - Parameters:
  ///   - changed: the elements whose fields may have changed, with the committed values.
  ///   - pending: the operations of this peer on elements.
  ///   - value: the shown value of the field of an element.
  mutating func update(
    _ changed: [(id: String, committed: FieldValue?)], _ pending: PendingElements, hasHead: Bool,
    value: (_ id: String) -> FieldValue?
  ) {
    let wasCommitted = isCommitted
    var placed: [(old: Key?, new: Key?)] = []
    var replaced: [Key] = []
    for (id, committed) in changed {
      let old = members[id]
      guard old?.stored != committed else { continue }
      let new = committed.flatMap { value in
        ListElements.stored(value).map { Member(stored: value, rank: $0.rank, element: $0.element) }
      }
      members[id] = new
      if let old, let new, old.rank == new.rank {
        replaced.append(Key(rank: new.rank, id: id))
      } else if old != nil || new != nil {
        placed.append((old.map { Key(rank: $0.rank, id: id) }, new.map { Key(rank: $0.rank, id: id) }))
      }
    }
    isCommitted = pending.ids.isEmpty
    let isStepwise = placed.count <= ListIndex.few
    if isStepwise {
      for (old, new) in placed { move(old, new, isShown: isCommitted && wasCommitted) }
    } else {
      order = members.map { Key(rank: $0.value.rank, id: $0.key) }.sorted()
    }
    if isCommitted, wasCommitted, isStepwise {
      for key in replaced {
        if let element = members[key.id]?.element { shown.values[position(of: key)] = element }
      }
    } else {
      show(pending, value)
    }
    shown.isOurs = !isCommitted
    shown.isWritten = hasHead || !shown.ids.isEmpty
  }

  /// Where the key stands, or would stand.
  private func position(of key: Key) -> Int {
    var (low, high) = (0, order.count)
    while low < high {
      let middle = (low + high) / 2
      if order[middle] < key { low = middle + 1 } else { high = middle }
    }
    return low
  }

  private mutating func move(_ old: Key?, _ new: Key?, isShown: Bool) {
    if let old {
      let from = position(of: old)
      order.remove(at: from)
      if isShown {
        shown.ids.remove(at: from)
        shown.values.remove(at: from)
      }
    }
    guard let new, let element = members[new.id]?.element else { return }
    let to = position(of: new)
    order.insert(new, at: to)
    if isShown {
      shown.ids.insert(new.id, at: to)
      shown.values.insert(element, at: to)
    }
  }

  /// Makes anew what shows.
  private mutating func show(_ pending: PendingElements, _ value: (_ id: String) -> FieldValue?) {
    let committed = order.map(\.id)
    let ids = ListOverlay.order(of: committed, after: pending.placements)
    var overlaid: [String: FieldValue] = [:]
    for id in pending.ids { overlaid[id] = value(id).flatMap(PendingElement.element) }
    shown.ids.removeAll(keepingCapacity: true)
    shown.values.removeAll(keepingCapacity: true)
    for id in ids {
      guard let element = pending.ids.contains(id) ? overlaid[id] : members[id]?.element else { continue }
      shown.ids.append(id)
      shown.values.append(element)
    }
  }
}

/// The pending operations of this peer on the elements of one list.
struct PendingElements: Sendable {
  /// The elements concerned.
  var ids: Set<String> = []
  /// What concerns the order, oldest first.
  var placements: [ListPlacement] = []

  mutating func add(_ operation: FieldOperation, id: String) {
    ids.insert(id)
    switch operation.verb {
    case .insert, .move:
      let operand = operation.value?.bytes.withUnsafeBytes { try? ListOperand(operation.verb, reading: $0) }
      guard let operand else { return }
      placements.append(
        ListPlacement(
          kind: operation.verb == .insert ? .insert : .move, id: id, after: operand.after, before: operand.before))
    case .delete: placements.append(ListPlacement(kind: .remove, id: id))
    default: break
    }
  }
}

extension WriteQueue {
  /// The operations that show on the elements of a list.
  func elements(of list: String) -> PendingElements {
    var elements = PendingElements()
    for write in pending.elements where !write.isHidden {
      for operation in write.overlay {
        guard let parts = ListElements.parts(of: operation.field), parts.list == list else { continue }
        elements.add(operation, id: String(parts.id))
      }
    }
    return elements
  }

  /// The writes over elements of a list, oldest first.
  func writes(toElementsOf list: String) -> [Pending] {
    pending.elements.filter { write in
      write.overlay.contains { ListElements.parts(of: $0.field)?.list ?? "" == list }
    }
  }
}
