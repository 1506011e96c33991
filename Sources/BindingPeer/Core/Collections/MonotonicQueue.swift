/// A queue whose elements mostly arrive in rising order and leave at the front, without moving the others each time.
///
/// It is not searched: an obsolete element stays until it reaches the front.
struct MonotonicQueue<Element: Hashable & Comparable & Sendable>: Sendable {
  private var elements: [Element] = []
  private var head = 0
  private var isSorted = true

  /// The elements, in rising order after `sort`.
  var all: ArraySlice<Element> { elements[head...] }
  var first: Element? { head < elements.count ? elements[head] : nil }

  mutating func enter(_ element: Element) {
    if let last = all.last {
      if element == last { return }
      if element < last { isSorted = false }
    }
    elements.append(element)
  }

  /// Moves late elements to their place and removes duplicates.
  mutating func sort() {
    guard !isSorted else { return }
    elements = Set(all).sorted()
    (head, isSorted) = (0, true)
  }

  mutating func removeFirst() {
    head += 1
    if head == elements.count {
      elements.removeAll(keepingCapacity: true)
      (head, isSorted) = (0, true)
    } else if head > 256, head > elements.count / 2 {
      elements.removeFirst(head)
      head = 0
    }
  }

  mutating func removeAll() { self = MonotonicQueue() }
}
