import BindingModel
import BindingWire
import Dispatch
import Logging

/// The shell around `Session`: one lock that all threads of the program and the link share, and the errands that
/// follow from what the session says.
///
/// Under the lock only the pure machine runs. Its actions are sorted there, so that their order is the session's, and
/// carried out after the lock is let go: what concerns sockets by the link's thread, what concerns observers on their
/// model's lane, never on the socket thread.
final class PeerRuntime: Sendable {
  struct State: Sendable {
    var session: Session
    var output = PeerOutput()
    var forLink: [PeerAction] = []
    var models: [String: WeakModel] = [:]
    var writes: [WriteID: UndecidedWrite] = [:]
    var listeners: [String: [PrefixListener]] = [:]
    var waiters: [UInt64: Waiter] = [:]
    var lastWaiter: UInt64 = 0
    /// Orders the shown values across threads.
    var stamp: UInt64 = 0
    var hubInUse: String?
    var outbox: OutboxPen?
    /// Why the outbox file is behind.
    var outboxProblem: String?
    var isOutboxNews = false
    /// What earlier lives wrote and has no outcome.
    var restored: [RestoredKey: Restored] = [:]
    var earlier: EarlierLives?
    var barriers: [BarrierID: BarrierWait] = [:]
    /// Models of which somebody observes a status, and whether somebody observes the peer's.
    var watchedModels: Swift.Set<String> = []
    var isPeerWatched = false
  }

  /// A write without an outcome keeps its model, and so its peer, alive.
  struct UndecidedWrite: Sendable {
    let write: PendingWrite
    let model: SharedModel
    var policies: [String: WritePolicy] = [:]
    var hold: HoldCode?
  }

  struct WeakModel: Sendable {
    weak var model: SharedModel?
  }

  struct Waiter: Sendable {
    let condition: @Sendable (borrowing State) -> Bool
    let resume: @Sendable (Bool) -> Void
  }

  /// What nobody holds any more. The last reference may go anywhere, under the lock too, so a `deinit` only leaves a
  /// note here.
  struct Abandoned: Sendable {
    var models: [String] = []
    var peer = false
  }

  let state: Protected<State>
  private let abandoned = Protected(Abandoned())
  let link: any PeerLink
  let board: Protected<StatusBoard<PeerStatus>?> = Protected(nil)
  let log: Logger
  /// Hears all that the session wants, after it was noted; for who drives a session besides the peer's own.
  let hears: (@Sendable ([PeerAction]) -> Void)?

  init(
    session: Session, link: any PeerLink, log: Logger, outbox: OutboxPen? = nil,
    hears: (@Sendable ([PeerAction]) -> Void)? = nil
  ) {
    state = Protected(State(session: session, outbox: outbox))
    self.link = link
    self.hears = hears
    self.log = log
  }

  /// Milliseconds of a clock that never goes back.
  static var now: UInt64 { DispatchTime.now().uptimeNanoseconds / 1_000_000 }

  /// Lets `body` speak to the session, then carries out what follows.
  @discardableResult
  func perform<Result: Sendable, Failure: Error>(
    _ body: (inout State, UInt64) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    var errands = Errands()
    let result = try state.withLock { state throws(Failure) in
      let now = PeerRuntime.now
      state.session.isKeepingBehind = state.outboxProblem != nil
      let result = try body(&state, now)
      state.session.finishDrain(now: now, into: &state.output)
      state.keepNotes()
      if hears != nil { errands.heard = state.output.actions }
      state.sort(into: &errands)
      return result
    }
    if errands.concernsLink { link.wake() }
    carryOut(errands)
    return result
  }

  /// Waits until `condition` holds, looked at after everything that happens; false when `limit` passes first.
  func wait(
    atMost limit: Duration, until condition: @escaping @Sendable (borrowing State) -> Bool
  ) async -> Bool {
    await withCheckedContinuation { continuation in
      let id: UInt64? = state.withLock { state in
        if condition(state) { return nil }
        state.lastWaiter += 1
        state.waiters[state.lastWaiter] = Waiter(condition: condition) { continuation.resume(returning: $0) }
        return state.lastWaiter
      }
      guard let id else { return continuation.resume(returning: true) }
      Task.detached { [self] in
        try? await Task.sleep(for: limit)
        state.withLock { $0.waiters.removeValue(forKey: id) }?.resume(false)
      }
    }
  }

  func abandon(model: String) {
    abandoned.withLock { $0.models.append(model) }
    link.wake()
  }

  func abandonPeer() {
    abandoned.withLock { $0.peer = true }
    link.wake()
  }

  /// Leaves what was abandoned. The link calls this whenever it was woken.
  func tidyUp() {
    let notes = abandoned.withLock { abandoned in
      defer { abandoned = Abandoned() }
      return abandoned
    }
    if notes.peer { _ = end() }
    guard !notes.models.isEmpty else { return }
    perform { state, now in
      for id in notes.models where state.models[id] != nil && state.models[id]?.model == nil {
        state.models[id] = nil
        state.watchedModels.remove(id)
        state.session.leave(id, now: now, into: &state.output)
      }
    }
  }

  /// What the link has to do now.
  func takeLinkActions() -> [PeerAction] {
    state.withLock {
      let actions = $0.forLink
      $0.forLink.removeAll(keepingCapacity: true)
      return actions
    }
  }

