/// What an operation does to its field.
public enum Verb: UInt8, Sendable, CaseIterable {
  case set = 0
  case delete
  /// Sets the field only if it has never had a value.
  case setIfAbsent
  /// Deletes all fields of the model.
  case clear
  case add
  case max
  case min
  /// Appends to a list the elements that it does not have yet.
  case union
  /// Puts an element into a list (protocol.md §6.5); the field is `LIST@ID`.
  case insert
  /// Moves an element of a list to another place.
  case move
  /// Replaces an element of a list where it stands.
  case replace
  /// Merges a description into the present one, that of the field `@description`.
  case describe = 11

  /// Whether the operation has a value; `delete` and `clear` have none.
  @inlinable public var takesValue: Bool { self != .delete && self != .clear }

  /// Whether it changes an element of a list.
  @inlinable package var isOfList: Bool { rawValue >= Verb.insert.rawValue && rawValue <= Verb.replace.rawValue }
}

/// One operation on one field, named.
package struct FieldOperation: Sendable, Hashable {
  /// The operation.
  package var verb: Verb
  /// The field's name; ignored by `clear`.
  package var field: String
  /// nil for `delete` and `clear`.
  package var value: FieldValue?

  /// Makes an operation.
  package init(_ verb: Verb, _ field: String, _ value: FieldValue? = nil) {
    self.verb = verb
    self.field = field
    self.value = value
  }
}

/// A condition: the field has not changed since a version of an epoch; version 0: it has never been written.
package struct Condition: Sendable, Hashable {
  /// The field's name.
  package var field: String
  /// The epoch of `version`.
  package var epoch: Epoch
  /// The version since which the field must be unchanged; 0: it must never have been written.
  package var version: Version

  /// Makes a condition.
  package init(field: String, epoch: Epoch, version: Version) {
    self.field = field
    self.epoch = epoch
    self.version = version
  }

  /// The maximum number of conditions in one proposal.
  package static let maxCount = 255
}

/// Metadata of a proposal, which the hub does not interpret.
package struct MetadataEntry: WireContent, Hashable {
  /// At most 255 bytes.
  package var name: String
  /// At most 65,535 bytes.
  package var value: String

  /// Makes an entry.
  package init(name: String, value: String) {
    self.name = name
    self.value = value
  }

  package init(from reader: inout WireReader) throws(WireError) {
    name = try reader.text8("metadata")
    value = try reader.text16("metadata")
  }

  package func write(to writer: inout WireWriter) {
    writer.text8(name)
    writer.text16(value)
  }
}

/// A peer's request: operations on one model that take effect together or not at all.
package struct Proposal: Sendable, Hashable {
  /// The operations, in order.
  package var operations: [FieldOperation]
  /// All must hold, or the proposal is a conflict.
  package var conditions: [Condition]
  /// Not interpreted by the hub.
  package var metadata: [MetadataEntry]
  /// 0, or one more than the hops of the commit during whose delivery the proposal was made.
  package var hops: UInt8

  /// Makes a proposal.
  package init(
    operations: [FieldOperation], conditions: [Condition] = [], metadata: [MetadataEntry] = [], hops: UInt8 = 0
  ) {
    self.operations = operations
    self.conditions = conditions
    self.metadata = metadata
    self.hops = hops
  }

  /// Whether all operations are `set`, or `replace` of an element of a list, without conditions: a later such proposal
  /// may supersede this one.
  package var isPlainSet: Bool {
    conditions.isEmpty && operations.allSatisfy { $0.verb == .set || $0.verb == .replace }
  }

  /// Whether an operation changes a list.
  package var isOfList: Bool { operations.contains { $0.verb.isOfList } }
}
