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
