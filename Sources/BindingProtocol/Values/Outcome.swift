/// The outcome of a write. Every write has exactly one.
public enum Outcome: Sendable, Hashable {
  case committed(epoch: Epoch, version: Version)
  /// Nothing to do: the field already has, or had, a value; or there was nothing to delete.
  case unchanged
  case refused(Refusal)
  /// A condition did not hold; carries the field's current state.
  case conflict(Conflict)
  /// A later write of this peer superseded it before it was sent.
  case superseded
  /// It reached its maximum age before it was applied.
  case expired
  /// The outcome is no longer known; carries the reason.
  case unknown(String)
}

/// A permanent refusal.
public struct Refusal: Sendable, Hashable, Error, CustomStringConvertible {
  /// The reason as a code.
  public var code: RefusalCode
  /// The reason as a text; may be empty.
  public var text: String

  /// Makes a refusal.
  public init(_ code: RefusalCode, _ text: String) {
    self.code = code
    self.text = text
  }

  public var description: String { text.isEmpty ? "\(code)" : "\(code): \(text)" }
}

/// The field on which a condition failed, in the hub's state.
public struct Conflict: WireContent, Hashable {
  /// The field's name.
  public var field: String
  /// The version of its last commit; 0 if it has never been written.
  public var version: Version
  /// The last writer; `Origin.none` if there is none.
  public var origin: Origin
  package var ageMilliseconds: UInt64
  /// nil if the field has no value.
  public var value: FieldValue?

  /// The age of the last commit, by the hub's clock, in whole milliseconds.
  public var age: Duration { .milliseconds(ageMilliseconds) }

  package init(field: String, version: Version, origin: Origin, ageMilliseconds: UInt64, value: FieldValue?) {
    self.field = field
    self.version = version
    self.origin = origin
    self.ageMilliseconds = ageMilliseconds
    self.value = value
  }

  package init(from reader: inout WireReader) throws(WireError) {
    field = try reader.fieldName("field")
    version = try reader.u64("version")
    origin = try reader.origin("origin")
    ageMilliseconds = try reader.u64("ageMs")
    value = try reader.value("value")
  }

  package func write(to writer: inout WireWriter) {
    writer.text8(field)
    writer.u64(version)
    writer.origin(origin)
    writer.u64(ageMilliseconds)
    writer.value(value)
  }
}

/// Why a proposal was permanently refused.
public enum RefusalCode: UInt16, Sendable, CaseIterable {
  case malformedValue = 1
  case valueTooLarge
  case proposalTooLarge
  case tooManyFields
  case badName
  case duplicateField
  case loop
  case versionBeyondHead
  case notANumber
  case unknownField
  case modelFull
  case unknownVerb
  case notPermitted
  /// The value violates the model's description.
  case doesNotFit
  /// The ephemeral field belongs to another peer with a live session.
  case notOwner
  /// The model's owner refused.
  case refusedByOwner
  /// The model's owner did not answer in time.
  case ownerSilent
}

/// Why a proposal has not been decided yet.
public enum RetryReason: UInt16, Sendable, CaseIterable {
  case storeFull = 1
  case busy
  case rateLimited
  case starting
  /// An edge has lost its upstream hub. The write goes there once it is back.
  case upstream
}
