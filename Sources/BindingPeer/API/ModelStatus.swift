import BindingModel
public import BindingProtocol

/// A model's state relative to the hub: `lamp.status`, or observed as `lamp.statuses`. Instants are of the clock that
/// `FieldStatus` names.
public struct ModelStatus: Sendable, Equatable, CustomStringConvertible {
  /// The version of the committed values.
  public var version: Version = 0
  /// When the committed values became possibly stale: the hub was last heard then, or the model last complete. nil
  /// while they are complete and the link is up.
  public var staleSince: SuspendingClock.Instant?
  /// The number of this peer's writes without an outcome.
  public var unconfirmed = 0
  /// How many of those were sent.
  public var inFlight = 0
  /// When the oldest of them was made.
  public var pendingSince: SuspendingClock.Instant?
  /// Why the hub has deferred it; nil if it has not.
  public var waiting: RetryReason?
  /// Why the hub does not let this peer join the model; nil if it does. The peer asks again every few seconds.
  public var refusal: JoinRefusal?
  /// Whether the hub lets this peer read the model and change nothing in it. `SharedField.isReadOnly` tells it of one
  /// field.
  public var isReadOnly = false
  /// The fields that do not show what was assigned or received, or whose declaration differs from the description, by
  /// their names on the wire.
  public var problems: [String: FieldProblem] = [:]

  /// Whether the committed values are complete and the link is up.
  public var isCurrent: Bool { staleSince == nil }

  /// As a sentence: `current, version 12; 2 writes have no outcome, 1 in flight; level: rejected: …`.
  public var description: String {
    var parts = ["\(isCurrent ? "current" : "stale"), version \(version)"]
    if unconfirmed > 0 {
      parts.append("\(unconfirmed) \(unconfirmed == 1 ? "write has" : "writes have") no outcome, \(inFlight) in flight")
    }
    if let waiting { parts.append("waiting: \(waiting)") }
    if isReadOnly { parts.append("read-only") }
    if let refusal { parts.append("not joined: \(refusal)") }
    for (field, problem) in problems.sorted(by: { $0.key < $1.key }) { parts.append("\(field): \(problem)") }
    return parts.joined(separator: "; ")
  }
}

extension SharedModel {
  /// The model's state now. Reads are tracked like those of a field's value.
  public var status: ModelStatus { ReadTracking.current == .nobody ? presentStatus : statuses.value }

  private var presentStatus: ModelStatus {
    let described = descriptionText
    let problems = observers.firstByField { problem(of: $1, $0, described) }
    return runtime.state.withLock { state in
      let syncState = state.session.syncState(of: id)
      return ModelStatus(
        version: syncState.version, staleSince: syncState.staleSince.map(PeerClock.instant(signed:)),
        unconfirmed: syncState.unconfirmed, inFlight: syncState.inFlight,
        pendingSince: syncState.pendingSince.map(PeerClock.instant),
        waiting: state.writes.retryReason(of: syncState.waiting), refusal: syncState.refusal,
        isReadOnly: syncState.isReadOnly, problems: problems)
    }
  }

  private func problem(of cell: any AnyFieldCell, _ name: String, _ text: FieldValue?) -> FieldProblem? {
    if let problem = cell.problem { return problem }
    guard let text, let described = description(of: name, in: text, otherwiseThan: cell) else { return nil }
    return .describedOtherwise(declared: cell.description, described: described)
  }

  /// `status`, observable on the model's lane.
  public var statuses: Statuses<ModelStatus> {
    let broadcaster = broadcaster.object {
      StatusBroadcaster<ModelStatus>(
        present: { [weak self] in self?.presentStatus ?? ModelStatus() },
        begin: { [weak self] in self?.observers.register($0) })
    }
    return Statuses(broadcaster: broadcaster, subject: self)
  }
}

extension Model {
  /// The model's state now; a default one until the model is shared.
  public var status: ModelStatus { shared?.status ?? ModelStatus() }

  /// `status`, observable on the model's lane. Ask for it once the model is shared: a source obtained before that
  /// keeps the default status.
  public var statuses: Statuses<ModelStatus> {
    if let shared { return shared.statuses }
    let broadcaster = StatusBroadcaster<ModelStatus>(present: { ModelStatus() }, begin: { _ in })
    return Statuses(broadcaster: broadcaster, subject: broadcaster)
  }
}
