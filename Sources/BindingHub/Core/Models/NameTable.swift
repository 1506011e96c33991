import BindingProtocol

/// Finds field ids by name. The names live elsewhere; a bucket takes four bytes, and at most three quarters are in
/// use.
///
/// Ids are added in order and removed in reverse order, so no search has to pass an emptied bucket.
struct NameTable {
  /// The id plus one; 0: free. The count is a power of two.
  private var buckets: [UInt32] = []
  private var count = 0

  /// - Parameters:
  ///   - hash: the hash of the name.
  ///   - isMeant: whether an id has that name.
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

  /// Makes room for N ids while there are none; growing later inserts all of them again.
  mutating func reserve(_ ids: Int) {
    guard count == 0 else { return }
    var size = 8
    while 4 * ids > 3 * size { size *= 2 }
    buckets = [UInt32](repeating: 0, count: size)
  }

  /// Adds the next id, whose name is not in the table.
  /// - Parameter hashOfOther: the hash of the name of an id added before.
  mutating func add(_ id: FieldID, _ hash: Int, hashOfOther: (FieldID) -> Int) {
    if 4 * (count + 1) > 3 * buckets.count {
      buckets = [UInt32](repeating: 0, count: max(8, 2 * buckets.count))
      for old in 0..<UInt32(count) { put(old, hash: hashOfOther(old)) }
    }
    put(id, hash: hash)
    count += 1
  }

  /// Removes the id added last.
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

  /// Differs between processes, so a peer cannot choose names that collide.
  static func hash(_ name: UnsafeRawBufferPointer) -> Int {
    var hasher = Hasher()
    hasher.combine(bytes: name)
    return hasher.finalize()
  }
}

extension String {
  /// The hash of this name in every `NameTable`.
  var nameHash: Int {
    var name = self
    return name.withUTF8 { NameTable.hash(UnsafeRawBufferPointer($0)) }
  }

  func hasBytes(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var text = self
    return text.withUTF8 { $0.count == bytes.count && UnsafeRawBufferPointer($0).elementsEqual(bytes) }
  }
}
