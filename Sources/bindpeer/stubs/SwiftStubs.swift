import BindingPeer

/// Described models as Swift: a struct with a `@Field` for each field.
enum SwiftStubs {
  /// What the text itself uses, and cannot name a type.
  static let taken: Swift.Set<String> = [
    "Model", "Field", "JSON", "Bool", "Int", "Double", "String", "Array", "Optional", "Any", "Self", "Type", "Protocol",
  ]
  private static let keywords: Swift.Set<String> = [
    "as", "associatedtype", "break", "case", "catch", "class", "continue", "default", "defer", "deinit", "do", "else",
    "enum", "extension", "fallthrough", "false", "fileprivate", "for", "func", "guard", "if", "import", "in", "init",
    "inout", "internal", "is", "let", "nil", "operator", "private", "protocol", "public", "repeat", "rethrows",
    "return", "self", "static", "struct", "subscript", "super", "switch", "throw", "throws", "true", "try",
    "typealias", "var", "where", "while", "Any", "Self", "Type", "Protocol",
  ]
  /// Members that every model has.
  private static let members: Swift.Set<String> = ["shared", "change", "remove", "release", "init", "_isStruct"]

  static func text(of types: [StubType]) -> String {
    var lines = ["import Bindbus"]
    for type in types {
      lines += ["", "/// \(type.words)", "struct \(type.name): Model {"]
      var used: Swift.Set<String> = members
      for field in type.fields { lines += declaration(field, &used).map { "  \($0)" } }
      lines += ["}"]
    }
    lines += ["", "// let model = try await peer.share(\(types[0].name).self, id: \"\(types[0].ids[0])\")"]
    return lines.joined(separator: "\n")
  }

  private static func declaration(_ field: StubField, _ used: inout Swift.Set<String>) -> [String] {
    let description = field.description
    guard description.policy != FieldRule.listPolicy else {
      let element = StubName.capitalised(field.name[...])
      return [
        "// A list: declare what its elements have beside an id.",
        "// @Field(\(field.name == StubName.variable(field.name) ? "" : "\"\(field.name)\", ")policy: .list) "
          + "var \(StubName.variable(field.name)): [\(element)] = []",
      ]
    }
    var name = StubName.variable(field.name)
    while used.contains(name) { name += "_" }
    used.insert(name)
    let made = SwiftField(field, isRenamed: name != field.name)
    let variable = keywords.contains(name) ? "`\(name)`" : name
    let arguments = made.arguments.isEmpty ? "" : "(\(made.arguments.joined(separator: ", ")))"
    var lines: [String] = []
    if !made.left.isEmpty { lines.append("// Described: \(PrintedText.escaped(made.left.joined(separator: ", ")))") }
    return lines + ["@Field\(arguments) var \(variable)\(made.annotation) = \(made.start)"]
  }
}

/// What of a field is declared, and what is not because no declaration has it.
private struct SwiftField {
  private(set) var arguments: [String] = []
  private(set) var left: [String] = []
  private(set) var annotation = ""
  private(set) var start: String

  private let description: FieldDescription
  private let type: String
  private let isOptional: Bool
  private let range: (least: JSON, most: JSON, values: ClosedRange<Double>)?

  init(_ field: StubField, isRenamed: Bool) {
    description = field.description
    type = SwiftField.type(of: description)
    isOptional = description.defaultValue == .null && type != "JSON"
    // A field of the ephemeral part that may be nil has no range.
    range = description.isEphemeral && isOptional ? nil : field.range
    start = isOptional ? "nil" : SwiftField.literal(description.isSecret ? nil : description.defaultValue, as: type)
    if let range, !isOptional {
      let value = Double(start) ?? 0
      // A default outside of its range would end the program.
      if !range.values.contains(value) { start = SwiftField.literal(range.least, as: type) }
    }
    let isClear =
      ["Bool", "String", "Int"].contains(type) || type == "Double" && start.contains { $0 == "." || $0 == "e" }
    annotation = isClear && !isOptional ? "" : ": \(type)\(isOptional ? "?" : "")"
    declare(field, isRenamed: isRenamed)
  }

