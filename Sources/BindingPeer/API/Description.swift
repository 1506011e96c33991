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
  /// How long a value other than the default holds without a renewal, in whole milliseconds; nil: for ever.
  public var expires: Duration?
  /// For forms: the name that people see; nil: the field's name.
  public var title: String?
  /// For forms: a sentence about the field; nil: none.
  public var help: String?
  /// For forms: the place among the fields, in ascending order; nil: last, by name.
  public var order: Int?
  /// For forms: fields of one group stand together; nil: none.
  public var group: String?
  /// For forms: the kind of control, by name; nil: by the type.
  public var widget: String?
  /// For forms: the step of a control for numbers; nil: any.
  public var step: JSON?
  /// For forms: the field has no control. This is no right: every writer may still set it.
  public var isReadOnly = false
  /// For forms and terminals: the value is hidden on screens. This is no right: every reader gets the value.
  public var isSecret = false
  /// The form from which a program has mapped the values (`Field.StoredForm`); nil: they were not mapped.
  package var formerly: FieldForm?
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

  /// The form of the values.
  var form: DescribedForm { DescribedForm(FieldForm(type: type, unit: unit), from: formerly) }

  /// The values that the field takes.
  var rule: FieldRule {
    FieldRule(
      type: type, minimum: minimum, maximum: maximum, maximumLength: maximumLength, choices: choices,
      isEphemeral: isEphemeral, isList: policy == FieldRule.listPolicy,
      expiry: expires.map {
        FieldExpiry(
          milliseconds: UInt64(clamping: $0.wholeMilliseconds), fallback: defaultValue.map { FieldValue(json: $0) })
      })
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
  /// The described fields by the names under which they are stored.
  public var fields: [String: FieldDescription]
  /// The highest release of a program that has shared the model (`Model.release`).
  public var release = 0
  /// The stored names of renamed fields, by their present names: `["level": "brightness"]`.
  public var aliases: [String: String] = [:]
  private var others: [JSON.Member] = []

  /// Creates a description of these fields.
  public init(fields: [String: FieldDescription] = [:]) { self.fields = fields }

  /// Reads a description. Parts of an unexpected form are skipped, since a newer peer may have written them.
  public init(_ json: JSON) {
    fields = [:]
    for member in json.members ?? [] {
      switch (member.name, member.value) {
      case ("fields", _): break
      case ("release", let value) where (value.int64 ?? -1) >= 0: release = Int(clamping: value.int64 ?? 0)
      case ("alias", .object(let members)):
        for member in members { aliases[member.name] = member.value.string }
      default: others.append(member)
      }
    }
    guard case .object(let members)? = json["fields"] else { return }
    for member in members { fields[member.name] = FieldDescription(member.value) }
  }

  /// The name under which a field is stored, given that name or an alias.
  public func storedName(of field: String) -> String { aliases[field] ?? field }

  /// The fields as forms show them: by `order`, those without one last, by name.
  public var ordered: [(name: String, field: FieldDescription)] {
    fields.sorted { ($0.value.order ?? .max, $0.key) < ($1.value.order ?? .max, $1.key) }.map { ($0.key, $0.value) }
  }

  /// Whether a field may have this value; a field without a description may have any.
  func admits(_ value: FieldValue?, for field: String) -> Bool {
    guard let description = fields[field], let json = value?.jsonIfValid else { return true }
    return description.allowed(insteadOf: json) == nil
  }

  /// The description as JSON.
  public var json: JSON {
    var members = [
      JSON.Member("fields", .object(fields.sorted { $0.key < $1.key }.map { .init($0.key, $0.value.json) }))
    ]
    if !aliases.isEmpty {
      let sorted = aliases.sorted { $0.key < $1.key }
      members.append(.init("alias", .object(sorted.map { .init($0.key, .string($0.value)) })))
    }
    if release > 0 { members.append(.init("release", .integer(Int64(release)))) }
    return .object(members + others)
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
      case ("expires", let value) where value.int64.map(FieldExpiry.range.contains) == true:
        expires = value.int64.map { .milliseconds($0) }
      case ("title", .string(let text)): title = text
      case ("help", .string(let text)): help = text
      case ("order", let value) where value.int64 != nil: order = value.int64.map { Int(clamping: $0) }
      case ("group", .string(let text)): group = text
      case ("widget", .string(let text)): widget = text
      case ("step", let value): step = value
      case ("readOnly", .bool(let flag)): isReadOnly = flag
      case ("secret", .bool(let flag)): isSecret = flag
      case ("formerly", let value) where FieldForm(value) != nil: formerly = FieldForm(value)
      default: others.append(member)
      }
    }
  }

  package var json: JSON {
    var members: [JSON.Member] = [.init("type", .string(type.rawValue))]
    if let minimum { members.append(.init("min", minimum)) }
    if let maximum { members.append(.init("max", maximum)) }
    if !choices.isEmpty { members.append(.init("choices", .array(choices))) }
    if let maximumLength { members.append(.init("maxLength", .integer(Int64(maximumLength)))) }
    if let unit { members.append(.init("unit", .string(unit))) }
    if let defaultValue { members.append(.init("default", defaultValue)) }
    if let policy { members.append(.init("policy", .string(policy))) }
    if isEphemeral { members.append(.init("ephemeral", .bool(true))) }
    if let expires { members.append(.init("expires", .integer(Int64(clamping: expires.wholeMilliseconds)))) }
    for (name, text) in [("title", title), ("help", help), ("group", group), ("widget", widget)] {
      if let text { members.append(.init(name, .string(text))) }
    }
    if let order { members.append(.init("order", .integer(Int64(order)))) }
    if let step { members.append(.init("step", step)) }
    if isReadOnly { members.append(.init("readOnly", .bool(true))) }
    if isSecret { members.append(.init("secret", .bool(true))) }
    if let formerly { members.append(.init("formerly", formerly.json)) }
    return .object(members + others)
  }
}
