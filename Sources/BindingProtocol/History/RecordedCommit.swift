/// A commit as a history keeps it: what a player commits again.
package struct RecordedCommit: Sendable, Hashable {
  /// The model's id; an ephemeral model's name.
  package var model: String
  /// The epoch of the log in which it was made.
  package var epoch: Epoch
  /// The version that it made.
  package var version: Version
  /// Its writer.
  package var origin: Origin
  /// The number of its proposal; 0: of none.
  package var number: ProposalNumber
  /// The `hops` of its proposal (R17).
  package var hops: UInt8
  /// The hub's wall time, milliseconds since 1970; for people.
  package var time: UInt64
  /// The changed fields, each once.
  package var changes: [Change]

  /// A field's new value.
  package struct Change: Sendable, Hashable {
    /// The field's name.
    package var field: String
    /// The value; nil: deleted.
    package var value: FieldValue?

    /// Makes a change; nil deletes the field.
    package init(_ field: String, _ value: FieldValue?) {
      self.field = field
      self.value = value
    }
  }

  /// Makes a commit.
  package init(
    model: String, epoch: Epoch, version: Version, origin: Origin, number: ProposalNumber = 0, hops: UInt8 = 0,
    time: UInt64 = 0, changes: [Change]
  ) {
    self.model = model
    self.epoch = epoch
    self.version = version
    self.origin = origin
    self.number = number
    self.hops = hops
    self.time = time
    self.changes = changes
  }
}

/// What a model held at one version, or how it had changed since an earlier one: a catch-up as a history keeps it.
package struct RecordedState: Sendable, Hashable {
  /// The model's id; an ephemeral model's name.
  package var model: String
  /// The epoch of the log.
  package var epoch: Epoch
  /// The version of the state.
  package var version: Version
  /// The version after which the fields changed; nil: these are all fields.
  package var previous: Version?
  /// The fields, each as its last commit left it; one that has no value was deleted.
  package var fields: [CommittedField]

  /// Makes a state.
  package init(model: String, epoch: Epoch, version: Version, previous: Version?, fields: [CommittedField]) {
    self.model = model
    self.epoch = epoch
    self.version = version
    self.previous = previous
    self.fields = fields
  }

  /// The commits that make this state, of which each holds what is left of the commit of its version. Versions may be
  /// missing between them.
  package var commits: [RecordedCommit] {
    var commits: [RecordedCommit] = []
    for field in fields.sorted(by: { ($0.version, $0.name) < ($1.version, $1.name) }) {
      let change = RecordedCommit.Change(field.name, field.value)
      if let last = commits.last, last.version == field.version {
        commits[commits.count - 1].changes.append(change)
      } else {
        commits.append(
          RecordedCommit(
            model: model, epoch: epoch, version: field.version, origin: field.origin, number: field.number,
            time: field.time, changes: [change]))
      }
    }
    return commits
  }
}
