import BindingPeer

/// A value in a cell of a table: text as it is, everything else as JSON. An empty cell is no value.
enum TableCell {
  /// Text that would be read as something else is JSON too: `12`, `true`, nothing at all, and what a spreadsheet would
  /// take for a formula.
  static func text(of value: FieldValue?) -> String {
    guard let value else { return "" }
    guard case .string(let text)? = try? value.json, FieldValue(json: .string(text)) == value, isPlain(text) else {
      return JSONLine.text(of: value)
    }
    return text
  }

  private static func isPlain(_ text: String) -> Bool {
    guard let first = text.unicodeScalars.first, !["=", "+", "-", "@", "\t", "\r"].contains(first) else { return false }
    // A spreadsheet takes TRUE for true, and a boolean's cell may say on.
    return TypedText.isText(text)
  }

  /// The value of a cell for a field of a type; nil: none. JSON text in quotes is text for any type.
  static func value(of cell: String, as type: FieldType?) throws(TypedText.Fault) -> FieldValue? {
    if cell.isEmpty { return nil }
    if let value = try? FieldValue(text: cell), case .string? = try? value.json { return value }
    return try TypedText.value(of: cell, as: type)
  }
}
