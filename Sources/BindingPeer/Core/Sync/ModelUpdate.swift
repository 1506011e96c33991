public import BindingProtocol

/// One change of what a model shows, delivered in one turn.
public struct ModelUpdate: Sendable, Equatable {
  /// The model's id.
  public var model: String
  /// What made the update.
  public var cause: UpdateCause
  /// The fields whose shown value differs from that of the previous update.
  public var changes: [ShownChange]
  /// The fields that show the same value, but whose committed value, version or pending write has changed.
  public var confirmed: [String]
  /// The fields of `confirmed` that a write of this peer still overlays.
  var covered: [String] = []
  /// The epoch of the committed values.
  public var epoch: Epoch
  /// The version of the committed values.
  public var version: Version
  /// The applied commits, in order.
  public var commits: [CommitInfo]
  /// The number of commits applied but not listed: coalesced by the hub, or beyond `SessionOptions.maxListedCommits`.
  public var coalesced: UInt64
  /// The `hops` of a proposal that is written while this update is being delivered (R17).
  public var proposalHops: UInt8
}

/// What made an update; of several causes the first in this list.
public enum UpdateCause: Sendable, Hashable {
  /// The session stopped or the hub has another log: pending writes no longer show.
  case detached
  case snapshot
  case delta(from: Version)
  case commits
  /// A write got its outcome.
  case outcome
  /// A write of this peer was added to the overlay.
  case local
}

/// A change of the value that a field shows.
public struct ShownChange: Sendable, Hashable {
  /// The field's name.
  public var field: String
  /// The value that it showed before; nil: none.
  public var old: FieldValue?
  /// The value that it shows now; nil: none.
  public var new: FieldValue?
  /// Whether a pending write of this peer overlays the field.
  var isOurs = false
}

/// A commit that was applied.
public struct CommitInfo: Sendable, Hashable {
  /// The version of the model that the commit made.
  public var version: Version
  /// The writer of the commit.
  public var origin: Origin
  /// The number of its proposal.
  public var number: ProposalNumber
  /// The hub's wall time, milliseconds since 1970; for people.
  public var time: UInt64
  /// The `hops` of its proposal (R17).
  public var hops: UInt8
  /// The changed fields with their new committed values.
  public var changes: [FieldChange]
  /// Whether this peer proposed it.
  public var own: Bool

  /// Creates a commit as it was applied.
  public init(
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
public struct FieldChange: Sendable, Hashable {
  /// The field's name.
  public var field: String
  /// The committed value; nil: deleted.
  public var value: FieldValue?

  /// Creates a change; a nil value deletes the field.
  public init(field: String, value: FieldValue?) {
    self.field = field
    self.value = value
  }
}

/// All that is known of a field.
public struct FieldRecord: Sendable, Hashable {
  /// The value that the field shows; nil: none.
  public var shown: FieldValue?
  /// The committed value; nil: none.
  public var committed: FieldValue?
  /// The epoch to name in a condition on this field; 0: no hub has been seen.
  public var epoch: Epoch
  /// The version since which the committed value is known to be unchanged; a condition on this field names it.
  public var version: Version
  /// The writer of the committed value.
  public var origin: Origin
  /// The hub's wall time of the commit, milliseconds since 1970; for people.
  public var time: UInt64
  /// Whether a pending write of this peer overlays the field.
  public var isPending: Bool
}
