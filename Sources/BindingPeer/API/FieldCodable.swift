public import BindingProtocol

/// A value that a field can hold: how it becomes JSON and comes back.
///
/// The standard types conform. A `Codable` and `Equatable` type of your own needs no conformance, `@Field` takes it as
/// it is; so write `enum Mood: String, Codable`.
public protocol FieldCodable: Sendable {
  /// The JSON type that the description tells other peers, pages and tools.
  static var fieldType: FieldType { get }
  /// The only values that there are; empty for any. An enum that is `CaseIterable` has its cases.
  static var fieldChoices: [JSON] { get }
  /// The value as JSON.
  var fieldJSON: JSON { get }
  /// The value of `json`, or nil if it does not fit this type.
  init?(fieldJSON json: JSON)
}

extension FieldCodable {
  public static var fieldChoices: [JSON] { ListedCases.of(Self.self) { $0.fieldJSON } }
}

/// The cases of a type that lists them.
enum ListedCases {
  /// More are not described: a description is read by every peer.
  private static let most = 1_000

  static func of<Value>(_ type: Value.Type, encode: (Value) -> JSON?) -> [JSON] {
    (type as? any CaseIterable.Type).map { values(of: $0, encode) } ?? []
  }

  private static func values<Listed: CaseIterable, Value>(
    of type: Listed.Type, _ encode: (Value) -> JSON?
  ) -> [JSON] {
    var choices: [JSON] = []
    for listed in type.allCases {
      guard choices.count < most, let value = listed as? Value, let json = encode(value) else { return [] }
      choices.append(json)
    }
    return choices
  }
}

extension Bool: FieldCodable {
  public static var fieldType: FieldType { .boolean }
  public var fieldJSON: JSON { .bool(self) }
  public init?(fieldJSON json: JSON) {
    guard case .bool(let value) = json else { return nil }
    self = value
  }
}

extension String: FieldCodable {
  public static var fieldType: FieldType { .string }
  public var fieldJSON: JSON { .string(self) }
  public init?(fieldJSON json: JSON) {
    guard case .string(let value) = json else { return nil }
    self = value
  }
}

extension Double: FieldCodable {
  public static var fieldType: FieldType { .number }
  public var fieldJSON: JSON { .number(self) }
  public init?(fieldJSON json: JSON) {
    switch json {
    case .number(let value): self = value
    case .integer(let value): self = Double(value)
    default: return nil
    }
  }
}

extension Float: FieldCodable {
  public static var fieldType: FieldType { .number }
  /// Through the shortest decimal that gives this `Float` back, so that 0.1 stays 0.1 for every reader.
  public var fieldJSON: JSON { .number(Double(description) ?? Double(self)) }
  public init?(fieldJSON json: JSON) {
    guard let value = Double(fieldJSON: json) else { return nil }
    self = Float(value)
  }
}

extension FieldCodable where Self: FixedWidthInteger {
  public static var fieldType: FieldType { .integer }
  /// Values past `Int64.max` (only `UInt64` has them) become text in the `$int` escape.
  public var fieldJSON: JSON {
    Int64(exactly: self).map(JSON.integer) ?? .object([.init("$int", .string(String(self)))])
  }
  public init?(fieldJSON json: JSON) {
    switch json {
    case .integer(let value): self.init(exactly: value)
    case .number(let value): self.init(exactly: value)
    case .object(let members) where members.count == 1 && members[0].name == "$int":
      guard case .string(let digits) = members[0].value else { return nil }
      self.init(digits)
    default: return nil
    }
  }
}

extension Int: FieldCodable {}
extension Int8: FieldCodable {}
extension Int16: FieldCodable {}
extension Int32: FieldCodable {}
extension Int64: FieldCodable {}
extension UInt: FieldCodable {}
extension UInt8: FieldCodable {}
extension UInt16: FieldCodable {}
extension UInt32: FieldCodable {}
extension UInt64: FieldCodable {}

extension Optional: FieldCodable where Wrapped: FieldCodable {
  public static var fieldType: FieldType { .any }
  public static var fieldChoices: [JSON] { Wrapped.fieldChoices.isEmpty ? [] : Wrapped.fieldChoices + [.null] }
  public var fieldJSON: JSON { self?.fieldJSON ?? .null }
  public init?(fieldJSON json: JSON) {
    if case .null = json {
      self = .none
    } else if let wrapped = Wrapped(fieldJSON: json) {
      self = .some(wrapped)
    } else {
      return nil
    }
  }
}

extension Array: FieldCodable where Element: FieldCodable {
  public static var fieldType: FieldType { .array }
  public var fieldJSON: JSON { .array(map(\.fieldJSON)) }
  public init?(fieldJSON json: JSON) {
    guard case .array(let items) = json else { return nil }
    self.init()
    reserveCapacity(items.count)
    for item in items {
      guard let element = Element(fieldJSON: item) else { return nil }
      append(element)
    }
  }
}

extension Dictionary: FieldCodable where Key == String, Value: FieldCodable {
  public static var fieldType: FieldType { .object }
  /// Sorted by name, so that equal dictionaries are equal on the wire.
  public var fieldJSON: JSON {
    .object(sorted { $0.key < $1.key }.map { .init($0.key, $0.value.fieldJSON) })
  }
  public init?(fieldJSON json: JSON) {
    guard case .object(let members) = json else { return nil }
    self.init()
    for member in members {
      guard let value = Value(fieldJSON: member.value) else { return nil }
      self[member.name] = value
    }
  }
}

extension FieldCodable where Self: RawRepresentable, RawValue: FieldCodable {
  public static var fieldType: FieldType { RawValue.fieldType }
  public var fieldJSON: JSON { rawValue.fieldJSON }
  public init?(fieldJSON json: JSON) {
    guard let raw = RawValue(fieldJSON: json) else { return nil }
    self.init(rawValue: raw)
  }
}

extension JSON: FieldCodable {
  public static var fieldType: FieldType { .any }
  public var fieldJSON: JSON { self }
  public init?(fieldJSON json: JSON) { self = json }
}
