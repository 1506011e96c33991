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
    var writes = SortedArrayMap<WriteID, UnacknowledgedWrite>()
    var listeners: [String: [PrefixListener]] = [:]
    var waiters: [UInt64: Waiter] = [:]
    var lastWaiter: UInt64 = 0
    /// Orders the shown values across threads.
    var stamp: UInt64 = 0
    /// nil: writes are kept in memory only.
    var outbox: JournalWriter?
    /// The unacknowledged writes of earlier runs.
    var restored: [RestoredKey: Restored] = [:]
    var previousRuns: PreviousRuns?
    var barriers: [BarrierID: Wait<BarrierEnd?>] = [:]
    var observed = ObservedStatuses()
  }

  /// The actions that wait for the link.
  struct LinkQueue: Sendable {
    var actions: [LinkAction] = []
    /// The link has actions and has not checked since.
    var isCalled = false
    /// The link will check before it waits: it need not be woken.
    var isAwake = false
    /// The address in use.
    var hub: String?

    /// Moves the actions, and keeps the capacity: an array that is handed out would be allocated anew.
    mutating func move(into others: inout [LinkAction]) {
      others += actions
      actions.removeAll(keepingCapacity: true)
    }
  }

  /// Which statuses are observed.
  struct ObservedStatuses: Sendable {
    /// The ids of models.
    var models: Swift.Set<String> = []
    var isPeer = false
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

  /// Where a link finds its actions without taking the lock again. Belongs to the link's thread.
  final class LinkMailbox {
    var actions: [LinkAction] = []
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
      if isLink { state.link.isCalled = false }
      let result = try body(&state, now)
      if case .writer(let model) = speaker {
        deferred.concernsLink = state.session.finishWriting(to: model, now: now, into: &state.effects)
      } else {
        state.session.finishDrain(now: now, into: &state.effects)
      }
      state.writeJournal()
      if onEffects != nil { deferred.requested = state.effects }
      state.sort(into: &deferred)
      if deferred.concernsLink, !isLink {
        deferred.wakesLink = !state.link.isCalled && !state.link.isAwake
        state.link.isCalled = true
      }
      if case .link(let mailbox?) = speaker {
        state.link.move(into: &mailbox.actions)
        state.link.isAwake = true
      }
      return result
    }
    if deferred.wakesLink { link.wake() }
    carryOut(deferred)
    return result
  }

  /// Waits until `condition` holds, which is checked after every event. Returns false when `timeout` passes first
  /// (nil: no limit), or the task is cancelled.
  func wait(
    timeout: Duration? = nil, until condition: @escaping @Sendable (borrowing State) -> Bool
  ) async -> Bool {
    let wait = Wait<Bool>()
    guard let id = enter(condition, resume: { wait.end($0) }) else { return true }
    let holds = await wait.value(timeout: timeout, otherwise: false)
    // The condition is released outside the lock.
    if !holds { _ = state.withLock { $0.waiters.removeValue(forKey: id) } }
    return holds
  }

  /// - Returns: the number of the waiter; nil if the condition holds already.
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

  /// Blocks the thread until `condition` holds or `deadline`, in milliseconds of `now`, has passed.
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

  /// Checks whether the link, which has a mailbox, may wait. If so, callers with actions for it wake it from now on.
  /// - Returns: until when, in milliseconds; nil: there are actions.
  func restLink() -> UInt64? {
    state.withLock { state in
      guard !state.link.isCalled, state.link.actions.isEmpty else { return nil }
      state.link.isAwake = false
      return state.session.nextDeadline
    }
  }

  /// The present actions for a link without a mailbox.
  func takeLinkActions() -> [LinkAction] {
    var actions: [LinkAction] = []
    state.withLock { $0.link.move(into: &actions) }
    return actions
  }

  private func carryOut(_ effects: DeferredEffects) {
    for settled in effects.settled { settled.carryOut() }
    for model in effects.observed { model.observers.invalidateStatuses() }
    for model in effects.shown { model.scheduleDelivery() }
    for model in effects.observed { model.scheduleDelivery() }
    for (id, unacknowledged, question) in effects.questions {
      if let policy = unacknowledged.policies[question.field] {
        unacknowledged.model.answer(question, of: id, by: policy)
      }
    }
    for (request, model) in effects.approvalRequests { answer(request, of: model) }
    for notice in effects.notices { report(notice) }
    if let onEffects, !effects.requested.isEmpty { onEffects(effects.requested) }
    for (listener, event) in effects.announced { listener.notify(event) }
    // Conditions that depend on a listener were checked before it was notified: check them again.
    if !effects.announced.isEmpty { perform { _, _ in } }
    if effects.concernsPeer { reportStatus() }
    for (waiter, held) in effects.released { waiter.resume(held) }
    for (wait, end) in effects.ended { wait.end(end) }
  }
}
