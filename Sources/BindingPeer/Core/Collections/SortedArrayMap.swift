/// Elements in the order of their keys, which mostly arrive in rising order and leave at the front. Binary search is
/// faster than hashing a number, and elements are changed in place.
///
/// The elements are in one array without gaps; another array, in the order of the keys, holds their indices.
struct SortedArrayMap<Key: Comparable & Sendable, Element: Sendable>: Sendable {
  private struct Entry: Sendable {
    let key: Key
    /// The index in `list`; negative: removed.
    var index: Int
  }
  private var list: ContiguousArray<Element> = []
  /// The key of each element of `list`.
  private var owners: ContiguousArray<Key> = []
  private var entries: ContiguousArray<Entry> = []
  /// The entries before it were removed; the one at it and the last one were not.
  private var head = 0

  var count: Int { list.count }
  var isEmpty: Bool { list.isEmpty }

  /// The lowest key.
  var firstKey: Key? { head < entries.count ? entries[head].key : nil }

  /// The highest key.
  var lastKey: Key? { entries.last?.key }

  /// The highest key below one that is present.
  func lastKey(before key: Key) -> Key? {
    entry(of: key).flatMap { entries[head..<$0].last { $0.index >= 0 }?.key }
  }

  /// All keys in rising order, lazily.
  var keys: some Sequence<Key> { entries[head...].lazy.filter { $0.index >= 0 }.map { $0.key } }

  /// All elements in the order of their keys, lazily.
  var elements: some Sequence<Element> { entries[head...].lazy.filter { $0.index >= 0 }.map { list[$0.index] } }

  /// The index of an element for `subscript(at:)`, valid until the next insertion or removal.
  func index(of key: Key) -> Int? {
    guard let entry = entry(of: key), entries[entry].index >= 0 else { return nil }
    return entries[entry].index
  }

  subscript(at index: Int) -> Element {
    _read { yield list[index] }
    _modify { yield &list[index] }
  }

  subscript(key: Key) -> Element? {
    get { index(of: key).map { list[$0] } }
    set {
      switch (index(of: key), newValue) {
      case (let index?, let element?): list[index] = element
      case (nil, let element?): insert(element, for: key)
      case (_?, nil): _ = removeValue(forKey: key)
      case (nil, nil): break
      }
    }
  }

  @discardableResult
  mutating func removeValue(forKey key: Key) -> Element? {
    guard let entry = entry(of: key), case let index = entries[entry].index, index >= 0 else { return nil }
    entries[entry].index = -1
    // The last element moves to its index.
    let last = list.count - 1
    if index < last {
      // Swapped in the buffer, since otherwise both would be copied.
      list.withUnsafeMutableBufferPointer { $0.swapAt(index, last) }
      owners.swapAt(index, last)
      if let moved = self.entry(of: owners[index]) { entries[moved].index = index }
    }
    owners.removeLast()
    let element = list.removeLast()
    if entry == head {
      passGaps()
    } else if entry == entries.count - 1 {
      while let last = entries.last, last.index < 0 { entries.removeLast() }
    } else {
      closeGaps()
    }
    return element
  }

  mutating func removeAll() { self = SortedArrayMap() }

  /// Inserts an element whose key is not present.
  mutating func insert(_ element: consuming Element, for key: Key) {
    let entry = Entry(key: key, index: list.count)
    list.append(element)
    owners.append(key)
    guard let last = entries.last, !(last.key < key) else { return entries.append(entry) }
    let index = position(of: key)
    if entries[index].key == key { entries[index] = entry } else { entries.insert(entry, at: index) }
  }

  private func entry(of key: Key) -> Int? {
    guard head < entries.count else { return nil }
    // The oldest and the newest are looked up most.
    if entries[head].key == key { return head }
    if entries[entries.count - 1].key == key { return entries.count - 1 }
    let index = position(of: key)
    return index < entries.count && entries[index].key == key ? index : nil
  }

  /// The first entry whose key is not less.
  private func position(of key: Key) -> Int {
    var (low, high) = (head, entries.count)
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].key < key { low = middle + 1 } else { high = middle }
    }
    return low
  }

  private mutating func passGaps() {
    while head < entries.count, entries[head].index < 0 { head += 1 }
    if head == entries.count {
      entries.removeAll(keepingCapacity: true)
      head = 0
    } else if head > 256, head > entries.count / 2 {
      entries.removeFirst(head)
      head = 0
    }
  }

  /// Closes gaps behind the front once there are many.
  private mutating func closeGaps() {
    guard entries.count - head > 2 * list.count + 64 else { return }
    entries.removeAll { $0.index < 0 }
    head = 0
  }
}
