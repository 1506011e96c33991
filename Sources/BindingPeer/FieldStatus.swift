public import BindingWire

/// How the shown value of a field stands to the truth. Read it from any thread: `lamp.$level.status`.
public enum FieldStatus: Sendable, Equatable, CustomStringConvertible {
  /// Local only: the model was never shared.
  case local
  /// Shown is what the hub committed at this version, and the link is up.
  case current(version: Version)
  /// A write of ours shows, which the hub has not committed yet. `isInFlight`: it was sent already.
  case pending(isInFlight: Bool)
  /// Our write waits for the hub's go-ahead.
  case waiting(HoldCode)
  /// Shown is what was committed when the link was last up.
  case stale(version: Version)
  /// The last write was not carried out, or what came does not fit; the last good value shows.
  case problem(FieldProblem)

  public var description: String {
    switch self {
    case .local: "local"
    case .current(let version): "current, version \(version)"
    case .pending(let isInFlight): isInFlight ? "pending, in flight" : "pending"
    case .waiting(let code): "waiting: \(code)"
    case .stale(let version): "stale, version \(version)"
    case .problem(let problem): problem.description
    }
  }
}

/// What keeps a field from showing what was assigned or received.
public enum FieldProblem: Sendable, Equatable, CustomStringConvertible {
  /// A write was refused, here or by the hub, in words.
  case rejected(String)
  /// The committed value is of another type than this program declared; the last good value shows, nothing is
  /// overwritten.
  case mismatch(declared: FieldType, found: String)

  public var description: String {
    switch self {
    case .rejected(let reason): "rejected: \(reason)"
    case .mismatch(let declared, let found): "declared as \(declared.rawValue), found \(found)"
    }
  }
}
