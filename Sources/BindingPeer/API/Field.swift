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
  /// @Field(unit: "lm", title: "Brightness", step: 50) var brightness = 800
  /// @Field(choices: ["warm", "cold"], help: "The tone of the light") var light = "warm"
  /// @Field("colour", policy: .compareAndSet) var color = "red"
  /// @Field(was: "brightness") var level = 0.3
  /// @Field(expires: .seconds(5)) var isMoving = false
  /// ```
  /// A value that is not one of the choices is refused, here and by the hub: `lamp.light: "blue" is not one of …`.
  /// `title`, `help`, `group`, `widget`, `step`, `readOnly` and `secret` are for forms and terminals; nobody checks
  /// them. Forms show the fields in declared order.
  /// - Parameters:
  ///   - wrappedValue: the default.
  ///   - name: its name on the wire, if it is not the property's.
  ///   - expires: how long a value other than the default holds without a renewal: 100 ms to 7 days, in whole
  ///     milliseconds. Then the hub sets the field back to its default. An assignment of the value that shows renews
  ///     it, as `renew()` does. Another limit, or a policy that merges values, stops the program when the model is
  ///     created.
  ///   - unit: the unit of its numbers, for people (`"%"`, `"ms"`): pages and terminals show it. It is not checked.
  ///   - choices: the only values that it takes; empty for any, or for the cases of an enum that is `CaseIterable`.
  ///   - title: the name that people see, if it is not the field's.
  ///   - help: a sentence about the field.
  ///   - group: fields of one group stand together.
  ///   - widget: the kind of control, by name.
  ///   - step: the step of a control for numbers, above 0.
  ///   - readOnly: whether forms show no control. It is no right: every writer may set the field.
  ///   - secret: whether the value is hidden on screens. It is no right: every reader gets the value.
  ///   - was: the name under which the field is stored, if it was renamed. Programs of both releases then share one
  ///     field. The stored name never changes, so a field that is renamed twice names the first name here.
  ///   - stored: the type in which earlier releases store the field, if it was another one (`StoredForm`).
  ///   - policy: what becomes of the field when two peers write it concurrently.
  public init(
    wrappedValue: Value, _ name: String? = nil, expires: Duration? = nil, unit: String? = nil, choices: [Value] = [],
    title: String? = nil, help: String? = nil, group: String? = nil, widget: String? = nil, step: Double? = nil,
    readOnly: Bool = false, secret: Bool = false, was: String? = nil, stored: StoredForm? = nil,
    policy: ConflictPolicy<Value> = .lastWrite
  ) {
    let description = FieldDescription(
      type: Value.fieldType, choices: choices.isEmpty ? Value.fieldChoices : choices.map(\.fieldJSON), unit: unit,
      defaultValue: wrappedValue.fieldJSON)
    self.init(
      declared: wrappedValue, name: name, was: was, stored: stored, codec: .direct,
      description: description.shown(
        title: title, help: help, group: group, widget: widget, step: step, readOnly: readOnly, secret: secret
      ).expiring(after: expires, policy.name),
      policy: policy)
  }

  /// Declares a text whose length is limited, in characters: `@Field(maximumLength: 40) var label = "desk"`. A longer
  /// one is refused, here and by the hub.
  /// - Parameters:
  ///   - wrappedValue: the default.
  ///   - name: its name on the wire, if it is not the property's.
  ///   - maximumLength: the most characters, as a reader counts them.
  ///   - title: the name that people see, if it is not the field's.
  ///   - help: a sentence about the field.
  ///   - group: fields of one group stand together in forms.
  ///   - widget: the kind of control, by name.
  ///   - readOnly: whether forms show no control; it is no right.
  ///   - secret: whether the value is hidden on screens; it is no right.
  ///   - was: the name under which the field is stored, if it was renamed.
  ///   - stored: the type in which earlier releases store the field, if it was another one.
  ///   - policy: what becomes of the field when two peers write it concurrently.
  public init(
    wrappedValue: Value, _ name: String? = nil, maximumLength: Int, title: String? = nil, help: String? = nil,
    group: String? = nil, widget: String? = nil, readOnly: Bool = false, secret: Bool = false, was: String? = nil,
    stored: StoredForm? = nil, policy: ConflictPolicy<Value> = .lastWrite
  )
  where Value == String {
    let description = FieldDescription(
      type: .string, maximumLength: maximumLength, defaultValue: wrappedValue.fieldJSON)
    self.init(
      declared: wrappedValue, name: name, was: was, stored: stored, codec: .direct,
      description: description.shown(
        title: title, help: help, group: group, widget: widget, step: nil, readOnly: readOnly, secret: secret),
      policy: policy)
  }
}

