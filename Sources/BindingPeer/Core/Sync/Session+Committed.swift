public import BindingProtocol

/// A field as its last commit left it.
public struct CommittedField: Sendable, Hashable {
  /// The field's name.
  public var name: String
  /// The committed value; nil: deleted.
  public var value: FieldValue?
  /// The version of that commit.
  public var version: Version
  /// The writer of that commit.
  public var origin: Origin
  /// The number of its proposal.
  public var number: ProposalNumber
  /// The hub's wall time, milliseconds since 1970; for people.
  public var time: UInt64

  /// Creates a field as its last commit left it.
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
  /// The fields of a model that were committed after a version, deleted ones included; after 0 all that have a value.
  /// A field that a snapshot removed is not included: a snapshot does not say when.
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
