/// Reads a frame from front to back. Every read checks that the bytes exist and throws; none traps.
///
/// It borrows the frame's memory: use it, and every buffer it returns, only while that memory is valid.
@usableFromInline package struct WireReader {
  /// The whole frame.
  @usableFromInline package let frame: UnsafeRawBufferPointer
  /// The name of the message being read, for errors.
  @usableFromInline package var message: StaticString
  @usableFromInline var position: Int

  /// Begins at the front of a frame.
  @inlinable
  package init(_ frame: UnsafeRawBufferPointer, message: StaticString = "frame") {
    self.frame = frame
    self.message = message
    self.position = 0
  }

  /// Bytes read so far.
  @inlinable package var offset: Int { position }
  /// Bytes not yet read.
  @inlinable package var remaining: Int { frame.count &- position }

  /// Reads one byte. `place` names it in errors, here and in all other reads.
  @inlinable @inline(__always)
  package mutating func u8(_ place: StaticString) throws(WireError) -> UInt8 {
    let at = try advance(1, place)
    return frame[at]
  }

  /// Reads a little-endian integer of two bytes.
  @inlinable @inline(__always)
  package mutating func u16(_ place: StaticString) throws(WireError) -> UInt16 {
    let at = try advance(2, place)
    return frame.little16(at: at)
  }

  /// Reads a little-endian integer of four bytes.
  @inlinable @inline(__always)
  package mutating func u32(_ place: StaticString) throws(WireError) -> UInt32 {
    let at = try advance(4, place)
    return frame.little32(at: at)
  }

  /// Reads a little-endian integer of eight bytes.
  @inlinable @inline(__always)
  package mutating func u64(_ place: StaticString) throws(WireError) -> UInt64 {
    let at = try advance(8, place)
    return frame.little64(at: at)
  }

  /// Reads a byte that must be 0 or 1.
  @inlinable
  package mutating func flag(_ place: StaticString) throws(WireError) -> Bool {
    let byte = try u8(place)
    if byte > 1 { throw error(place, "is \(byte), must be 0 or 1") }
    return byte == 1
  }

  /// Reads `count` bytes, in place.
  @inlinable @inline(__always)
  package mutating func bytes(_ count: Int, _ place: StaticString) throws(WireError) -> UnsafeRawBufferPointer {
    let at = try advance(count, place)
    return frame.part(at, count)
  }

  /// Reads a `text8`, in place; checks that it is UTF-8.
  @inlinable
  package mutating func text8Bytes(_ place: StaticString) throws(WireError) -> UnsafeRawBufferPointer {
    let length = Int(try u8(place))
    return try checkedText(length, place)
  }

  /// Reads a `text16`, in place; checks that it is UTF-8.
  @inlinable
  package mutating func text16Bytes(_ place: StaticString) throws(WireError) -> UnsafeRawBufferPointer {
    let length = Int(try u16(place))
    return try checkedText(length, place)
  }

  /// Reads a `text8`.
  package mutating func text8(_ place: StaticString) throws(WireError) -> String {
    String(decoding: try text8Bytes(place), as: UTF8.self)
  }

  /// Reads a `text16`.
  package mutating func text16(_ place: StaticString) throws(WireError) -> String {
    String(decoding: try text16Bytes(place), as: UTF8.self)
  }

  /// Reads a `list8(text8)`.
  mutating func texts(_ place: StaticString) throws(WireError) -> [String] {
    var texts: [String] = []
    for _ in 0..<(try count8(place, minimum: 1)) { texts.append(try text8(place)) }
    return texts
  }

  /// Reads a byte of flags of which only the `known` bits may be set.
  mutating func bits(_ place: StaticString, known: UInt8) throws(WireError) -> UInt8 {
    let bits = try u8(place)
    if bits & ~known != 0 { throw error(place, "is \(bits); only the bits of \(known) are defined") }
    return bits
  }

  /// Reads a `value`, in place and unexamined; nil for "no value".
  @inlinable @inline(__always)
  package mutating func valueBytes(_ place: StaticString) throws(WireError) -> UnsafeRawBufferPointer? {
    let length = try u32(place)
    if length == UInt32.max { return nil }
    return try bytes(Int(length), place)
  }

  /// Reads a `value`, unexamined; nil for "no value".
  package mutating func value(_ place: StaticString) throws(WireError) -> FieldValue? {
    guard let bytes = try valueBytes(place) else { return nil }
    return FieldValue(bytes)
  }

  /// Reads the count of a `list8` whose elements take at least `minimum` bytes each, and checks that they fit into
  /// the rest.
  @inlinable
  package mutating func count8(_ place: StaticString, minimum: Int) throws(WireError) -> Int {
    try checkedCount(Int(try u8(place)), place, minimum)
  }

  /// Reads the count of a `list16` whose elements take at least `minimum` bytes each, and checks that they fit into
  /// the rest.
  @inlinable
  package mutating func count16(_ place: StaticString, minimum: Int) throws(WireError) -> Int {
    try checkedCount(Int(try u16(place)), place, minimum)
  }

  /// Reads the count of a `list32` whose elements take at least `minimum` bytes each, and checks that they fit into
  /// the rest.
  @inlinable
  package mutating func count32(_ place: StaticString, minimum: Int) throws(WireError) -> Int {
    try checkedCount(Int(try u32(place)), place, minimum)
  }

  /// Throws if bytes follow the end of the message.
  @inlinable
  package func end() throws(WireError) {
    if remaining != 0 { throw error("end", "\(remaining) bytes follow the end of the message") }
  }

  /// An error at the current offset.
  @usableFromInline
  package func error(_ place: StaticString, _ problem: String, code: ErrorCode = .malformed) -> WireError {
    WireError(message: message.description, place: place.description, problem: problem, offset: position, code: code)
  }

  @inlinable @inline(__always)
  mutating func advance(_ count: Int, _ place: StaticString) throws(WireError) -> Int {
    let at = position
    guard frame.count &- at >= count else { throw shortage(count, place) }
    position = at &+ count
    return at
  }

  @usableFromInline @inline(never)
  func shortage(_ wanted: Int, _ place: StaticString) -> WireError {
    error(place, "needs \(wanted) bytes, \(remaining) are left")
  }

  @usableFromInline
  mutating func checkedText(_ length: Int, _ place: StaticString) throws(WireError) -> UnsafeRawBufferPointer {
    let text = try bytes(length, place)
    guard UTF8Check.isValid(text) else {
      position -= length
      throw error(place, "is not UTF-8")
    }
    return text
  }

  @inlinable @inline(__always)
  func checkedCount(_ count: Int, _ place: StaticString, _ minimum: Int) throws(WireError) -> Int {
    guard count &* minimum <= remaining else { throw excess(count, place, minimum) }
    return count
  }

  @usableFromInline @inline(never)
  func excess(_ count: Int, _ place: StaticString, _ minimum: Int) -> WireError {
    error(place, "counts \(count) of at least \(minimum) bytes each, \(remaining) bytes are left")
  }
}