extension Field where Value: FieldCodable & Comparable {
  /// Declares a field that takes only the values of `range`:
  /// ```swift
  /// @Field(0...1, unit: "%", title: "Brightness", step: 0.05) var level = 0.3
  /// ```
  /// A default outside the range stops the program when the model is created.
  /// - Parameters:
  ///   - wrappedValue: the default.
  ///   - range: the values that it takes, both ends included.
  ///   - expires: how long a value other than the default holds without a renewal; nil: for ever.
  ///   - name: its name on the wire, if it is not the property's.
  ///   - unit: the unit of its numbers, for people.
  ///   - title: the name that people see, if it is not the field's.
  ///   - help: a sentence about the field.
  ///   - group: fields of one group stand together in forms.
  ///   - widget: the kind of control, by name.
  ///   - step: the step of a control for numbers, above 0.
  ///   - readOnly: whether forms show no control; it is no right.
  ///   - secret: whether the value is hidden on screens; it is no right.
  ///   - was: the name under which the field is stored, if it was renamed.
  ///   - stored: the type in which earlier releases store the field, if it was another one.
  ///   - policy: what becomes of the field when two peers write it concurrently.
  public init(
    wrappedValue: Value, _ range: ClosedRange<Value>, expires: Duration? = nil, name: String? = nil,
    unit: String? = nil, title: String? = nil, help: String? = nil, group: String? = nil, widget: String? = nil,
    step: Double? = nil, readOnly: Bool = false, secret: Bool = false, was: String? = nil,
    stored: StoredForm? = nil, policy: ConflictPolicy<Value> = .lastWrite
  ) {
    precondition(range.contains(wrappedValue), "a field's default must lie in its range")
    let description = FieldDescription(of: wrappedValue, in: range, unit: unit)
    self.init(
      declared: wrappedValue, name: name, was: was, stored: stored, codec: .direct,
      description: description.shown(
        title: title, help: help, group: group, widget: widget, step: step, readOnly: readOnly, secret: secret
      ).expiring(after: expires, policy.name),
      policy: policy)
  }
}

extension Field {
  /// Declares a field that takes nil and the values of `range`: `@Field(0...1) var level: Double? = nil`. Its other
  /// parameters are those of a field that is not optional.
  public init<Bound: FieldCodable & Comparable>(
    wrappedValue: Value, _ range: ClosedRange<Bound>, expires: Duration? = nil, name: String? = nil,
    unit: String? = nil, title: String? = nil, help: String? = nil, group: String? = nil, widget: String? = nil,
    step: Double? = nil, readOnly: Bool = false, secret: Bool = false, was: String? = nil,
    stored: StoredForm? = nil, policy: ConflictPolicy<Value> = .lastWrite
  ) where Value == Bound? {
    precondition(wrappedValue.map(range.contains) ?? true, "a field's default must lie in its range")
    let description = FieldDescription(of: wrappedValue, in: range, unit: unit)
    self.init(
      declared: wrappedValue, name: name, was: was, stored: stored, codec: .direct,
      description: description.shown(
        title: title, help: help, group: group, widget: widget, step: step, readOnly: readOnly, secret: secret
      ).expiring(after: expires, policy.name),
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
  ///   @Field(title: "Where it stands") var place = Place()
  /// }
  /// ```
  /// An enum that is `CaseIterable` takes only its cases. A struct is one value: `lamp.place.shelf = 2` writes all of
  /// it, so the later of two concurrent changes to its parts wins. Parts that change independently are better as
  /// fields of their own. The other parameters are those of a field of a standard type.
  @_disfavoredOverload
  public init(
    wrappedValue: Value, _ name: String? = nil, expires: Duration? = nil, title: String? = nil, help: String? = nil,
    group: String? = nil, widget: String? = nil, readOnly: Bool = false, secret: Bool = false, was: String? = nil,
    stored: StoredForm? = nil, policy: ConflictPolicy<Value> = .lastWrite
  ) {
    let codec = FieldCodec<Value>.codable
    let (type, choices) = codec.described(Value.self)
    let description = FieldDescription(
      type: type, choices: choices, defaultValue: (try? codec.encode(wrappedValue))?.jsonIfValid)
    self.init(
      declared: wrappedValue, name: name, was: was, stored: stored, codec: codec,
      description: description.shown(
        title: title, help: help, group: group, widget: widget, step: nil, readOnly: readOnly, secret: secret
      ).expiring(after: expires, policy.name),
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
      declared: declared.declared, name: declared.declaredName, was: declared.formerName, codec: declared.codec,
      description: description, policy: declared.policy)
  }

  private init(
    declared: Value, name: String?, was: String?, stored: StoredForm? = nil, codec: FieldCodec<Value>,
    description: FieldDescription, policy: ConflictPolicy<Value>
  ) {
    cell = FieldCell(
      declared: declared, name: name, was: was, stored: stored, codec: codec, description: description, policy: policy)
  }
}

extension FieldDescription {
  /// The description of a field with a range.
  fileprivate init<Value: FieldCodable, Bound: FieldCodable>(
    of declared: Value, in range: ClosedRange<Bound>, unit: String?
  ) {
    self.init(
      type: Value.fieldType, minimum: range.lowerBound.fieldJSON, maximum: range.upperBound.fieldJSON, unit: unit,
      defaultValue: declared.fieldJSON)
  }

  /// The description with what forms show.
  fileprivate func shown(
    title: String?, help: String?, group: String?, widget: String?, step: Double?, readOnly: Bool, secret: Bool
  ) -> FieldDescription {
    precondition(step.map { $0 > 0 } ?? true, "a field's step must be above 0")
    var description = self
    (description.title, description.help) = (title, help)
    (description.group, description.widget) = (group, widget)
    description.step = step.map { Int64(exactly: $0).map(JSON.integer) ?? .number($0) }
    (description.isReadOnly, description.isSecret) = (readOnly, secret)
    return description
  }
}

extension FieldDescription {
  /// The description with a time limit.
  fileprivate func expiring(after limit: Duration?, _ policy: String) -> FieldDescription {
    guard let limit else { return self }
    precondition(
      FieldExpiry.range.contains(Int64(clamping: limit.wholeMilliseconds)),
      "a field's time limit is 100 milliseconds to 7 days")
    precondition(
      !FieldExpiry.mergingPolicies.contains(policy), "a field that expires has no policy that merges")
    var description = self
    description.expires = limit
    return description
  }
}

extension FieldValue {
  var jsonIfValid: JSON? { try? json }
}
