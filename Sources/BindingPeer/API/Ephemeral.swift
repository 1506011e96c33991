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
  /// written; that of an ephemeral field is never proposed.
  public init(
    wrappedValue: Value, _ scope: FieldScope, name: String? = nil, unit: String? = nil, choices: [Value] = []
  ) {
    self.init(Field(wrappedValue: wrappedValue, name, unit: unit, choices: choices), in: scope)
  }
}

extension Field where Value: FieldCodable & Comparable {
  /// Declares a field of a scope that takes only the values of `range`.
  public init(
    wrappedValue: Value, _ scope: FieldScope, _ range: ClosedRange<Value>, name: String? = nil, unit: String? = nil
  ) {
    self.init(Field(wrappedValue: wrappedValue, range, name: name, unit: unit), in: scope)
  }
}

extension Field where Value: Codable {
  /// Declares a field of a scope and a `Codable` type.
  @_disfavoredOverload
  public init(wrappedValue: Value, _ scope: FieldScope, name: String? = nil) {
    self.init(Field(wrappedValue: wrappedValue, name), in: scope)
  }
}
