import BindingModel
import BindingProtocol
import Dispatch

/// The link to a hub in the same process: a serial queue instead of sockets, the same frames.
final class InProcessPeerLink: PeerLink {
  private struct State: Sendable {
    var connection: (any HubConnection)?
    /// Counts the connections that the session asked for. What an earlier one still brings, its end above all, must
    /// not be taken for the present one's.
    var opening = 0
    /// Frames that arrived since the last turn handled some; the first of them schedules the next turn.
    var arrived: [[UInt8]] = []
    /// When the next scheduled turn is due; `.max`: none is.
    var nextTurn = UInt64.max
    var isEnded = false
  }

  private let transport: any InProcessTransport
  private let queue = DispatchQueue(label: "bindpeer.in-process")
  private let state = Protected(State())
  private let runtime: Protected<PeerRuntime?> = Protected(nil)

  init(transport: any InProcessTransport) { self.transport = transport }

  var pool: HubPool { HubPool() }

  func start(_ runtime: PeerRuntime) {
    self.runtime.withLock { $0 = runtime }
    wake()
  }

  func join(milliseconds: UInt64) {
    let isDone = DispatchSemaphore(value: 0)
    queue.async { isDone.signal() }
    _ = isDone.wait(timeout: .now() + .milliseconds(Int(clamping: milliseconds)))
  }

  func wake() {
    queue.async { [self] in turn { _, _ in } }
  }

  /// One turn on the queue: feeds the session, ticks it, performs its actions, and schedules a turn for the next
  /// deadline.
  private func turn(_ body: (inout PeerRuntime.State, UInt64) -> Void) {
    guard let runtime = runtime.withLock({ $0 }) else { return }
    PeerRuntime.onLink.occupy(by: runtime) { turn(of: runtime, body) }
  }

  private func turn(of runtime: PeerRuntime, _ body: (inout PeerRuntime.State, UInt64) -> Void) {
    runtime.tidyUp()
    runtime.perform(as: .link()) { state, now in
      body(&state, now)
      state.session.tick(now: now, into: &state.effects)
    }
    while case let actions = runtime.takeLinkActions(), !actions.isEmpty {
      for action in actions { carryOut(action, runtime) }
    }
    let deadline = runtime.state.withLock { $0.session.nextDeadline }
    let isSooner = state.withLock { state in
      // A turn that comes too soon finds nothing to do; most turns postpone their deadline.
      guard !state.isEnded, deadline < state.nextTurn else { return false }
      state.nextTurn = deadline
      return true
    }
    guard isSooner else { return }
    let now = PeerRuntime.now
    let pause = deadline <= now ? 1 : Int(min(deadline - now, 60_000))
    queue.asyncAfter(deadline: .now() + .milliseconds(pause)) { [self] in
      let isDue = state.withLock { state in
        guard state.nextTurn == deadline else { return false }
        state.nextTurn = .max
        return true
      }
      if isDue { turn { _, _ in } }
    }
  }

  private func carryOut(_ action: LinkAction, _ runtime: PeerRuntime) {
    switch action {
    case .open(let pause):
      let (former, opening) = state.withLock { state in
        state.opening += 1
        return (state.connection.take(), state.opening)
      }
      former?.close()
      queue.asyncAfter(deadline: .now() + .milliseconds(Int(pause))) { [self] in connect(opening) }
    case .send(let frame): state.withLock { $0.connection }?.send(frame)
    case .listen(let sessionTopic, _):
      let connection = state.withLock { $0.connection }
      connection?.subscribe(sessionTopic)
      connection?.subscribe(Topics.bytes(Topics.heartbeat))
    case .subscribe(let topic): state.withLock { $0.connection }?.subscribe(Topics.bytes(topic))
    // Nothing is encrypted here.
    case .learn, .remember: break
    case .unsubscribe(let topic): state.withLock { $0.connection }?.unsubscribe(Topics.bytes(topic))
    case .close:
      let connection = state.withLock { state in
        state.isEnded = true
        return state.connection.take()
      }
      connection?.close()
      self.runtime.withLock { $0 = nil }
    }
  }

  private func connect(_ opening: Int) {
    guard state.withLock({ !$0.isEnded && $0.opening == opening }) else { return }
    let connection = transport.connect(
      deliver: { [weak self] frame in self?.arrived(frame, opening) }, ended: { [weak self] in self?.ended(opening) })
    state.withLock { $0.connection = connection }
    turn { state, now in state.session.opened(now: now, into: &state.effects) }
  }

  private func arrived(_ frame: [UInt8], _ opening: Int) {
    let isFirst = state.withLock { state in
      guard state.opening == opening else { return false }
      state.arrived.append(frame)
      return state.arrived.count == 1
    }
    guard isFirst else { return }
    queue.async { [self] in
      let frames = state.withLock { state in
        defer { state.arrived.removeAll() }
        return state.arrived
      }
      turn { state, now in
        for frame in frames {
          frame.withUnsafeBytes { state.session.receive($0, now: now, into: &state.effects) }
        }
      }
    }
  }

  private func ended(_ opening: Int) {
    queue.async { [self] in
      let isPresent = state.withLock { state in
        if state.opening == opening { state.connection = nil }
        return state.opening == opening
      }
      if isPresent { turn { state, now in state.session.lost(now: now, into: &state.effects) } }
    }
  }
}
