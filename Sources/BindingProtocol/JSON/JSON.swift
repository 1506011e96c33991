/// A JSON value. A value that JSON cannot represent exactly is read from and written as an object with a single
/// member whose name begins with `$`: `{"$int":"9223372036854775807"}`, `{"$float":"NaN"}`,
/// `{"$bytes":"<base64>"}`.
public indirect enum JSON: Hashable, Sendable {
  case null
  case bool(Bool)
  /// A number written without fraction and exponent that fits into 64 bits.
  case integer(Int64)
  case number(Double)
  case string(String)
  case array([JSON])
  /// Members in the order of the text; of two with the same name the later counts.
  case object([Member])

  /// A member of an object.
  public struct Member: Hashable, Sendable {
    /// The member's name.
    public var name: String
    /// The member's value.
    public var value: JSON

    /// Creates a member.
    public init(_ name: String, _ value: JSON) {
      self.name = name
      self.value = value
    }
  }

  /// The maximum nesting depth of arrays and objects.
  public static let maxDepth = 128

  /// Parses a whole text. Throws with the offset of the first byte that is not JSON.
  public init(parsing bytes: [UInt8]) throws(WireError) {
    self = try bytes.withUnsafeBytes { buffer in
      Result { () throws(WireError) in try JSON(parsing: buffer) }
    }.get()
  }

  /// Parses a whole text. Throws with the offset of the first byte that is not JSON.
  public init(parsing bytes: UnsafeRawBufferPointer) throws(WireError) {
    var parser = JSONParser(bytes)
    self = try parser.parse()
  }

  /// Parses a whole text. Throws with the offset of the first byte that is not JSON.
  public init(parsing text: String) throws(WireError) {
    try self.init(parsing: Array(text.utf8))
  }

  /// Whether `init(parsing:)` would accept the bytes. Allocates nothing.
  public static func isValid(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var scanner = JSONScanner(bytes)
    return scanner.scanText()
  }

  /// The value as compact text, UTF-8.
  public var bytes: [UInt8] {
    var writer = JSONWriter()
    writer.write(self)
    return writer.bytes
  }

  /// The value as compact text.
  public var text: String { String(decoding: bytes, as: UTF8.self) }
}

extension JSON {
  /// The member of that name; nil if there is none or the value is not an object.
  public subscript(name: String) -> JSON? {
    guard case .object(let members) = self else { return nil }
    return members.last { $0.name == name }?.value
  }

  /// The element at an index; nil if there is none or the value is not an array.
  public subscript(index: Int) -> JSON? {
    guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
    return elements[index]
  }

  /// The boolean; nil for any other value.
  public var boolean: Bool? {
    if case .bool(let value) = self { value } else { nil }
  }

  /// The number, if it is whole and fits, however it is written.
  public var int64: Int64? {
    switch self {
    case .integer(let value): value
    case .number(let value): Int64(exactly: value)
    default: nil
    }
  }

  /// The number; an integer beyond ±2^53 is rounded.
  public var double: Double? {
    switch self {
    case .integer(let value): Double(value)
    case .number(let value): value
    default: nil
    }
  }

  /// The string; nil for any other value.
  public var string: String? {
    if case .string(let value) = self { value } else { nil }
  }

  /// The elements of an array; nil for any other value.
  public var elements: [JSON]? {
    if case .array(let value) = self { value } else { nil }
  }

  /// The members of an object; nil for any other value.
  public var members: [Member]? {
    if case .object(let value) = self { value } else { nil }
  }

  /// The bytes of a `{"$bytes":"<base64>"}`; nil for any other value.
  public var binary: [UInt8]? {
    guard case .object(let members) = self, members.count == 1, members[0].name == "$bytes",
      case .string(let text) = members[0].value
    else { return nil }
    return Base64.decode(text)
  }

  /// Wraps bytes as `{"$bytes":"<base64>"}`.
  public static func binary(_ bytes: [UInt8]) -> JSON {
    .object([Member("$bytes", .string(Base64.encode(bytes)))])
  }

  /// An unsigned number: plain if it fits into a signed 64-bit integer, else a string of decimal digits.
  public static func unsigned(_ number: UInt64) -> JSON {
    if let number = Int64(exactly: number) { .integer(number) } else { .string(String(number)) }
  }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByNilLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  public init(stringLiteral value: String) { self = .string(value) }
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  public init(integerLiteral value: Int64) { self = .integer(value) }
  public init(floatLiteral value: Double) { self = .number(value) }
  public init(nilLiteral: ()) { self = .null }
  public init(arrayLiteral elements: JSON...) { self = .array(elements) }
  public init(dictionaryLiteral elements: (String, JSON)...) {
    self = .object(elements.map { Member($0.0, $0.1) })
  }
}

extension JSON: CustomStringConvertible {
  public var description: String { text }
}
