import BindingModel
import BindingProtocol

/// What remains to be done once the lock is released, in the order in which it arose.
struct PeerEffects {
  struct Settled {
    let unacknowledged: PeerRuntime.UnacknowledgedWrite
    let outcome: Outcome
    /// The committed values, if the write was not applied.
    let current: [String: FieldValue]
    let version: Version
    let stamp: UInt64

    func carryOut() {
      if let reason = outcome.complaint {
        unacknowledged.model.recordRejection(of: unacknowledged.write.fields, reason, current: current, stamp: stamp)
      }
      unacknowledged.write.settle(outcome, current: outcome.reportsCurrent ? current : [:], modelVersion: version)
    }
  }
  var settled: [Settled] = []
  var shown: [SharedModel] = []
  var questions: [(WriteID, PeerRuntime.UnacknowledgedWrite, MergeQuestion)] = []
  var approvalRequests: [(ApprovalRequest, of: SharedModel?)] = []
  var notices: [Notice] = []
  var announced: [(PrefixListener, PrefixListener.Event)] = []
  var released: [(PeerRuntime.Waiter, Bool)] = []
  var ended: [(Wait<BarrierEnd?>, BarrierEnd)] = []
  /// Models whose observed status may have changed, and whether the peer's may have.
  var observed: [SharedModel] = []
  var concernsPeer = false
  var actions: [PeerAction] = []
  /// There are actions for the link.
  var concernsLink = false
  /// The link has to be woken for them.
  var wakesLink = false
}

extension PeerRuntime.State {
  /// Sorts the session's actions into effects, and checks whether waiters can continue.
  mutating func sort(into effects: inout PeerEffects) {
    effects.concernsPeer = isPeerObserved && (hasOutboxChanged || !output.actions.isEmpty)
    hasOutboxChanged = false
    effects.observed = observedModels(concernedBy: output.actions)
    // They are moved, not copied.
    var actions: [PeerAction] = []
    swap(&actions, &output.actions)
    actions.reverse()
    while let action = actions.popLast() {
      if action.isForLink {
        forLink.append(action)
        effects.concernsLink = true
        continue
      }
      switch consume action {
      case .update(let update):
        guard let index = models.index(of: update.model), let model = models[at: index].model else { continue }
        stamp += 1
        if model.stage(update, stamp: stamp) { effects.shown.append(model) }
      case .settled(let id, let model, let outcome):
        guard let unacknowledged = writes.removeValue(forKey: id) else { continue }
        let current = currentValues(unacknowledged.write.fields, of: model, after: outcome)
        // Later than the value to which the field falls back, which is shown before.
        stamp += 1
        let version = session.version(of: model).version
        effects.settled.append(
          .init(unacknowledged: unacknowledged, outcome: outcome, current: current, version: version, stamp: stamp))
      case .retryLater(let id, _, let code): writes[id]?.retryReason = code
      case .merge(let id, _, let question):
        if let unacknowledged = writes[id] { effects.questions.append((id, unacknowledged, question)) }
      case .approve(let id, let request):
        effects.approvalRequests.append((request, of: models[id]?.model))
      case .announced(let prefix, let model, let version, let fields):
        let event = PrefixListener.Event.model(id: model, version: version, fields: fields)
        for listener in listeners[prefix] ?? [] { effects.announced.append((listener, event)) }
      case .listed(let prefix):
        for listener in listeners[prefix] ?? [] { effects.announced.append((listener, .listed)) }
      case .notice(let notice): effects.notices.append(notice)
      case .awaited(let id, let end):
        if let wait = barriers.removeValue(forKey: id) { effects.ended.append((wait, end)) }
      case .keep, .phase, .open, .send, .listen, .subscribe, .unsubscribe, .close: break
      case .pong(let token):
        for listener in listeners[PrefixListener.pongs] ?? [] { effects.announced.append((listener, .pong(token))) }
      }
    }
    swap(&actions, &output.actions)
    guard !waiters.isEmpty else { return }
    for (id, waiter) in waiters where waiter.condition(self) {
      waiters.removeValue(forKey: id)
      effects.released.append((waiter, true))
    }
  }

  /// The committed values that show instead of a write that was not applied.
  private func currentValues(_ fields: [String], of model: String, after outcome: Outcome) -> [String: FieldValue] {
    guard outcome.complaint != nil else { return [:] }
    var current: [String: FieldValue] = [:]
    for field in fields { current[field] = session.fieldRecord(model, field)?.committed }
    // The replica may lack the value with which the hub compared.
    if case .conflict(let conflict) = outcome { current[conflict.field] = conflict.value }
    return current
  }
}

extension PeerAction {
  /// Whether the link performs it.
  fileprivate var isForLink: Bool {
    switch self {
    case .open, .send, .listen, .subscribe, .unsubscribe, .close: true
    default: false
    }
  }
}

extension Outcome {
  /// Whether the hub compared the write with the committed values.
  fileprivate var reportsCurrent: Bool {
    switch self {
    case .refused, .conflict: true
    default: false
    }
  }

  /// Why the write no longer shows, for the field's status; nil if it was applied or superseded by an own write.
  var complaint: String? {
    switch self {
    case .committed, .unchanged, .superseded: nil
    case .refused, .conflict, .expired, .unknown: explanation(of: "the last write")
    }
  }
}
