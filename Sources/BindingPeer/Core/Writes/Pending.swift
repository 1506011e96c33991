import BindingProtocol

/// A write that has no outcome yet, or whose commit has not arrived.
struct Pending: Sendable {
  let id: WriteID
  var proposal: Proposal
  /// What lies over the committed values: the operations, `clear` spelled out by field.
  var overlay: [FieldOperation]
  let bytes: Int
  let writtenAt: UInt64
  /// What its writer saw of the fields that it sets; where a rule merged it with what others wrote, what it stands on.
  var seen: ByField<Seen>
  /// By field: how it stands to what others write.
  var rules: [String: ConflictRule] = [:]
  /// By field: what becomes of it when it waited long. Without one it yields.
  var offline: [String: OfflineRule] = [:]
  /// How often it was refused as a conflict and merged.
  var attempts = 0
  /// How often somebody was asked what becomes of it.
  var askings = 0
  /// It was merged since the outbox noted it.
  var isRewritten = false
  /// It is not sent before the replica has reached this version, if the epoch is still that one.
  var waitsFor: (epoch: Epoch, version: Version)?
  /// Somebody is asked what becomes of it.
  var isAsking = false
  var number: ProposalNumber?
  /// The life of the log in which it was given that number, as far as was known here.
  var numberedIn: Epoch = 0
  /// Nobody knows what became of it when it was sent first; now it goes again, on what its writer saw.
  var isSecondTry = false
  var isVoid = false
  /// To be sent, or sent again, with the next drain.
  var needsSending = true
  /// It has left once, here or in an earlier life.
  var wasSent = false
  var sentAtHeartbeat: UInt64 = 0
  /// The heartbeat at which it was first seen to be decided and without an outcome.
  var unansweredSince: UInt64?
  /// Its effect is in the committed values already, or it was refused: it no longer lies over them (R4, R5).
  var isHidden = false
  /// The hub has committed it; it lies over until the replica reaches that version (R6).
  var committedAt: Version?
  /// It waited long already when this session took it up.
  var isOld = false
  /// Set for what an earlier life of the program wrote: another session sends it, here it only lies over.
  var carried: Carried?

  struct Carried: Sendable {
    let tag: Tag
    /// The number under which the other session sent it.
    var number: ProposalNumber?
  }

  struct Seen: Sendable {
    let value: Sight
    let epoch: Epoch
    let version: Version
    /// It was a write of ours that was not committed yet.
    var isOwn = false
    /// Where the field has no value: what its writer saw all the same, as its declared default, or what it had in an
    /// earlier life of the log. Others who bring that back have not put it in, so a merge starts from it.
    var ground: FieldValue?

    /// What a merge starts from; nil: nothing, or what is not known any more.
    var base: FieldValue? { ground ?? value.known }

    /// Whether nobody ever wrote there: its writer saw the declared default, or a write of ours that came to nothing.
    /// - Parameters:
    ///   - value: what is there now.
    ///   - version: that of the committed value.
    func isUntouched(_ value: FieldValue?, at version: Version) -> Bool { value == nil && version == 0 && !isOwn }
  }

  /// A committed value as a writer saw it; of an earlier life only the digest is known.
  enum Sight: Sendable {
    case value(FieldValue?)
    case digest(UInt64?)

    var digest: UInt64? {
      switch self {
      case .value(let value): value.map { value in value.bytes.withUnsafeBytes { Digest.ofValue($0) } }
      case .digest(let digest): digest
      }
    }

    /// The value, where it is known.
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
