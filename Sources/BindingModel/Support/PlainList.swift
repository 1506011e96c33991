/// A list of plain bits whose memory is reused, without an array's checks and reference counting at each access. The
/// owner frees it.
struct PlainList<Element: BitwiseCopyable> {
  private(set) var count = 0
  private var capacity = 0
  private var first: UnsafeMutablePointer<Element>?

  init() {}

  var isEmpty: Bool { count == 0 }
  var indices: Range<Int> { 0..<count }

  /// The elements; valid until one is added.
  var elements: UnsafeMutableBufferPointer<Element> { UnsafeMutableBufferPointer(start: first, count: count) }

  /// - Parameter index: one of `indices`.
  subscript(index: Int) -> Element {
    // SAFETY: there is memory where there are elements.
    get { first.unsafelyUnwrapped[index] }
    nonmutating set { first.unsafelyUnwrapped[index] = newValue }
  }

  mutating func append(_ element: Element) {
    if count == capacity { grow(to: max(4, count * 2)) }
    first.unsafelyUnwrapped[count] = element
    count += 1
  }

  mutating func removeAll() { count = 0 }

  mutating func assign(_ other: PlainList) {
    if capacity < other.count { grow(to: other.count) }
    count = other.count
    guard count > 0 else { return }
    // SAFETY: there is memory where there are elements.
    first.unsafelyUnwrapped.update(from: other.first.unsafelyUnwrapped, count: count)
  }

  mutating func free() {
    first?.deallocate()
    self = PlainList()
  }

  private mutating func grow(to size: Int) {
    let larger = UnsafeMutablePointer<Element>.allocate(capacity: size)
    if let first { larger.update(from: first, count: count) }
    first?.deallocate()
    (first, capacity) = (larger, size)
  }
}
