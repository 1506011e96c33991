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
  /// Adds to a list what it does not have yet.
  case union

  /// Whether the operation brings a value; `delete` and `clear` have none.
  @inlinable public var takesValue: Bool { self != .delete && self != .clear }
}

/// One thing to do to one field, by name.
public struct FieldOperation: Sendable, Hashable {
  public var verb: Verb
  /// Ignored by `clear`.
  public var field: String
  /// nil for `delete` and `clear`.
  public var value: FieldValue?

  public init(_ verb: Verb, _ field: String, _ value: FieldValue? = nil) {
    self.verb = verb
    self.field = field
    self.value = value
  }
}

/// That a field has not changed since a version of an epoch; version 0: that it has never been written.
public struct Condition: Sendable, Hashable {
  public var field: String
  public var epoch: Epoch
  public var version: Version

  public init(field: String, epoch: Epoch, version: Version) {
    self.field = field
    self.epoch = epoch
    self.version = version
  }

  /// Conditions that one proposal can carry.
  public static let maxCount = 255
}

/// Something that rides along with a proposal and that the hub does not look into.
public struct MetadataEntry: WireContent, Hashable {
  /// At most 255 bytes.
  public var name: String
  /// At most 65,535 bytes.
  public var value: String

  public init(name: String, value: String) {
    self.name = name
    self.value = value
  }

  public init(from reader: inout WireReader) throws(WireError) {
    name = try reader.text8("metadata")
    value = try reader.text16("metadata")
  }

  public func write(to writer: inout WireWriter) {
    writer.text8(name)
    writer.text16(value)
  }
}

/// What a peer asks for: operations on one model that take effect together or not at all.
public struct Proposal: Sendable, Hashable {
  public var operations: [FieldOperation]
  public var conditions: [Condition]
  public var metadata: [MetadataEntry]
  /// 0, or one more than the hops of the commit in whose delivery this was written.
  public var hops: UInt8

  public init(
    operations: [FieldOperation], conditions: [Condition] = [], metadata: [MetadataEntry] = [], hops: UInt8 = 0
  ) {
    self.operations = operations
    self.conditions = conditions
    self.metadata = metadata
    self.hops = hops
  }

  /// Only `set`, without conditions: such a proposal may be replaced by a later one of its kind.
  public var isPlainSet: Bool { conditions.isEmpty && operations.allSatisfy { $0.verb == .set } }
}
