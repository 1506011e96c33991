import BindingProtocol

/// The least steps from one list to another, by the ids of their elements (protocol.md §6.5).
///
/// What is in both lists stays where it stands if it belongs to the longest run that keeps its order; only the rest
/// moves. The steps are in an order in which each anchor is there when it is needed.
package enum ListDifference {
  /// The most operations of one write; the hub's own limit may be lower.
  package static let maxOperations = 1_000

  /// One step. Indices are those of the new list.
  package enum Step: Sendable, Hashable {
    case remove(id: String)
    case insert(index: Int, after: String?, before: String?)
    case move(index: Int, after: String?, before: String?)
    case replace(index: Int)
  }

  /// Compares two lists of ids; those of `old` are different.
  /// - Parameter isChanged: whether the element at an index of `old`, which is at an index of `new`, has another value.
  /// - Throws: `ListError.duplicateID`.
  package static func steps(
    from old: [String], to new: [String], isChanged: (_ old: Int, _ new: Int) -> Bool
  ) throws(ListError) -> [Step] {
    var head = 0
    var (oldEnd, newEnd) = (old.count, new.count)
    while head < oldEnd, head < newEnd, old[head] == new[head] { head += 1 }
    while oldEnd > head, newEnd > head, old[oldEnd - 1] == new[newEnd - 1] {
      (oldEnd, newEnd) = (oldEnd - 1, newEnd - 1)
    }
    var steps: [Step] = []
    for index in 0..<head where isChanged(index, index) { steps.append(.replace(index: index)) }
    if head < oldEnd || head < newEnd {
      let former = try formerIndices(of: new, head..<newEnd, in: old, head..<oldEnd)
      steps += middle(former, old, head..<oldEnd, new, head..<newEnd, isChanged)
    }
    for index in newEnd..<new.count where isChanged(index - newEnd + oldEnd, index) {
      steps.append(.replace(index: index))
    }
    return steps
  }

  /// For each id in the middle of `new` its index in `old`; nil: it is new.
  private static func formerIndices(
    of new: [String], _ newMiddle: Range<Int>, in old: [String], _ oldMiddle: Range<Int>
  ) throws(ListError) -> [Int?] {
    var index = Dictionary(zip(old[oldMiddle], oldMiddle), uniquingKeysWith: { first, _ in first })
    var former: [Int?] = []
    former.reserveCapacity(newMiddle.count)
    var fresh: Set<String> = []
    for id in new[newMiddle] {
      let found = index.removeValue(forKey: id)
      if found == nil, !fresh.insert(id).inserted { throw .duplicateID(id) }
      former.append(found)
    }
    // An id that is not in the middle of `old` may be a second one of an element around it, or of the middle.
    guard !fresh.isEmpty else { return former }
    // A few ids are compared faster than each of a long list is hashed.
    let few = fresh.count <= 4 ? Array(fresh) : []
    for around in [new[..<newMiddle.lowerBound], new[newMiddle.upperBound...], old[oldMiddle]] {
      for id in around where few.isEmpty ? fresh.contains(id) : few.contains(id) { throw .duplicateID(id) }
    }
    return former
  }

  private static func middle(
    _ former: [Int?], _ old: [String], _ oldMiddle: Range<Int>, _ new: [String], _ newMiddle: Range<Int>,
    _ isChanged: (Int, Int) -> Bool
  ) -> [Step] {
    var isLeft = [Bool](repeating: false, count: oldMiddle.count)
    for case let index? in former { isLeft[index - oldMiddle.lowerBound] = true }
    var steps = oldMiddle.filter { !isLeft[$0 - oldMiddle.lowerBound] }.map { Step.remove(id: old[$0]) }
    let isKept = longestRun(of: former)
    // The nearest element behind each that stays where it stands.
    var behind: [String?] = Array(repeating: nil, count: former.count)
    var next: String? = newMiddle.upperBound < new.count ? new[newMiddle.upperBound] : nil
    for offset in former.indices.reversed() {
      behind[offset] = next
      if isKept[offset] { next = new[newMiddle.lowerBound + offset] }
    }
    for (offset, former) in former.enumerated() {
      let index = newMiddle.lowerBound + offset
      let after = index > 0 ? new[index - 1] : nil
      if let former {
        if !isKept[offset] { steps.append(.move(index: index, after: after, before: behind[offset])) }
        if isChanged(former, index) { steps.append(.replace(index: index)) }
      } else {
        steps.append(.insert(index: index, after: after, before: behind[offset]))
      }
    }
    return steps
  }

  /// Which of the numbers form a longest rising sequence (Schensted, 1961); nil is in none.
  private static func longestRun(of numbers: [Int?]) -> [Bool] {
    /// For each length the offset of the least number that ends a rising sequence of it.
    var ends: [Int] = []
    var before = [Int?](repeating: nil, count: numbers.count)
    for (offset, number) in numbers.enumerated() {
      guard let number else { continue }
      var (low, high) = (0, ends.count)
      while low < high {
        let middle = (low + high) / 2
        if let end = numbers[ends[middle]], end < number { low = middle + 1 } else { high = middle }
      }
      before[offset] = low > 0 ? ends[low - 1] : nil
      if low < ends.count { ends[low] = offset } else { ends.append(offset) }
    }
    var isKept = [Bool](repeating: false, count: numbers.count)
    var next = ends.last
    while let offset = next {
      isKept[offset] = true
      next = before[offset]
    }
    return isKept
  }
}

/// Why an array cannot be written to a list.
public enum ListError: Error, Sendable, Hashable {
  /// Two elements have this id.
  case duplicateID(String)
  /// The element at this index has no id: it is nil, or empty.
  case missingID(index: Int)
  /// No element of a list can have this id.
  case badID(String, index: Int)
  /// An element was written in place of one with another id.
  case otherID(String, of: String)
  /// The list has no element with this id.
  case noElement(id: String)
  /// The write would take this many operations.
  case tooManyOperations(Int, limit: Int)
  /// The hub holds one array in this field.
  case storedAsArray
}

extension ListError: CustomStringConvertible {
  /// The fault and its cure, phrased to follow the field's name.
  public var description: String {
    switch self {
    case .duplicateID(let id): "two elements have the id \(id); give each element of a list an id of its own"
    case .missingID(let index): "the element at \(index) has no id; give each element of a list an id of its own"
    case .badID(let id, let index):
      "the element at \(index) has the id '\(PrintedText.escaped(id, limit: 60))'; an id is 1 to "
        + "\(Names.maxElementIDBytes) of A-Z a-z 0-9 _ -"
    case .otherID(let id, let present):
      "element \(present) cannot become one with the id \(PrintedText.escaped(id, limit: 60)); remove it and insert "
        + "the other"
    case .noElement(let id): "there is no element \(id); it was removed, or never inserted"
    case .tooManyOperations(let count, let limit):
      "the new array differs from the list by \(count) elements, and one write has at most \(limit); assign it in parts"
    case .storedAsArray:
      "the hub holds one array here, written by a program without the policy list; delete the field and the model's "
        + "@description, share the model again, and assign the elements"
    }
  }
}
