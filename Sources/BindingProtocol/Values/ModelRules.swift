/// What a model's description (protocol.md §8) asks of its fields' values: read once, when the description is decided.
public struct ModelRules: Sendable {
  /// Only fields that do not take every value have one.
  private var rules: [FieldRule] = []
  private var indices: [String: Int] = [:]
  /// Fields that are described and take every value.
  private var open: Set<String> = []

  /// Rules of a model without a description: every field is free.
  public init() {}

  /// Reads a description's text. Throws with the place that is not as protocol.md §8 says.
  public init(describedBy value: UnsafeRawBufferPointer) throws(DescriptionFault) {
    let json: JSON
    do throws(WireError) {
      json = try JSON(parsing: value)
    } catch {
      throw DescriptionFault("", "is \(JSON.fault(in: value) ?? error.problem)")
    }
    guard case .object = json else { throw DescriptionFault("", "is \(json.kind), not an object") }
    guard let fields = json["fields"] else { return }
    guard case .object(let members) = fields else {
      throw DescriptionFault("fields", "is \(fields.kind), not an object")
    }
    for member in members {
      let path = "fields.\(JSON.string(member.name).short.dropFirst().dropLast())"
      guard (try? Names.checkField(member.name)) != nil, !member.name.hasPrefix("@") else {
        throw DescriptionFault(path, "is no name of a field that can be described")
      }
      let rule = try FieldRule(describedBy: member.value, at: path)
      // Of two members with one name the later counts.
      indices[member.name] = nil
      open.remove(member.name)
      guard !rule.isEmpty else {
        open.insert(member.name)
        continue
      }
      indices[member.name] = rules.count
      rules.append(rule)
    }
  }

  public var isEmpty: Bool { indices.isEmpty }

  /// How many fields are described, and whether one is.
  public var count: Int { indices.count + open.count }
  public func describes(_ field: String) -> Bool { indices[field] != nil || open.contains(field) }

  /// Where a field's rule stands; nil if the field is free.
  public func index(of field: String) -> Int? { indices[field] }

  /// Where two descriptions name a field and let it have other values, in the order of the names.
  public func differences(from described: ModelRules) -> [RuleDifference] {
    (Array(indices.keys) + open).sorted().compactMap { field in
      guard let mine = rule(of: field), let theirs = described.rule(of: field), !mine.allowsSame(as: theirs) else {
        return nil
      }
      return RuleDifference(field: field, declared: mine.allowance, described: theirs.allowance)
    }
  }

  /// The rule of a field, also of one that is described as free; nil if it is not described.
  private func rule(of field: String) -> FieldRule? {
    indices[field].map { rules[$0] } ?? (open.contains(field) ? FieldRule(type: .any) : nil)
  }

  /// The rule at a place.
  public subscript(index: Int) -> FieldRule { rules[index] }
}

/// A field that a program declares otherwise than its model's description says: what the one allows, the other may
/// refuse.
public struct RuleDifference: Sendable, Hashable, CustomStringConvertible {
  public var field: String
  /// What each of the two takes, in words.
  public var declared: String
  public var described: String

  public init(field: String, declared: String, described: String) {
    self.field = field
    self.declared = declared
    self.described = described
  }

  public var description: String { "\(field) is declared as \(declared), and described as \(described)" }
}

extension [RuleDifference] {
  /// In a line: the first few, and how many there are.
  public var words: String {
    prefix(5).map(\.description).joined(separator: "; ") + (count > 5 ? "; … (\(count) fields in all)" : "")
  }
}

/// What is wrong with a description, and where.
public struct DescriptionFault: Error, Sendable, Equatable, CustomStringConvertible {
  /// The members' names from the outside in, joined by dots; empty for the whole.
  public let path: String
  public let problem: String

  init(_ path: String, _ problem: String) {
    self.path = path
    self.problem = problem
  }

  public var description: String { path.isEmpty ? problem : "\(path) \(problem)" }
}

extension FieldRule {
  /// The rule of one described field. Members that are not known are passed over, for a newer peer may have written
  /// them; `default` need not fit, since it may stand for nothing chosen yet.
  fileprivate init(describedBy json: JSON, at path: String) throws(DescriptionFault) {
    guard case .object = json else { throw DescriptionFault(path, "is \(json.kind), not an object") }
    let type = try FieldRule.type(json["type"], at: "\(path).type")
    let minimum = try FieldRule.bound(json["min"], of: type, at: "\(path).min")
    let maximum = try FieldRule.bound(json["max"], of: type, at: "\(path).max")
    if let least = minimum.flatMap(WireNumber.init), let most = maximum.flatMap(WireNumber.init),
      most.isLess(than: least)
    {
      throw DescriptionFault("\(path).min", "is above max: \(least) and \(most)")
    }
    if let step = json["step"], !((WireNumber(step)?.double ?? 0) > 0) {
      throw DescriptionFault("\(path).step", "is \(step.short), not a number above 0")
    }
    var length: Int?
    if let json = json["maxLength"] {
      guard let number = json.int64, number >= 0 else {
        throw DescriptionFault("\(path).maxLength", "is \(json.short), not a whole number from 0 on")
      }
      length = Int(clamping: number)
    }
    var choices: [JSON] = []
    if let json = json["choices"] {
      guard case .array(let values) = json else {
        throw DescriptionFault("\(path).choices", "is \(json.kind), not an array")
      }
      choices = values
    }
    for name in ["unit", "policy", "pattern"] {
      guard let json = json[name] else { continue }
      guard case .string = json else { throw DescriptionFault("\(path).\(name)", "is \(json.kind), not a string") }
    }
    let isEphemeral = json["ephemeral"] ?? .bool(false)
    guard case .bool(let isEphemeral) = isEphemeral else {
      throw DescriptionFault("\(path).ephemeral", "is \(isEphemeral.kind), not a boolean")
    }
    self.init(
      type: type, minimum: minimum, maximum: maximum, maximumLength: length, choices: choices,
      isEphemeral: isEphemeral)
  }

  private static func type(_ json: JSON?, at path: String) throws(DescriptionFault) -> FieldType {
    guard let json else { return .any }
    guard case .string(let word) = json else { throw DescriptionFault(path, "is \(json.kind), not a string") }
    guard let type = FieldType(rawValue: word) else {
      let words = FieldType.allCases.map(\.rawValue).joined(separator: ", ")
      throw DescriptionFault(path, "is \(json.short), not one of \(words)")
    }
    return type
  }

  /// A bound is a number; that of a string may be a string, which is for peers.
  private static func bound(_ json: JSON?, of type: FieldType, at path: String) throws(DescriptionFault) -> JSON? {
    guard let json else { return nil }
    if case .string = json, type == .string { return json }
    guard let number = WireNumber(json), !number.double.isNaN else {
      throw DescriptionFault(path, "is \(json.short), not a number")
    }
    return json
  }
}

extension JSON {
  /// What it is, with its article.
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
