/// Writes compact JSON text: members in order, numbers as the shortest decimal that reads back to the same number.
struct JSONWriter {
  private(set) var bytes: [UInt8] = []

  /// Integers up to this magnitude are exact in every JSON reader.
  private static let exact: Int64 = 1 << 53

  mutating func write(_ value: JSON) {
    switch value {
    case .null: ascii("null")
    case .bool(let value): ascii(value ? "true" : "false")
    case .integer(let value): write(value)
    case .number(let value): write(value)
    case .string(let value): write(value)
    case .array(let elements):
      byte("[")
      for (index, element) in elements.enumerated() {
        if index > 0 { byte(",") }
        write(element)
      }
      byte("]")
    case .object(let members):
      byte("{")
      for (index, member) in members.enumerated() {
        if index > 0 { byte(",") }
        write(member.name)
        byte(":")
        write(member.value)
      }
      byte("}")
    }
  }

  private mutating func write(_ value: Int64) {
    if value >= -Self.exact && value <= Self.exact {
      ascii(String(value))
    } else {
      ascii("{\"$int\":\"\(value)\"}")
    }
  }

  private mutating func write(_ value: Double) {
    if value.isFinite {
      ascii(value.description)
    } else {
      ascii("{\"$float\":\"\(value.isNaN ? "NaN" : value > 0 ? "Infinity" : "-Infinity")\"}")
    }
  }

  private mutating func write(_ text: String) {
    var text = text
    text.withUTF8 { text in
      // Reserves once; unescaped bytes are appended in runs.
      bytes.reserveCapacity(max(bytes.capacity, bytes.count + text.count + 2))
      byte("\"")
      var done = 0
      for index in text.indices where JSONWriter.isEscaped(text[index]) {
        bytes.append(contentsOf: text[done..<index])
        escape(text[index])
        done = index + 1
      }
      bytes.append(contentsOf: text[done...])
      byte("\"")
    }
  }

  private static func isEscaped(_ byte: UInt8) -> Bool {
    byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
  }

  private mutating func escape(_ byte: UInt8) {
    switch byte {
    case UInt8(ascii: "\""): ascii("\\\"")
    case UInt8(ascii: "\\"): ascii("\\\\")
    case 0x0A: ascii("\\n")
    case 0x0D: ascii("\\r")
    case 0x09: ascii("\\t")
    default: ascii(byte < 0x10 ? "\\u000\(String(byte, radix: 16))" : "\\u00\(String(byte, radix: 16))")
    }
  }

  private mutating func ascii(_ text: String) { bytes.append(contentsOf: text.utf8) }
  private mutating func byte(_ character: Unicode.Scalar) { bytes.append(UInt8(ascii: character)) }
}
