import BindingModel
import BindingProtocol

extension SharedModel {
  /// The id of the model of which this is a line.
  public var modelID: String { stored?.id ?? id }

  /// The model's ephemeral line: fields that go with the peer that wrote them. Joined as long as somebody holds it.
  public var ephemeral: SharedModel {
    stored == nil ? peer.join(SharedModel(id: Names.ephemeral(id), lane: lane, peer: peer, stored: self)) : self
  }
}

extension SharedField {
  /// Gives an ephemeral field up: it has no value any more, and others may write it. Of a stored field: deletes it.
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
  /// Ordered, kept and restored by the hub.
  case stored
  /// Belongs to the peer that wrote it: nobody else can write it as long as that lives, and it goes with it. It is
  /// never stored. When the connection was lost the peer writes it again by itself.
  case ephemeral
}

extension Field where Value: FieldCodable {
  /// Declares a field of that scope: `@Field(.ephemeral) var cursor: Int? = nil`. The default shows as long as nobody
  /// has written it; an ephemeral field's is never proposed.
  public init(
    wrappedValue: Value, _ scope: FieldScope, name: String? = nil, unit: String? = nil, choices: [Value] = []
  ) {
    self.init(Field(wrappedValue: wrappedValue, name, unit: unit, choices: choices), in: scope)
  }
}

extension Field where Value: FieldCodable & Comparable {
  /// The same for a field that takes only the values of `range`.
  public init(
    wrappedValue: Value, _ scope: FieldScope, _ range: ClosedRange<Value>, name: String? = nil, unit: String? = nil
  ) {
    self.init(Field(wrappedValue: wrappedValue, range, name: name, unit: unit), in: scope)
  }
}

extension Field where Value: Codable {
  /// The same for a field of a `Codable` type.
  @_disfavoredOverload
  public init(wrappedValue: Value, _ scope: FieldScope, name: String? = nil) {
    self.init(Field(wrappedValue: wrappedValue, name), in: scope)
  }
}
