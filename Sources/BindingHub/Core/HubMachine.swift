package import BindingProtocol

/// The hub without sockets, clock or store: frames, ticks and store results go in, a `HubOutput` comes out.
///
/// The caller passes every waiting frame to `receive`, then calls `finishDrain`. It appends `output.batches` to the
/// store and passes the results to `appended`, until no batch is left; then it sends the frames. Nothing is
/// published or acknowledged before it is stored (R1).
package struct HubMachine {
  var hub: HubContext
  var tailProven: Bool
  var sequencer: Sequencer
  var removals = Removals()
  /// The indices of the ephemeral models, which each heartbeat visits.
  var ephemeralModels: [Int] = []
  var returning: Set<Returning> = []
  /// Models whose head goes out with the next heartbeats.
  var recentlyChanged: Set<Int> = []
  /// Heads that this heartbeat still has to publish, how many go at once, and when the next go.
  var headsDue: ArraySlice<Int> = []
  var headsAtOnce = 0
  var nextHeads = UInt64.max
  /// Congested request connections, with the models whose messages they missed.
  var congestedConnections: [ConnectionID: Set<Topic>] = [:]
  /// Catch-ups that are not finished.
  var catchups: [CatchupStream] = []
  /// Joins that wait for their turn, by session; their number; and how many joins this turn has handled.
  var waitingJoins: [WaitingJoins] = []
  var waitingJoinCount = 0
  var joinsHandled = 0
  /// Prefixes whose models have not all been announced.
  var announcing: [Announcing] = []
  var questions = Questions()
  var heartbeatNumber: UInt64 = 0
  var nextHeartbeat: UInt64
  /// When the current epoch began, or, for an older epoch, when the hub started.
  var epochBegan: UInt64
  var random: UInt64
  /// The token of the last approval request.
  var lastToken: UInt32 = 0
  var believedPeerAhead = false
  var barriers = Barriers()
  var verifications: [Verification] = []
  var disagreements = Disagreements()
  /// The transport's counters and the store's status, for status reports.
  var transportCounters = TransportCounters()
  var store = StoreStatus()

  /// Creates a hub with no models; `restore` adds those that the store has.
  /// - Parameters:
  ///   - configuration: limits, names and durations.
  ///   - birth: what the store knows of this start.
  ///   - time: the present time.
  ///   - epochSeed: random bits for the number of a later epoch.
  package init(configuration: HubMachineConfiguration, birth: HubBirth, time: HubTime, epochSeed: UInt64) {
    hub = HubContext(configuration: configuration, birth: birth, time: time)
    tailProven = birth.tailProven
    sequencer = Sequencer(
      limits: configuration.limits, maxUnconfirmedOutcomes: configuration.maxUnconfirmedOutcomes)
    nextHeartbeat = time.monotonic + UInt64(configuration.heartbeatMilliseconds)
    epochBegan = time.monotonic
    random = epochSeed
    removals.floor = birth.floor
    removals.recoveredBefore = RecoveryPoint(epoch: birth.floor.epoch, version: birth.floor.version)
  }

  /// Restores a stored model. Must precede every other call.
  /// - Throws: `StoreError` when the stored bytes cannot be read.
  package mutating func restore(_ stored: StoredModel) throws(StoreError) {
    let index = hub.models.make(stored.model, from: .none)
    try hub.models[index].restore(stored, recentLimit: hub.configuration.recentCommits)
    // Computed now, not while a peer waits: a million fields take a while.
    _ = hub.models[index].fields.digest()
    hub.sessions.writersBefore.formUnion(hub.models[index].writers.lazy.map(\.origin.tag))
    if hub.models[index].records > 0, hub.models[index].lastEpoch != hub.epoch {
      hub.models[index].storedFrom = RecoveryPoint(
        epoch: hub.models[index].lastEpoch, version: hub.models[index].version)
    }
    if hub.models[index].fields.valueCount == 0 || isWorn(hub.models[index]) { hub.models.touch(index) }
  }

  /// What was received, refused, dropped and repaired since the start.
  package var counters: HubCounters { hub.counters }

  /// When `tick` is due next, in milliseconds of the monotonic clock.
  package var nextDeadline: UInt64 {
    if isStreaming { return hub.lastTick }
    var deadline = min(nextHeartbeat, nextHeads, hub.sessions.nextExpiry, barriers.nextDeadline, questions.deadline)
    for verification in verifications { deadline = min(deadline, verification.deadline) }
    if hub.storeFullUntil > hub.lastTick, !hub.models.touched.isEmpty { deadline = min(deadline, hub.storeFullUntil) }
    for index in hub.models.touched {
      if let recovery = hub.models[index].recovery {
        deadline = min(deadline, recovery.nextDeadline(quietMilliseconds: hub.configuration.recoveryQuietMilliseconds))
      }
      if let pendingApproval = hub.models[index].pendingApproval { deadline = min(deadline, pendingApproval.answerBy) }
      for session in hub.models[index].waitingJoins {
        if let join = hub.sessions.join(of: session, in: hub.models[index].topic) {
          deadline = min(deadline, join.subscribeBy)
        }
      }
    }
    return deadline
  }

  // MARK: Input

  /// Handles one frame from a request connection. A malformed frame ends the session that sent it.
  package mutating func receive(
    _ frame: UnsafeRawBufferPointer, on connection: ConnectionID, time: HubTime, into output: inout HubOutput
  ) {
    hub.counters.framesReceived += 1
    var reader = WireReader(frame)
    do throws(WireError) {
      let limit = hub.configuration.limits.maxFrameBytes
      if frame.count > limit {
        throw reader.error("length", "the frame has \(frame.count) bytes; maxFrameBytes is \(limit)")
      }
      let header = try PeerHeader(from: &reader)
      switch header.kind {
      case .hello:
        let hello = try Hello(from: &reader)
        try reader.end()
        self.hello(hello, header.session, connection, time, &output)
      case .status:
        try reader.end()
        askReport(header.session, connection, &output)
      case .verify:
        let wanted = try Verify(from: &reader)
        try reader.end()
        verify(wanted, header.session, connection, time, &output)
      default:
        guard admit(header, connection, time, &output) else { return }
        switch header.kind {
        case .propose: try propose(ProposalCursor(reader), frame, header.session, time, &output)
        case .join: handle(try Join.all(from: &reader), header.session, time, &output)
        default:
          try handle(PeerMessage(header.kind, from: &reader), header.session, time, &output)
        }
      }
    } catch {
      refuse(error, session: PeerHeader.session(ofFrame: frame), connection, time, &output)
    }
  }

  private mutating func handle(
    _ message: PeerMessage, _ session: SessionID, _ time: HubTime, _ output: inout HubOutput
  ) throws(WireError) {
    switch message {
    case .alive(let alive): confirm(alive, session)
    case .leave(let leave):
      if leave.topics.isEmpty {
        end(session, time, &output)
      } else {
        for topic in leave.topics { self.leave(topic, session, time) }
      }
    case .askHeads: answerHeads(session, &output)
    case .ping(let ping):
      hub.send(.pong(Pong(session: session, token: ping.token)), to: session, &output)
    case .offer(let offer): receive(offer, session)
    case .approval(let approval): handle(approval, session, time, &output)
    case .awaitApplied where hub.sessions[session]?.reports == false,
      .report where hub.sessions[session]?.reports == false:
      throw WireError(
        message: message.kind.name.description, place: "kind",
        problem: "belongs to the capability \(Capability.applied), which the hello did not name", code: .unknownKind)
    case .awaitApplied(let wanted): awaitApplied(wanted, session, time, &output)
    case .report(let entries): self.handle(entries, session, &output)
    case .hello, .join, .propose, .status, .verify: break
    }
  }

  /// Checks that a frame belongs to an open session of this start and connection, and renews the session's lease.
  private mutating func admit(
    _ header: PeerHeader, _ connection: ConnectionID, _ time: HubTime, _ output: inout HubOutput
  ) -> Bool {
    guard header.start == hub.start else {
      hub.counters.staleStarts += 1
      hub.error(
        .staleStart, "this hub's start number is another one; say hello again", header.session, connection, &output)
      if hub.sessions[header.session]?.connection == connection {
        end(header.session, time, forgetting: false, &output)
      }
      return false
    }
    let now = time.monotonic
    let isKnown = hub.sessions.with(header.session) { session -> Bool in
      guard session.connection == connection else { return false }
      session.expiresAt = now + session.leaseMilliseconds
      // An owner's answer counts even now: the model would otherwise be taken from it as silent.
      return !session.isOver || header.kind == .approval
    }
    guard isKnown == true else {
      hub.counters.unknownSessions += 1
      hub.error(
        .unknownSession, "there is no such session on this connection; say hello", header.session, connection, &output)
      return false
    }
    return true
  }

  /// A malformed frame ends the session that sent it; other sessions are not affected.
  mutating func refuse(
    _ problem: WireError, session: SessionID, _ connection: ConnectionID, _ time: HubTime, _ output: inout HubOutput
  ) {
    hub.counters.malformedFrames += 1
    let owns = hub.sessions[session]?.connection == connection
    hub.error(problem.code, problem.description, session, connection, &output)
    // The peer may say hello again, so its outcomes are kept.
    if owns { end(session, time, forgetting: false, &output) }
  }
}

extension HubMachine {
  /// The number of this start of the hub; peers name it in every frame.
  package var start: StartNumber { hub.start }

  /// The id of the log that the hub serves.
  package var logID: LogID { hub.logID }

  /// The current epoch of the log.
  package var epoch: Epoch { hub.epoch }

  /// The id of the model that has this topic; nil: none.
  package func modelID(of topic: Topic) -> String? { hub.models.index(of: topic).map { hub.models[$0].id } }

  /// The topic of a model; nil: the hub does not know the model.
  package func topic(of model: String) -> Topic? { hub.models.index(named: model).map { hub.models[$0].topic } }

  /// Whether a session is open and need not say hello again.
  package func hasOpenSession(_ session: UInt64) -> Bool { hub.sessions[session]?.isOver == false }

  /// The stored version and digest of a model; nil: the hub does not know the model.
  package func head(of model: String) -> (version: Version, digest: UInt64)? {
    hub.models.index(named: model).map { (hub.models[$0].version, hub.models[$0].fields.digest()) }
  }
}
