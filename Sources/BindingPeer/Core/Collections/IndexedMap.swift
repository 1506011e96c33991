/// Elements by key, in one array: their parts are read and changed in place, where a dictionary would copy them.
///
/// They are in order of insertion until one is removed.
struct IndexedMap<Key: Hashable & Sendable, Element: Sendable>: Sendable {
  private(set) var keys: ContiguousArray<Key> = []
  private var list: ContiguousArray<Element> = []
  /// Empty while there are few keys: those are compared faster than one is hashed.
  private var indexByKey: [Key: Int] = [:]
  private static var few: Int { 8 }

  var count: Int { list.count }
  var isEmpty: Bool { list.isEmpty }
  /// The indices of all elements, for `subscript(at:)`.
  var indices: Range<Int> { list.indices }

  func index(of key: Key) -> Int? { keys.count <= IndexedMap.few ? keys.firstIndex(of: key) : indexByKey[key] }

  subscript(at index: Int) -> Element {
    _read { yield list[index] }
    _modify { yield &list[index] }
  }

  subscript(key: Key) -> Element? {
    get { index(of: key).map { list[$0] } }
    set {
      guard let index = index(of: key) else {
        if let element = newValue { append(element, key) }
        return
      }
      if let element = newValue { list[index] = element } else { close(index) }
    }
    _modify {
      let index = index(of: key)
      // Moved out and back in, so that nothing is copied while the element changes.
      var element = index.map { takeOut($0) }
      defer {
        switch (element.take(), index) {
        case (let element?, let index?): putBack(element, index)
        case (let element?, nil): append(element, key)
        case (nil, let index?): forget(index)
        case (nil, nil): break
        }
      }
      yield &element
    }
  }

  /// The element, changed in place; `value` is inserted if there is none.
  subscript(key: Key, default value: @autoclosure () -> Element) -> Element {
    _read { yield index(of: key).map { list[$0] } ?? value() }
    _modify {
      let index = findOrInsert(key, value())
      yield &list[index]
    }
  }

  mutating func removeValue(forKey key: Key) -> Element? { index(of: key).map { close($0) } }

  /// The index of the element; `value` is inserted if there is none.
  mutating func findOrInsert(_ key: Key, _ value: @autoclosure () -> Element) -> Int {
    if let index = index(of: key) { return index }
    append(value(), key)
    return list.count - 1
  }

  private mutating func append(_ element: Element, _ key: Key) {
    keys.append(key)
    list.append(element)
    if keys.count == IndexedMap.few + 1 {
      for index in keys.indices { indexByKey[keys[index]] = index }
    } else if keys.count > IndexedMap.few {
      indexByKey[key] = keys.count - 1
    }
  }

  /// Takes the element out, temporarily or permanently; the last one moves to its index.
  private mutating func takeOut(_ index: Int) -> Element {
    list.withUnsafeMutableBufferPointer { $0.swapAt(index, $0.count - 1) }
    return list.removeLast()
  }

  private mutating func putBack(_ element: Element, _ index: Int) {
    list.append(element)
    list.withUnsafeMutableBufferPointer { $0.swapAt(index, $0.count - 1) }
  }

  @discardableResult
  private mutating func close(_ index: Int) -> Element {
    let element = takeOut(index)
    forget(index)
    return element
  }

  /// Removes the key of an element that was taken out, to whose index the last one has moved.
  private mutating func forget(_ index: Int) {
    if keys.count > IndexedMap.few {
      indexByKey[keys[keys.count - 1]] = index
      indexByKey[keys[index]] = nil
      if keys.count == IndexedMap.few + 1 { indexByKey.removeAll(keepingCapacity: true) }
    }
    keys.swapAt(index, keys.count - 1)
    keys.removeLast()
  }
}

extension IndexedMap where Key: Comparable {
  /// The indices of the elements that satisfy the predicate, in the order of their keys. Inlined, so that the predicate
  /// reads parts of an element in place.
  @inline(__always)
  func sortedIndices(where isMeant: (Element) -> Bool = { _ in true }) -> [Int] {
    var indices: [Int] = []
    for index in list.indices where isMeant(list[index]) { indices.append(index) }
    if indices.count > 1 { indices.sort { keys[$0] < keys[$1] } }
    return indices
  }
}
