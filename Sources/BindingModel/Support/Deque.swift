/// A first-in, first-out queue in one array whose memory is reused, so that a steady flow allocates nothing.
@usableFromInline
struct Deque<Element> {
  @usableFromInline var slots: [Element?] = []
  @usableFromInline var head = 0
  @usableFromInline var count = 0

  @inlinable
  init() {}

  @inlinable
  var isEmpty: Bool { count == 0 }

  /// The newest element, which is the one that coalescing replaces.
  var last: Element? {
    get { count == 0 ? nil : slots[(head + count - 1) & (slots.count - 1)] }
    set { if count > 0 { slots[(head + count - 1) & (slots.count - 1)] = newValue } }
  }

  var first: Element? {
    get { count == 0 ? nil : slots[head] }
    set { if count > 0 { slots[head] = newValue } }
  }

  @inlinable
  mutating func append(_ element: Element) {
    if count == slots.count { grow() }
    slots[(head + count) & (slots.count - 1)] = element
    count += 1
  }

  @inlinable
  mutating func popFirst() -> Element? {
    guard count > 0 else { return nil }
    let element = slots[head]
    slots[head] = nil
    head = (head + 1) & (slots.count - 1)
    count -= 1
    return element
  }

  mutating func popLast() -> Element? {
    guard count > 0 else { return nil }
    let index = (head + count - 1) & (slots.count - 1)
    let element = slots[index]
    slots[index] = nil
    count -= 1
    return element
  }

  /// Grows to a power of two, so that a mask finds an index.
  @usableFromInline
  mutating func grow() {
    let size = max(4, slots.count * 2)
    var larger: [Element?] = []
    larger.reserveCapacity(size)
    for index in 0..<count { larger.append(slots[(head + index) & (slots.count - 1)]) }
    for _ in count..<size { larger.append(nil) }
    slots = larger
    head = 0
  }
}

extension Deque: Sendable where Element: Sendable {}
