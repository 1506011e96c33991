import BindingProtocol

/// Finds field ids by their names, which lie elsewhere: four bytes a place, at most three quarters of them taken.
///
/// Ids are added in their order and taken back in the reverse order, so no search ever has to pass a place that was
/// emptied.
struct NameTable {
  /// An id and one more; 0: free. Their number is a power of two.
  private var buckets: [UInt32] = []
  private var count = 0

  /// - Parameters:
  ///   - hash: that of the name.
  ///   - isMeant: whether the id's name is that one.
  func find(_ hash: Int, isMeant: (FieldID) -> Bool) -> FieldID? {
    guard !buckets.isEmpty else { return nil }
    let mask = buckets.count - 1
    var bucket = hash & mask
    while buckets[bucket] != 0 {
      let id = buckets[bucket] - 1
      if isMeant(id) { return id }
      bucket = (bucket + 1) & mask
    }
    return nil
  }

  /// Makes room for so many ids while there are none: growing puts all of them in again.
  mutating func reserve(_ ids: Int) {
    guard count == 0 else { return }
    var size = 8
    while 4 * ids > 3 * size { size *= 2 }
    buckets = [UInt32](repeating: 0, count: size)
  }

  /// Adds the next id; its name is not in here.
  /// - Parameter hashOfOther: that of the name of an id that was added before.
  mutating func add(_ id: FieldID, _ hash: Int, hashOfOther: (FieldID) -> Int) {
    if 4 * (count + 1) > 3 * buckets.count {
      buckets = [UInt32](repeating: 0, count: max(8, 2 * buckets.count))
      for old in 0..<UInt32(count) { put(old, hash: hashOfOther(old)) }
    }
    put(id, hash: hash)
    count += 1
  }

  /// Takes back the id that was added last.
  mutating func removeLast(_ id: FieldID, hash: Int) {
    let mask = buckets.count - 1
    var bucket = hash & mask
    while buckets[bucket] != id + 1 { bucket = (bucket + 1) & mask }
    buckets[bucket] = 0
    count -= 1
  }

  private mutating func put(_ id: FieldID, hash: Int) {
    let mask = buckets.count - 1
    var bucket = hash & mask
    while buckets[bucket] != 0 { bucket = (bucket + 1) & mask }
    buckets[bucket] = id + 1
  }

  /// Differs from process to process: nobody can choose names that fall together.
  static func hash(_ name: UnsafeRawBufferPointer) -> Int {
    var hasher = Hasher()
    hasher.combine(bytes: name)
    return hasher.finalize()
  }
}

extension String {
  /// The place of this name in every `NameTable`.
  var nameHash: Int {
    var name = self
    return name.withUTF8 { NameTable.hash(UnsafeRawBufferPointer($0)) }
  }

  func hasBytes(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var text = self
    return text.withUTF8 { $0.count == bytes.count && UnsafeRawBufferPointer($0).elementsEqual(bytes) }
  }
}
