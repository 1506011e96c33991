/// Builds a `JSON` from text. The scanner validates the text; the parser only converts what it has passed over.
struct JSONParser {
  private var scanner: JSONScanner

  init(_ text: UnsafeRawBufferPointer) { scanner = JSONScanner(text) }

  mutating func parse() throws(WireError) -> JSON {
    let value = try value(depth: 0)
    scanner.skipSpace()
    guard scanner.offset == scanner.text.count else { throw failure("text follows the value") }
    return value
  }

  private func failure(_ problem: StaticString) -> WireError {
    WireError(message: "value", place: "JSON", problem: problem.description, offset: scanner.offset)
  }

  private mutating func require(_ passed: Bool) throws(WireError) {
    if !passed { throw failure(scanner.problem) }
  }

  private mutating func value(depth: Int) throws(WireError) -> JSON {
    scanner.skipSpace()
    switch scanner.byte {
    case UInt8(ascii: "{"): return try object(depth: depth + 1)
    case UInt8(ascii: "["): return try array(depth: depth + 1)
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"):
      try require(scanner.scanWord("true"))
      return .bool(true)
    case UInt8(ascii: "f"):
      try require(scanner.scanWord("false"))
      return .bool(false)
    case UInt8(ascii: "n"):
      try require(scanner.scanWord("null"))
      return .null
    case nil: throw failure("the text ends where a value must stand")
    default: return try number()
    }
  }

  private mutating func array(depth: Int) throws(WireError) -> JSON {
    guard depth <= JSON.maxDepth else { throw failure("more than 128 nested arrays and objects") }
    scanner.offset += 1
    scanner.skipSpace()
    if consume(UInt8(ascii: "]")) { return .array([]) }
    var elements: [JSON] = []
    while true {
      elements.append(try value(depth: depth))
      scanner.skipSpace()
      if consume(UInt8(ascii: "]")) { return .array(elements) }
      guard consume(UInt8(ascii: ",")) else { throw failure("an array goes on with , or ends with ]") }
    }
  }

  private mutating func object(depth: Int) throws(WireError) -> JSON {
    guard depth <= JSON.maxDepth else { throw failure("more than 128 nested arrays and objects") }
    scanner.offset += 1
    scanner.skipSpace()
    if consume(UInt8(ascii: "}")) { return .object([]) }
    var members: [JSON.Member] = []
    while true {
      scanner.skipSpace()
      guard scanner.byte == UInt8(ascii: "\"") else {
        throw failure("a member begins with its name in quotation marks")
      }
      let name = try string()
      try require(scanner.scanColon())
      members.append(JSON.Member(name, try value(depth: depth)))
      scanner.skipSpace()
      if consume(UInt8(ascii: "}")) { return Self.unescaped(members) ?? .object(members) }
      guard consume(UInt8(ascii: ",")) else { throw failure("an object goes on with , or ends with }") }
    }
  }

  private mutating func consume(_ wanted: UInt8) -> Bool {
    guard scanner.byte == wanted else { return false }
    scanner.offset += 1
    return true
  }

  /// The number that a `$int` or `$float` object represents; nil for any other object.
  private static func unescaped(_ members: [JSON.Member]) -> JSON? {
    guard members.count == 1, case .string(let text) = members[0].value else { return nil }
    switch (members[0].name, text) {
    case ("$int", _): return decimal(text).map { .integer($0) }
    case ("$float", "NaN"): return .number(.nan)
    case ("$float", "Infinity"): return .number(.infinity)
    case ("$float", "-Infinity"): return .number(-.infinity)
    default: return nil
    }
  }

  /// A canonical decimal integer: no plus sign, no leading zeros.
  private static func decimal(_ text: String) -> Int64? {
    guard let number = Int64(text), String(number) == text else { return nil }
    return number
  }

  private mutating func number() throws(WireError) -> JSON {
    let start = scanner.offset
    try require(scanner.scanNumber())
    let digits = scanner.text.part(start, scanner.offset - start)
    let text = String(decoding: digits, as: UTF8.self)
    let isWhole = !digits.contains { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "e") || $0 == UInt8(ascii: "E") }
    if isWhole, text != "-0", let integer = Int64(text) { return .integer(integer) }
    guard let double = Double(text) else { throw failure("not a number") }
    return .number(double)
  }

  private mutating func string() throws(WireError) -> String {
    let start = scanner.offset
    try require(scanner.scanString())
    let inside = scanner.text.part(start + 1, scanner.offset - start - 2)
    guard inside.contains(UInt8(ascii: "\\")) else { return String(decoding: inside, as: UTF8.self) }
    return String(decoding: Self.unescaped(inside), as: UTF8.self)
  }

  /// The UTF-8 text of a valid string that contains escapes.
  static func unescaped(_ inside: UnsafeRawBufferPointer) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(inside.count)
    var scanner = JSONScanner(inside)
    while let byte = scanner.byte {
      guard byte == UInt8(ascii: "\\"), scanner.offset + 1 < inside.count else {
        bytes.append(byte)
        scanner.offset += 1
        continue
      }
      let escape = inside[scanner.offset + 1]
      if escape == UInt8(ascii: "u") {
        let number = scanner.scanUnicodeEscape() ?? 0xFFFD
        let character = Unicode.Scalar(number) ?? "\u{FFFD}"
        bytes.append(contentsOf: UTF8.encode(character) ?? UTF8.encodedReplacementCharacter)
        continue
      }
      scanner.offset += 2
      switch escape {
      case UInt8(ascii: "b"): bytes.append(0x08)
      case UInt8(ascii: "f"): bytes.append(0x0C)
      case UInt8(ascii: "n"): bytes.append(0x0A)
      case UInt8(ascii: "r"): bytes.append(0x0D)
      case UInt8(ascii: "t"): bytes.append(0x09)
      default: bytes.append(escape)
      }
    }
    return bytes
  }
}
