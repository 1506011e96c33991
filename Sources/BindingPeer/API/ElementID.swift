import Foundation

/// The text of an element's id, which is part of the name of its field.
enum ElementID {
  /// The id as text: a `String` itself, an integer in digits, a `UUID` in capitals, another type as its raw value or
  /// its description; nil for nil.
  static func text(_ id: some Hashable) -> String? {
    switch id {
    case let text as String: return text
    case let number as any BinaryInteger: return "\(number)"
    case let id as UUID: return id.uuidString
    case let raw as any RawRepresentable: return text(of: raw)
    case let value as any LosslessStringConvertible: return value.description
    default: return nil
    }
  }

  private static func text<Raw: RawRepresentable>(of raw: Raw) -> String? {
    (raw.rawValue as? any Hashable).flatMap { text($0) }
  }

  /// Whether ids of a type have a text.
  static func isSupported(_ type: Any.Type) -> Bool {
    if let optional = type as? any OptionalType.Type { return isSupported(optional.wrapped) }
    return type is any BinaryInteger.Type || type is UUID.Type || type is any RawRepresentable.Type
      || type is any LosslessStringConvertible.Type
  }

  /// Why a list cannot have elements with ids of a type, phrased to follow the field's name.
  static func problem(of type: Any.Type) -> String {
    "is a list whose elements have an id of the type \(type); it must be a String, an integer, a UUID, or a "
      + "RawRepresentable or LosslessStringConvertible type"
  }
}

private protocol OptionalType {
  static var wrapped: Any.Type { get }
}

extension Optional: OptionalType {
  static var wrapped: Any.Type { Wrapped.self }
}
