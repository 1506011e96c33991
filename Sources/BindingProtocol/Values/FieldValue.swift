/// The value of a field: JSON text, kept byte for byte as it came.
public struct FieldValue: Hashable, Sendable, CustomStringConvertible {
  public var bytes: [UInt8]

  /// Takes the bytes as they are; `isValid` tells whether they are JSON.
  @inlinable
  public init(bytes: [UInt8]) { self.bytes = bytes }

  /// Copies the bytes as they are.
  @inlinable
  public init(_ bytes: UnsafeRawBufferPointer) { self.bytes = Array(bytes) }

  /// In one piece; an array's own would take byte by byte.
  public func hash(into hasher: inout Hasher) { bytes.withUnsafeBytes { hasher.combine(bytes: $0) } }

  public init(json: JSON) { bytes = json.bytes }

  /// Takes text as a user typed it. Throws unless it is JSON.
  public init(text: String) throws(WireError) {
    bytes = Array(text.utf8)
    _ = try JSON(parsing: bytes)
  }

  /// The value read as JSON; throws, with the place of the fault, when it is none.
  public var json: JSON {
    get throws(WireError) { try JSON(parsing: bytes) }
  }

  /// Whether the bytes are JSON.
  public var isValid: Bool { bytes.withUnsafeBytes { JSON.isValid($0) } }

  public var description: String { String(decoding: bytes, as: UTF8.self) }
}
