/// The rules for field values in a model's description (protocol.md §8): parsed once, when the description is
/// decided.
package struct ModelRules: Sendable {
  /// Holds only fields that do not allow every value.
  private var rules: [FieldRule] = []
  private var indices: [String: Int] = [:]
  /// Described fields that allow every value.
  private var open: Set<String> = []
  /// The fields that are lists, in no particular order.
  package private(set) var lists: Set<String> = []

  /// Makes the rules of a model without a description: every field is free.
  package init() {}

  /// Parses a description. Throws the location that violates protocol.md §8.
  package init(describedBy value: UnsafeRawBufferPointer) throws(DescriptionError) {
    let json: JSON
    do throws(WireError) {
      json = try JSON(parsing: value)
    } catch {
      throw DescriptionError("", "is \(JSON.fault(in: value) ?? error.problem)")
    }
    guard case .object = json else { throw DescriptionError("", "is \(json.kind), not an object") }
    guard let fields = json["fields"] else { return }
    guard case .object(let members) = fields else {
      throw DescriptionError("fields", "is \(fields.kind), not an object")
    }
    for member in members {
      let path = "fields.\(JSON.string(member.name).short.dropFirst().dropLast())"
      guard (try? Names.checkField(member.name)) != nil, !member.name.contains("@") else {
        throw DescriptionError(path, "is not the name of a field that can be described")
      }
      let rule = try FieldRule(describedBy: member.value, at: path)
      // Of two members with the same name the later counts.
      indices[member.name] = nil
      open.remove(member.name)
      lists.remove(member.name)
      if rule.isList { lists.insert(member.name) }
      guard !rule.isEmpty else {
        open.insert(member.name)
        continue
      }
      indices[member.name] = rules.count
      rules.append(rule)
    }
  }

  /// Whether no described field restricts its values.
  package var isEmpty: Bool { indices.isEmpty }

  /// The number of described fields.
  package var count: Int { indices.count + open.count }
  /// Whether a field is described.
  package func describes(_ field: String) -> Bool { indices[field] != nil || open.contains(field) }

  /// The index of a field's rule; nil if the field is free. The rule of an element is that of its list.
  package func index(of field: String) -> Int? {
    if let index = indices[field] { return index }
    guard !lists.isEmpty, let list = ListElements.parts(of: field)?.list, lists.contains(String(list)) else {
      return nil
    }
    return indices[String(list)]
  }

  /// The fields that both descriptions name with different allowed values, sorted by name.
  package func differences(from described: ModelRules) -> [RuleDifference] {
    (Array(indices.keys) + open).sorted().compactMap { field in
      guard let mine = rule(of: field), let theirs = described.rule(of: field), !mine.allowsSame(as: theirs) else {
        return nil
      }
      return RuleDifference(field: field, declared: mine.allowance, described: theirs.allowance)
    }
  }

  /// The rule of a field, including fields described as free; nil if it is not described.
  private func rule(of field: String) -> FieldRule? {
    indices[field].map { rules[$0] } ?? (open.contains(field) ? FieldRule(type: .any) : nil)
  }

  /// The rule at an index.
  package subscript(index: Int) -> FieldRule { rules[index] }
}

/// A field that a program declares differently from its model's description: one may refuse what the other allows.
package struct RuleDifference: Sendable, Hashable, CustomStringConvertible {
  /// The field's name.
  package var field: String
  /// The values that the program's declaration allows, in words.
  package var declared: String
  /// The values that the model's description allows, in words.
  package var described: String

  package init(field: String, declared: String, described: String) {
    self.field = field
    self.declared = declared
    self.described = described
  }

  package var description: String { "\(field) is declared as \(declared) and described as \(described)" }
}

extension [RuleDifference] {
  /// One line with the first five differences and the total count.
  package var words: String {
    prefix(5).map(\.description).joined(separator: "; ") + (count > 5 ? "; … (\(count) fields in all)" : "")
  }
}

