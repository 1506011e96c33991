import BindingPeer

/// Described models as TypeScript: an interface for `bind.model`.
enum TypeScriptStubs {
  /// What the text itself uses, and cannot name an interface.
  static let taken: Swift.Set<String> = ["Value", "Element"]

  static func text(of types: [StubType]) -> String {
    var interfaces: [String] = []
    var used = ""
    for type in types {
      interfaces += ["", "/** \(comment(type.words)) */", "export interface \(type.name) {"]
      for field in type.fields {
        let words = words(of: field)
        if !words.isEmpty { interfaces.append("  /** \(comment(words)) */") }
        let isPlain = !field.name.contains("-") && !(field.name.first?.isNumber ?? true)
        let type = self.type(of: field.description)
        interfaces.append("  \(isPlain ? field.name : "\"\(field.name)\""): \(type.text)")
        used += type.uses
      }
      interfaces.append("}")
    }
    var lines: [String] = []
    if !used.isEmpty { lines += ["import type { Value } from '/bind.mjs'", ""] }
    if used.contains("Element") {
      lines += [
        "/** An element of a list. */", "export type Element = { id: string | number } & Record<string, Value>", "",
      ]
    }
    lines += interfaces.dropFirst()
    lines += ["", "// const model = bind.model<\(types[0].name)>('\(types[0].ids[0])')"]
    return lines.joined(separator: "\n")
  }

  /// - Returns: the type, and which name it uses that is to be declared.
  private static func type(of description: FieldDescription) -> (text: String, uses: String) {
    guard description.policy != FieldRule.listPolicy else { return ("Element[]", "Element") }
    let choices = description.choices.compactMap(\.string)
    let isChoice = !choices.isEmpty && choices.count == description.choices.count
    let type =
      switch description.type {
      case .boolean: "boolean"
      case .integer, .number: "number"
      case .string where isChoice: choices.map { StubLiteral.text($0, .braces) }.joined(separator: " | ")
      case .string: "string"
      case .array: "Value[]"
      case .object: "{ [name: string]: Value }"
      case .any: "Value"
      }
    let isNullable = description.defaultValue == .null && description.type != .any
    let usesValue = [.array, .object, .any].contains(description.type)
    return (isNullable ? "\(type) | null" : type, usesValue ? "Value" : "")
  }

  private static func words(of field: StubField) -> String {
    let description = field.description
    var parts = [description.title, description.help].compactMap { $0 }
    parts += field.words
    if let value = description.defaultValue, !description.isSecret { parts.append("default \(value.text)") }
    if description.isEphemeral { parts.append("ephemeral") }
    return parts.joined(separator: "; ")
  }

  /// One line that does not end the comment.
  private static func comment(_ words: String) -> String {
    PrintedText.escaped(words).split(separator: "*/", omittingEmptySubsequences: false).joined(separator: "* /")
  }
}
