import BindingProtocol
import Logging

extension Field where Value: FieldCodable {
  /// Declares a field that falls back to its default when nobody renews it:
  /// `@Field(expires: .seconds(5)) var on = false`.
  ///
  /// The hub sets it back when no write and no renewal has been stored for that long. An assignment of the value that
  /// shows renews it, as `renew()` does.
  /// - Parameter expires: 100 ms to 7 days, in whole milliseconds. Another limit, or a policy that merges values, stops
  ///   the program when the model is created.
  public init(
    wrappedValue: Value, _ name: String? = nil, expires: Duration, unit: String? = nil, choices: [Value] = [],
    policy: ConflictPolicy<Value> = .lastWrite
  ) {
    self.init(Field(wrappedValue: wrappedValue, name, unit: unit, choices: choices, policy: policy), expiring: expires)
  }
}

extension Field where Value: FieldCodable & Comparable {
  /// Declares a field that falls back to its default when nobody renews it, and takes only the values of `range`:
  /// `@Field(-1...1, expires: .milliseconds(500)) var speed = 0.0`.
  public init(
    wrappedValue: Value, _ range: ClosedRange<Value>, expires: Duration, name: String? = nil, unit: String? = nil,
    policy: ConflictPolicy<Value> = .lastWrite
  ) {
    self.init(Field(wrappedValue: wrappedValue, range, name: name, unit: unit, policy: policy), expiring: expires)
  }
}

extension Field where Value: Codable {
  /// Declares a field of a `Codable` type that falls back to its default when nobody renews it.
  @_disfavoredOverload
  public init(
    wrappedValue: Value, _ name: String? = nil, expires: Duration, policy: ConflictPolicy<Value> = .lastWrite
  ) {
    self.init(Field(wrappedValue: wrappedValue, name, policy: policy), expiring: expires)
  }
}

extension SharedField {
  /// Says that the value which shows still holds: the term of a field that expires begins again. It costs no commit;
  /// its outcome is `unchanged`.
  ///
  /// It never overwrites: if the value was set by somebody else meanwhile, or has expired, the write ends as a
  /// conflict.
  /// While a write of this peer is pending, that value is sent again.
  /// - Throws: `WriteError` if it cannot be sent, `FieldError` if the field is not shared.
  @discardableResult
  public func renew() throws -> PendingWrite {
    let (model, name) = try cell.attached()
    return try model.renew(name, otherwise: try cell.codec.encode(cell.shownValue))
  }
}

extension SharedModel {
  /// Renews a field that expires, as `SharedField.renew` does.
  /// - Parameter value: what is written if nothing is committed yet.
  /// - Throws: `WriteError` if it cannot be sent.
  @discardableResult
  package func renew(_ field: String, otherwise value: FieldValue) throws(WriteError) -> PendingWrite {
    let known = record(field)
    var proposal = Proposal(operations: [FieldOperation(.set, field, known?.shown ?? value)])
    if let known, let committed = known.committed, !known.isPending {
      proposal.operations[0].value = committed
      proposal.conditions = [Condition(field: field, epoch: known.epoch, version: known.version)]
    }
    return try write(proposal)
  }

  /// Tells the session which of these fields expire by their declaration.
  func declareLimits(of fields: [(name: String, cell: any AnyFieldCell)]) {
    var limits: [String: FieldExpiry] = [:]
    for (name, cell) in fields { limits[name] = cell.rule.expiry }
    guard !limits.isEmpty else { return }
    let (id, declared) = (id, limits)
    runtime.perform { state, now in state.session.declare(declared, in: id, now: now, into: &state.effects) }
  }

  /// Warns that the hub does not carry out the limits that a program declares.
  func warnIfNothingExpires(_ description: ModelDescription) {
    let names = description.fields.filter { $0.value.expires != nil }.keys.sorted()
    guard !names.isEmpty, runtime.state.withLock({ $0.session.hubExpires }) == false else { return }
    runtime.log.warning(
      """
      \(id): this hub is of an earlier version and sets nothing back: \(names.joined(separator: ", ")) may keep a \
      value that nobody renews
      """, metadata: ["model": "\(id)"])
  }
}