/// A fault in a description, and where it is.
package struct DescriptionError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The members' names from the outermost in, joined by dots; empty for the whole description.
  package let path: String
  /// What is wrong there.
  package let problem: String

  init(_ path: String, _ problem: String) {
    self.path = path
    self.problem = problem
  }

  package var description: String { path.isEmpty ? problem : "\(path) \(problem)" }
}

extension FieldRule {
  /// Parses the rule of one described field. Unknown members are ignored, because a newer peer may have written
  /// them. `default` need not fit, since it may represent an empty choice.
  fileprivate init(describedBy json: JSON, at path: String) throws(DescriptionError) {
    guard case .object = json else { throw DescriptionError(path, "is \(json.kind), not an object") }
    let type = try FieldRule.type(json["type"], at: "\(path).type")
    let minimum = try FieldRule.bound(json["min"], of: type, at: "\(path).min")
    let maximum = try FieldRule.bound(json["max"], of: type, at: "\(path).max")
    if let least = minimum.flatMap(WireNumber.init), let most = maximum.flatMap(WireNumber.init),
      most.isLess(than: least)
    {
      throw DescriptionError("\(path).min", "is above max: \(least) and \(most)")
    }
    if let step = json["step"], !((WireNumber(step)?.double ?? 0) > 0) {
      throw DescriptionError("\(path).step", "is \(step.short), not a number above 0")
    }
    var length: Int?
    if let json = json["maxLength"] {
      guard let number = json.int64, number >= 0 else {
        throw DescriptionError("\(path).maxLength", "is \(json.short), not a whole number of at least 0")
      }
      length = Int(clamping: number)
    }
    var choices: [JSON] = []
    if let json = json["choices"] {
      guard case .array(let values) = json else {
        throw DescriptionError("\(path).choices", "is \(json.kind), not an array")
      }
      choices = values
    }
    for name in ["unit", "policy", "pattern"] {
      guard let json = json[name] else { continue }
      guard case .string = json else { throw DescriptionError("\(path).\(name)", "is \(json.kind), not a string") }
    }
    let isEphemeral = json["ephemeral"] ?? .bool(false)
    guard case .bool(let isEphemeral) = isEphemeral else {
      throw DescriptionError("\(path).ephemeral", "is \(isEphemeral.kind), not a boolean")
    }
    let isList = json["policy"] == .string(FieldRule.listPolicy)
    if isList, isEphemeral {
      throw DescriptionError("\(path).policy", "is list; an ephemeral field holds an array instead")
    }
    self.init(
      type: type, minimum: minimum, maximum: maximum, maximumLength: length, choices: choices,
      isEphemeral: isEphemeral, isList: isList)
  }

  /// The word of the policy of lists.
  package static let listPolicy = "list"

  private static func type(_ json: JSON?, at path: String) throws(DescriptionError) -> FieldType {
    guard let json else { return .any }
    guard case .string(let word) = json else { throw DescriptionError(path, "is \(json.kind), not a string") }
    guard let type = FieldType(rawValue: word) else {
      let words = FieldType.allCases.map(\.rawValue).joined(separator: ", ")
      throw DescriptionError(path, "is \(json.short), not one of \(words)")
    }
    return type
  }

  /// A bound is a number. For a string field it may be a string, which only peers use.
  private static func bound(_ json: JSON?, of type: FieldType, at path: String) throws(DescriptionError) -> JSON? {
    guard let json else { return nil }
    if case .string = json, type == .string { return json }
    guard let number = WireNumber(json), !number.double.isNaN else {
      throw DescriptionError(path, "is \(json.short), not a number")
    }
    return json
  }
}

extension JSON {
  /// The value's kind, with its article.
  fileprivate var kind: String {
    switch self {
    case .null: "null"
    case .bool: "a boolean"
    case .integer, .number: "a number"
    case .string: "a string"
    case .array: "an array"
    case .object: "an object"
    }
  }
}
