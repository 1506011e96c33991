import BindingProtocol

/// A field of a model: `@Field var level = 0.3`.
///
/// The declared value is the field's *default*: it shows before anything is known of the field, and the first peer to
/// share the model proposes it as a weak write, which yields to any real one. `level` reads and writes the shown
/// value; `$level` is the field itself (`SharedField`): observe it, bind it, update it, read its status.
///
/// Until the model is shared the field is a plain local value that can be observed. Reading and writing is safe on
/// any thread.
@propertyWrapper
public struct Field<Value: Sendable & Equatable>: Sendable {
  let cell: FieldCell<Value>

  /// The shown value: the local write until its commit arrives, else what the hub committed.
  ///
  /// An assignment that the declaration does not allow writes nothing: the value stays, and `$field.status` says why.
  ///
  /// Reads are tracked: `withObservationTracking`, `Observations { lamp.level }` and SwiftUI views are notified on
  /// the model's lane when another value shows, and `Derived { lamp.level + 1 }` follows it.
  public var wrappedValue: Value {
    get { cell.value }
    nonmutating set { cell.assign(newValue) }
    // A change in place knows from what it began, which tells the least change of a list.
    nonmutating _modify {
      let base = cell.list?.base
      var value = cell.value(over: base)
      defer { cell.assign(value, over: base) }
      yield &value
    }
  }

  /// The field itself: `$level`.
  public var projectedValue: SharedField<Value> { SharedField(cell: cell) }
}

extension Field where Value: FieldCodable {
  /// Declares a field:
  /// ```swift
  /// @Field var on = false
  /// @Field(unit: "lm") var brightness = 800
  /// @Field(choices: ["warm", "cold"]) var light = "warm"
  /// @Field("colour", policy: .compareAndSet) var color = "red"
  /// ```
  /// A value that is not one of the choices is refused, here and by the hub: `lamp.light: "blue" is not one of …`.
  /// - Parameters:
  ///   - wrappedValue: the default.
  ///   - name: its name on the wire, if it is not the property's.
  ///   - unit: the unit of its numbers, for people (`"%"`, `"ms"`): pages and terminals show it. It is not checked.
  ///   - choices: the only values that it takes; empty for any, or for the cases of an enum that is `CaseIterable`.
  ///   - policy: what becomes of the field when two peers write it concurrently.
  public init(
    wrappedValue: Value, _ name: String? = nil, unit: String? = nil, choices: [Value] = [],
    policy: ConflictPolicy<Value> = .lastWrite
  ) {
    self.init(
      declared: wrappedValue, name: name, codec: .direct,
      description: FieldDescription(
        type: Value.fieldType, choices: choices.isEmpty ? Value.fieldChoices : choices.map(\.fieldJSON), unit: unit,
        defaultValue: wrappedValue.fieldJSON),
      policy: policy)
  }

  /// Declares a text whose length is limited, in characters: `@Field(maximumLength: 40) var label = "desk"`.
  public init(
    wrappedValue: Value, _ name: String? = nil, maximumLength: Int, policy: ConflictPolicy<Value> = .lastWrite
  )
  where Value == String {
    self.init(
      declared: wrappedValue, name: name, codec: .direct,
      description: FieldDescription(
        type: .string, maximumLength: maximumLength, defaultValue: wrappedValue.fieldJSON),
      policy: policy)
  }
}

extension Field where Value: FieldCodable & Comparable {
  /// Declares a field that takes only the values of `range`: `@Field(0...1, unit: "%") var level = 0.3`. A default
  /// outside the range stops the program when the model is created.
  public init(
    wrappedValue: Value, _ range: ClosedRange<Value>, name: String? = nil, unit: String? = nil,
    policy: ConflictPolicy<Value> = .lastWrite
  ) {
    precondition(range.contains(wrappedValue), "a field's default must lie in its range")
    self.init(wrappedValue, in: range, name: name, unit: unit, policy: policy)
  }
}

extension Field {
  /// Declares a field that takes nil and the values of `range`: `@Field(0...1) var level: Double? = nil`.
  public init<Bound: FieldCodable & Comparable>(
    wrappedValue: Value, _ range: ClosedRange<Bound>, name: String? = nil, unit: String? = nil,
    policy: ConflictPolicy<Value> = .lastWrite
  ) where Value == Bound? {
    precondition(wrappedValue.map(range.contains) ?? true, "a field's default must lie in its range")
    self.init(wrappedValue, in: range, name: name, unit: unit, policy: policy)
  }
}

extension Field where Value: FieldCodable {
  private init<Bound: FieldCodable>(
    _ declared: Value, in range: ClosedRange<Bound>, name: String?, unit: String?, policy: ConflictPolicy<Value>
  ) {
    self.init(
      declared: declared, name: name, codec: .direct,
      description: FieldDescription(
        type: Value.fieldType, minimum: range.lowerBound.fieldJSON, maximum: range.upperBound.fieldJSON, unit: unit,
        defaultValue: declared.fieldJSON),
      policy: policy)
  }
}

extension Field where Value: Codable {
  /// Declares a field of a `Codable` and `Equatable` type of the program, encoded as that type's JSON:
  /// ```swift
  /// enum Mood: String, Codable, CaseIterable { case calm, wild }
  /// struct Place: Codable, Equatable { var room = "hall", shelf = 1 }
  ///
  /// struct Lamp: Model {
  ///   @Field var mood = Mood.calm
  ///   @Field var place = Place()
  /// }
  /// ```
  /// An enum that is `CaseIterable` takes only its cases. A struct is one value: `lamp.place.shelf = 2` writes all of
  /// it, so the later of two concurrent changes to its parts wins. Parts that change independently are better as
  /// fields of their own.
  @_disfavoredOverload
  public init(wrappedValue: Value, _ name: String? = nil, policy: ConflictPolicy<Value> = .lastWrite) {
    let codec = FieldCodec<Value>.codable
    let choices = ListedCases.of(Value.self) { (try? codec.encode($0))?.jsonIfValid }
    let type = [FieldType.string, .integer].first { type in !choices.isEmpty && choices.allSatisfy(type.admits) }
    self.init(
      declared: wrappedValue, name: name, codec: codec,
      description: FieldDescription(
        type: type ?? codec.type, choices: choices, defaultValue: (try? codec.encode(wrappedValue))?.jsonIfValid),
      policy: policy)
  }
}

extension Field {
  /// A declaration moved to a scope.
  init(_ field: Field, in scope: FieldScope) {
    let declared = field.cell
    var description = declared.description
    description.isEphemeral = scope == .ephemeral
    self.init(
      declared: declared.declared, name: declared.declaredName, codec: declared.codec, description: description,
      policy: declared.policy)
  }

  private init(
    declared: Value, name: String?, codec: FieldCodec<Value>, description: FieldDescription,
    policy: ConflictPolicy<Value>
  ) {
    cell = FieldCell(declared: declared, name: name, codec: codec, description: description, policy: policy)
  }
}

extension FieldValue {
  var jsonIfValid: JSON? { try? json }
}
