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
  /// The default shows instead of the value committed at this version: the field has a time limit, and nothing was
  /// heard of the hub for so long (`@Field(expires:)`).
  case expired(version: Version, since: SuspendingClock.Instant)
  /// The last write was not applied, or a received value does not fit; the last good value shows.
  case problem(FieldProblem)
  /// The shown value is current, but the model's description differs from this program's declaration in what no share
  /// changes: another type, unit or policy, values that the description does not allow, or another title in the same
  /// release. A declaration that allows less is no mismatch.
  case mismatch(declared: FieldDescription, described: FieldDescription)

  public var description: String {
    switch self {
    case .local: "local"
    case .current(let version): "current, version \(version)"
    case .pending(let isInFlight, _): isInFlight ? "pending, in flight" : "pending"
    case .waiting(let code, _): "waiting: \(code)"
    case .stale(let version, _): "stale, version \(version)"
    case .expired(let version, _): "expired (stale), version \(version)"
    case .problem(let problem): problem.description
    case .mismatch(let declared, let described): FieldDescription.words(declared: declared, described: described)
    }
  }
}

/// Why a field does not show what was assigned or received.
public enum FieldProblem: Sendable, Equatable, CustomStringConvertible {
  /// The last write failed, here or at the hub: the reason, in words, and the committed value (nil: none). The
  /// program's next write clears it, or another value that shows; where the hub refused what the description no longer
  /// allows, only a write does, or `SharedField.dismissProblem()`.
  case rejected(String, current: FieldValue?)
  /// The committed value cannot be read as this program's type: a newer release may have written it. The last good
  /// value shows, and nothing is overwritten. Writes that build on the value are refused; a plain one is not.
  case cannotShow(FieldValue)
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
      FieldDescription.words(declared: declared, described: described)
    case .noElement(let id): ListError.noElement(id: id).description
    case .cannotShow(let value): "cannot show \(PrintedText.escaped(value.description, limit: 200))"
    }
  }
}

extension FieldDescription {
  /// How a declaration and the description differ.
  static func words(declared: FieldDescription, described: FieldDescription) -> String {
    var (mine, theirs): ([String], [String]) = ([], [])
    if !declared.rule.allowsSame(as: described.rule) {
      mine.append(declared.rule.allowance)
      theirs.append(described.rule.allowance)
    }
    for (name, one, other) in zip(declared.spoken, described.spoken).map({ ($0.name, $0.value, $1.value) })
    where one != nil && one != other {
      mine.append("\(name) \(one?.short ?? "")")
      theirs.append(other.map { "\(name) \($0.short)" } ?? "no \(name)")
    }
    return "declared as \(mine.joined(separator: ", ")), described as \(theirs.joined(separator: ", "))"
  }

  /// The members besides the rule that people compare.
  private var spoken: [(name: String, value: JSON?)] {
    [
      ("unit", unit.map(JSON.string)), ("policy", .string(policy ?? "lastWrite")), ("title", title.map(JSON.string)),
      ("help", help.map(JSON.string)), ("group", group.map(JSON.string)), ("widget", widget.map(JSON.string)),
      ("step", step), ("default", defaultValue),
    ]
  }
}
