package import BindingHub
package import BindingPeer
package import BindingProtocol

/// The state machine between an edge and its upstream hub, without sockets, threads, clock or randomness of its own.
/// Requests of the edge and frames of the upstream hub go in; events for the edge and actions for the link come out.
///
/// One session reads every followed model, as a peer does, and finds gaps and differences as a peer does. Each peer of
/// the edge that writes has a session of its own beside it (`UplinkWriter`), over the same connection.
///
/// The caller feeds everything that has arrived, then calls `finishDrain`, then carries out the actions and hands the
/// events to the edge. Times are milliseconds of a monotonic clock.
package struct Uplink: Sendable {
  /// Counts of what was passed on and dropped.
  package struct Counters: Sendable, Hashable {
    /// Sessions opened for peers that write.
    package var openedWriters: UInt64 = 0
    /// Idle sessions of such peers that were let go.
    package var idleWriters: UInt64 = 0
    /// Proposals passed on.
    package var proposals: UInt64 = 0
    /// Proposals passed on to the home of a model.
    package var forwarded: UInt64 = 0
    /// Proposals answered with `retryLater`, because the upstream hub could not be asked.
    package var deferred: UInt64 = 0
    /// Outcomes of proposals that were not in flight; dropped.
    package var unaskedOutcomes: UInt64 = 0
    /// Frames for a peer's session that could not be read; dropped.
    package var badFrames: UInt64 = 0
  }

  package internal(set) var counters = Counters()
  var session: Session
  var generator: SeededGenerator
  var models = FollowedVersions()
  var writers = UplinkWriters()
  /// The edge's numbers of the barriers that wait here.
  var awaits: [BarrierID: UInt32] = [:]
  /// Those of the requests for history.
  var asks: [HistoryID: UInt32] = [:]
  /// The edge's number, by which it notices that it would follow itself; nil: this is no edge, but another hub of the
  /// same log, and follows what the hub's own peers have in ephemeral models.
  private let number: UInt64?
  /// Why the upstream hub that answers cannot serve an edge; nil: it can, or none answers.
  private var unfit: String?
  /// The epoch and log that the edge was told; nil: the uplink is not open.
  private var told: (log: LogID, epoch: Epoch)?
  private var effects = PeerEffects()
  var events: [UplinkEvent] = []
  var actions: [LinkAction] = []
  /// Lines for a log.
  package internal(set) var notices: [String] = []

  /// Makes an uplink that is not connected.
  ///
  /// - Parameters:
  ///   - identity: that of the reading session, new for every run like that of any peer.
  ///   - number: the edge's own, as its hub machine names it; nil: the link of a hub to a sibling.
  ///   - hubs: of the upstream log.
  ///   - seed: for random session numbers and pauses.
  package init(identity: Identity, number: UInt64?, hubs: HubPool = HubPool(), seed: UInt64, now: UInt64) {
    self.number = number
    generator = SeededGenerator(seed: seed)
    var options = SessionOptions()
    // Every commit is published; one that is not listed would cost a catch-up of every reader.
    options.maxListedCommits = Int(UInt16.max)
    session = Session(identity: identity, seed: generator.next(), options: options, now: now)
    session.hubs = hubs
    if let number {
      name(edges: [number])
    } else {
      // Not `hubs`: it is told of no other hub, and stays with its own.
      session.capabilities = [
        Capability.ephemeral, Capability.users, Capability.draft, Capability.sibling, Capability.counts,
      ]
    }
  }

  /// What the next hello names: this edge, and those that follow it.
  package mutating func name(edges: [UInt64]) {
    guard number != nil else { return }
    session.capabilities =
      Capability.all + [Capability.counts] + edges.prefix(64).map(Capability.edge)
  }

  /// The address to connect to; nil: the link knows it.
  package var hub: HubAddress? { session.hubs.current }

  /// Whether the upstream hub has welcomed the uplink and can serve an edge.
  package var isOpen: Bool { told != nil }

  /// What the upstream hub has said of itself; nil before its first welcome.
  var welcome: Welcome? { session.welcome }

  /// Takes the lines for the log.
  package mutating func takeNotices() -> [String] {
    defer { if !notices.isEmpty { notices.removeAll() } }
    return notices
  }

  /// Takes what the edge is to be told.
  package mutating func takeEvents() -> [UplinkEvent] {
    defer { if !events.isEmpty { events.removeAll(keepingCapacity: true) } }
    return events
  }

  /// Takes what the link is to do.
  package mutating func takeActions() -> [LinkAction] {
    defer { if !actions.isEmpty { actions.removeAll(keepingCapacity: true) } }
    return actions
  }

  // MARK: The connection

  /// The connection is open.
  package mutating func opened(now: UInt64) {
    session.opened(now: now, into: &effects)
    settle(now: now)
  }

  /// The connection is lost, or could not be opened.
  /// - Parameter problem: why the next one will hardly do better, in words for a person.
  package mutating func lost(now: UInt64, problem: String? = nil) {
    session.lost(now: now, refused: problem, into: &effects)
    settle(now: now)
    if let problem { events.append(.cut(problem)) }
  }

  /// Ends the uplink.
  package mutating func bye(now: UInt64) {
    session.bye(now: now, into: &effects)
    settle(now: now)
  }

  /// Receives one frame of the upstream hub.
  package mutating func receive(_ frame: UnsafeRawBufferPointer, now: UInt64) {
    if let writer = writers.owner(ofFrame: frame) { return receive(frame, for: writer, now: now) }
    if let question = question(in: frame) { events.append(.counts(question)) }
    if let refused = refusedModel(in: frame) { events.append(.unreadable(model: refused.model, refused.error)) }
    session.receive(frame, now: now, into: &effects)
  }

  // MARK: Time

  /// When `tick` is due.
  package var nextDeadline: UInt64 { min(session.nextDeadline, writers.nextDeadline) }

  /// Does everything that is due by now.
  package mutating func tick(now: UInt64) {
    session.tick(now: now, into: &effects)
    settle(now: now)
    if told != nil { tickWriters(now: now) }
  }

  /// Handles the consequences of all input since the last call.
  package mutating func finishDrain(now: UInt64) {
    settle(now: now)
    session.finishDrain(now: now, into: &effects)
    settle(now: now)
    guard told != nil else { return }
    for model in models.unfinished.sorted() where session.isCurrent(model) {
      tell(model)
      models.finish(model)
      events.append(.complete(model: model))
    }
    if models.catchesUp() { events.append(.caughtUp) }
  }

  // MARK: Requests

  /// Carries out what the edge asks.
  package mutating func handle(_ request: UplinkRequest, now: UInt64) {
    switch request {
    case .follow(let model):
      models.follow(model)
      session.join(model, now: now, into: &effects)
    case .unfollow(let model):
      models.unfollow(model)
      session.leave(model, now: now, into: &effects)
    case .list(let prefix): session.joinPrefix(prefix, now: now, into: &effects)
    case .forward(let forwarded): forward(forwarded)
    case .counted(let count): tell(count)
    case .await, .stopWaiting, .history, .stopAsking: ask(request, now: now)
    case .greet, .join, .attend, .propose, .alive, .leave, .approval, .end: handleWriter(request, now: now)
    }
    settle(now: now)
  }

  // MARK: Effects

  /// Carries out the effects of the reading session, which keeps no outbox and writes nothing.
  private mutating func settle(now: UInt64) {
    while !effects.isEmpty {
      let present = effects
      effects.removeAll()
      for action in present.link {
        if case .open = action { close(now: now) }
        actions.append(action)
      }
      // What a welcome says concerns the values that came after it.
      for event in present.events { settle(event, now: now) }
      for update in present.updates { handle(update) }
    }
  }

  private mutating func settle(_ event: SessionEvent, now: UInt64) {
    switch event {
    case .phase(.live) where session.cutOffSince == nil: open(now: now)
    case .phase(.live):
      // The upstream hub is an edge too.
      close(now: now)
      events.append(.cut("it waits for its own upstream hub"))
    case .phase(.stopped(let reason)):
      close(now: now)
      events.append(.cut("\(reason)"))
    case .announced(let prefix, let model, let version, let fields):
      events.append(.announced(prefix: prefix, model: model, version: version, fields: fields))
    case .listed(let prefix): events.append(.listed(prefix: prefix))
    case .notice(let notice): notices.append("\(notice)")
    case .awaited(let id, let end): answer(id, end)
    case .past(let id, let end): answer(id, end)
    case .phase, .pong: break
    }
    if case .notice(.hubError(_, true, let text)) = event { events.append(.cut(text)) }
  }

  private mutating func open(now: UInt64) {
    guard let welcome = session.welcome else { return }
    if let number {
      unfit =
        welcome.capabilities.contains(Capability.edge(number))
        ? "the hub there follows this edge: an edge cannot be its own upstream hub"
        : welcome.capabilities.contains(Capability.writes)
          ? nil : "the hub there is older than edges; update it"
    }
    if let unfit { return events.append(.cut(unfit)) }
    reach(welcome, welcome.epoch)
    models.suspend()
    writers.greetAgain()
    advanceWriters(now: now)
  }

  private mutating func reach(_ welcome: Welcome, _ epoch: Epoch) {
    if let log = models.log, log != welcome.logID { models.forgetVersions() }
    models.log = welcome.logID
    told = (welcome.logID, epoch)
    events.append(.reached(UpstreamHub(welcome, epoch: epoch, start: session.startNumber)))
  }

  /// The connection is gone: peers repeat what was in flight.
  private mutating func close(now: UInt64) {
    let wasOpen = told != nil
    told = nil
    loseWriters(now: now)
    if wasOpen { events.append(.cut(nil)) }
  }

  // MARK: Following

  private mutating func handle(_ update: ModelUpdate) {
    guard let known = models[update.model] else { return }
    if update.cause == .detached { return models.forgetVersion(of: update.model) }
    if let told, let welcome = session.welcome, update.epoch != told.epoch, update.epoch == session.epoch {
      reach(welcome, update.epoch)
    }
    let isSnapshot = update.cause == .snapshot
    if case .commits = update.cause, update.coalesced == 0, known.epoch == update.epoch, known.isTold,
      let first = update.commits.first, first.version == known.version + 1
    {
      models.tell(update.model, update.epoch, update.version)
      events.append(.commits(update.commits.map { commit in RecordedCommit(commit, of: update) }))
    } else {
      // A snapshot may have healed what differed at the same version.
      if isSnapshot { models.limitDeltas(of: update.model, to: update.version) }
      tell(update.model, isWhole: isSnapshot)
    }
  }

  /// Tells the edge what a model is now, unless it knows.
  private mutating func tell(_ model: String, isWhole: Bool = false) {
    guard let known = models[model] else { return }
    let (epoch, version) = session.version(of: model)
    guard isWhole || !known.isTold || known.epoch != epoch || known.version != version else { return }
    let isDelta =
      !isWhole && known.isTold && known.epoch == epoch && known.version >= known.deltasFrom && known.version <= version
    let fields = session.committed(model, after: isDelta ? known.version : 0)
    models.tell(model, epoch, version)
    events.append(
      .fields(FollowedFields(model: model, epoch: epoch, version: version, fields: fields, isWhole: !isDelta)))
  }
}

extension RecordedCommit {
  fileprivate init(_ commit: CommitInfo, of update: ModelUpdate) {
    self.init(
      model: update.model, epoch: update.epoch, version: commit.version, origin: commit.origin, number: commit.number,
      hops: commit.hops, time: commit.time, changes: commit.changes.map { Change($0.field, $0.value) })
  }
}
