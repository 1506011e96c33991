/// What became of a write. Every write has exactly one.
public enum Outcome: Sendable, Hashable {
  case committed(epoch: Epoch, version: Version)
  /// There was nothing to do: the field already has, or had, a value; or there was nothing to delete.
  case unchanged
  case refused(Refusal)
  /// A condition did not hold; here is the field as it is now.
  case conflict(Conflict)
  /// A later write of this peer took its place before it was sent.
  case superseded
  /// It grew too old and had not been carried out.
  case expired
  /// Nobody knows any more; why.
  case unknown(String)
}

/// A final no.
public struct Refusal: Sendable, Hashable, Error, CustomStringConvertible {
  public var code: RefusalCode
  public var text: String

  public init(_ code: RefusalCode, _ text: String) {
    self.code = code
    self.text = text
  }

  public var description: String { text.isEmpty ? "\(code)" : "\(code): \(text)" }
}

/// The field on which a condition failed, as the hub has it.
public struct Conflict: WireContent, Hashable {
  public var field: String
  /// 0 when it has never been written.
  public var version: Version
  /// Who wrote it; `Origin.none` when nobody has.
  public var origin: Origin
  /// How long ago, by the hub's clock.
  public var ageMilliseconds: UInt64
  /// nil when it has no value.
  public var value: FieldValue?

  public init(field: String, version: Version, origin: Origin, ageMilliseconds: UInt64, value: FieldValue?) {
    self.field = field
    self.version = version
    self.origin = origin
    self.ageMilliseconds = ageMilliseconds
    self.value = value
  }

  public init(from reader: inout WireReader) throws(WireError) {
    field = try reader.fieldName("field")
    version = try reader.u64("version")
    origin = try reader.origin("origin")
    ageMilliseconds = try reader.u64("ageMs")
    value = try reader.value("value")
  }

  public func write(to writer: inout WireWriter) {
    writer.text8(field)
    writer.u64(version)
    writer.origin(origin)
    writer.u64(ageMilliseconds)
    writer.value(value)
  }
}

/// Why a proposal was refused for good.
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
  /// The value is not what the model's description says of its field.
  case doesNotFit
  /// The ephemeral field belongs to another peer that lives.
  case notOwner
  /// The model's owner said no.
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
}
