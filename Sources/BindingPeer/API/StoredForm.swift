public import BindingModel
import BindingProtocol

extension Field {
  /// The type in which an earlier release stores the field, with the mapping of its values: the field's own type is
  /// another one.
  /// ```swift
  /// @Field(
  ///   0...1, was: "brightness",
  ///   stored: .mapped(from: Int.self, unit: "%", forward: { Double($0) / 100 }, back: { Int(($0 * 100).rounded()) }))
  /// var level = 0.3
  /// ```
  /// While the model's description has the former type, the program reads and writes values of that type. What the
  /// mapping loses is never written back: only a write whose stored value differs is one. `replaceDescription()`
  /// stores all values in the new type, once and for all programs. A new model is stored in the new type.
  public struct StoredForm: Sendable {
    let form: FieldForm
    let read: @Sendable (FieldValue) throws(FieldError) -> Value
    let write: @Sendable (Value) throws(FieldError) -> FieldValue

    private init<Old: Sendable>(
      _ form: FieldForm, _ codec: FieldCodec<Old>, forward: @escaping @Sendable (Old) throws -> Value,
      back: @escaping @Sendable (Value) throws -> Old
    ) {
      self.form = form
      read = { stored throws(FieldError) in
        guard form.type.isAny || stored.jsonIfValid.map(form.type.admits) == true, let old = codec.decode(stored) else {
          throw .notMapped("is not \(form.type.isAny ? "a value of \(Old.self)" : form.type.words)")
        }
        do { return try forward(old) } catch { throw .notMapped("cannot be mapped: \(FieldError.words(error))") }
      }
      write = { value throws(FieldError) in
        let old: Old
        do { old = try back(value) } catch { throw .notMapped("cannot be stored: \(FieldError.words(error))") }
        return try codec.encode(old)
      }
    }

    /// A form of a standard type.
    /// - Parameters:
    ///   - from: the type in which earlier releases store the field.
    ///   - unit: the unit that they declare. Where the JSON type stays the same, both units are needed, and differ.
    ///   - forward: the value for a stored one. If it throws, the field's status is `cannotShow`.
    ///   - back: the stored value for a value. If it throws, the write is refused with the error's words.
    ///
    /// Both closures only compute: they run on any thread, perhaps more than once.
    public static func mapped<Old: FieldCodable>(
      from: Old.Type, unit: String? = nil, forward: @escaping @Sendable (Old) throws -> Value,
      back: @escaping @Sendable (Value) throws -> Old
    ) -> StoredForm {
      StoredForm(FieldForm(type: Old.fieldType, unit: unit), .direct, forward: forward, back: back)
    }

    /// A form of a `Codable` type of the program; see the one of a standard type.
    @_disfavoredOverload
    public static func mapped<Old: Codable & Sendable>(
      from: Old.Type, unit: String? = nil, forward: @escaping @Sendable (Old) throws -> Value,
      back: @escaping @Sendable (Value) throws -> Old
    ) -> StoredForm {
      let codec = FieldCodec<Old>.codable
      let (type, _) = codec.described(Old.self)
      return StoredForm(FieldForm(type: type, unit: unit), codec, forward: forward, back: back)
    }

    /// A form by a mapping, whose source is the stored value and whose target the field's.
    /// - Parameters:
    ///   - mapping: maps a stored value forward, and a written one back.
    ///   - unit: the unit that earlier releases declare.
    public static func mapped<Conversion: Mapping>(by mapping: Conversion, unit: String? = nil) -> StoredForm
    where Conversion.Source: FieldCodable, Conversion.Target == Value {
      mapped(
        from: Conversion.Source.self, unit: unit, forward: { mapping.forward($0) }, back: { try mapping.back($0) })
    }
  }
}

extension FieldCodec {
  /// The type and the choices that a description names for a `Codable` type.
  func described(_ type: Value.Type) -> (type: FieldType, choices: [JSON]) {
    let choices = ListedCases.of(Value.self) { (try? encode($0))?.jsonIfValid }
    let common = [FieldType.string, .integer].first { type in !choices.isEmpty && choices.allSatisfy(type.admits) }
    return (common ?? self.type, choices)
  }
}

extension FieldType {
  fileprivate var isAny: Bool { self == .any }
}

extension FieldError {
  /// A problem of a mapping, to be put after the value.
  fileprivate static func notMapped(_ problem: String) -> FieldError { .doesNotFit(field: "", problem: problem) }

  /// The problem alone, without the field.
  var problem: String {
    switch self {
    case .doesNotFit(_, let problem), .notEncodable(_, let problem): problem
    default: description
    }
  }

  fileprivate static func words(_ error: any Error) -> String { (error as? BindingError)?.message ?? "\(error)" }
}
