import BindingModel
import BindingProtocol

extension SharedModel {
  /// The id of the model; for an ephemeral model the id of the model that it belongs to.
  public var modelID: String { stored?.id ?? id }

  /// The model's ephemeral part: fields that vanish with the peer that wrote them. It is joined while it is
  /// referenced.
  public var ephemeral: SharedModel {
    stored == nil ? peer.join(SharedModel(id: Names.ephemeral(id), lane: lane, peer: peer, stored: self)) : self
  }
}

extension SharedField {
  /// Gives an ephemeral field up: it has no value any more, and others may write it. A stored field is deleted.
  @discardableResult
  public func release() throws -> PendingWrite {
    let (model, name) = try cell.attached()
    return try model.write(Proposal(operations: [FieldOperation(.delete, name)])) { [cell] in
      cell.accept(typed: cell.declared, stamp: $0.stamp)
    }
  }
}

/// Whether a field is stored or ephemeral.
public enum FieldScope: Sendable, Hashable {
  /// Ordered, stored and restored by the hub.
  case stored
  /// Belongs to the peer that wrote it: no other peer can write it while that one lives, and it vanishes with it. It
  /// is never stored. After a lost connection the peer writes it again by itself.
  case ephemeral
}

extension Field where Value: FieldCodable {
  /// Declares a field of a scope: `@Field(.ephemeral) var cursor: Int? = nil`. The default shows until a value is
  /// written; that of an ephemeral field is never proposed. The other parameters are those of a field without a scope.
  public init(
    wrappedValue: Value, _ scope: FieldScope, name: String? = nil, unit: String? = nil, choices: [Value] = [],
    title: String? = nil, help: String? = nil, group: String? = nil, widget: String? = nil, step: Double? = nil,
    readOnly: Bool = false, secret: Bool = false, was: String? = nil
  ) {
    let field = Field(
      wrappedValue: wrappedValue, name, unit: unit, choices: choices, title: title, help: help, group: group,
      widget: widget, step: step, readOnly: readOnly, secret: secret, was: was)
    self.init(field, in: scope)
  }
}

extension Field where Value: FieldCodable & Comparable {
  /// Declares a field of a scope that takes only the values of `range`. The other parameters are those of a field
  /// without a scope.
  public init(
    wrappedValue: Value, _ scope: FieldScope, _ range: ClosedRange<Value>, name: String? = nil, unit: String? = nil,
    title: String? = nil, help: String? = nil, group: String? = nil, widget: String? = nil, step: Double? = nil,
    readOnly: Bool = false, secret: Bool = false, was: String? = nil
  ) {
    let field = Field(
      wrappedValue: wrappedValue, range, name: name, unit: unit, title: title, help: help, group: group, widget: widget,
      step: step, readOnly: readOnly, secret: secret, was: was)
    self.init(field, in: scope)
  }
}

extension Field where Value: Codable {
  /// Declares a field of a scope and a `Codable` type. The other parameters are those of a field without a scope.
  @_disfavoredOverload
  public init(
    wrappedValue: Value, _ scope: FieldScope, name: String? = nil, title: String? = nil, help: String? = nil,
    group: String? = nil, widget: String? = nil, readOnly: Bool = false, secret: Bool = false, was: String? = nil
  ) {
    let field = Field(
      wrappedValue: wrappedValue, name, title: title, help: help, group: group, widget: widget, readOnly: readOnly,
      secret: secret, was: was)
    self.init(field, in: scope)
  }
}
