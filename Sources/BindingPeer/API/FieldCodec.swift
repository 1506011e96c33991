public import BindingProtocol

/// The conversion of one field's Swift value to JSON and back.
///
/// `FieldCodable` types convert themselves; any other `Codable` type uses Foundation's coders
/// (`FieldCodec+Codable.swift`).
public struct FieldCodec<Value: Sendable>: Sendable {
  /// The JSON type that the description names.
  public let type: FieldType
  let encode: @Sendable (Value) throws(FieldError) -> FieldValue
  let decode: @Sendable (FieldValue) -> Value?

  /// Creates a codec. `decode` returns nil for a value that does not fit.
  public init(
    type: FieldType, encode: @escaping @Sendable (Value) throws(FieldError) -> FieldValue,
    decode: @escaping @Sendable (FieldValue) -> Value?
  ) {
    self.type = type
    self.encode = encode
    self.decode = decode
  }
}

extension FieldCodec where Value: FieldCodable {
  /// The codec of a `FieldCodable` type.
  public static var direct: FieldCodec {
    FieldCodec(type: Value.fieldType) { value throws(FieldError) in
      FieldValue(json: value.fieldJSON)
    } decode: { value in
      (try? value.json).flatMap(Value.init(fieldJSON:))
    }
  }
}

/// Why a value cannot be written to a field.
public enum FieldError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The declaration does not allow the value; nothing was written. The problem is in the hub's words: `7 is not in
  /// 0...1`.
  case doesNotFit(field: String, problem: String)
  /// The value cannot be written as JSON.
  case notEncodable(field: String, problem: String)
  /// The model was not shared through a peer, or was left.
  case notShared(field: String)
  /// The field has a value that this program's type cannot read, and the write would build on it.
  case cannotShow(field: String, value: FieldValue)
  /// An ephemeral field was assigned in a `change {}`, whose fields are one commit of the stored model.
  case mixed(field: String)
  /// The array cannot be written to the list.
  case list(field: String, ListError)

  public var description: String {
    switch self {
    case .doesNotFit(let field, let problem): "\(field): \(problem)"
    case .notEncodable(let field, let problem): "\(field) cannot be encoded as JSON: \(problem)"
    case .notShared(let field): "\(field) belongs to no shared model: share the model with Peer.share(_:id:) first"
    case .cannotShow(let field, let value):
      "\(field) has a value that this program cannot read: \(PrintedText.escaped(value.description, limit: 200)); "
        + "assign a value, or run the release that wrote it"
    case .list(let field, let fault): "\(field): \(fault)"
    case .mixed(let field): "\(field) is ephemeral and cannot be part of a change; assign it outside the change"
    }
  }
}
