/// The value of a field: JSON text, kept byte for byte as received.
public struct FieldValue: Hashable, Sendable, CustomStringConvertible {
  /// The JSON text, UTF-8.
  public var bytes: [UInt8]

  /// Stores the bytes unchecked; `isValid` tests whether they are JSON.
  @inlinable
  public init(bytes: [UInt8]) { self.bytes = bytes }

  /// Copies the bytes unchecked.
  @inlinable
  public init(_ bytes: UnsafeRawBufferPointer) { self.bytes = Array(bytes) }

  /// Hashes all bytes in one call; an array would hash byte by byte.
  public func hash(into hasher: inout Hasher) { bytes.withUnsafeBytes { hasher.combine(bytes: $0) } }

  /// Encodes `json` as compact text.
  public init(json: JSON) { bytes = json.bytes }

  /// Keeps the text as typed. Throws unless it is JSON.
  public init(text: String) throws(WireError) {
    bytes = Array(text.utf8)
    _ = try JSON(parsing: bytes)
  }

  /// The parsed value. Throws, with the byte of the fault, if the bytes are not JSON.
  public var json: JSON {
    get throws(WireError) { try JSON(parsing: bytes) }
  }

  /// Whether the bytes are JSON.
  public var isValid: Bool { bytes.withUnsafeBytes { JSON.isValid($0) } }

  public var description: String { String(decoding: bytes, as: UTF8.self) }
}
