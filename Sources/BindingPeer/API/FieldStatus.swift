public import BindingProtocol

/// How the shown value of a field stands to the truth. Read it from any thread: `lamp.$level.status`; observe it as
/// `lamp.$level.statuses`. Instants are of this process's clock that stands still while the machine sleeps:
/// `since.duration(to: .now)` is an age.
public enum FieldStatus: Sendable, Equatable, CustomStringConvertible {
  /// Local only: the model was never shared.
  case local
  /// Shown is what the hub committed at this version, and the link is up.
  case current(version: Version)
  /// Writes of ours show, the oldest since then, which the hub has not committed yet. `isInFlight`: sent already.
  case pending(isInFlight: Bool, since: SuspendingClock.Instant)
  /// Our write waits for the hub's go-ahead.
  case waiting(RetryReason, since: SuspendingClock.Instant)
  /// Shown is what was committed when the hub was last heard, or the model last complete.
  case stale(version: Version, since: SuspendingClock.Instant)
  /// The last write was not carried out, or what came does not fit; the last good value shows.
  case problem(FieldProblem)
  /// As `current`, but others describe the field otherwise than this program declares it: what one side allows, the
  /// other may refuse.
  case mismatch(declared: FieldDescription, described: FieldDescription)

  public var description: String {
    switch self {
    case .local: "local"
    case .current(let version): "current, version \(version)"
    case .pending(let isInFlight, _): isInFlight ? "pending, in flight" : "pending"
    case .waiting(let code, _): "waiting: \(code)"
    case .stale(let version, _): "stale, version \(version)"
    case .problem(let problem): problem.description
    case .mismatch(let declared, let described):
      "declared as \(declared.allowance), described as \(described.allowance)"
    }
  }
}

/// What keeps a field from showing what was assigned or received.
public enum FieldProblem: Sendable, Equatable, CustomStringConvertible {
  /// The last write did not get through, here or at the hub: why, in words, and the committed value that stands (nil:
  /// none). The next value that shows clears it.
  case rejected(String, current: FieldValue?)
  /// The committed value is of another type than this program declared; the last good value shows, nothing is
  /// overwritten.
  case mismatch(declared: FieldType, found: String)
  /// This program declares the field otherwise than the model's description, as `FieldStatus.mismatch` says: what shows
  /// is committed, but what one side allows, the other may refuse. Only in `ModelStatus.problems`.
  case describedOtherwise(declared: FieldDescription, described: FieldDescription)

  public var description: String {
    switch self {
    case .rejected(let reason, _): "rejected: \(reason)"
    case .describedOtherwise(let declared, let described):
      "declared as \(declared.allowance), described as \(described.allowance)"
    case .mismatch(let declared, let found): "declared as \(declared.rawValue), found \(found)"
    }
  }
}

extension FieldDescription {
  /// Whether the two allow the same values. Units, defaults and policies allow nothing and forbid nothing.
  func allowsSame(as other: FieldDescription) -> Bool { rule.allowsSame(as: other.rule) }

  /// What is allowed, in words.
  var allowance: String { rule.allowance }
}
