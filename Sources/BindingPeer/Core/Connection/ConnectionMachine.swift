import BindingProtocol

/// The connection of a session to its hub: its phase and numbers, what the hub announced, and what is due when. Times
/// are milliseconds on the session's clock.
struct ConnectionMachine: Sendable {
  private(set) var phase = Phase.offline
  /// By which a hub tells the present connection from others.
  private(set) var numbers: ConnectionNumbers
  /// The hub's start number, which every frame after the hello names; 0: not welcomed.
  private(set) var start: StartNumber = 0
  /// What the hub announced of itself; nil while no hub has welcomed this session.
  private(set) var welcome: Welcome?
  /// Whether a hub has ever welcomed this identity.
  private(set) var wasWelcomed = false
  /// What the hub that answers cannot do for this peer.
  private(set) var lack = HubLack()
  /// When a hub was last heard before the link was lost; before the first link, when this session was made.
  private(set) var silentSince: UInt64
  /// When this connection was opened, or the pause before the next one began.
  private(set) var openedAt: UInt64
  private(set) var lastReceivedAt: UInt64 = 0
  var lastSentAt: UInt64 = 0
  var heartbeats = HeartbeatMonitor()
  var hubs = HubPool()
  private var outage: Outage
  private var generator: SeededGenerator

  init(seed: UInt64, now: UInt64) {
    generator = SeededGenerator(seed: seed)
    var runs = SeededGenerator(seed: ~seed)
    numbers = ConnectionNumbers(run: runs.next())
    openedAt = now
    silentSince = now
    outage = Outage(since: now)
  }

  /// An earlier run of this identity was welcomed.
  mutating func resume() { wasWelcomed = true }

  /// Whether the hub has an optional capability.
  func hubCan(_ capability: String) -> Bool { welcome?.capabilities.contains(capability) ?? false }

  /// The number of the present session.
  var sessionID: SessionID { numbers.session }

  // MARK: Transitions

  /// A connection is open: the hello goes out under a new session number.
  mutating func open(now: UInt64, _ effects: inout PeerEffects) {
    numbers.advance(using: &generator)
    lack.cutOffSince = nil
    start = 0
    openedAt = now
    lastReceivedAt = now
    move(to: .welcoming, &effects)
  }

  /// The hub has welcomed the session, which is live once it has looked at what the welcome says.
  mutating func accept(_ welcome: Welcome, start: StartNumber, now: UInt64) {
    self.welcome = welcome
    self.start = start
    heartbeatMilliseconds = UInt64(welcome.heartbeatMilliseconds)
    lack.refusal = nil
    wasWelcomed = true
    hubs.accept()
    heartbeats.begin(now: now)
  }

  mutating func goLive(_ effects: inout PeerEffects) {
    move(to: .live, &effects)
    if outage.end() { effects.events.append(.notice(.hubFound)) }
  }

  /// The hub, an edge, has told whether it reaches its upstream hub.
  mutating func hear(of upstream: UpstreamState, now: UInt64, _ effects: inout PeerEffects) {
    guard upstream.isReached != (lack.cutOffSince == nil) else { return }
    lack.cutOffSince = upstream.isReached ? nil : now
    // What statuses say has changed.
    effects.events.append(.phase(phase))
  }

  mutating func received(now: UInt64) { lastReceivedAt = now }

  /// A hub has answered, if only with an error. When a live link is lost, a new outage begins.
  mutating func answered() { _ = outage.end() }

  /// The hub answered the hello with a fatal error, after which another connection is tried.
  mutating func refused(_ text: String) {
    if phase == .connecting { lack.refusal = text }
  }

  /// Gives up the connection: another one is opened, after a pause if no other hub is left to try.
  mutating func reopen(
    _ reason: Reopening, now: UInt64, _ options: SessionOptions, _ effects: inout PeerEffects
  ) {
    if phase == .live { outage = Outage(since: now) }
    let pauses = chooseHub(after: reason)
    close()
    lack.refusal = hubs.misfit
    move(to: .connecting, &effects)
    openedAt = now
    let pause = pauses ? hubs.pause(options, using: &generator) : 0
    effects.link.append(.open(afterMilliseconds: pause))
  }

  /// Chooses the hub of the next connection.
  /// - Returns: whether a pause precedes it.
  private mutating func chooseHub(after reason: Reopening) -> Bool {
    let hasServed = phase == .live && heartbeats.last != 0
    if hasServed { hubs.resetPauses() }
    switch reason {
    // The same hub answers another hello.
    case .hubError(.staleStart), .hubError(.unknownSession): return true
    default:
      let isTold = reason == .hubError(.closing)
      return hasServed
        ? hubs.leave(asTold: isTold, using: &generator) : hubs.fail(asTold: isTold, using: &generator)
    }
  }

