package import BindingProtocol

/// The hub without sockets, clock or store: frames, ticks and store results go in, a `HubOutput` comes out.
///
/// The caller passes every waiting frame to `receive`, then calls `finishDrain`. It appends `output.batches` to the
/// store and passes the results to `appended`, until no batch is left; then it sends the frames. Nothing is
/// published or acknowledged before it is stored (R1).
package struct HubMachine {
  var hub: HubContext
  var proposals: ProposalQueue
  var joins = JoinQueue()
  var publisher: ModelPublisher
  var presence = PresenceTable()
  var recovery: RecoveryCoordinator
  var removals = ModelRemovals()
  var expiries: ExpiryTable
  var history = HistoryQueue()
  var reporter = StatusReporter()
  /// What the hub knows of a log that it shares with other hubs; nil: it has the log alone.
  var shared: SharedLog?
  /// The other hubs of the log, and whether this one sends its peers there.
  var others: OtherHubsState
  /// What the other hubs of the log have in ephemeral models.
  var siblings = SiblingParts()
  /// What makes this hub an edge; nil: it decides by itself.
  var edge: EdgeState?

  /// Creates a hub with no models; `restore` adds those that the store has.
  /// - Parameters:
  ///   - configuration: limits, names and durations.
  ///   - birth: what the store knows of this start.
  ///   - time: the present time.
  ///   - epochSeed: random bits for the number of a later epoch.
  package init(configuration: HubMachineConfiguration, birth: HubBirth, time: HubTime, epochSeed: UInt64) {
    hub = HubContext(configuration: configuration, birth: birth, time: time)
    expiries = ExpiryTable(isOff: configuration.isPlayback)
    proposals = ProposalQueue(
      Sequencer(
        limits: configuration.limits, maxUnconfirmedOutcomes: configuration.maxUnconfirmedOutcomes,
        spacing: RankSpacing(gap: configuration.listGap), owners: SharedOwners(configuration, start: birth.start)))
    publisher = ModelPublisher(configuration, time: time)
    recovery = RecoveryCoordinator(birth, time: time, epochSeed: epochSeed)
    shared = configuration.isShared ? SharedLog() : nil
    others = OtherHubsState(addresses: configuration.otherHubs)
  }

  /// Restores a stored model. Must precede every other call.
  /// - Throws: `StoreError` when the stored bytes cannot be read.
  package mutating func restore(_ stored: StoredModel) throws(StoreError) {
    let index = hub.models.make(stored.model, from: .none)
    let model = hub.models[index]
    try model.restore(stored, recentLimit: hub.configuration.recentCommits)
    // Computed now, not while a peer waits: a million fields take a while.
    _ = model.fields.digest()
    if model.expires { expiries.update(index, model, now: hub.lastTick) }
    hub.sessions.writersBefore.formUnion(model.writers.records.lazy.map(\.origin.tag))
    if model.position.record > 0, model.position.epoch != hub.epoch {
      model.recovery.storedFrom = RecoveryPoint(epoch: model.position.epoch, version: model.version)
    }
    if model.fields.valueCount == 0 || model.isWorn(hub.configuration) { hub.models.touch(index) }
  }

  /// Whose a request connection is, as the transport's authenticator found. Must precede its first frame, where the
  /// hub may have a policy.
  package mutating func identify(_ connection: ConnectionID, as user: HubPrincipal) {
    hub.access.identify(connection, as: user, hub.sessions)
  }

  /// Whether `identify` was called for a connection, and it is not forgotten.
  package func isIdentified(_ connection: ConnectionID) -> Bool { hub.access.isKnown(connection) }

  /// Puts another policy in force; nil: everybody may do everything. What is sent from now on goes by it, and each
  /// name's limits. Other limits alone end no connection.
  /// - Parameter time: the present; nil: that of the last tick.
  /// - Returns: the connections whose rights have changed; the caller ends them with `expel`, and their publish
  ///   connections, so that their peers come back with what they may now.
  package mutating func apply(_ policy: AccessPolicy?, time: HubTime? = nil) -> [ConnectionID] {
    hub.models.apply(policy)
    hub.usages.apply(policy, at: time?.monotonic ?? hub.lastTick)
    recovery.believeOthers(&hub)
    return hub.access.apply(policy)
  }

  /// When `tick` is due next, in milliseconds of the monotonic clock.
  package var nextDeadline: UInt64 {
    if isStreaming { return hub.lastTick }
    var deadline = min(publisher.nextDeadline, hub.sessions.nextExpiry, reporter.nextDeadline, expiries.nextDeadline)
    deadline = min(deadline, history.nextDeadline, others.nextDeadline)
    if hub.storeFullUntil > hub.lastTick, !hub.models.touched.isEmpty || !expiries.due.isEmpty {
      deadline = min(deadline, hub.storeFullUntil)
    }
    for index in hub.models.touched {
      let model = hub.models[index]
      if let recovery = model.recovery.underWay {
        let quiet = hub.configuration.recoveryQuietMilliseconds
        deadline = min(deadline, recovery.nextDeadline(quietMilliseconds: quiet))
      }
      deadline = min(deadline, model.approval.pending?.answerBy ?? .max, elsewhereDeadline(of: model))
      for session in model.members.waitingJoins {
        guard let due = hub.sessions.join(of: session, in: model.topic)?.subscribeBy else { continue }
        // It may wait for the upstream hub beyond that, or for siblings.
        if edge == nil && siblings.isEmpty || due > hub.lastTick { deadline = min(deadline, due) }
      }
    }
    return deadline
  }

  /// Whether the end of another drain would send more.
  package var isStreaming: Bool {
    !joins.isEmpty || publisher.isStreaming(hub.sessions) || history.isDue(publisher.congested, hub.sessions)
      || isListingDue
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
        guard isAdmin(header, connection, &output) else { return }
        reporter.ask(header.session, connection, &hub, &output)
      case .verify:
        let wanted = try Verify(from: &reader)
        try reader.end()
        guard isAdmin(header, connection, &output) else { return }
        publisher.verifications.begin(wanted, header.session, connection, &hub, time, &output)
      case .drain: try drain(&reader, header, connection, time, &output)
      default:
        guard admit(header, connection, time, &output) else { return }
        switch header.kind {
        // Its peer sends it again to the hub where it goes.
        case .propose where others.drain?.leaving.contains(header.session) == true: break
        case .propose where edge != nil:
          try passOn(ProposalCursor(reader), bytes: frame.count, header.session, time, &output)
        case .propose:
          try proposals.receive(ProposalCursor(reader), frame, header.session, &hub, time, &output)
        case .forward: try receiveForward(&reader, frame, header.session, connection, time, &output)
        case .join: handle(try Join.all(from: &reader), header.session, time, &output)
        default:
          try handle(PeerMessage(header.kind, from: &reader), header.session, time, &output)
        }
      }
    } catch {
      refuse(error, session: PeerHeader.session(ofFrame: frame), connection, time, &output)
    }
  }

  /// Refuses a message of several frames, of which the transport kept the first.
  mutating func refuseFrames(
    beginningWith first: UnsafeRawBufferPointer, on connection: ConnectionID, time: HubTime,
    into output: inout HubOutput
  ) {
    hub.counters.framesReceived += 1
    let problem = WireError(
      message: "message", place: "frames", problem: "there are several; a message has one frame")
    refuse(problem, session: PeerHeader.session(ofFrame: first), connection, time, &output)
  }

  /// Does everything that depends on time: heartbeats and heads, leases, joins without a subscription, recoveries
  /// and silent owners.
  package mutating func tick(time: HubTime, into output: inout HubOutput) {
    let now = time.monotonic
    // R16: after a long pause of this hub, a peer's silence does not count.
    if now > hub.lastTick + 3 * UInt64(hub.configuration.heartbeatMilliseconds) {
      hub.sessions.renewAll(now: now)
      expiries.excuse(now: now)
    }
    expiries.end(now: now)
    hub.lastTick = now
    if publisher.beat(&hub, time, &output) {
      presence.publishAll(&hub, time)
      presence.endReturns(&hub, time)
      if publisher.heads.number % 3_600 == 0 { hub.forgetOldIdentities(now: now, wall: time.wall) }
      if edge != nil { unfollowUnused(time) }
      siblings.tend(presence, &hub, time)
      letUnusedGo(now: now)
    }
    publisher.heads.publishDue(&hub, time, &output)
    for id in hub.sessions.expired(now: now) {
      hub.counters.expiredLeases += 1
      end(id, time, forgetting: false, &output)
    }
    for index in hub.models.touched where proposals.endSilence(of: index, &hub, time) { goOn(index, time, &output) }
    continueDrain(time, &output)
    finishDrain(time: time, into: &output)
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
    case .offer(let offer): recovery.receive(offer, session, &hub)
    case .approval(let approval): receive(approval, of: session, time, &output)
    case .awaitApplied where hub.sessions[session]?.capabilities.reports == false,
      .report where hub.sessions[session]?.capabilities.reports == false:
      throw message.kind.unnamed(Capability.applied)
    case .counted(let count): try receive(count, of: session)
    case .awaitApplied(let wanted): wait(wanted, of: session, time, &output)
    case .history(let request): try history.receive(request, session, &hub, &output)
    case .report(let entries): publisher.receive(entries, of: session, &hub, &output)
    case .hello, .join, .propose, .status, .verify, .drain, .forward: break
    }
  }

  /// Checks that a frame belongs to an open session of this start and connection, and renews the session's lease.
  private mutating func admit(
    _ header: PeerHeader, _ connection: ConnectionID, _ time: HubTime, _ output: inout HubOutput
  ) -> Bool {
    guard header.start == hub.start else {
      hub.counters.staleStarts += 1
      hub.error(
        .staleStart, "the start number is not that of this hub; send hello again", header.session, connection, &output)
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
        .unknownSession, "this connection has no such session; send hello", header.session, connection, &output)
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

  /// What was received, refused, dropped and repaired since the start.
  package var counters: HubCounters { hub.counters }

  /// The status that `bindhub status` shows.
  package func statusJSON(time: HubTime) -> JSON {
    reporter.json(heartbeat: publisher.heads.number, hub, edge, others, time)
  }

  /// The id of the model that has this topic; nil: none.
  package func modelID(of topic: Topic) -> String? { hub.models.index(of: topic).map { hub.models[$0].id } }

  /// The topic of a model; nil: the hub does not know the model.
  package func topic(of model: String) -> Topic? { hub.models.index(named: model).map { hub.models[$0].topic } }

  /// The stored version and digest of a model; nil: the hub does not know the model.
  package func head(of model: String) -> (version: Version, digest: UInt64)? {
    hub.models.index(named: model).map { (hub.models[$0].version, hub.models[$0].fields.digest()) }
  }
}
