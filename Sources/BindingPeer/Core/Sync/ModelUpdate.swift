public import BindingProtocol

/// One change of what a model shows: told in one turn.
public struct ModelUpdate: Sendable, Equatable {
  public var model: String
  public var cause: UpdateCause
  /// The fields whose shown value is another one than at the update before.
  public var changes: [ShownChange]
  /// The fields that show what they showed, but whose committed value, version or pending write is another.
  public var confirmed: [String]
  /// Of those, the fields over which a write of this peer still lies.
  var covered: [String] = []
  /// The epoch and version of the committed values behind it.
  public var epoch: Epoch
  public var version: Version
  /// The commits that were applied, in order.
  public var commits: [CommitInfo]
  /// Commits that were applied without being listed: folded by the hub, or past `SessionOptions.maxListedCommits`.
  public var coalesced: UInt64
  /// The `hops` of a proposal that is written while this is being delivered (R17).
  public var proposalHops: UInt8
}

/// What made an update. Where several things did, the first of this list that applies.
public enum UpdateCause: Sendable, Hashable {
  /// The model has been left: what was pending shows no longer.
  case detached
  case snapshot
  case delta(from: Version)
  case commits
  /// A write ended without becoming a commit.
  case outcome
  /// A write of this peer was laid over.
  case local
}

/// What a field shows now and showed before; nil: it has no value.
public struct ShownChange: Sendable, Hashable {
  public var field: String
  public var old: FieldValue?
  public var new: FieldValue?
  /// Whether a write of this peer makes it so.
  var isOurs = false
}

/// A commit as it was applied.
public struct CommitInfo: Sendable, Hashable {
  public var version: Version
  public var origin: Origin
  /// The number of the proposal that it was.
  public var number: ProposalNumber
  /// The hub's wall time, milliseconds since 1970; for people.
  public var time: UInt64
  public var hops: UInt8
  public var changes: [FieldChange]
  /// Whether this peer proposed it.
  public var own: Bool

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

/// A field's new committed value; nil: deleted.
public struct FieldChange: Sendable, Hashable {
  public var field: String
  public var value: FieldValue?

  public init(field: String, value: FieldValue?) {
    self.field = field
    self.value = value
  }
}

/// All that is known of a field.
public struct FieldRecord: Sendable, Hashable {
  public var shown: FieldValue?
  /// The committed value.
  public var committed: FieldValue?
  /// The epoch to name in a condition on this field; 0: no hub has been seen.
  public var epoch: Epoch
  /// The committed value is known to be unchanged since this version, which a condition on this field names.
  public var version: Version
  /// Who wrote the committed value.
  public var origin: Origin
  /// The hub's wall time of the commit, milliseconds since 1970; for people.
  public var time: UInt64
  /// Whether a pending write of this peer is laid over.
  public var isPending: Bool
}
