package import BindingProtocol

/// The hub without sockets, clock or store: frames, ticks and store results go in, a `HubOutput` comes out.
///
/// The caller passes every waiting frame to `receive`, then calls `finishDrain`. It appends `output.batches` to the
/// store and passes the results to `appended`, until no batch is left; then it sends the frames. Nothing is
/// published or acknowledged before it is stored (R1).
package struct HubMachine {
  let configuration: HubConfiguration
  /// The number of this start of the hub; peers name it in every frame.
  package let start: StartNumber
  /// The id of the log that the hub serves.
  package let logID: LogID
  /// The current epoch of the log.
  package internal(set) var epoch: Epoch
  var tailProven: Bool
  var sequencer: Sequencer
  var sessions = Sessions()
  /// By index. The index of a removed model is reused.
  var models: [ModelLog] = []
  var modelIndex: [String: Int] = [:]
  var topics = TopicTable()
  var removals = Removals()
  let batchPool = BatchPool()
  /// The indices of the ephemeral models, which each heartbeat visits.
  var ephemeralModels: [Int] = []
  var returning: Set<Returning> = []
  /// A placeholder at the index of a removed model.
  let retired = ModelLog(id: "", topic: Topics.none)
  /// Models to handle at the end of the drain: a decision was made, a join waits, or an answer is due.
  var touched: [Int] = []
  var isTouched: [Bool] = []
  /// Models whose head goes out with the next heartbeats.
  var recentlyChanged: Set<Int> = []
  /// Heads that this heartbeat still has to publish, how many go at once, and when the next go.
  var headsDue: ArraySlice<Int> = []
  var headsAtOnce = 0
  var nextHeads = UInt64.max
  var withOutcomes: [SessionID] = []
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
  var lastTick: UInt64
  let startedAt: UInt64
  /// When the current epoch began, or, for an older epoch, when the hub started.
  var epochBegan: UInt64
  var random: UInt64
  /// The token of the last approval request.
  var lastToken: UInt32 = 0
  var believedPeerAhead = false
  /// Identities with a last decided number in the log that this hub started with.
  var writersBefore: Set<Tag> = []
  var barriers = Barriers()
  var verifications: [Verification] = []
  var disagreements = Disagreements()
  /// Forgotten identities; the caller takes them and has the store forget them.
  package var forgotten: Set<Tag> = []
  /// The transport's counters and the store's status, for status reports.
  var transportCounters = TransportCounters()
  var store = StoreStatus()
  var countersOfMachine: HubCounters { sequencer.counters }

  /// Creates a hub with no models; `restore` adds those that the store has.
  /// - Parameters:
  ///   - configuration: limits, names and durations.
  ///   - birth: what the store knows of this start.
  ///   - time: the present time.
  ///   - epochSeed: random bits for the number of a later epoch.
  package init(configuration: HubConfiguration, birth: HubBirth, time: HubTime, epochSeed: UInt64) {
    self.configuration = configuration
    start = birth.start
    logID = birth.logID
    epoch = birth.epoch
    tailProven = birth.tailProven
    sequencer = Sequencer(
      limits: configuration.limits, maxUnconfirmedOutcomes: configuration.maxUnconfirmedOutcomes, epoch: birth.epoch)
    nextHeartbeat = time.monotonic + UInt64(configuration.heartbeatMilliseconds)
    lastTick = time.monotonic
    startedAt = time.monotonic
    epochBegan = time.monotonic
    random = epochSeed
    removals.floor = birth.floor
    removals.recoveredBefore = RecoveryPoint(epoch: birth.floor.epoch, version: birth.floor.version)
  }

  /// Restores a stored model. Must precede every other call.
  /// - Throws: `StoreError` when the stored bytes cannot be read.
  package mutating func restore(_ stored: StoredModel) throws(StoreError) {
    let index = makeModel(stored.model, from: .none)
    try models[index].restore(stored, recentLimit: configuration.recentCommits)
    // Computed now, not while a peer waits: a million fields take a while.
    _ = models[index].fields.digest()
    writersBefore.formUnion(models[index].writers.lazy.map(\.origin.tag))
    if models[index].records > 0, models[index].lastEpoch != epoch {
      models[index].storedFrom = RecoveryPoint(epoch: models[index].lastEpoch, version: models[index].version)
    }
    if models[index].fields.valueCount == 0 || isWorn(models[index]) { touch(index) }
  }

  /// What was received, refused, dropped and repaired since the start.
  package var counters: HubCounters { sequencer.counters }

  /// When `tick` is due next, in milliseconds of the monotonic clock.
  package var nextDeadline: UInt64 {
    if isStreaming { return lastTick }
    var deadline = min(nextHeartbeat, nextHeads, sessions.nextExpiry, barriers.nextDeadline, questions.deadline)
    for verification in verifications { deadline = min(deadline, verification.deadline) }
    if sequencer.storeFullUntil > lastTick, !touched.isEmpty { deadline = min(deadline, sequencer.storeFullUntil) }
    for index in touched {
      if let recovery = models[index].recovery {
        deadline = min(deadline, recovery.nextDeadline(quietMilliseconds: configuration.recoveryQuietMilliseconds))
      }
      if let pendingApproval = models[index].pendingApproval { deadline = min(deadline, pendingApproval.answerBy) }
      for session in models[index].waitingJoins {
        if let join = sessions.join(of: session, in: models[index].topic) { deadline = min(deadline, join.subscribeBy) }
      }
    }
    return deadline
  }

  // MARK: Input

  /// Handles one frame from a request connection. A malformed frame ends the session that sent it.
  package mutating func receive(
    _ frame: UnsafeRawBufferPointer, on connection: ConnectionID, time: HubTime, into output: inout HubOutput
  ) {
    sequencer.counters.framesReceived += 1
    var reader = WireReader(frame)
    do throws(WireError) {
      let limit = configuration.limits.maxFrameBytes
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
        end(session, time: time)
      } else {
        for topic in leave.topics { self.leave(topic, session, time) }
      }
    case .askHeads: answerHeads(session, &output)
    case .ping(let ping):
      send(.pong(Pong(session: session, token: ping.token)), to: session, &output)
    case .offer(let offer): receive(offer, session)
    case .approval(let approval): handle(approval, session, time, &output)
    case .awaitApplied where sessions[session]?.reports == false, .report where sessions[session]?.reports == false:
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
    guard header.start == start else {
      sequencer.counters.staleStarts += 1
      error(.staleStart, "this hub's start number is another one; say hello again", header.session, connection, &output)
      if sessions[header.session]?.connection == connection { end(header.session, time: time, forgetting: false) }
      return false
    }
    let now = time.monotonic
    let isKnown = sessions.with(header.session) { session -> Bool in
      guard session.connection == connection else { return false }
      session.expiresAt = now + session.leaseMilliseconds
      // An owner's answer counts even now: the model would otherwise be taken from it as silent.
      return !session.isOver || header.kind == .approval
    }
    guard isKnown == true else {
      sequencer.counters.unknownSessions += 1
      error(
        .unknownSession, "there is no such session on this connection; say hello", header.session, connection, &output)
      return false
    }
    return true
  }

  /// A malformed frame ends the session that sent it; other sessions are not affected.
  mutating func refuse(
    _ problem: WireError, session: SessionID, _ connection: ConnectionID, _ time: HubTime, _ output: inout HubOutput
  ) {
    sequencer.counters.malformedFrames += 1
    let owns = sessions[session]?.connection == connection
    error(problem.code, problem.description, session, connection, &output)
    // The peer may say hello again, so its outcomes are kept.
    if owns { end(session, time: time, forgetting: false) }
  }

  // MARK: Output

  func send(_ message: HubMessage, to session: SessionID, _ output: inout HubOutput, topic: Topic = Topics.none) {
    guard let connection = sessions[session]?.connection else { return }
    output.send(message, to: .connection(connection), topic: topic, start: start)
  }

  func error(
    _ code: ErrorCode, _ text: String, _ session: SessionID, _ connection: ConnectionID, isFatal: Bool = true,
    _ output: inout HubOutput
  ) {
    output.send(
      .error(ErrorMessage(session: session, code: code, isFatal: isFatal, text: text)), to: .connection(connection),
      start: start)
  }

  // MARK: Models

  func index(of topic: Topic) -> Int? { topics[topic] }

  mutating func touch(_ index: Int) {
    guard !isTouched[index] else { return }
    isTouched[index] = true
    touched.append(index)
  }
}

extension HubMachine {
  /// The id of the model that has this topic; nil: none.
  package func modelID(of topic: Topic) -> String? { index(of: topic).map { models[$0].id } }

  /// The topic of a model; nil: the hub does not know the model.
  package func topic(of model: String) -> Topic? { modelIndex[model].map { models[$0].topic } }

  /// Whether a session is open and need not say hello again.
  package func hasOpenSession(_ session: UInt64) -> Bool { sessions[session]?.isOver == false }

  /// The stored version and digest of a model; nil: the hub does not know the model.
  package func head(of model: String) -> (version: Version, digest: UInt64)? {
    modelIndex[model].map { (models[$0].version, models[$0].fields.digest()) }
  }
}