  private func carryOut(_ errands: Errands) {
    for settled in errands.settled { settled.carryOut() }
    for model in errands.watched { model.noteStatusDue() }
    for model in errands.revealed { model.scheduleDelivery() }
    for model in errands.watched { model.scheduleDelivery() }
    for (id, undecided, question) in errands.questions {
      if let policy = undecided.policies[question.field] {
        undecided.model.answer(question, of: id, by: policy)
      }
    }
    for (judge, model) in errands.judgements { answer(judge, of: model) }
    for notice in errands.notices { report(notice) }
    if let hears, !errands.heard.isEmpty { hears(errands.heard) }
    for (listener, news) in errands.announced { listener.tell(news) }
    // Whoever waits for what a listener hears was looked at before it heard.
    if !errands.announced.isEmpty { perform { _, _ in } }
    if errands.concernsPeer { tellStatus() }
    for (waiter, held) in errands.released { waiter.resume(held) }
    for (wait, end) in errands.ended { wait.end(end) }
  }

  private func report(_ notice: Notice) {
    switch notice {
    case .hubError(let code, let fatal, let text):
      log.log(level: code == .closing ? .info : fatal ? .error : .warning, "the hub answered \(code): \(text)")
    case .otherLog(let old, let new):
      log.error(
        "the hub has another log; what was known of the old one is kept aside",
        metadata: ["old": "\(old)", "new": "\(new)"])
    case .newEpoch, .unknownIdentity, .diverged: log.info("\(notice)")
    default: log.debug("\(notice)")
    }
  }
}

/// What is left to do once the lock is let go, in the order in which it came about.
struct Errands {
  struct Settled {
    let undecided: PeerRuntime.UndecidedWrite
    let outcome: Outcome
    /// The committed values, where it was not carried out.
    let standing: [String: FieldValue]
    let stamp: UInt64

    func carryOut() {
      if let reason = outcome.complaint {
        undecided.model.noteRejection(of: undecided.write.fields, reason, standing: standing, stamp: stamp)
      }
      undecided.write.settle(outcome, current: outcome.saysWhatStands ? standing : [:])
    }
  }
  var settled: [Settled] = []
  var revealed: [SharedModel] = []
  var questions: [(WriteID, PeerRuntime.UndecidedWrite, MergeQuestion)] = []
  var judgements: [(Judge, of: SharedModel?)] = []
  var notices: [Notice] = []
  var announced: [(PrefixListener, PrefixListener.News)] = []
  var released: [(PeerRuntime.Waiter, Bool)] = []
  var ended: [(BarrierWait, BarrierEnd)] = []
  /// Models of which an observed status may be another one, and whether the peer's may.
  var watched: [SharedModel] = []
  var concernsPeer = false
  var heard: [PeerAction] = []
  var concernsLink = false
}

extension PeerRuntime.State {
  /// Sorts what the session said into errands, and looks whether a waiter can go on.
  mutating func sort(into errands: inout Errands) {
    errands.concernsPeer = isPeerWatched && (isOutboxNews || !output.actions.isEmpty)
    isOutboxNews = false
    errands.watched = watchedModels(concernedBy: output.actions)
    for action in output.actions {
      switch action {
      case .open, .send, .listen, .subscribe, .unsubscribe, .close:
        forLink.append(action)
        errands.concernsLink = true
      case .reveal(let reveal):
        guard let model = models[reveal.model]?.model else { continue }
        stamp += 1
        model.stage(reveal, stamp: stamp)
        errands.revealed.append(model)
      case .settled(let id, let model, let outcome):
        guard let undecided = writes.removeValue(forKey: id) else { continue }
        let standing = standing(undecided.write.fields, of: model, after: outcome)
        // Later than the value that the field falls back to, which is revealed before.
        stamp += 1
        errands.settled.append(.init(undecided: undecided, outcome: outcome, standing: standing, stamp: stamp))
      case .hold(let id, _, let code): writes[id]?.hold = code
      case .merge(let id, _, let question):
        if let undecided = writes[id] { errands.questions.append((id, undecided, question)) }
      case .judge(let id, let judge):
        errands.judgements.append((judge, of: models[id]?.model))
      case .announced(let prefix, let model, let version, let fields):
        let news = PrefixListener.News.model(id: model, version: version, fields: fields)
        for listener in listeners[prefix] ?? [] { errands.announced.append((listener, news)) }
      case .listed(let prefix):
        for listener in listeners[prefix] ?? [] { errands.announced.append((listener, .listed)) }
      case .notice(let notice): errands.notices.append(notice)
      case .awaited(let id, let end):
        if let wait = barriers.removeValue(forKey: id) { errands.ended.append((wait, end)) }
      case .keep, .phase: break
      case .pong(let token):
        for listener in listeners[PrefixListener.pongs] ?? [] { errands.announced.append((listener, .pong(token))) }
      }
    }
    output.removeAll()
    guard !waiters.isEmpty else { return }
    for (id, waiter) in waiters where waiter.condition(self) {
      waiters.removeValue(forKey: id)
      errands.released.append((waiter, true))
    }
  }

  /// What stands instead of a write that was not carried out.
  private func standing(_ fields: [String], of model: String, after outcome: Outcome) -> [String: FieldValue] {
    guard outcome.complaint != nil else { return [:] }
    var standing: [String: FieldValue] = [:]
    for field in fields { standing[field] = session.fieldRecord(model, field)?.committed }
    // The replica may not have what the hub compared with.
    if case .conflict(let conflict) = outcome { standing[conflict.field] = conflict.value }
    return standing
  }
}

extension Outcome {
  /// Whether the hub compared the write with what was there.
  fileprivate var saysWhatStands: Bool {
    switch self {
    case .refused, .conflict: true
    default: false
    }
  }

  /// Why the write shows no longer, for the field's status; nil if it was carried out or replaced by one of ours.
  var complaint: String? {
    switch self {
    case .committed, .kept, .superseded: nil
    case .refused, .conflict, .expired, .unknown: explanation(of: "the last write")
    }
  }
}
