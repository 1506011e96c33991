@testable import BindingPeer

/// The rules of lists in their plainest form, to compare with: an array, searched at every step.
struct PlainList: Equatable {
  var ids: [String]

  init(_ ids: [String]) { self.ids = ids }

  mutating func apply(_ placement: ListPlacement) {
    let present = ids.firstIndex(of: placement.id)
    switch placement.kind {
    case .remove: ids.removeAll { $0 == placement.id }
    case .insert: if present == nil { place(placement) }
    case .move:
      guard let present else { return }
      ids.remove(at: present)
      place(placement)
    }
  }

  private mutating func place(_ placement: ListPlacement) {
    if let after = placement.after.flatMap(ids.firstIndex(of:)) {
      ids.insert(placement.id, at: after + 1)
    } else if let before = placement.before.flatMap(ids.firstIndex(of:)) {
      ids.insert(placement.id, at: before)
    } else {
      ids.append(placement.id)
    }
  }

  /// The longest rising subsequence, by comparing all pairs.
  static func longestRun(_ numbers: [Int]) -> Int {
    var lengths: [Int] = []
    for (index, number) in numbers.enumerated() {
      lengths.append(1 + ((0..<index).filter { numbers[$0] < number }.map { lengths[$0] }.max() ?? 0))
    }
    return lengths.max() ?? 0
  }
}

extension ListDifference.Step {
  /// What it does to the order; nil: nothing.
  func placement(in new: [String]) -> ListPlacement? {
    switch self {
    case .remove(let id): ListPlacement(kind: .remove, id: id)
    case .insert(let index, let after, let before):
      ListPlacement(kind: .insert, id: new[index], after: after, before: before)
    case .move(let index, let after, let before):
      ListPlacement(kind: .move, id: new[index], after: after, before: before)
    case .replace: nil
    }
  }

  var isMove: Bool { if case .move = self { true } else { false } }
  var isInsertion: Bool { if case .insert = self { true } else { false } }
  var isRemoval: Bool { if case .remove = self { true } else { false } }
}
