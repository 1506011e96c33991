/// Untrusted text, made safe to display on a terminal, in a log or on a page.
package enum PrintedText {
  /// The text on one line. Characters that control a terminal, change direction, are invisible or end a line appear
  /// as `\u{1b}`.
  /// - Parameter limit: the maximum number of characters, then `…`; nil: all.
  package static func escaped(_ text: String, limit: Int? = nil) -> String {
    if text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) && limit.map({ text.utf8.count <= $0 }) ?? true { return text }
    var line = ""
    var count = 0
    for scalar in text.unicodeScalars {
      if let limit, count == limit { return line + "…" }
      count += 1
      if isPlain(scalar) {
        line.unicodeScalars.append(scalar)
      } else {
        line += "\\u{" + String(scalar.value, radix: 16) + "}"
      }
    }
    return line
  }

  /// Whether a character is printed as itself, without other effects.
  static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
    if scalar.value < 0x7F { return scalar.value >= 0x20 }
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: return false
    default: return true
    }
  }
}
