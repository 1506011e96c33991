/// Changes that wait for a reader or a lane, at most `limit`, each with the number of changes that it stands for.
///
/// When it is full, the oldest is coalesced into the one after it; the newest is never lost.
@usableFromInline
package struct CoalescingQueue<Element: Sendable>: Sendable {
  @usableFromInline
  package struct Entry: Sendable {
    @usableFromInline package var element: Element
    /// The number of changes that it stands for: its own and those coalesced into it.
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
  ///   - coalesce: coalesces an older and a newer element into one; the default keeps the newer.
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
    // The older one absorbs the newer, not the other way round: so what it has gathered is not copied.
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
