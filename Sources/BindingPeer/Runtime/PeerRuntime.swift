import BindingModel
import BindingProtocol
import Dispatch
import Logging

/// The shell around `Session`: one lock that all threads of the program and the link share, and the effects that
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
    /// There is something for the link, which has not looked since.
    var isLinkCalled = false
    /// The link will look before it waits: it need not be woken.
    var isLinkAwake = false
    var models = IndexedMap<String, WeakModel>()
    var writes = SortedArrayMap<WriteID, UnacknowledgedWrite>()
    var listeners: [String: [PrefixListener]] = [:]
    var waiters: [UInt64: Waiter] = [:]
    var lastWaiter: UInt64 = 0
    /// Orders the shown values across threads.
    var stamp: UInt64 = 0
    var hubInUse: String?
    var outbox: JournalWriter?
    /// It has ended with nothing unacknowledged.
    var leavesOutbox = false
    /// Why the outbox file is behind.
    var outboxProblem: String?
    var hasOutboxChanged = false
    /// What earlier lives wrote and has no outcome.
    var restored: [RestoredKey: Restored] = [:]
    var previousRuns: PreviousRuns?
    var barriers: [BarrierID: Wait<BarrierEnd?>] = [:]
    /// Models of which somebody observes a status, and whether somebody observes the peer's.
    var observedModels: Swift.Set<String> = []
    var isPeerObserved = false
  }

  /// A write without an outcome keeps its model, and so its peer, alive.
  struct UnacknowledgedWrite: Sendable {
    let write: PendingWrite
    let model: SharedModel
    var policies: [String: WritePolicy] = [:]
    var retryReason: RetryReason?
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
  let broadcaster: Protected<StatusBroadcaster<PeerStatus>?> = Protected(nil)
  let log: Logger
  /// Hears all that the session wants, after it was noted; for who drives a session besides the peer's own.
  let onActions: (@Sendable ([PeerAction]) -> Void)?

  init(
    session: Session, link: any PeerLink, log: Logger, outbox: JournalWriter? = nil,
    onActions: (@Sendable ([PeerAction]) -> Void)? = nil
  ) {
    state = Protected(State(session: session, outbox: outbox))
    self.link = link
    self.onActions = onActions
    self.log = log
  }

  /// Whose link runs on this thread.
  static let onLink = ThreadSlot<PeerRuntime>()

  /// Milliseconds of a clock that never goes back.
  static var now: UInt64 { DispatchTime.now().uptimeNanoseconds / 1_000_000 }

  /// Who speaks to the session, and so what it is to do at the end.
  enum Speaker {
    case program
    /// What was written to this model is sent by the link, which gathers what comes meanwhile: many assignments are one
    /// frame, and none of them waits for its making.
    case writer(of: String)
    /// It does what it is to do without being woken, and finds it in its mailbox, if it has one.
    case link(LinkMailbox? = nil)
  }

  /// Where a link finds what it is to do, without taking the lock once more. Belongs to the link's thread.
  final class LinkMailbox {
    var actions: [PeerAction] = []
  }

  /// Lets `body` speak to the session, then carries out what follows.
  @discardableResult
  func perform<Result: Sendable, Failure: Error>(
    as speaker: Speaker = .program, _ body: (inout State, UInt64) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    var effects = PeerEffects()
    let result = try state.withLock { state throws(Failure) in
      let now = PeerRuntime.now
      state.session.isJournalLagging = state.outboxProblem != nil
      let isLink = if case .link = speaker { true } else { false }
      if isLink { state.isLinkCalled = false }
      let result = try body(&state, now)
      if case .writer(let model) = speaker {
        effects.concernsLink = state.session.finishWriting(to: model, now: now, into: &state.output)
      } else {
        state.session.finishDrain(now: now, into: &state.output)
      }
      state.writeJournal()
      if onActions != nil { effects.actions = state.output.actions }
      state.sort(into: &effects)
      if effects.concernsLink, !isLink {
        effects.wakesLink = !state.isLinkCalled && !state.isLinkAwake
        state.isLinkCalled = true
      }
      if case .link(let mailbox?) = speaker {
        mailbox.actions += state.forLink
        state.forLink.removeAll(keepingCapacity: true)
        state.isLinkAwake = true
      }
      return result
    }
    if effects.wakesLink { link.wake() }
    carryOut(effects)
    return result
  }

  /// Waits until `condition` holds, looked at after everything that happens; false when `timeout` passes first (nil: it
  /// never does), or the task is cancelled.
  func wait(
    timeout: Duration? = nil, until condition: @escaping @Sendable (borrowing State) -> Bool
  ) async -> Bool {
    let wait = Wait<Bool>()
    guard let id = enter(condition, resume: { wait.end($0) }) else { return true }
    let holds = await wait.value(timeout: timeout, otherwise: false)
    // What the condition holds goes without the lock.
    if !holds { _ = state.withLock { $0.waiters.removeValue(forKey: id) } }
    return holds
  }

  /// - Returns: nil if the condition holds already.
  private func enter(
    _ condition: @escaping @Sendable (borrowing State) -> Bool, resume: @escaping @Sendable (Bool) -> Void
  ) -> UInt64? {
    state.withLock { state in
      if condition(state) { return nil }
      state.lastWaiter += 1
      state.waiters[state.lastWaiter] = Waiter(condition: condition, resume: resume)
      return state.lastWaiter
    }
  }

  /// `wait` on a thread that may block; `deadline` in milliseconds of `now`.
  func block(until deadline: UInt64, or condition: @escaping @Sendable (borrowing State) -> Bool) {
    let bell = DispatchSemaphore(value: 0)
    guard let id = enter(condition, resume: { _ in bell.signal() }) else { return }
    let now = PeerRuntime.now
    _ = bell.wait(timeout: .now() + .milliseconds(Int(clamping: deadline > now ? deadline - now : 0)))
    state.withLock { _ = $0.waiters.removeValue(forKey: id) }
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
    let dropped = abandoned.withLock { abandoned in
      defer { abandoned = Abandoned() }
      return abandoned
    }
    if dropped.peer { _ = end() }
    guard !dropped.models.isEmpty else { return }
    perform { state, now in
      for id in dropped.models where state.models[id] != nil && state.models[id]?.model == nil {
        state.models[id] = nil
        state.observedModels.remove(id)
        state.session.leave(id, now: now, into: &state.output)
      }
    }
  }

  /// Looks whether the link, which has a mailbox, may wait. If so, whoever has something for it wakes it from now on.
  /// - Returns: until when, in milliseconds; nil: there is something to do.
  func restLink() -> UInt64? {
    state.withLock { state in
      guard !state.isLinkCalled, state.forLink.isEmpty else { return nil }
      state.isLinkAwake = false
      return state.session.nextDeadline
    }
  }

  /// What a link without a mailbox has to do now.
  func takeLinkActions() -> [PeerAction] {
    state.withLock {
      let actions = $0.forLink
      $0.forLink.removeAll(keepingCapacity: true)
      return actions
    }
  }

  private func carryOut(_ effects: PeerEffects) {
    for settled in effects.settled { settled.carryOut() }
    for model in effects.observed { model.invalidateStatus() }
    for model in effects.shown { model.scheduleDelivery() }
    for model in effects.observed { model.scheduleDelivery() }
    for (id, unacknowledged, question) in effects.questions {
      if let policy = unacknowledged.policies[question.field] {
        unacknowledged.model.answer(question, of: id, by: policy)
      }
    }
    for (request, model) in effects.approvalRequests { answer(request, of: model) }
    for notice in effects.notices { report(notice) }
    if let onActions, !effects.actions.isEmpty { onActions(effects.actions) }
    for (listener, event) in effects.announced { listener.notify(event) }
    // Whoever waits for what a listener hears was looked at before it heard.
    if !effects.announced.isEmpty { perform { _, _ in } }
    if effects.concernsPeer { reportStatus() }
    for (waiter, held) in effects.released { waiter.resume(held) }
    for (wait, end) in effects.ended { wait.end(end) }
  }
}
