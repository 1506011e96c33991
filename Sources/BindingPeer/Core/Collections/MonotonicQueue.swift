/// What is mostly entered in rising order and taken out from the front, without being moved each time.
///
/// Nothing is searched for: what no longer counts stays until it comes to the front.
struct MonotonicQueue<Element: Hashable & Comparable & Sendable>: Sendable {
  private var elements: [Element] = []
  private var head = 0
  private var isSorted = true

  /// What was entered and not taken out, rising after `sort`.
  var all: ArraySlice<Element> { elements[head...] }
  var first: Element? { head < elements.count ? elements[head] : nil }

  mutating func enter(_ element: Element) {
    if let last = all.last {
      if element == last { return }
      if element < last { isSorted = false }
    }
    elements.append(element)
  }

  /// Puts late ones in their place, and what was entered twice there once.
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
