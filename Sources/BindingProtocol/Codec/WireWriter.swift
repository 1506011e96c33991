/// Writes frames and bodies into a reusable buffer.
///
/// A text that is too long for its length prefix is cut between two characters. A list that is too long for its
/// count is a programming error: callers split long lists over several messages.
@usableFromInline package struct WireWriter: Sendable {
  /// Filled up to `end`; the rest is free capacity.
  @usableFromInline var storage: [UInt8]
  @usableFromInline var end: Int

  /// Makes an empty writer with room for `capacity` bytes.
  package init(reserving capacity: Int = 256) {
    storage = [UInt8](repeating: 0, count: max(capacity, 64))
    end = 0
  }

  /// Bytes written.
  @inlinable package var count: Int { end }

  /// A copy of the written bytes.
  package var bytes: [UInt8] { Array(storage[0..<end]) }

  /// Moves the written bytes out, leaving this writer empty, without capacity.
  mutating func takeBytes() -> [UInt8] {
    storage.removeLast(storage.count - end)
    defer { (storage, end) = ([], 0) }
    return storage
  }

  /// Calls `body` with the written bytes, in place.
  @inlinable
  package func withUnsafeBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try storage.withUnsafeBufferPointer { buffer throws(Failure) in
      try body(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[0..<end]))
    }
  }

  /// Drops all bytes.
  package mutating func removeAll(keepingCapacity: Bool = true) {
    end = 0
    if !keepingCapacity { storage = [UInt8](repeating: 0, count: 64) }
  }

  /// Drops the bytes after the first `count`.
  @inlinable
  package mutating func truncate(to count: Int) {
    if count < end { end = max(count, 0) }
  }

  /// Makes room for `extra` more bytes.
  @inlinable @inline(__always)
  package mutating func reserve(_ extra: Int) {
    if storage.count &- end < extra { grow(extra) }
  }

  /// Appends one byte.
  @inlinable @inline(__always)
  package mutating func u8(_ number: UInt8) { integer(number) }
  /// Appends an integer of two bytes, little-endian.
  @inlinable @inline(__always)
  package mutating func u16(_ number: UInt16) { integer(number) }
  /// Appends an integer of four bytes, little-endian.
  @inlinable @inline(__always)
  package mutating func u32(_ number: UInt32) { integer(number) }
  /// Appends an integer of eight bytes, little-endian.
  @inlinable @inline(__always)
  package mutating func u64(_ number: UInt64) { integer(number) }
  /// Appends 1 or 0 as one byte.
  @inlinable
  package mutating func flag(_ value: Bool) { integer(value ? 1 : 0 as UInt8) }
  /// Appends the topic at the front of a downstream frame, big-endian.
  @inlinable
  package mutating func topic(_ topic: Topic) { integer(topic.byteSwapped) }

  /// Appends bytes without a length.
  @inlinable
  package mutating func raw(_ bytes: UnsafeRawBufferPointer) {
    reserve(bytes.count)
    storage.store(bytes, at: end)
    end &+= bytes.count
  }

  /// Appends bytes without a length.
  @inlinable
  package mutating func raw(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { raw($0) }
  }

  /// Appends a `text8`.
  package mutating func text8(_ text: String) {
    var text = text
    text.withUTF8 { text8(UnsafeRawBufferPointer($0)) }
  }

  /// Appends a `text16`.
  package mutating func text16(_ text: String) {
    var text = text
    text.withUTF8 {
      let bytes = UTF8Check.cut(UnsafeRawBufferPointer($0), to: Int(UInt16.max))
      u16(UInt16(bytes.count))
      raw(bytes)
    }
  }

  /// Appends a `text8` of bytes that are UTF-8.
  package mutating func text8(_ text: UnsafeRawBufferPointer) {
    let bytes = UTF8Check.cut(text, to: Int(UInt8.max))
    u8(UInt8(bytes.count))
    raw(bytes)
  }

  /// Appends a `value`; nil is "no value".
  @inlinable
  package mutating func value(_ value: UnsafeRawBufferPointer?) {
    guard let value else { return u32(UInt32.max) }
    u32(UInt32(truncatingIfNeeded: value.count))
    raw(value)
  }

  /// Appends a `value`; nil is "no value".
  @inlinable
  package mutating func value(_ value: FieldValue?) {
    guard let value else { return u32(UInt32.max) }
    value.bytes.withUnsafeBytes { self.value($0) }
  }

  /// Appends the count of a `list8`.
  package mutating func count8(_ count: Int) { u8(UInt8(checked: count)) }
  /// Appends the count of a `list16`.
  package mutating func count16(_ count: Int) { u16(UInt16(checked: count)) }
  /// Appends the count of a `list32`.
  package mutating func count32(_ count: Int) { u32(UInt32(checked: count)) }

  /// Appends a `list8(text8)`.
  mutating func texts(_ texts: [String]) {
    count8(texts.count)
    for text in texts { text8(text) }
  }

  /// Overwrites two bytes at `offset`, if they have been written.
  @inlinable
  package mutating func patch16(at offset: Int, _ number: UInt16) {
    guard offset >= 0, offset &+ 2 <= end else { return }
    storage.store(number, at: offset)
  }

  /// Overwrites four bytes at `offset`, if they have been written.
  @inlinable
  package mutating func patch32(at offset: Int, _ number: UInt32) {
    guard offset >= 0, offset &+ 4 <= end else { return }
    storage.store(number, at: offset)
  }

  /// Overwrites eight bytes at `offset`, if they have been written.
  @inlinable
  package mutating func patch64(at offset: Int, _ number: UInt64) {
    guard offset >= 0, offset &+ 8 <= end else { return }
    storage.store(number, at: offset)
  }

  @inlinable @inline(__always)
  mutating func integer<Number: FixedWidthInteger & BitwiseCopyable>(_ number: Number) {
    reserve(MemoryLayout<Number>.size)
    storage.store(number, at: end)
    end &+= MemoryLayout<Number>.size
  }

  /// Appends one change of a commit: `id`, then `value`.
  @inlinable @inline(__always)
  mutating func change(_ id: FieldID, _ value: UnsafeRawBufferPointer) {
    reserve(value.count &+ 8)
    storage.storeChange(id, value, at: end)
    end &+= value.count &+ 8
  }

  /// Appends the header of a commit, with room for the count of its changes.
  @inlinable @inline(__always)
  mutating func commitHeader(_ origin: UInt16, _ number: ProposalNumber, _ hops: UInt8) {
    reserve(9)
    storage.storeCommitHeader(origin, number, hops, at: end)
    end &+= 9
  }

  @usableFromInline @inline(never)
  mutating func grow(_ extra: Int) {
    let wanted = max(storage.count * 2, end + extra)
    storage.append(contentsOf: repeatElement(0, count: wanted - storage.count))
  }
}

extension FixedWidthInteger {
  /// The count of a list. Only this project's own code builds lists, and it splits them; a count from outside never
  /// gets here.
  init(checked count: Int) {
    precondition(count >= 0 && count <= Self.max, "a list of \(count) elements must be split over several messages")
    self.init(truncatingIfNeeded: count)
  }
}
