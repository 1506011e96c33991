import BindingModel
import BindingProtocol
import Dispatch
import Logging

/// The shell around `Session`: one lock that the link and all threads of the program share, and the effects
/// that the session requests.
///
/// Only the pure machine runs under the lock. Its effects are sorted there, to keep the session's order, and
/// performed after the lock is released: those for sockets on the link's thread, those for observers on their model's
/// lane, never on the socket thread.
final class PeerRuntime: Sendable {
  struct State: Sendable {
    var session: Session
    var effects = PeerEffects()
    var link = LinkQueue()
    var models = IndexedMap<String, WeakModel>()
    var writes = WriteRegistry()
    var listeners = PrefixListeners()
    var waiters = Waiters()
    /// Orders the shown values across threads.
    var stamp: UInt64 = 0
    /// nil: writes are kept in memory only.
    var outbox: JournalWriter?
    var previousRuns: PreviousRuns?
    /// nil: replicas are kept in memory only.
    var keeper: ReplicaKeeper?
    var barriers: [BarrierID: Wait<BarrierEnd?>] = [:]
    var pages: [HistoryID: Wait<HistoryEnd?>] = [:]
    var observed = ObservedStatuses()

    /// Whether no write waits for an outcome, or no outcome can arrive any more.
    var isSettled: Bool { writes.count == 0 || session.phase.isStopped }
  }

  struct WeakModel: Sendable {
    weak var model: SharedModel?
  }

  /// Objects that are no longer referenced. The last reference may be released anywhere, under the lock too, so a
  /// `deinit` only adds an entry here.
  struct Abandoned: Sendable {
    var models: [String] = []
    var peer = false
  }

  let state: Protected<State>
  private let abandoned = Protected(Abandoned())
  let link: any PeerLink
  let broadcaster: Protected<StatusBroadcaster<PeerStatus>?> = Protected(nil)
  let log: Logger
  /// Receives all effects of the session, after they were recorded; set for a session besides the peer's own.
  let onEffects: (@Sendable (PeerEffects) -> Void)?

  init(
    session: Session, link: any PeerLink, log: Logger, outbox: JournalWriter? = nil,
    onEffects: (@Sendable (PeerEffects) -> Void)? = nil
  ) {
    var session = session
    session.hubs = link.pool
    state = Protected(State(session: session, outbox: outbox))
    self.link = link
    self.onEffects = onEffects
    self.log = log
  }

  /// The runtime whose link runs on this thread.
  static let onLink = ThreadSlot<PeerRuntime>()

  /// Milliseconds of a clock that never goes back.
  static var now: UInt64 { DispatchTime.now().uptimeNanoseconds / 1_000_000 }

  /// The caller that uses the session, which decides how its drain ends.
  enum Speaker {
    case program
    /// Writes to this model are sent by the link, which gathers further ones meanwhile: many assignments become one
    /// frame, and none of them waits for its encoding.
    case writer(of: String)
    /// The link performs its actions without being woken, and finds them in its mailbox, if it has one.
    case link(LinkMailbox? = nil)
  }

  /// Lets `body` use the session under the lock, then performs the effects.
  @discardableResult
  func perform<Result: Sendable, Failure: Error>(
    as speaker: Speaker = .program, _ body: (inout State, UInt64) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    var deferred = DeferredEffects()
    let result = try state.withLock { state throws(Failure) in
      let now = PeerRuntime.now
      state.session.isJournalLagging = state.isOutboxLagging
      let isLink = if case .link = speaker { true } else { false }
      if isLink { state.link.answerCall() }
      let result = try body(&state, now)
      if case .writer(let model) = speaker {
        deferred.concernsLink = state.session.finishWriting(to: model, now: now, into: &state.effects)
      } else {
        state.session.finishDrain(now: now, into: &state.effects)
      }
      state.writeJournal()
      if state.session.isKeepingDue { deferred.keeper = state.keeper }
      if onEffects != nil { deferred.add { $0.requested = state.effects } }
      state.sort(into: &deferred)
      if deferred.concernsLink, !isLink { deferred.wakesLink = state.link.call() }
      if case .link(let mailbox?) = speaker { state.link.move(into: mailbox) }
      return result
    }
    if deferred.wakesLink { link.wake() }
    carryOut(deferred)
    return result
  }

  func abandon(model: String) {
    abandoned.withLock { $0.models.append(model) }
    link.wake()
  }

