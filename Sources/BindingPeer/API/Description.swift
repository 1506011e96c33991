public import BindingProtocol

/// The declaration of one field (protocol.md §8). Members that this version does not know are kept unchanged.
public struct FieldDescription: Sendable, Equatable {
  /// The JSON type of the field's values.
  public var type: FieldType
  /// The least value; nil: no limit.
  public var minimum: JSON?
  /// The greatest value; nil: no limit.
  public var maximum: JSON?
  /// The only values that the field takes; empty: any.
  public var choices: [JSON]
  /// The longest text, in characters as a reader counts them (`String.count`); nil: no limit.
  public var maximumLength: Int?
  /// The unit of the field's numbers, for people; nil: none.
  public var unit: String?
  /// The value that the field shows before any is written; nil: none.
  public var defaultValue: JSON?
  /// The conflict policy of the peers that declared the field, by name; nil if the later write wins.
  public var policy: String?
  /// Whether the field belongs to the model's ephemeral part.
  public var isEphemeral = false
  var others: [JSON.Member] = []

  /// Creates a description; the defaults allow any value.
  public init(
    type: FieldType = .any, minimum: JSON? = nil, maximum: JSON? = nil, choices: [JSON] = [], maximumLength: Int? = nil,
    unit: String? = nil, defaultValue: JSON? = nil
  ) {
    self.type = type
    self.minimum = minimum
    self.maximum = maximum
    self.choices = choices
    self.maximumLength = maximumLength
    self.unit = unit
    self.defaultValue = defaultValue
  }

  /// The values that the field takes.
  var rule: FieldRule {
    FieldRule(
      type: type, minimum: minimum, maximum: maximum, maximumLength: maximumLength, choices: choices,
      isEphemeral: isEphemeral, isList: policy == FieldRule.listPolicy)
  }

  /// Why `value` does not fit, in the hub's words, to be put after the field's name: `7 is not in 0...1`; nil if it
  /// fits.
  public func problem(with value: JSON) -> String? { rule.violation(value).map { rule.words($0, of: value) } }

  /// What the field takes, in words that complete "takes …", if `value` does not fit; nil if it fits.
  public func allowed(insteadOf value: JSON) -> String? {
    switch rule.violation(value) {
    case nil: return nil
    case .type: return type.words
    case .choice: return "one of \(choices.map(\.description).joined(separator: ", "))"
    case .range: return "\(minimum?.description ?? "…")...\(maximum?.description ?? "…")"
    case .length: return "at most \(maximumLength ?? 0) characters"
    }
  }
}

/// The declarations of a model's fields: the value of its `@description` field.
public struct ModelDescription: Sendable, Equatable {
  /// The described fields by their names on the wire.
  public var fields: [String: FieldDescription]

  /// Creates a description of these fields.
  public init(fields: [String: FieldDescription] = [:]) { self.fields = fields }

  /// Reads a description. Parts of an unexpected form are skipped, since a newer peer may have written them.
  public init(_ json: JSON) {
    fields = [:]
    guard case .object(let members)? = json["fields"] else { return }
    for member in members { fields[member.name] = FieldDescription(member.value) }
  }

  /// Whether a field may have this value; a field without a description may have any.
  func admits(_ value: FieldValue?, for field: String) -> Bool {
    guard let description = fields[field], let json = value?.jsonIfValid else { return true }
    return description.allowed(insteadOf: json) == nil
  }

  /// The description as JSON.
  public var json: JSON {
    .object([
      .init(
        "fields",
        .object(fields.sorted { $0.key < $1.key }.map { .init($0.key, $0.value.json) }))
    ])
  }
}

extension FieldDescription {
  init(_ json: JSON) {
    self.init()
    guard case .object(let members) = json else { return }
    for member in members {
      switch (member.name, member.value) {
      case ("type", .string(let name)): type = FieldType(rawValue: name) ?? .any
      case ("min", let value): minimum = value
      case ("max", let value): maximum = value
      case ("choices", .array(let values)): choices = values
      case ("maxLength", let value) where value.int64 != nil: maximumLength = value.int64.map { Int(clamping: $0) }
      case ("unit", .string(let text)): unit = text
      case ("default", let value): defaultValue = value
      case ("policy", .string(let name)): policy = name
      case ("ephemeral", .bool(let flag)): isEphemeral = flag
      default: others.append(member)
      }
    }
  }

  var json: JSON {
    var members: [JSON.Member] = [.init("type", .string(type.rawValue))]
    if let minimum { members.append(.init("min", minimum)) }
    if let maximum { members.append(.init("max", maximum)) }
    if !choices.isEmpty { members.append(.init("choices", .array(choices))) }
    if let maximumLength { members.append(.init("maxLength", .integer(Int64(maximumLength)))) }
    if let unit { members.append(.init("unit", .string(unit))) }
    if let defaultValue { members.append(.init("default", defaultValue)) }
    if let policy { members.append(.init("policy", .string(policy))) }
    if isEphemeral { members.append(.init("ephemeral", .bool(true))) }
    return .object(members + others)
  }
}
