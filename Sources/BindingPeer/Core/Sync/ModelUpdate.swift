package import BindingProtocol

/// One change of what a model shows, delivered in one turn.
package struct ModelUpdate: Sendable, Equatable {
  /// The model's id.
  package var model: String
  /// What made the update.
  package var cause: UpdateCause
  /// The fields whose shown value differs from that of the previous update.
  package var changes: [ShownChange]
  /// The fields that show the same value, but whose committed value, version or pending write has changed.
  package var confirmed: [String]
  /// The fields of `confirmed` that a write of this peer still overlays.
  var covered: [String] = []
  /// The epoch of the committed values.
  package var epoch: Epoch
  /// The version of the committed values.
  package var version: Version
  /// The applied commits, in order.
  package var commits: [CommitInfo]
  /// The number of commits applied but not listed: coalesced by the hub, or beyond `SessionOptions.maxListedCommits`.
  package var coalesced: UInt64
  /// The `hops` of a proposal that is written while this update is being delivered (R17).
  package var proposalHops: UInt8
  /// The lists of which an element or the order may have changed, as they show now. Their elements and heads are among
  /// `changes` and `confirmed` too, as the fields that they are.
  package var lists: [ShownList] = []
}

/// What made an update; of several causes the first in this list.
package enum UpdateCause: Sendable, Hashable {
  /// The session stopped or the hub has another log: pending writes no longer show.
  case detached
  case snapshot
  case delta(from: Version)
  case commits
  /// Fields that expire show their default because nothing was heard of the hub, or again what is committed.
  case expired
  /// A write got its outcome.
  case outcome
  /// A write of this peer was added to the overlay.
  case local
}

/// A change of the value that a field shows.
package struct ShownChange: Sendable, Hashable {
  /// The field's name.
  package var field: String
  /// The value that it showed before; nil: none.
  package var old: FieldValue?
  /// The value that it shows now; nil: none.
  package var new: FieldValue?
  /// Whether a pending write of this peer overlays the field.
  var isOurs = false
}

/// A commit that was applied.
package struct CommitInfo: Sendable, Hashable {
  /// The version of the model that the commit made.
  package var version: Version
  /// The writer of the commit.
  package var origin: Origin
  /// The number of its proposal.
  package var number: ProposalNumber
  /// The hub's wall time, milliseconds since 1970; for people.
  package var time: UInt64
  /// The `hops` of its proposal (R17).
  package var hops: UInt8
  /// The changed fields with their new committed values.
  package var changes: [FieldChange]
  /// Whether this peer proposed it.
  package var own: Bool

  /// Creates a commit as it was applied.
  package init(
    version: Version, origin: Origin, number: ProposalNumber, time: UInt64, hops: UInt8, changes: [FieldChange],
    own: Bool
  ) {
    self.version = version
    self.origin = origin
    self.number = number
    self.time = time
    self.hops = hops
    self.changes = changes
    self.own = own
  }
}

/// A field's new committed value.
package struct FieldChange: Sendable, Hashable {
  /// The field's name.
  package var field: String
  /// The committed value; nil: deleted.
  package var value: FieldValue?

  /// Creates a change; a nil value deletes the field.
  package init(field: String, value: FieldValue?) {
    self.field = field
    self.value = value
  }
}

/// All that is known of a field.
package struct FieldRecord: Sendable, Hashable {
  /// The value that the field shows; nil: none.
  package var shown: FieldValue?
  /// The committed value; nil: none.
  package var committed: FieldValue?
  /// The epoch to name in a condition on this field; 0: no hub has been seen.
  package var epoch: Epoch
  /// The version since which the committed value is known to be unchanged; a condition on this field names it.
  package var version: Version
  /// The writer of the committed value.
  package var origin: Origin
  /// The hub's wall time of the commit, milliseconds since 1970; for people.
  package var time: UInt64
  /// Whether a pending write of this peer overlays the field.
  package var isPending: Bool
  /// Whether the field shows its default because nothing was heard of the hub for its time limit.
  package var isExpired = false
}
