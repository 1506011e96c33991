/// What waits for a reader or a lane: so many at most, and each knows how many changes it stands for.
///
/// One more than there is room for folds the oldest into the one after it; the newest is never lost.
@usableFromInline
package struct CoalescingQueue<Element: Sendable>: Sendable {
  @usableFromInline
  package struct Letter: Sendable {
    @usableFromInline package var element: Element
    /// The changes that it stands for: its own and those that were folded into it.
    @usableFromInline package var weight: Int

    @inlinable
    init(element: Element, weight: Int) {
      self.element = element
      self.weight = weight
    }
  }

  @usableFromInline var letters = Deque<Letter>()
  @usableFromInline let limit: Int
  private let coalesce: @Sendable (inout Element, Element) -> Void

  /// - Parameters:
  ///   - limit: at least 1.
  ///   - coalesce: makes of an older and a newer element the one that stands for both; without it the newer does.
  package init(limit: Int, coalesce: @escaping @Sendable (inout Element, Element) -> Void = { $0 = $1 }) {
    self.limit = max(1, limit)
    self.coalesce = coalesce
  }

  @inlinable
  package var isEmpty: Bool { letters.isEmpty }

  @inlinable
  package mutating func append(_ element: Element, weight: Int = 1) {
    let letter = Letter(element: element, weight: weight)
    if letters.count < limit { letters.append(letter) } else { coalesce(in: letter) }
  }

  @usableFromInline
  mutating func coalesce(in letter: Letter) {
    guard var oldest = letters.popFirst() else { return letters.append(letter) }
    // The older one takes the newer in, not the other way round: what it has gathered is not copied then.
    guard let next = letters.first else {
      absorb(letter, into: &oldest)
      return letters.append(oldest)
    }
    absorb(next, into: &oldest)
    letters.first = oldest
    letters.append(letter)
  }

  @inlinable
  package mutating func popFirst() -> Letter? { letters.popFirst() }

  @inlinable
  package mutating func removeAll() { letters = Deque() }

  private func absorb(_ newer: Letter, into older: inout Letter) {
    coalesce(&older.element, newer.element)
    older.weight += newer.weight
  }
}
