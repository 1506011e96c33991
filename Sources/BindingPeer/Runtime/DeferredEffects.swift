import BindingModel
import BindingProtocol

/// What remains to be done once the lock is released, in the order in which it arose.
struct DeferredEffects {
  struct Settled {
    let unacknowledged: UnacknowledgedWrite
    let outcome: Outcome
    /// The committed values, if the write was not applied.
    let current: [String: FieldValue]
    let version: Version
    let stamp: UInt64

    /// Tells the fields why the write does not show, before they show what is there instead.
    func recordRejection() {
      if let reason = outcome.complaint, !unacknowledged.isRestoring, !unacknowledged.write.isWeak {
        unacknowledged.model.observers.recordRejection(
          of: unacknowledged.write.fields, reason, current: current, stamp: stamp, isSticky: outcome.isMisfit)
      }
    }

    /// Tells those who wait for the outcome, once its fields show what is there instead.
    func settle() {
      unacknowledged.write.settle(outcome, current: outcome.reportsCurrent ? current : [:], modelVersion: version)
    }
  }
  /// What the session asks of the program, and of the past.
  struct Questions {
    var merges: [(WriteID, UnacknowledgedWrite, MergeQuestion)] = []
    var approvals: [(ApprovalRequest, of: SharedModel?)] = []
    var past: [PastSearch] = []
  }
  /// What a write or a commit does not cause. Making and releasing all of it each time costs more than a write.
  struct Others {
    var questions = Questions()
    var notices: [Notice] = []
    var announced: [(PrefixListener, PrefixListener.Event)] = []
    var released: [Waiters.Waiter] = []
    var ended: [(Wait<BarrierEnd?>, BarrierEnd)] = []
    var pages: [(Wait<HistoryEnd?>, HistoryEnd)] = []
    /// What the session requested, if somebody besides its own runtime follows it.
    var requested = PeerEffects()
  }
  var settled: [Settled] = []
  var shown: [SharedModel] = []
  /// Models whose observed status may have changed, and whether the peer's may have.
  var observed: [SharedModel] = []
  var concernsPeer = false
  /// nil: nothing of it.
  private(set) var others: Others?
  /// The keep file may lack something.
  var keeper: ReplicaKeeper?
  /// There are actions for the link.
  var concernsLink = false
  /// The link has to be woken for them.
  var wakesLink = false

  mutating func add(_ change: (inout Others) -> Void) {
    // Taken out, so that its arrays are changed in place.
    var changed = others.take() ?? Others()
    change(&changed)
    others = changed
  }
}

extension PeerRuntime.State {
  /// Sorts the session's effects into what is done now, under the lock, and what is deferred, and checks whether
  /// waiters can continue.
  mutating func sort(into deferred: inout DeferredEffects) {
    let hasOutboxChanged = outbox?.takeChange() ?? false
    deferred.concernsPeer = observed.isPeer && (hasOutboxChanged || !effects.isEmpty)
    deferred.observed = observed.models(concernedBy: effects).compactMap { models[$0]?.model }
    if !effects.link.isEmpty {
      link.append(effects.link)
      deferred.concernsLink = true
    }
    // They are moved, not copied.
    var requested = PeerEffects()
    swap(&requested, &effects)
    requested.updates.drain { stage($0, &deferred) }
    requested.outcomes.drain { settle($0, &deferred) }
    for question in requested.questions { ask(question, &deferred) }
    requested.events.drain { sort($0, &deferred) }
    requested.removeAll()
    swap(&requested, &effects)
    let released = takeReleasedWaiters()
    if !released.isEmpty { deferred.add { $0.released = released } }
  }

  private mutating func stage(_ update: ModelUpdate, _ deferred: inout DeferredEffects) {
    guard let index = models.index(of: update.model), let model = models[at: index].model else { return }
    stamp += 1
    if model.observers.stage(update, stamp: stamp) { deferred.shown.append(model) }
  }

  private mutating func settle(_ report: WriteReport, _ deferred: inout DeferredEffects) {
    switch report {
    case .settled(let id, let model, let outcome):
      guard let unacknowledged = writes.remove(id) else { return }
      let current = currentValues(unacknowledged.write.fields, of: model, after: outcome)
      // Later than the value to which the field falls back, which is shown before.
      stamp += 1
      let version = session.version(of: model).version
      deferred.settled.append(
        .init(unacknowledged: unacknowledged, outcome: outcome, current: current, version: version, stamp: stamp))
    case .retryLater(let id, _, let code): writes.setRetryReason(code, of: id)
    }
  }

  private mutating func ask(_ question: PeerQuestion, _ deferred: inout DeferredEffects) {
    switch question {
    case .merge(let id, _, let question):
      if let unacknowledged = writes[id] {
        deferred.add { $0.questions.merges.append((id, unacknowledged, question)) }
      }
    case .approve(let id, let request):
      let model = models[id]?.model
      deferred.add { $0.questions.approvals.append((request, of: model)) }
    case .past(let id, let question):
      if let model = models[id]?.model {
        deferred.add { $0.questions.past.append(PastSearch(question: question, model: model)) }
      }
    }
  }

  private mutating func sort(_ event: SessionEvent, _ deferred: inout DeferredEffects) {
    switch event {
    case .phase: break
    case .notice(let notice): deferred.add { $0.notices.append(notice) }
    case .announced(let prefix, let model, let version, let fields):
      let event = PrefixListener.Event.model(id: model, version: version, fields: fields)
      for listener in listeners[prefix] { deferred.add { $0.announced.append((listener, event)) } }
    case .listed(let prefix):
      for listener in listeners[prefix] { deferred.add { $0.announced.append((listener, .listed)) } }
    case .awaited(let id, let end):
      if let wait = barriers.removeValue(forKey: id) { deferred.add { $0.ended.append((wait, end)) } }
    case .past(let id, let end):
      if let wait = pages.removeValue(forKey: id) { deferred.add { $0.pages.append((wait, end)) } }
    case .pong(let token):
      for listener in listeners[PrefixListener.pongs] {
        deferred.add { $0.announced.append((listener, .pong(token))) }
      }
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

extension Array {
  /// Moves each element into `body`, the first one first, and keeps the capacity.
  fileprivate mutating func drain(_ body: (consuming Element) -> Void) {
    reverse()
    while let element = popLast() { body(element) }
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

  /// Whether the description does not allow the value: its author has to answer that.
  var isMisfit: Bool { if case .refused(let refusal) = self { refusal.code == .doesNotFit } else { false } }

  /// Why the write no longer shows, for the field's status; nil if it was applied or superseded by an own write.
  var complaint: String? {
    switch self {
    case .committed, .unchanged, .superseded: nil
    case .refused, .conflict, .expired, .unknown: explanation(of: "the last write")
    }
  }
}
