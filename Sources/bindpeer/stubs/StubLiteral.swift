import BindingPeer

/// Values as a language writes them.
enum StubLiteral {
  enum Escape { case braces, digits }

  /// A text in double quotes: what could mislead a reader is an escape, `\u{200b}` in Swift and TypeScript, `\u200b` in
  /// Python.
  static func text(_ text: String, _ escape: Escape) -> String {
    var words = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": words += "\\\""
      case "\\": words += "\\\\"
      case "\n": words += "\\n"
      case _ where PrintedText.escaped(String(scalar)) == String(scalar): words.unicodeScalars.append(scalar)
      case _ where escape == .braces: words += "\\u{\(String(scalar.value, radix: 16))}"
      default:
        let digits = String(scalar.value, radix: 16)
        let isLong = scalar.value > 0xFFFF
        words += (isLong ? "\\U" : "\\u") + String(repeating: "0", count: (isLong ? 8 : 4) - digits.count) + digits
      }
    }
    return "\"\(words)\""
  }

  /// Whether a value of this type can be written: a number only if `number` or `whole` has it.
  static func fits(_ value: JSON, _ type: FieldType) -> Bool {
    switch type {
    case .integer: whole(value) != nil
    case .number: number(value) != nil
    default: type.admits(value)
    }
  }

  /// The value of a number that all three languages can write.
  static func number(_ json: JSON) -> Double? {
    switch json {
    case .integer(let whole): Double(whole)
    case .number(let number) where number.isFinite: number
    default: nil
    }
  }

  /// Such a number as they write it. JSON's own text has large whole numbers in quotes.
  static func digits(_ json: JSON) -> String {
    switch json {
    case .integer(let whole): String(whole)
    case .number(let number): "\(number)"
    default: "0"
    }
  }

  /// A whole number of 64 bits.
  static func whole(_ json: JSON) -> Int64? {
    switch json {
    case .integer(let whole): whole
    case .number(let number): Int64(exactly: number)
    default: nil
    }
  }
}