  private mutating func declare(_ field: StubField, isRenamed: Bool) {
    let isText = description.maximumLength != nil && type == "String" && !isOptional && !description.isEphemeral
    let name = isRenamed ? StubLiteral.text(field.name, .braces) : nil
    if description.isEphemeral { arguments.append(".ephemeral") }
    if let range {
      // `...-1` would be an operator of that name.
      let ends = [range.least, range.most].map { SwiftField.literal($0, as: type) }
      arguments.append(ends.map { $0.hasPrefix("-") ? "(\($0))" : $0 }.joined(separator: "..."))
    }
    if let name, range == nil, !description.isEphemeral { arguments.append(name) }
    if let expires = expires(isText) { arguments.append("expires: .milliseconds(\(expires))") }
    if let name, range != nil || description.isEphemeral { arguments.append("name: \(name)") }
    if let length = description.maximumLength {
      if isText { arguments.append("maximumLength: \(max(0, length))") } else { left.append("maxLength \(length)") }
    }
    if let unit = description.unit {
      if isText { left.append("unit \(unit)") } else { arguments.append("unit: \(StubLiteral.text(unit, .braces))") }
    }
    declareChoices(isText)
    for (name, text) in [
      ("title", description.title), ("help", description.help), ("group", description.group),
      ("widget", description.widget),
    ] {
      if let text { arguments.append("\(name): \(StubLiteral.text(text, .braces))") }
    }
    if let step = description.step {
      if !isText, let size = StubLiteral.number(step), size > 0 {
        arguments.append("step: \(StubLiteral.digits(step))")
      } else {
        left.append("step \(step.text)")
      }
    }
    if description.isReadOnly { arguments.append("readOnly: true") }
    if description.isSecret { arguments.append("secret: true") }
    if let stored = field.stored { arguments.append("was: \(StubLiteral.text(stored, .braces))") }
    declarePolicy()
    if range == nil {
      if let minimum = description.minimum { left.append("min \(minimum.text)") }
      if let maximum = description.maximum { left.append("max \(maximum.text)") }
    }
  }

  private mutating func declareChoices(_ isText: Bool) {
    guard !description.choices.isEmpty else { return }
    let fit = description.choices.allSatisfy { SwiftField.fits($0, type) }
    if !isText, range == nil, fit {
      let choices = description.choices.map { SwiftField.literal($0, as: type) }
      arguments.append("choices: [\(choices.joined(separator: ", "))]")
    } else {
      left.append("choices \(JSON.array(description.choices).text)")
    }
  }

  private mutating func declarePolicy() {
    guard let policy = description.policy, policy != "lastWrite" else { return }
    let isDeclared =
      switch policy {
      case "compareAndSet": true
      case "text": type == "String" && !isOptional
      case "add": ["Int", "Double"].contains(type) && !isOptional
      case "max", "min": ["Int", "Double", "String"].contains(type) && !isOptional
      case "union": type == "[String]" && !isOptional
      default: false
      }
    if isDeclared, !description.isEphemeral {
      arguments.append("policy: .\(policy)")
    } else {
      left.append("policy \(policy)")
    }
  }

  /// Milliseconds; nil: it is not declared.
  private mutating func expires(_ isText: Bool) -> Int64? {
    guard let limit = description.expires else { return nil }
    let milliseconds = Int64(clamping: limit.wholeMilliseconds)
    let merges = FieldExpiry.mergingPolicies.contains(description.policy ?? "")
    if isText || merges || description.isEphemeral {
      left.append("expires after \(milliseconds) ms")
      return nil
    }
    return milliseconds
  }

  // MARK: Types and values

  private static func type(of description: FieldDescription) -> String {
    switch description.type {
    case .boolean: "Bool"
    case .integer: "Int"
    case .number: "Double"
    case .string: "String"
    case .array: isTexts(description.defaultValue) ? "[String]" : "JSON"
    case .object, .any: "JSON"
    }
  }

  private static func isTexts(_ value: JSON?) -> Bool {
    guard case .array(let items)? = value, !items.isEmpty else { return false }
    return items.allSatisfy { $0.string != nil }
  }

  private static let described: [String: FieldType] = [
    "Bool": .boolean, "Int": .integer, "Double": .number, "String": .string,
  ]
  private static func fits(_ value: JSON, _ type: String) -> Bool {
    described[type].map { StubLiteral.fits(value, $0) } ?? (type == "JSON" || isTexts(value))
  }

  /// A value of another type becomes the type's plainest one.
  private static func literal(_ value: JSON?, as type: String) -> String {
    guard let value, fits(value, type) else {
      return switch type {
      case "Bool": "false"
      case "String": "\"\""
      case "[String]": "[]"
      case "JSON": ".null"
      default: "0"
      }
    }
    switch (type, value) {
    case ("Int", _): return StubLiteral.whole(value).map(String.init) ?? "0"
    case ("JSON", _): return json(value)
    case (_, .array(let items)):
      return "[\(items.map { StubLiteral.text($0.string ?? "", .braces) }.joined(separator: ", "))]"
    case (_, .string(let text)): return StubLiteral.text(text, .braces)
    case (_, .bool(let flag)): return "\(flag)"
    default: return StubLiteral.digits(value)
    }
  }

  private static func json(_ value: JSON) -> String {
    switch value {
    case .null: return ".null"
    case .bool(let flag): return ".bool(\(flag))"
    case .integer(let whole): return ".integer(\(whole))"
    case .number(let number) where number.isNaN: return ".number(.nan)"
    case .number(let number) where number.isInfinite: return ".number(\(number < 0 ? "-" : "").infinity)"
    case .number: return ".number(\(StubLiteral.digits(value)))"
    case .string(let text): return ".string(\(StubLiteral.text(text, .braces)))"
    case .array(let items): return ".array([\(items.map(json).joined(separator: ", "))])"
    case .object(let members):
      let inner = members.map { ".init(\(StubLiteral.text($0.name, .braces)), \(json($0.value)))" }
      return ".object([\(inner.joined(separator: ", "))])"
    }
  }
}
