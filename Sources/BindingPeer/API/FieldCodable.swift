public import BindingProtocol

/// A value that a field can hold, with its conversion to JSON and back.
///
/// The standard types conform. A `Codable` and `Equatable` type of the program needs no conformance, `@Field` takes
/// it as it is: write `enum Mood: String, Codable`.
public protocol FieldCodable: Sendable {
  /// The JSON type that the description shows to other peers, pages and tools.
  static var fieldType: FieldType { get }
  /// The only values of the type; empty for any. An enum that is `CaseIterable` has its cases.
  static var fieldChoices: [JSON] { get }
  /// The value as JSON.
  var fieldJSON: JSON { get }
  /// Creates a value from `json`; nil if it does not fit this type.
  init?(fieldJSON json: JSON)
}

extension FieldCodable {
  /// The cases of a `CaseIterable` type; empty for others.
  public static var fieldChoices: [JSON] { ListedCases.of(Self.self) { $0.fieldJSON } }
}

/// The cases of a `CaseIterable` type.
enum ListedCases {
  /// Longer lists are not described, since every peer reads the description.
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
  /// JSON's `boolean`.
  public static var fieldType: FieldType { .boolean }
  /// `true` or `false`.
  public var fieldJSON: JSON { .bool(self) }
  /// nil unless `json` is a boolean.
  public init?(fieldJSON json: JSON) {
    guard case .bool(let value) = json else { return nil }
    self = value
  }
}

extension String: FieldCodable {
  /// JSON's `string`.
  public static var fieldType: FieldType { .string }
  /// The text.
  public var fieldJSON: JSON { .string(self) }
  /// nil unless `json` is a string.
  public init?(fieldJSON json: JSON) {
    guard case .string(let value) = json else { return nil }
    self = value
  }
}

extension Double: FieldCodable {
  /// JSON's `number`.
  public static var fieldType: FieldType { .number }
  /// The number.
  public var fieldJSON: JSON { .number(self) }
  /// nil unless `json` is a number.
  public init?(fieldJSON json: JSON) {
    switch json {
    case .number(let value): self = value
    case .integer(let value): self = Double(value)
    default: return nil
    }
  }
}

extension Float: FieldCodable {
  /// JSON's `number`.
  public static var fieldType: FieldType { .number }
  /// The shortest decimal that gives this `Float` back, so that 0.1 stays 0.1 for every reader.
  public var fieldJSON: JSON { .number(Double(description) ?? Double(self)) }
  /// The nearest `Float`; nil unless `json` is a number.
  public init?(fieldJSON json: JSON) {
    guard let value = Double(fieldJSON: json) else { return nil }
    self = Float(value)
  }
}

extension FieldCodable where Self: FixedWidthInteger {
  /// A number without a fraction.
  public static var fieldType: FieldType { .integer }
  /// The number; beyond `Int64.max` (only `UInt64` and `UInt` reach it) text in the `$int` escape.
  public var fieldJSON: JSON {
    Int64(exactly: self).map(JSON.integer) ?? .object([.init("$int", .string(String(self)))])
  }
  /// nil unless `json` is a whole number in the type's range, or one in the `$int` escape.
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
  /// Any JSON, since nil is `null`.
  public static var fieldType: FieldType { .any }
  /// The choices of the wrapped type and `null`; empty for any.
  public static var fieldChoices: [JSON] { Wrapped.fieldChoices.isEmpty ? [] : Wrapped.fieldChoices + [.null] }
  /// `null` for nil.
  public var fieldJSON: JSON { self?.fieldJSON ?? .null }
  /// nil if `json` is neither `null` nor a wrapped value.
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
  /// JSON's `array`.
  public static var fieldType: FieldType { .array }
  /// The elements as JSON, in order.
  public var fieldJSON: JSON { .array(map(\.fieldJSON)) }
  /// nil unless `json` is an array whose elements all fit.
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
  /// JSON's `object`.
  public static var fieldType: FieldType { .object }
  /// An object with sorted names, so that equal dictionaries have equal bytes.
  public var fieldJSON: JSON {
    .object(sorted { $0.key < $1.key }.map { .init($0.key, $0.value.fieldJSON) })
  }
  /// nil unless `json` is an object whose values all fit.
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
  /// The JSON type of the raw value.
  public static var fieldType: FieldType { RawValue.fieldType }
  /// The raw value as JSON.
  public var fieldJSON: JSON { rawValue.fieldJSON }
  /// nil unless `json` is the raw value of a case.
  public init?(fieldJSON json: JSON) {
    guard let raw = RawValue(fieldJSON: json) else { return nil }
    self.init(rawValue: raw)
  }
}

extension JSON: FieldCodable {
  /// Any JSON type.
  public static var fieldType: FieldType { .any }
  /// The value itself.
  public var fieldJSON: JSON { self }
  /// Any JSON fits.
  public init?(fieldJSON json: JSON) { self = json }
}
