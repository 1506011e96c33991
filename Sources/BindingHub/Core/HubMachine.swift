public import BindingProtocol

/// The hub without sockets, clock or store: what comes in goes through here, what goes out lies in a `HubOutput`.
///
/// The caller drains its sockets into `receive`, then calls `finishDrain`; it appends `output.batches` to the store
/// and tells the result with `appended`, until there are no more; then it sends the frames. Nothing is published or
/// acknowledged before the store has it (R1).
public struct HubMachine {
  let configuration: HubConfiguration
  public let start: StartNumber
  public let logID: LogID
  public internal(set) var epoch: Epoch
  var tailProven: Bool
  var sequencer: Sequencer
  var sessions = Sessions()
  /// By place. A place whose model is gone is another's later.
  var models: [ModelLog] = []
  var modelIndex: [String: Int] = [:]
  var topics = TopicTable()
  var removals = Removals()
  let batchPool = BatchPool()
  /// The places of the ephemeral lines among them, which are looked at with each heartbeat.
  var ephemeralModels: [Int] = []
  var returning: Set<Returning> = []
  /// Stands where a model was that nobody wrote.
  let retired = ModelLog(id: "", topic: Topics.none)
  /// Models to look at when the drain ends: something was decided, a join waits, or it has to be answered.
  var touched: [Int] = []
  var isTouched: [Bool] = []
  /// Models whose head is to be told with the next heartbeats.
  var recentlyChanged: Set<Int> = []
  /// Those of them whose head this heartbeat has still to tell, how many of them at once, and when the next.
  var headsDue: ArraySlice<Int> = []
  var headsAtOnce = 0
  var nextHeads = UInt64.max
  var withOutcomes: [SessionID] = []
  /// Request connections at which messages wait for room, and the models of which they were not told all.
  var congestedConnections: [ConnectionID: Set<Topic>] = [:]
  /// Catch-ups that have not been told wholly.
  var catchups: [CatchupStream] = []
  /// Joins that wait for their turn, by session, how many they are, and how many this turn has taken.
  var waitingJoins: [WaitingJoins] = []
  var waitingJoinCount = 0
  var joinsHandled = 0
  /// Prefixes whose models have not been announced wholly.
  var announcing: [Announcing] = []
  var questions = Questions()
  var heartbeatNumber: UInt64 = 0
  var nextHeartbeat: UInt64
  var lastTick: UInt64
  let startedAt: UInt64
  /// When this life of the log began, or was found to have been begun before this hub.
  var epochBegan: UInt64
  var random: UInt64
  /// The last question to an owner.
  var lastToken: UInt32 = 0
  var believedPeerAhead = false
  /// Who has a mark in the log that this hub began with.
  var writersBefore: Set<Tag> = []
  var barriers = Barriers()
  var verifications: [Verification] = []
  var disagreements = Disagreements()
  /// Identities that were forgotten since the caller last took them, for the store to forget.
  public var forgotten: Set<Tag> = []
  /// What the transport has counted, and how the store is, for who asks for the status.
  var transportCounters = TransportCounters()
  var store = StoreStatus()
  var countersOfMachine: HubCounters { sequencer.counters }

  /// - Parameter epochSeed: chance for a later epoch's number.
  public init(configuration: HubConfiguration, birth: HubBirth, time: HubTime, epochSeed: UInt64) {
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

  /// Takes in a model that the store has, before anything else.
  public mutating func restore(_ stored: StoredModel) throws(StoreError) {
    let index = makeModel(stored.model, from: .none)
    try models[index].restore(stored, recentLimit: configuration.recentCommits)
    // Now, and not when somebody waits: of a million fields it takes a while.
    _ = models[index].fields.digest()
    writersBefore.formUnion(models[index].writers.lazy.map(\.origin.tag))
    if models[index].records > 0, models[index].lastEpoch != epoch {
      models[index].storedFrom = RecoveryPoint(epoch: models[index].lastEpoch, version: models[index].version)
    }
    if models[index].fields.valueCount == 0 || isWorn(models[index]) { touch(index) }
  }

  public var counters: HubCounters { sequencer.counters }

  /// When `tick` is due, on the monotonic clock.
  public var nextDeadline: UInt64 {
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

  /// Takes one frame from a request connection.
  public mutating func receive(
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

  /// Whether a frame of a session may be heard; renews its lease.
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
      // What its owner has answered counts all the same: else a model would be taken from it for its silence.
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

  /// A frame that does not follow the grammar ends the session that sent it; the others hear nothing of it.
  mutating func refuse(
    _ problem: WireError, session: SessionID, _ connection: ConnectionID, _ time: HubTime, _ output: inout HubOutput
  ) {
    sequencer.counters.malformedFrames += 1
    let owns = sessions[session]?.connection == connection
    error(problem.code, problem.description, session, connection, &output)
    // It may come back: what it was told is not forgotten.
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
      .error(HubError(session: session, code: code, isFatal: isFatal, text: text)), to: .connection(connection),
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
  /// The model that has a topic now.
  public func modelID(of topic: Topic) -> String? { index(of: topic).map { models[$0].id } }

  /// The topic of a model; nil if nobody has named it.
  public func topic(of model: String) -> Topic? { modelIndex[model].map { models[$0].topic } }

  /// Whether what a session says counts: it has not ended, and need not say hello again.
  public func hasOpenSession(_ session: UInt64) -> Bool { sessions[session]?.isOver == false }

  /// The stored version of a model and its digest; nil if nobody has named it.
  public func head(of model: String) -> (version: Version, digest: UInt64)? {
    modelIndex[model].map { (models[$0].version, models[$0].fields.digest()) }
  }
}
