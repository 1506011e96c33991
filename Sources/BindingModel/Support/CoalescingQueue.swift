/// What waits for a reader or a lane: so many at most, and each knows how many changes it stands for.
///
/// One more than there is room for folds the oldest into the one after it; the newest is never lost.
@usableFromInline
package struct CoalescingQueue<Element: Sendable>: Sendable {
  @usableFromInline
  package struct Entry: Sendable {
    @usableFromInline package var element: Element
    /// The changes that it stands for: its own and those that were folded into it.
    @usableFromInline package var weight: Int

    @inlinable
    init(element: Element, weight: Int) {
      self.element = element
      self.weight = weight
    }
  }

  @usableFromInline var entries = Deque<Entry>()
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
  package var isEmpty: Bool { entries.isEmpty }

  @inlinable
  package mutating func append(_ element: Element, weight: Int = 1) {
    let entry = Entry(element: element, weight: weight)
    if entries.count < limit { entries.append(entry) } else { coalesce(in: entry) }
  }

  @usableFromInline
  mutating func coalesce(in entry: Entry) {
    guard var oldest = entries.popFirst() else { return entries.append(entry) }
    // The older one takes the newer in, not the other way round: what it has gathered is not copied then.
    guard let next = entries.first else {
      absorb(entry, into: &oldest)
      return entries.append(oldest)
    }
    absorb(next, into: &oldest)
    entries.first = oldest
    entries.append(entry)
  }

  @inlinable
  package mutating func popFirst() -> Entry? { entries.popFirst() }

  @inlinable
  package mutating func removeAll() { entries = Deque() }

  private func absorb(_ newer: Entry, into older: inout Entry) {
    coalesce(&older.element, newer.element)
    older.weight += newer.weight
  }
}
