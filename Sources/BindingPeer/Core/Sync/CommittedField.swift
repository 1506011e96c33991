package import BindingProtocol

/// A field as its last commit left it.
package struct CommittedField: Sendable, Hashable {
  /// The field's name.
  package var name: String
  /// The committed value; nil: deleted.
  package var value: FieldValue?
  /// The version of that commit.
  package var version: Version
  /// The writer of that commit.
  package var origin: Origin
  /// The number of its proposal.
  package var number: ProposalNumber
  /// The hub's wall time, milliseconds since 1970; for people.
  package var time: UInt64

  /// Creates a field as its last commit left it.
  package init(
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

extension Replica {
  /// The fields that were committed after a version, deleted ones included; after 0 all that have a value. A field that
  /// a snapshot removed is not included: a snapshot does not say when.
  func committed(after version: Version) -> [CommittedField] {
    fields.compactMap { field in
      guard field.version > version, version > 0 || field.value != nil else { return nil }
      return CommittedField(
        name: field.name, value: field.value, version: field.version, origin: field.origin, number: field.number,
        time: field.time)
    }
  }
}
