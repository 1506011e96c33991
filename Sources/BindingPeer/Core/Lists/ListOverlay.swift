import BindingProtocol

/// A pending operation on the order of a list.
struct ListPlacement: Sendable, Equatable {
  enum Kind: Sendable { case insert, move, remove }
  var kind: Kind
  var id: String
  /// The element that it is to follow.
  var after: String?
  /// The element that it is to precede, if the other is not there.
  var before: String?
}

/// Applies pending operations to the order of a list, by the rules of the hub (protocol.md §6.5-3). The time does not
/// depend on how many elements stand between.
struct ListOverlay {
  private var ids: [String]
  private var index: [String: Int] = [:]
  /// The neighbours of each element, by index; -1: none.
  private var next: [Int]
  private var previous: [Int]
  private var isThere: [Bool]
  private var (first, last) = (-1, -1)

  /// The ids in their order after the operations.
  static func order(of ids: [String], after placements: [ListPlacement]) -> [String] {
    guard !placements.isEmpty else { return ids }
    var overlay = ListOverlay(ids)
    for placement in placements { overlay.apply(placement) }
    return overlay.order
  }

  private init(_ ids: [String]) {
    self.ids = ids
    next = ids.indices.map { $0 + 1 < ids.count ? $0 + 1 : -1 }
    previous = ids.indices.map { $0 - 1 }
    isThere = Array(repeating: true, count: ids.count)
    index.reserveCapacity(ids.count)
    for (offset, id) in ids.enumerated() { index[id] = offset }
    if !ids.isEmpty { (first, last) = (0, ids.count - 1) }
  }

  private mutating func apply(_ placement: ListPlacement) {
    let present = present(placement.id)
    switch placement.kind {
    case .remove: if let present { unlink(present) }
    case .move:
      guard let present else { return }
      unlink(present)
      link(present, placement)
    case .insert:
      // An insertion of an element that is there ends as a conflict.
      guard present == nil else { return }
      let known = index[placement.id]
      let element = known ?? ids.count
      if known == nil {
        ids.append(placement.id)
        index[placement.id] = element
        next.append(-1)
        previous.append(-1)
        isThere.append(false)
      }
      link(element, placement)
    }
  }

  private func present(_ id: String?) -> Int? {
    guard let id, let found = index[id], isThere[found] else { return nil }
    return found
  }

  private mutating func unlink(_ element: Int) {
    let (before, behind) = (previous[element], next[element])
    if before >= 0 { next[before] = behind } else { first = behind }
    if behind >= 0 { previous[behind] = before } else { last = before }
    isThere[element] = false
  }

  private mutating func link(_ element: Int, _ placement: ListPlacement) {
    let before: Int
    if let after = present(placement.after) {
      before = after
    } else if let behind = present(placement.before) {
      before = previous[behind]
    } else {
      before = last
    }
    let behind = before >= 0 ? next[before] : first
    (previous[element], next[element]) = (before, behind)
    if before >= 0 { next[before] = element } else { first = element }
    if behind >= 0 { previous[behind] = element } else { last = element }
    isThere[element] = true
  }

  private var order: [String] {
    var order: [String] = []
    order.reserveCapacity(ids.count)
    var element = first
    while element >= 0 {
      order.append(ids[element])
      element = next[element]
    }
    return order
  }
}
