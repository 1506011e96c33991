/// The rules for field values in a model's description (protocol.md §8): parsed once, when the description is
/// decided.
package struct ModelRules: Sendable {
  /// Holds only fields that do not allow every value.
  private var rules: [FieldRule] = []
  private var indices: [String: Int] = [:]
  /// Described fields that allow every value.
  private var open: Set<String> = []
  /// The fields that have a time limit.
  package private(set) var expiring: [String: FieldExpiry] = [:]
  /// The stored names by alias.
  package private(set) var aliases: [String: String] = [:]
  /// What is wrong with the aliases, phrased to follow `alias.`; nil: nothing.
  package private(set) var aliasFault: String?
  /// The fields that are lists, in no particular order.
  package private(set) var lists: Set<String> = []

  /// Makes the rules of a model without a description: every field is free.
  package init() {}

  /// Parses a description. Throws the location that violates protocol.md §8.
  /// - Parameter isNew: whether it is being proposed. An older hub may have stored other members under the names of
  ///   today's; they have no effect.
  package init(describedBy value: UnsafeRawBufferPointer, isNew: Bool = true) throws(DescriptionError) {
    let json: JSON
    do throws(WireError) {
      json = try JSON(parsing: value)
    } catch {
      throw DescriptionError("", "is \(JSON.fault(in: value) ?? error.problem)")
    }
    guard case .object = json else { throw DescriptionError("", "is \(json.kind), not an object") }
    if isNew { try JSON.checkRelease(json["release"], at: "release") }
    let fields = json["fields"] ?? .object([])
    guard case .object(let members) = fields else {
      throw DescriptionError("fields", "is \(fields.kind), not an object")
    }
    for member in members {
      let path = "fields.\(JSON.string(member.name).short.dropFirst().dropLast())"
      guard (try? Names.checkField(member.name)) != nil, !member.name.contains("@") else {
        throw DescriptionError(path, "is not the name of a field that can be described")
      }
      let rule = try FieldRule(describedBy: member.value, at: path)
      if isNew { try JSON.checkReleases(of: member.value, at: path) }
      // Of two members with the same name the later counts.
      indices[member.name] = nil
      open.remove(member.name)
      expiring[member.name] = rule.expiry
      lists.remove(member.name)
      if rule.isList { lists.insert(member.name) }
      guard !rule.isEmpty else {
        open.insert(member.name)
        continue
      }
      indices[member.name] = rules.count
      rules.append(rule)
    }
    guard expiring.count <= FieldExpiry.mostFields else {
      throw DescriptionError("fields", "has \(expiring.count) that expire; \(FieldExpiry.mostFields) may")
    }
    if let aliases = json["alias"] { try readAliases(aliases, isNew: isNew) }
  }

  /// Reads the aliases. Those that cannot be are left out, and told in `aliasFault`.
  private mutating func readAliases(_ json: JSON, isNew: Bool) throws(DescriptionError) {
    guard case .object(let members) = json else {
      if isNew { throw DescriptionError("alias", "is \(json.kind), not an object") }
      return
    }
    func isFieldName(_ name: String) -> Bool { (try? Names.checkField(name)) != nil && !name.hasPrefix("@") }
    for member in members {
      let path = "alias.\(JSON.string(member.name).short.dropFirst().dropLast())"
      guard isFieldName(member.name), case .string(let stored) = member.value, isFieldName(stored) else {
        if isNew { throw DescriptionError(path, "is not the name of a field for the name of another") }
        continue
      }
      aliases[member.name] = stored
    }
    for (alias, stored) in aliases.sorted(by: { $0.key < $1.key }) {
      if open.contains(alias) || indices[alias] != nil {
        aliasFault = "\(alias) is the name of a described field, and cannot be another name of \(stored)"
        aliases[alias] = nil
      } else if let end = aliases[stored] {
        aliasFault = "\(alias) names \(stored), which is itself another name, of \(end): name the stored field"
        aliases[alias] = nil
      }
    }
    for alias in aliases.keys {
      indices[alias] = rules.count
      rules.append(.alias)
    }
  }

  /// Whether no described field restricts its values.
  package var isEmpty: Bool { indices.isEmpty }

  /// The number of described fields.
  package var count: Int { indices.count - aliases.count + open.count }
  /// Whether a field is described.
  package func describes(_ field: String) -> Bool {
    open.contains(field) || indices[field] != nil && aliases[field] == nil
  }

  /// The index of a field's rule; nil if the field is free. The rule of an element is that of its list.
  package func index(of field: String) -> Int? {
    if let index = indices[field] { return index }
    guard !lists.isEmpty, let list = ListElements.parts(of: field)?.list, lists.contains(String(list)) else {
      return nil
    }
    return indices[String(list)]
  }

  /// The rule at an index.
  package subscript(index: Int) -> FieldRule { rules[index] }
}

/// A field that a program declares differently from its model's description, for good.
package struct RuleDifference: Sendable, Hashable, CustomStringConvertible {
  /// The field's name.
  package var field: String
  /// What the program declares, in words.
  package var declared: String
  /// What the model's description says, in words.
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
  init(describedBy json: JSON, at path: String) throws(DescriptionError) {
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
    let values = FieldRule(
      type: type, minimum: minimum, maximum: maximum, maximumLength: length, choices: choices,
      isEphemeral: isEphemeral, isList: isList)
    let expiry = try FieldExpiry(describedBy: json, besides: values, at: path)
    self.init(
      type: type, minimum: minimum, maximum: maximum, maximumLength: length, choices: choices,
      isEphemeral: isEphemeral, isList: isList, expiry: expiry)
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
  /// Checks a release: a whole number of at least 0.
  fileprivate static func checkRelease(_ json: JSON?, at path: String) throws(DescriptionError) {
    guard let json else { return }
    guard let number = json.int64, number >= 0 else {
      throw DescriptionError(path, "is \(json.short), not a whole number of at least 0")
    }
  }

  /// Checks the releases of a described field, and its former form.
  fileprivate static func checkReleases(of field: JSON, at path: String) throws(DescriptionError) {
    if let json = field["formerly"], FieldForm(json) == nil {
      throw DescriptionError("\(path).formerly", "is \(json.short), not an object with a type and perhaps a unit")
    }
    try checkRelease(field["release"], at: "\(path).release")
    guard let releases = field["releases"] else { return }
    guard case .object(let members) = releases else {
      throw DescriptionError("\(path).releases", "is \(releases.kind), not an object")
    }
    for member in members { try checkRelease(member.value, at: "\(path).releases.\(member.name)") }
  }

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
