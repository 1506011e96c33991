/// Elements by key, in one array: parts of them are read and changed in place, while a dictionary gives only whole
/// copies.
///
/// Their order is that of entering, until one is taken out.
struct IndexedMap<Key: Hashable & Sendable, Element: Sendable>: Sendable {
  private(set) var keys: ContiguousArray<Key> = []
  private var list: ContiguousArray<Element> = []
  /// Empty as long as there are few: those are compared sooner than one is hashed.
  private var places: [Key: Int] = [:]
  private static var few: Int { 8 }

  var count: Int { list.count }
  var isEmpty: Bool { list.isEmpty }
  /// The places of all, for `subscript(at:)`.
  var indices: Range<Int> { list.indices }

  func place(of key: Key) -> Int? { keys.count <= IndexedMap.few ? keys.firstIndex(of: key) : places[key] }

  subscript(at place: Int) -> Element {
    _read { yield list[place] }
    _modify { yield &list[place] }
  }

  subscript(key: Key) -> Element? {
    get { place(of: key).map { list[$0] } }
    set {
      guard let place = place(of: key) else {
        if let element = newValue { append(element, key) }
        return
      }
      if let element = newValue { list[place] = element } else { close(place) }
    }
    _modify {
      let place = place(of: key)
      // Moved out and in again, so that nothing of it is copied while it changes.
      var element = place.map { takeOut($0) }
      defer {
        switch (element.take(), place) {
        case (let element?, let place?): putBack(element, place)
        case (let element?, nil): append(element, key)
        case (nil, let place?): forget(place)
        case (nil, nil): break
        }
      }
      yield &element
    }
  }

  /// Changed in place; `value` stands where there was nothing.
  subscript(key: Key, default value: @autoclosure () -> Element) -> Element {
    _read { yield place(of: key).map { list[$0] } ?? value() }
    _modify {
      let place = placeMade(for: key, value())
      yield &list[place]
    }
  }

  mutating func removeValue(forKey key: Key) -> Element? { place(of: key).map { close($0) } }

  /// Where the element is; `value` is put there where there was nothing.
  mutating func placeMade(for key: Key, _ value: @autoclosure () -> Element) -> Int {
    if let place = place(of: key) { return place }
    append(value(), key)
    return list.count - 1
  }

  private mutating func append(_ element: Element, _ key: Key) {
    keys.append(key)
    list.append(element)
    if keys.count == IndexedMap.few + 1 {
      for place in keys.indices { places[keys[place]] = place }
    } else if keys.count > IndexedMap.few {
      places[key] = keys.count - 1
    }
  }

  /// Takes the element out, for a while or for good; the last one stands in its place.
  private mutating func takeOut(_ place: Int) -> Element {
    list.withUnsafeMutableBufferPointer { $0.swapAt(place, $0.count - 1) }
    return list.removeLast()
  }

  private mutating func putBack(_ element: Element, _ place: Int) {
    list.append(element)
    list.withUnsafeMutableBufferPointer { $0.swapAt(place, $0.count - 1) }
  }

  @discardableResult
  private mutating func close(_ place: Int) -> Element {
    let element = takeOut(place)
    forget(place)
    return element
  }

  /// The element at that place is out, and the last one stands there.
  private mutating func forget(_ place: Int) {
    if keys.count > IndexedMap.few {
      places[keys[keys.count - 1]] = place
      places[keys[place]] = nil
      if keys.count == IndexedMap.few + 1 { places.removeAll(keepingCapacity: true) }
    }
    keys.swapAt(place, keys.count - 1)
    keys.removeLast()
  }
}
