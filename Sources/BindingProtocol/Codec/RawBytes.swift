// The only file that reads and writes memory by address. All other code uses `WireReader` and `WireWriter`, which
// check the bounds before they call these functions.

extension UnsafeRawBufferPointer {
  @inlinable @inline(__always)
  func little16(at offset: Int) -> UInt16 {
    UInt16(littleEndian: loadUnaligned(fromByteOffset: offset, as: UInt16.self))
  }

  @inlinable @inline(__always)
  func little32(at offset: Int) -> UInt32 {
    UInt32(littleEndian: loadUnaligned(fromByteOffset: offset, as: UInt32.self))
  }

  @inlinable @inline(__always)
  func little64(at offset: Int) -> UInt64 {
    UInt64(littleEndian: loadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }

  @inlinable @inline(__always)
  func part(_ offset: Int, _ length: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: self[offset..<(offset &+ length)])
  }

  /// Whether both hold the same bytes.
  @inlinable
  package func hasSameBytes(as other: UnsafeRawBufferPointer) -> Bool {
    guard count == other.count else { return false }
    var index = 0
    while index &+ 8 <= count {
      guard little64(at: index) == other.little64(at: index) else { return false }
      index &+= 8
    }
    while index < count {
      guard self[index] == other[index] else { return false }
      index &+= 1
    }
    return true
  }
}

extension [UInt8] {
  /// Writes an integer, lowest byte first, over the bytes at `offset`, which must exist.
  @inlinable @inline(__always)
  mutating func store<Number: FixedWidthInteger & BitwiseCopyable>(_ number: Number, at offset: Int) {
    withUnsafeMutableBytes { $0.storeBytes(of: number.littleEndian, toByteOffset: offset, as: Number.self) }
  }

  /// Copies `source` over the bytes at `offset`, which must exist.
  @inlinable @inline(__always)
  mutating func store(_ source: UnsafeRawBufferPointer, at offset: Int) {
    guard let from = source.baseAddress else { return }
    withUnsafeMutableBytes { target in
      guard let to = target.baseAddress else { return }
      (to + offset).copyMemory(from: from, byteCount: source.count)
    }
  }

  /// Writes the nine bytes that begin a commit, the last two 0; the space must exist.
  @inlinable @inline(__always)
  mutating func storeCommitHeader(_ origin: UInt16, _ number: UInt32, _ hops: UInt8, at offset: Int) {
    withUnsafeMutableBytes { target in
      target.storeBytes(of: origin.littleEndian, toByteOffset: offset, as: UInt16.self)
      target.storeBytes(of: number.littleEndian, toByteOffset: offset &+ 2, as: UInt32.self)
      target.storeBytes(of: hops, toByteOffset: offset &+ 6, as: UInt8.self)
      target.storeBytes(of: 0, toByteOffset: offset &+ 7, as: UInt16.self)
    }
  }

  /// Writes `id`, the length of `value` and its bytes as one change, in one pass; the space must exist.
  @inlinable @inline(__always)
  mutating func storeChange(_ id: UInt32, _ value: UnsafeRawBufferPointer, at offset: Int) {
    withUnsafeMutableBytes { target in
      target.storeBytes(of: id.littleEndian, toByteOffset: offset, as: UInt32.self)
      target.storeBytes(
        of: UInt32(truncatingIfNeeded: value.count).littleEndian, toByteOffset: offset &+ 4, as: UInt32.self)
      guard let from = value.baseAddress, let to = target.baseAddress else { return }
      (to + (offset &+ 8)).copyMemory(from: from, byteCount: value.count)
    }
  }
}
