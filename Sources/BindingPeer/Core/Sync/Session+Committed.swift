public import BindingProtocol

/// A field as it was committed last.
public struct CommittedField: Sendable, Hashable {
  public var name: String
  /// nil: deleted.
  public var value: FieldValue?
  public var version: Version
  public var origin: Origin
  /// The number of the proposal that it was.
  public var number: ProposalNumber
  /// The hub's wall time, milliseconds since 1970; for people.
  public var time: UInt64

  public init(
    name: String, value: FieldValue?, version: Version, origin: Origin, number: ProposalNumber, time: UInt64
  ) {
    self.name = name
    self.value = value
    self.version = version
    self.origin = origin
    self.number = number
    self.time = time
  }
}

extension Session {
  /// What a model's fields were committed to after a version, deleted ones too; after 0 all that have a value. A field
  /// that went with a snapshot, which does not say when, is not among the deleted.
  public func committed(_ id: String, after version: Version) -> [CommittedField] {
    guard let index = models.index(of: id) else { return [] }
    return models[at: index].replica.fields.compactMap { field in
      guard field.version > version, version > 0 || field.value != nil else { return nil }
      return CommittedField(
        name: field.name, value: field.value, version: field.version, origin: field.origin, number: field.number,
        time: field.time)
    }
  }
}
