/// Elements by key, in one array: parts of them are read in place, while a dictionary gives only whole copies.
///
/// Their order is that of entering, until one is taken out.
struct Keyed<Key: Hashable & Sendable, Element: Sendable>: Sendable {
  private(set) var keys: ContiguousArray<Key> = []
  private var list: ContiguousArray<Element> = []
  private var places: [Key: Int] = [:]

  var count: Int { list.count }
  var isEmpty: Bool { list.isEmpty }
  /// The places of all, for `subscript(at:)`.
  var indices: Range<Int> { list.indices }

  func place(of key: Key) -> Int? {
    // A few are compared sooner than one is hashed.
    keys.count <= 8 ? keys.firstIndex(of: key) : places[key]
  }

  subscript(at place: Int) -> Element {
    _read { yield list[place] }
    _modify { yield &list[place] }
  }

  subscript(key: Key) -> Element? {
    get { place(of: key).map { list[$0] } }
    set {
      guard let place = place(of: key) else { return putBack(newValue, key) }
      if let element = newValue { list[place] = element } else { _ = removeValue(forKey: key) }
    }
    _modify {
      // Moved out and in again, so that nothing of it is copied while it changes.
      var element = takeOut(key)
      defer { putBack(element.take(), key) }
      yield &element
    }
  }

  /// Takes the element out for a while; the last one stands in its place.
  private mutating func takeOut(_ key: Key) -> Element? {
    guard let place = place(of: key) else { return nil }
    list.swapAt(place, list.count - 1)
    return list.removeLast()
  }

  private mutating func putBack(_ element: Element?, _ key: Key) {
    guard let place = place(of: key) else {
      guard let element else { return }
      places[key] = list.count
      keys.append(key)
      return list.append(element)
    }
    guard let element else { return close(place) }
    list.append(element)
    list.swapAt(place, list.count - 1)
  }

  mutating func removeValue(forKey key: Key) -> Element? {
    guard let place = place(of: key) else { return nil }
    let element = takeOut(key)
    close(place)
    return element
  }

  /// The element at that place is out, and the last one stands there.
  private mutating func close(_ place: Int) {
    places[keys[place]] = nil
    keys.swapAt(place, keys.count - 1)
    keys.removeLast()
    if place < keys.count { places[keys[place]] = place }
  }
}
