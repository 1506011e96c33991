/// The name by which a ROUTER knows one connection: 1 to 16 bytes, held inline.
///
/// A connection names itself before it has proved anything, so a routing id is a return address and never an
/// identity. libzmq allows 255 bytes. Bindbus uses 16, a ROUTER assigns ids of 5, and longer ones are rejected on
/// receipt.
@usableFromInline package struct RoutingID: Hashable, Sendable {
  /// The longest id, in bytes.
  package static let maximumByteCount = 16

  /// The bytes in memory order; those past `length` are zero, so that equality can compare the words.
  @usableFromInline let words: (UInt64, UInt64)
  @usableFromInline let length: UInt8

  /// - Precondition: `length` is 1 to 16, bytes past it are zero.
  @inlinable
  init(words: (UInt64, UInt64), length: UInt8) {
    self.words = words
    self.length = length
  }

  /// Makes an id of these bytes; nil unless there are 1 to 16.
  package init?(_ bytes: UnsafeRawBufferPointer) {
    guard 1...Self.maximumByteCount ~= bytes.count else { return nil }
    var words: (UInt64, UInt64) = (0, 0)
    withUnsafeMutableBytes(of: &words) { $0.copyMemory(from: bytes) }
    self.init(words: words, length: UInt8(bytes.count))
  }

  /// Makes an id of these bytes; nil unless there are 1 to 16.
  package init?(_ bytes: [UInt8]) {
    guard let id = bytes.withUnsafeBytes({ RoutingID($0) }) else { return nil }
    self = id
  }

  /// Makes an id of 16 bytes of the system's randomness. The first is not zero: ids that begin with zero are
  /// reserved for the ROUTER.
  package static func random() -> RoutingID {
    var generator = SystemRandomNumberGenerator()
    return random(using: &generator)
  }

  /// Makes an id of 16 bytes of the given randomness, the first not zero.
  package static func random(using generator: inout some RandomNumberGenerator) -> RoutingID {
    var words: (UInt64, UInt64) = (generator.next(), generator.next())
    withUnsafeMutableBytes(of: &words) { $0[0] = UInt8.random(in: 1...255, using: &generator) }
    return RoutingID(words: words, length: UInt8(maximumByteCount))
  }

  /// The length of the id, 1 to 16 bytes.
  @inlinable package var byteCount: Int { Int(length) }

  /// Whether a ROUTER assigned it because the connection did not name itself; such ids can be guessed.
  @inlinable package var isGivenByRouter: Bool { withBytes { $0[0] == 0 } }

  /// A copy of the bytes.
  package var bytes: [UInt8] { withBytes { Array($0) } }

  /// The bytes, valid only inside the call.
  @inlinable
  package func withBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try withUnsafeBytes(of: words) { (all: UnsafeRawBufferPointer) throws(Failure) -> Result in
      try body(UnsafeRawBufferPointer(rebasing: all[..<Int(length)]))
    }
  }

  @inlinable
  package static func == (left: RoutingID, right: RoutingID) -> Bool {
    left.words == right.words && left.length == right.length
  }

  /// Hashes all bytes: untrusted peers choose them, and must not be able to make a table degenerate.
  @inlinable
  package func hash(into hasher: inout Hasher) {
    hasher.combine(words.0)
    hasher.combine(words.1)
  }
}

extension RoutingID: CustomStringConvertible {
  /// Two hexadecimal digits per byte.
  @usableFromInline package var description: String {
    bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
  }
}
