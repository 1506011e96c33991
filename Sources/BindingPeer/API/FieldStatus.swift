public import BindingProtocol

/// How a field's shown value relates to the hub's. Read it from any thread as `lamp.$level.status`; observe it as
/// `lamp.$level.statuses`. Instants are of this process's clock that stops while the machine sleeps:
/// `since.duration(to: .now)` is an age.
public enum FieldStatus: Sendable, Equatable, CustomStringConvertible {
  /// Local only: the model was never shared.
  case local
  /// The shown value is what the hub committed at this version, and the link is up.
  case current(version: Version)
  /// Writes of this peer show that the hub has not committed, the oldest made at `since`. `isInFlight`: one was sent.
  case pending(isInFlight: Bool, since: SuspendingClock.Instant)
  /// The hub has deferred a write of this peer.
  case waiting(RetryReason, since: SuspendingClock.Instant)
  /// The shown value was committed when the hub was last heard, or the model last complete.
  case stale(version: Version, since: SuspendingClock.Instant)
  /// The last write was not applied, or a received value does not fit; the last good value shows.
  case problem(FieldProblem)
  /// The shown value is current, but the model's description differs from this program's declaration: what one
  /// allows, the other may refuse.
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

/// Why a field does not show what was assigned or received.
public enum FieldProblem: Sendable, Equatable, CustomStringConvertible {
  /// The last write failed, here or at the hub: the reason, in words, and the committed value (nil: none). The next
  /// value that shows clears it.
  case rejected(String, current: FieldValue?)
  /// The committed value has another type than this program declared; the last good value shows, and nothing is
  /// overwritten.
  case mismatch(declared: FieldType, found: String)
  /// The declaration of this program differs from the model's description, as in `FieldStatus.mismatch`: the
  /// committed value shows, but what one allows, the other may refuse. Only in `ModelStatus.problems`.
  case describedOtherwise(declared: FieldDescription, described: FieldDescription)
  /// The list has no element with this id: it was removed, or never inserted. If it is inserted again, it shows again.
  /// Only of a `ListElement`.
  case noElement(id: String)

  public var description: String {
    switch self {
    case .rejected(let reason, _): "rejected: \(reason)"
    case .describedOtherwise(let declared, let described):
      "declared as \(declared.allowance), described as \(described.allowance)"
    case .noElement(let id): ListError.noElement(id: id).description
    case .mismatch(let declared, let found): "declared as \(declared.rawValue), found \(found)"
    }
  }
}

extension FieldDescription {
  /// Whether the two allow the same values. Units, defaults and policies do not count.
  func allowsSame(as other: FieldDescription) -> Bool { rule.allowsSame(as: other.rule) }

  /// The values that are allowed, in words.
  var allowance: String { rule.allowance }
}
