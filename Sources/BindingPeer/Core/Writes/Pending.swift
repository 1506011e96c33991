import BindingProtocol

/// A write without an outcome, or one whose commit has not arrived.
struct Pending: Sendable {
  let id: WriteID
  var proposal: Proposal
  /// The operations that overlay the committed values; `clear` is expanded to a deletion of each field.
  var overlay: [FieldOperation]
  let bytes: Int
  let writtenAt: UInt64
  /// What its writer saw of each field; after a merge with a write of another peer, what the merged value is based
  /// on.
  var seen: ByField<Seen>
  /// By field: how the write reacts to what others commit.
  var rules: [String: ConflictRule] = [:]
  /// By field: what becomes of a plain set that waited long. The default is that it yields.
  var offline: [String: OfflineRule] = [:]
  /// It had already waited long when this session started.
  var isOld = false
  /// nil: none is assigned.
  var number: ProposalNumber?
  var sending = Sending()
  var merging = Merging()
  /// The committed values hold its effect, or it was refused: it no longer overlays them (R4, R5).
  var isHidden = false
  /// The version of its commit; it stays in the overlay until the replica reaches that version (R6).
  var committedAt: Version?
  /// Set for a write of an earlier run: another session sends it; here it is only overlaid.
  var carried: Carried?

  /// How often and when a write was sent.
  struct Sending: Sendable {
    /// It is to be sent or resent with the next drain.
    var isDue = true
    /// It was sent before, by this run or an earlier one.
    var wasSent = false
    /// The heartbeat after which it was last sent.
    var heartbeat: UInt64 = 0
    /// The heartbeat at which it was first found decided but without an outcome.
    var unansweredSince: UInt64?
    /// The epoch in which its number was assigned, as known here.
    var epoch: Epoch = 0
    /// The hub is asked not to apply it.
    var isVoid = false
    /// The result of its first sending is unknown; it is resent on condition of what its writer saw.
    var isSecondTry = false
    /// How long it may wait for its outcome, because one of its fields expires; nil: for ever. An outbox does not keep
    /// such a write.
    var limit: UInt64?
    /// It has waited that long after it was sent: the hub is asked not to apply it, and it overlays nothing any more.
    var hasLapsed = false
  }

  /// How often a write with rules was merged with what others committed.
  struct Merging: Sendable {
    /// How often it was refused as a conflict and merged.
    var attempts = 0
    /// How often the program was asked to merge it.
    var askings = 0
    /// The program is being asked to merge it.
    var isAsking = false
    /// It was merged since the outbox recorded it.
    var isRewritten = false
    /// It is not sent before the replica has reached this version, unless the epoch changes.
    var waitsFor: (epoch: Epoch, version: Version)?
  }

  struct Carried: Sendable {
    let tag: Tag
    /// The number under which the other session sent it.
    var number: ProposalNumber?
  }

  struct Seen: Sendable {
    let value: Sight
    let epoch: Epoch
    let version: Version
    /// It was an uncommitted write of this peer.
    var isOwn = false
    /// For a field without a value, what the writer saw all the same: the declared default, or a value of an earlier
    /// epoch. If another peer restores that value, it is no edit, so a merge starts from it.
    var ground: FieldValue?

    /// The base of a merge; nil: none, or no longer known.
    var base: FieldValue? { ground ?? value.known }

    /// Whether the field was never written: the writer saw the declared default, or a write of ours that was not
    /// committed.
    /// - Parameters:
    ///   - value: the present value.
    ///   - version: that of the committed value.
    func isUntouched(_ value: FieldValue?, at version: Version) -> Bool { value == nil && version == 0 && !isOwn }
  }

  /// A committed value as a writer saw it; for writes of an earlier run only the digest is known.
  enum Sight: Sendable {
    case value(FieldValue?)
    case digest(UInt64?)

    var digest: UInt64? {
      switch self {
      case .value(let value): value.map { value in value.bytes.withUnsafeBytes { Digest.ofValue($0) } }
      case .digest(let digest): digest
      }
    }

    /// The value, if it is known.
    var known: FieldValue? {
      if case .value(let value) = self { value } else { nil }
    }

    func isSame(as other: FieldValue?) -> Bool {
      switch self {
      case .value(let value): value == other
      case .digest(let digest): digest == Sight.value(other).digest
      }
    }
  }

  var isUnacknowledged: Bool { committedAt == nil }
}
