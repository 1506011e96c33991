import BindingPeer
import BindingTerminal

/// The fields of a model as variables of a command's environment.
///
/// Every variable has a prefix of its own: without one, whoever may write a field `PATH` could choose what a command
/// runs.
struct FieldVariables {
  private static let prefix = "FIELD_"
  private static let model = "BINDPEER_MODEL"
  private static let version = "BINDPEER_VERSION"
  private static let values = "BINDPEER_VALUES"
  /// The most bytes of a variable with its name, as on Linux (MAX_ARG_STRLEN), with room for the end.
  static let longest = 131_000

  private(set) var variables: [String: String] = [:]
  /// The fields that have no variable, and why.
  private(set) var complaints: [String] = []

  init(model: String, version: Version, fields: [String: FieldValue]) {
    variables[FieldVariables.model] = model
    variables[FieldVariables.version] = "\(version)"
    var whole = JSONLine()
    var owners: [String: String] = [:]
    // A name that is a variable's as it is comes first: it gives way to no other.
    let names = fields.keys.sorted()
    for name in names.filter(FieldVariables.isPlain) + names.filter({ !FieldVariables.isPlain($0) }) {
      guard let value = fields[name] else { continue }
      let variable = FieldVariables.name(of: name)
      let text = FieldVariables.text(of: value)
      if let owner = owners[variable] {
        complaints.append("\(model).\(name) has no variable: \(variable) is \(model).\(owner)")
      } else if text.utf8.contains(0) {
        complaints.append("\(model).\(name) has no variable: its text contains a zero byte")
      } else if variable.utf8.count + text.utf8.count > FieldVariables.longest {
        complaints.append("\(model).\(name) has no variable: its value is too long for one")
      } else {
        owners[variable] = name
        variables[variable] = text
      }
    }
    for (name, value) in fields.sorted(by: { $0.key < $1.key }) { whole.add(name, value) }
    if whole.text.utf8.count <= FieldVariables.longest { variables[FieldVariables.values] = whole.text }
  }

  /// Whether a variable is one of these, perhaps of another command around this one.
  static func isOne(_ name: String) -> Bool {
    name.hasPrefix(prefix) || [model, version, values].contains(name)
  }

  private static func isLetter(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"): true
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"): true
    default: false
    }
  }

  private static func isPlain(_ field: String) -> Bool { field.utf8.allSatisfy(isLetter) }

  /// `FIELD_` and the field's name.
  static func name(of field: String) -> String {
    prefix + String(decoding: field.utf8.map { isLetter($0) ? $0 : UInt8(ascii: "_") }, as: UTF8.self)
  }

  /// Text without quotes, everything else as JSON in one line.
  private static func text(of value: FieldValue) -> String {
    if case .string(let text)? = try? value.json { return text }
    return JSONLine.text(of: value)
  }
}
