extension FieldValue {
  /// Why the bytes are not JSON, with the offset and the remedy: `not JSON at byte 17: NaN; write
  /// {"$float":"NaN"}`; nil if they are.
  public var fault: String? { bytes.withUnsafeBytes { JSON.fault(in: $0) } }

  /// The value for display in one line: as written, but at most 40 characters, without control characters or
  /// direction marks, and with a plain number instead of its escape.
  var short: String {
    if bytes.first == UInt8(ascii: "{"), let json = try? json, WireNumber(json) != nil { return json.short }
    return PrintedText.escaped(description, limit: 40)
  }
}

extension JSON {
  /// Why bytes are not JSON, with the offset and the remedy; nil if they are.
  public static func fault(in text: UnsafeRawBufferPointer) -> String? {
    var scanner = JSONScanner(text)
    if scanner.scanText() { return nil }
    if text.isEmpty { return "not JSON: it is empty; the empty text is \"\"" }
    return "not JSON at byte \(scanner.offset): \(scanner.cure)"
  }
}

extension JSONScanner {
  /// What the scanner stopped at, and what to write instead.
  fileprivate var cure: String {
    let isNegative = offset > 0 && text[offset - 1] == UInt8(ascii: "-")
    if begins(with: "nan") { return "NaN; write {\"$float\":\"NaN\"}" }
    if begins(with: "inf") {
      let name = isNegative ? "-Infinity" : "Infinity"
      return "\(name); write {\"$float\":\"\(name)\"}"
    }
    switch byte {
    case UInt8(ascii: "'"): return "'; write strings in double quotes, \""
    case UInt8(ascii: "+"): return "+; write the number without it"
    case UInt8(ascii: "."): return ".; write a digit before it, as in 0.5"
    case .some(let byte) where byte < 0x20 && problem.description.contains("control"):
      return "a control character, 0x\(String(byte, radix: 16)), in a text; write \(escape(of: byte))"
    case .some(let byte) where byte >= 0x80 && problem.description == "not UTF-8":
      return "byte 0x\(String(byte, radix: 16)) is not UTF-8; write bytes as {\"$bytes\":\"<base64>\"}"
    case UInt8(ascii: "\\") where problem.description.hasPrefix("half"):
      return "\(problem); write both halves, or the character itself"
    default: return problem.description
    }
  }

  private func begins(with word: String) -> Bool {
    text.count - offset >= word.utf8.count && zip(text[offset...], word.utf8).allSatisfy { $0 | 0x20 == $1 }
  }

  private func escape(of byte: UInt8) -> String {
    switch byte {
    case 0x0A: "\\n"
    case 0x0D: "\\r"
    case 0x09: "\\t"
    default: "\\u00\(byte < 0x10 ? "0" : "")\(String(byte, radix: 16))"
    }
  }
}
