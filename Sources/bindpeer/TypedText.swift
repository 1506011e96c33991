import BindingPeer
import BindingTerminal

/// Interprets what a person typed as a value.
enum TypedText {
  /// Why a text is no value.
  enum Fault: Error {
    /// It begins like JSON, and is not JSON for this reason. Stored as text, the mistake would be discovered much
    /// later, by another user.
    case notJSON(String)
    /// A number that JSON cannot express.
    case numberOutsideJSON

    /// The end of a sentence.
    var words: String {
      switch self {
      case .notJSON(let fault): "it begins like JSON and is \(fault)"
      case .numberOutsideJSON: "JSON cannot express this number"
      }
    }
  }

  /// The value as the declared type; without one as JSON if the text is JSON, else as text.
  static func value(of text: String, as type: FieldType?) throws(Fault) -> FieldValue {
    if type == .string { return FieldValue(json: .string(text)) }
    if type == .boolean, let value = truths[text.lowercased()] { return FieldValue(json: .bool(value)) }
    if let value = try? FieldValue(text: text) { return value }
    if beginsLikeJSON(text) { throw .notJSON(JSON.fault(text)) }
    if ["NaN", "Infinity", "-Infinity"].contains(text) { throw .numberOutsideJSON }
    return FieldValue(json: .string(text))
  }

  /// Whether it is read as this text where no type is declared, and where a boolean is.
  static func isText(_ text: String) -> Bool {
    let words = FieldValue(json: .string(text))
    return [nil, .boolean].allSatisfy { (try? value(of: text, as: $0)) == words }
  }

  private static func beginsLikeJSON(_ text: String) -> Bool {
    text.first { !$0.isWhitespace }.map { ["\"", "[", "{"].contains($0) } ?? false
  }

  /// What people type for a boolean, and what spreadsheets make of one.
  private static let truths = ["true": true, "on": true, "yes": true, "false": false, "off": false, "no": false]
}

extension FieldDescription {
  /// Why a whole value does not fit, to be put after the field's name; of a list its elements count. Nil: it fits.
  func misfit(of value: FieldValue?) -> String? {
    guard let json = try? value?.json else { return nil }
    guard policy == FieldRule.listPolicy else { return problem(with: json) }
    guard case .array(let elements) = json else { return "\(excerpt(json.description, limit: 80)) is no list" }
    return elements.lazy.compactMap { problem(with: $0) }.first
  }
}

extension JSON {
  /// Why a text does not parse, with the location and the remedy.
  static func fault(_ text: String) -> String { FieldValue(bytes: Array(text.utf8)).fault ?? "not JSON" }
}
