import BindingPeer

/// Described models as Python: a class with a field for each field.
enum PythonStubs {
  /// What the text itself uses, and cannot name a class.
  static let taken: Swift.Set<String> = [
    "Model", "Peer", "Any", "Dict", "List", "Optional", "Enum", "None", "True", "False",
  ]
  private static let keywords: Swift.Set<String> = [
    "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else", "except",
    "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise",
    "return", "try", "while", "with", "yield", "None", "True", "False",
  ]
  /// Attributes that every model has, and names that the text uses within a class.
  private static let members: Swift.Set<String> = [
    "shared", "set", "renew", "hold", "validate", "undoing", "replace_description", "observe", "values", "status",
    "field_status", "Any", "Dict", "List", "Model", "Optional", "field", "ranged", "model", "bool", "int", "float",
    "str",
  ]

  static func text(of types: [StubType]) -> String {
    var classes: [String] = []
    var used: Swift.Set<String> = []
    for type in types {
      let fields = type.fields.map(PythonField.init)
      // A class without fields is no model.
      guard fields.contains(where: { isName($0.name) }) else {
        classes += ["", "", "# \(type.words): no field has a name that an attribute can have; use peer.model()"]
        continue
      }
      classes += ["", "", "@model", "class \(type.name)(Model):", "    # \(type.words)"]
      for field in fields {
        if !field.left.isEmpty { classes.append("    # \(PrintedText.escaped(field.left))") }
        if isName(field.name) {
          classes.append("    \(field.declaration)")
          used.formUnion(field.uses)
        } else {
          classes.append("    # \(field.name) is no name of an attribute; use shared[\"\(field.name)\"]")
        }
      }
    }
    var lines: [String] = []
    let typing = used.intersection(["Any", "Dict", "List", "Optional"]).sorted()
    if !typing.isEmpty { lines += ["from typing import \(typing.joined(separator: ", "))", ""] }
    let functions = ["field", "model", "ranged"].filter { $0 == "model" || used.contains($0) }
    lines.append("from bindbus import \((["Model"] + functions).joined(separator: ", "))")
    lines += classes
    lines += ["", "", "# peer.share(\(types[0].name), \"\(types[0].ids[0])\")"]
    return lines.joined(separator: "\n")
  }

  private static func isName(_ name: String) -> Bool {
    let isPlain = !name.contains("-") && !(name.first?.isNumber ?? true)
    return isPlain && !name.hasPrefix("_") && !keywords.contains(name) && !members.contains(name)
  }
}

/// How one field is declared.
private struct PythonField {
  let name: String
  private(set) var declaration = ""
  /// What is not declared, for people.
  private(set) var left = ""
  /// The names that the declaration uses.
  private(set) var uses: Swift.Set<String> = []

  init(_ field: StubField) {
    name = field.name
    let description = field.description
    let policy = description.policy ?? "lastWrite"
    let isList = policy == FieldRule.listPolicy
    let isOptional = description.defaultValue == .null && !isList
    let type = isList ? "List[Any]" : PythonField.type(of: description.type)
    var arguments: [String] = []
    var comments: [String] = description.isEphemeral ? ["ephemeral"] : []
    let bounds = isList ? nil : field.range
    var start =
      isOptional
      ? "None"
      : PythonField.literal(
        isList || description.isSecret ? nil : description.defaultValue, as: isList ? .array : description.type)
    if let bounds, !isOptional, let value = Double(start), !bounds.values.contains(value) {
      start = PythonField.literal(bounds.least, as: description.type)
    }
    let isRanged = bounds != nil && !isOptional
    if let bounds {
      let ends = [bounds.least, bounds.most].map { PythonField.literal($0, as: description.type) }
      arguments += isRanged ? ends : ["minimum=\(ends[0])", "maximum=\(ends[1])"]
    } else if description.minimum != nil || description.maximum != nil {
      comments.append(field.words[0])
    }
    if PythonField.has(policy, type, isOptional) {
      arguments.append("policy=\"\(policy)\"")
    } else if policy != "lastWrite" {
      comments.append("policy \(policy)")
    }
    if let length = description.maximumLength {
      if type == "str", (description.defaultValue?.string ?? "").count <= length {
        arguments.append("max_length=\(length)")
      } else {
        comments.append("at most \(length) characters")
      }
    }
    for (name, text) in [("unit", description.unit), ("title", description.title), ("help", description.help)] {
      if let text, !text.isEmpty { arguments.append("\(name)=\(StubLiteral.text(text, .digits))") }
    }
    if !description.choices.isEmpty { comments.append("one of \(JSON.array(description.choices).text)") }
    if let expires = description.expires {
      let milliseconds = Int64(clamping: expires.wholeMilliseconds)
      if FieldExpiry.mergingPolicies.contains(policy) || isList {
        comments.append("expires after \(milliseconds) ms")
      } else {
        arguments.append("expires=\(Double(milliseconds) / 1_000)")
      }
    }
    if let stored = field.stored { arguments.append("was=\"\(stored)\"") }
    let annotation = isOptional ? "Optional[\(type)]" : type
    let isPlain = arguments.isEmpty && !["[", "{"].contains(start.prefix(1))
    let function = isRanged ? "ranged" : "field"
    let made = isPlain ? start : "\(function)(\(([start] + arguments).joined(separator: ", ")))"
    declaration = "\(name): \(annotation) = \(made)"
    left = comments.joined(separator: ", ")
    uses = Swift.Set(["Any", "Dict", "List", "Optional"].filter { annotation.contains($0) })
    if !isPlain { uses.insert(function) }
  }

  private static func type(of type: FieldType) -> String {
    switch type {
    case .boolean: "bool"
    case .integer: "int"
    case .number: "float"
    case .string: "str"
    case .array: "List[Any]"
    case .object: "Dict[str, Any]"
    case .any: "Any"
    }
  }

  private static func has(_ policy: String, _ type: String, _ isOptional: Bool) -> Bool {
    switch policy {
    case "compareAndSet": true
    case "text": type == "str" && !isOptional
    case "add", "max", "min": ["int", "float"].contains(type) && !isOptional
    case "union", FieldRule.listPolicy: type == "List[Any]" && !isOptional
    default: false
    }
  }

  /// A value of another type becomes the type's plainest one.
  private static func literal(_ value: JSON?, as type: FieldType) -> String {
    guard let value, StubLiteral.fits(value, type) else {
      return switch type {
      case .boolean: "False"
      case .string: "\"\""
      case .array: "[]"
      case .object: "{}"
      case .any: "None"
      case .integer, .number: "0"
      }
    }
    return type == .integer ? StubLiteral.whole(value).map(String.init) ?? "0" : literal(value)
  }

  private static func literal(_ value: JSON) -> String {
    switch value {
    case .null: "None"
    case .bool(let flag): flag ? "True" : "False"
    case .number(let number) where !number.isFinite: "float(\"\(number)\")"
    case .integer, .number: StubLiteral.digits(value)
    case .string(let text): StubLiteral.text(text, .digits)
    case .array(let items): "[\(items.map(literal).joined(separator: ", "))]"
    case .object(let members):
      "{\(members.map { "\(StubLiteral.text($0.name, .digits)): \(literal($0.value))" }.joined(separator: ", "))}"
    }
  }
}