  mutating func stop(_ reason: StopReason, _ effects: inout PeerEffects) {
    close()
    move(to: .stopped(reason), &effects)
  }

  private mutating func close() {
    if phase == .live { silentSince = lastReceivedAt }
    welcome = nil
    start = 0
    heartbeats.end()
  }

  private mutating func move(to phase: Phase, _ effects: inout PeerEffects) {
    guard self.phase != phase else { return }
    self.phase = phase
    effects.events.append(.phase(phase))
  }

  // MARK: Time

  private var silenceMilliseconds: UInt64 { 3 * UInt64(welcome?.heartbeatMilliseconds ?? 1_000) + 1_000 }
  /// The time between two heartbeats of the hub, or of the last one that was seen.
  private(set) var heartbeatMilliseconds: UInt64 = 1_000
  private var leaseThird: UInt64 { max(UInt64(welcome?.leaseMilliseconds ?? 10_000) / 3, 100) }

  /// When `tick` is due.
  func nextDeadline(_ options: SessionOptions) -> UInt64 {
    switch phase {
    case .offline: 0
    case .stopped: .max
    case .connecting: outage.deadline
    case .welcoming: min(openedAt + options.welcomeMilliseconds, outage.deadline)
    case .live:
      min(min(lastReceivedAt, heartbeats.lastAt) + silenceMilliseconds, lastSentAt + leaseThird)
    }
  }

  /// Performs what is due at this time.
  /// - Returns: why the connection must be replaced; nil if it need not be.
  mutating func tick(now: UInt64, _ options: SessionOptions, _ effects: inout PeerEffects) -> Reopening? {
    if !phase.isStopped, outage.shouldReport(at: now) { effects.events.append(.notice(.noHub)) }
    switch phase {
    case .offline:
      hubs.begin(using: &generator)
      move(to: .connecting, &effects)
      effects.link.append(.open(afterMilliseconds: 0))
    case .welcoming:
      if now >= openedAt + options.welcomeMilliseconds { return .noWelcome }
    case .live:
      if now >= lastReceivedAt + silenceMilliseconds { return .silence }
      if now >= heartbeats.lastAt + silenceMilliseconds { return .noHeartbeats }
      if now >= lastSentAt + leaseThird { heartbeats.owesAlive = true }
    case .connecting, .stopped: break
    }
    return nil
  }
}

/// What a hub that answers cannot do for its peer.
struct HubLack: Sendable {
  /// Why it does not welcome this peer, in its words; nil if it does, or if no hub answers.
  var refusal: String?
  /// Since when the hub, an edge, has not reached its upstream hub; nil: it reaches it, or is no edge.
  var cutOffSince: UInt64?
}

/// The hub's heartbeats, and the messages that are due because of them.
struct HeartbeatMonitor: Sendable {
  /// The heads are asked for after this many heartbeats, whether or not one was missed.
  private static let betweenHeads: UInt64 = 8

  /// The number of the last heartbeat; 0: none on this connection.
  private(set) var last: UInt64 = 0
  /// When it arrived; before the first one, when the hub welcomed this session.
  private(set) var lastAt: UInt64 = 0
  /// The same; nil: this session was never welcomed.
  var heardAt: UInt64? { hasBegun ? lastAt : nil }
  private var hasBegun = false
  /// How many have arrived since the session was made.
  private(set) var count: UInt64 = 0
  var owesAlive = false
  var owesAskHeads = false

  mutating func begin(now: UInt64) { (last, lastAt, hasBegun) = (0, now, true) }

  mutating func end() { last = 0 }

  /// - Returns: whether the heartbeat is later than the last one.
  mutating func receive(
    _ heartbeat: Heartbeat, now: UInt64, _ counters: inout SessionCounters, _ effects: inout PeerEffects
  ) -> Bool {
    if last != 0, heartbeat.number > last + 1 {
      counters.missedHeartbeats += 1
      effects.events.append(.notice(.missedHeartbeat(last: last)))
      owesAskHeads = true
    }
    // Before its first heartbeat a peer may have missed the heads that went with earlier ones.
    if last == 0 { owesAskHeads = true }
    guard heartbeat.number > last else { return false }
    (last, lastAt) = (heartbeat.number, now)
    count += 1
    // All three heads of a change may be lost without a missed heartbeat: now and then the heads are asked for
    // anyway.
    if count % HeartbeatMonitor.betweenHeads == 0 { owesAskHeads = true }
    owesAlive = true
    return true
  }
}