  func abandonPeer() {
    abandoned.withLock { $0.peer = true }
    link.wake()
  }

  /// Leaves abandoned models and ends an abandoned peer. The link calls this whenever it was woken.
  func tidyUp() {
    let dropped = abandoned.withLock { abandoned in
      defer { abandoned = Abandoned() }
      return abandoned
    }
    if dropped.peer { _ = end() }
    guard !dropped.models.isEmpty else { return }
    perform { state, now in
      for id in dropped.models where state.models[id] != nil && state.models[id]?.model == nil {
        state.models[id] = nil
        state.observed.models.remove(id)
        state.session.leave(id, now: now, into: &state.effects)
      }
    }
  }

  /// Says goodbye, ends every write without an outcome as unknown, and releases the link and the outbox. Harmless
  /// when repeated.
  @discardableResult
  func end() -> [String] { end(unless: { _ in false }) ?? [] }

  /// Ends the peer, unless a write waits for its outcome: then returns nil.
  func endIfSettled() -> [String]? { end(unless: { !$0.isSettled }) }

  private func end(unless isAwaited: (borrowing State) -> Bool) -> [String]? {
    // Before the goodbye: the hub forgets this peer only if the file has all outcomes.
    let keeper = state.withLock { state in isAwaited(state) ? nil : state.keeper }
    keeper?.finish()
    let parts = perform { state, now -> (WriteRegistry, PreviousRuns?)? in
      guard !isAwaited(state) else { return nil }
      let isSettled =
        state.session.unconfirmed == 0 && !state.isOutboxLagging && !state.session.hasDeferredOutcomes
      let wasStopped = state.session.phase.isStopped
      if !wasStopped {
        // What was written since the last drain is sent before the goodbye.
        state.session.finishDrain(now: now, into: &state.effects)
        state.session.bye(now: now, into: &state.effects)
      }
      state.outbox?.leaves = isSettled && !wasStopped
      return (state.writes.takeAll(), state.previousRuns.take())
    }
    guard let (left, previousRuns) = parts else { return nil }
    previousRuns?.end()
    let outbox = onEffects == nil ? state.withLock { $0.outbox } : nil
    outbox?.file.close()
    let inOutbox =
      outbox.map { $0.problem.map { "; its outbox lacks the newest writes: \($0)" } ?? "; its outbox stores the write" }
    return left.settleAll(.unknown("the peer was closed first" + (inOutbox ?? "")))
  }

  /// Checks whether the link, which has a mailbox, may wait. If so, callers with actions for it wake it from now on.
  /// - Returns: until when, in milliseconds; nil: there are actions.
  func restLink() -> UInt64? {
    state.withLock { state in
      state.link.rest() ? state.session.nextDeadline : nil
    }
  }

  /// The present actions for a link without a mailbox.
  func takeLinkActions() -> [LinkAction] {
    var actions: [LinkAction] = []
    state.withLock { $0.link.move(into: &actions) }
    return actions
  }

  private func carryOut(_ effects: DeferredEffects) {
    effects.keeper?.storeSoon()
    for settled in effects.settled { settled.recordRejection() }
    for model in effects.observed { model.observers.invalidateStatuses() }
    for model in effects.shown { model.scheduleDelivery() }
    for model in effects.observed { model.scheduleDelivery() }
    for settled in effects.settled { settled.settle() }
    if let others = effects.others { begin(others) }
    if effects.concernsPeer { reportStatus() }
    if let others = effects.others {
      for waiter in others.released { waiter.resume() }
      for (wait, end) in others.ended { wait.end(end) }
      for (wait, end) in others.pages { wait.end(end) }
    }
  }

  private func begin(_ others: DeferredEffects.Others) {
    for (id, unacknowledged, question) in others.questions.merges {
      if let policy = unacknowledged.policies[question.field] {
        unacknowledged.model.answer(question, of: id, by: policy)
      }
    }
    for (request, model) in others.questions.approvals { answer(request, of: model) }
    for search in others.questions.past { search.begin() }
    for notice in others.notices { report(notice) }
    if let onEffects, !others.requested.isEmpty { onEffects(others.requested) }
    for (listener, event) in others.announced { listener.notify(event) }
    // Conditions that depend on a listener were checked before it was notified: check them again.
    if !others.announced.isEmpty { perform { _, _ in } }
  }
}
