import BindingProtocol

/// Frames from the hub, each of which goes to the part that it concerns.
extension Session {
  /// Handles one frame from either connection. A frame that violates the grammar, or belongs to another start of the
  /// hub, is dropped and counted.
  package mutating func receive(_ frame: UnsafeRawBufferPointer, now: UInt64, into effects: inout PeerEffects) {
    context.counters.framesReceived += 1
    var reader = WireReader(frame)
    do throws(WireError) {
      let header = try HubHeader(from: &reader)
      if header.kind == .welcome {
        connection.received(now: now)
        return handle(try Welcome(from: &reader), start: header.start, now: now, &effects)
      }
      if header.kind == .error {
        return handle(try ErrorMessage(from: &reader), now: now, &effects)
      }
      if header.kind == .hubs { return handle(try OtherHubs(from: &reader), &effects) }
      guard phase == .live, header.start == connection.start else {
        context.counters.otherStart += 1
        return
      }
      connection.received(now: now)
      if header.kind == .commits {
        try receiveCommits(reader, frame, header.topic, now: now, &effects)
      } else {
        try handle(HubMessage(header.kind, from: &reader), header.topic, now: now, &effects)
      }
    } catch {
      context.counters.badFrames += 1
      effects.events.append(.notice(.badFrame(error)))
    }
  }

  private mutating func handle(_ message: HubMessage, _ topic: Topic, now: UInt64, _ effects: inout PeerEffects) {
    switch message {
    case .topic(let assigned): handle(assigned, &effects)
    case .rights(let rights):
      guard rights.session == connection.sessionID, let index = index(of: rights.topic) else { return }
      models[at: index].join.learn(rights)
    case .keys(let keys):
      if keys.session == connection.sessionID { effects.link.append(.learn(keys)) }
    case .joined(let joined): handle(joined, now: now, &effects)
    case .catchup(let chunk): handle(chunk, now: now, &effects)
    case .outcomes(let outcomes): handle(outcomes, now: now, &effects)
    case .announce(let announce): handle(announce, &effects)
    case .head(let head): compare(topic, head.epoch, head.version, head.digest, now: now, &effects)
    case .heads(let heads):
      for head in heads.heads {
        let epoch = epoch(of: head.topic, ifStored: heads.epoch)
        compare(head.topic, epoch, head.version, head.digest, now: now, &effects)
      }
    case .heartbeat(let heartbeat): handle(heartbeat, now: now, &effects)
    case .pong(let pong): effects.events.append(.pong(token: pong.token))
    case .askOffer(let ask): offer(ask, now: now, &effects)
    case .approve(let request):
      guard let id = topics[request.topic] else { return }
      // The process that owned the model has ended; only its remaining writes are still sent under its name.
      if context.isResumed {
        answer(request, refusing: nil, now: now, into: &effects)
      } else {
        effects.questions.append(.approve(model: id, request))
      }
    case .awaited(let awaited):
      guard awaited.session == connection.sessionID, let id = barriers.answered(awaited.request) else { return }
      effects.events.append(.awaited(id, BarrierEnd(awaited)))
    case .past(let page): handle(page, &effects)
    case .ask(let ask): if let id = topics[topic] { reports.ask(for: ask.version, of: id) }
    case .upstream(let upstream):
      guard upstream.session == connection.sessionID else { return }
      connection.hear(of: upstream, now: now, &effects)
    case .welcome, .error, .hubs, .commits, .statusReport, .count: break
    }
  }

  /// A hub that closes names the others before its welcome, too.
  private mutating func handle(_ others: OtherHubs, _ effects: inout PeerEffects) {
    guard others.session == connection.sessionID, phase == .welcoming || phase == .live else { return }
    connection.hubs.learn(others.addresses, isWelcomed: phase == .live)
    if phase == .live { effects.link.append(.remember(others.addresses)) }
  }

  private mutating func handle(_ error: ErrorMessage, now: UInt64, _ effects: inout PeerEffects) {
    guard error.session == connection.sessionID, phase == .welcoming || phase == .live else { return }
    if let index = error.refusedJoin.flatMap({ models.index(of: $0) }) {
      let refusal = JoinRefusal(code: error.code, reason: error.text)
      if error.code == .notPermitted { models[at: index].giveUp(because: error.text, &context) }
      // The join is repeated every few seconds: an equal refusal is not reported again.
      guard models[at: index].join.refusal != refusal else { return }
      models[at: index].join.refusal = refusal
    }
    effects.events.append(.notice(.hubError(code: error.code, fatal: error.isFatal, text: error.text)))
    connection.answered()
    let isRefused = error.isFatal && phase == .welcoming
    switch error.code {
    case .fenced: stop(.fenced, &effects)
    case .otherProtocol: stop(.otherProtocol(error.text), &effects)
    case .notYours: stop(.notYours, &effects)
    default: if error.isFatal { reopen(.hubError(error.code), now: now, &effects) }
    }
    if isRefused { connection.refused(error.text) }
  }

  private mutating func handle(_ heartbeat: Heartbeat, now: UInt64, _ effects: inout PeerEffects) {
    guard connection.heartbeats.receive(heartbeat, now: now, &context.counters, &effects) else { return }
    numbering.hubNow = heartbeat.now
    let count = connection.heartbeats.count
    if context.isResumed {
      for index in models.sortedIndices() { models[at: index].endUnanswered(after: count, &context) }
    }
    claimLost(now: now)
    for index in models.indices { models[at: index].writes.sendAgain(sentBefore: count) }
  }

  private mutating func handle(_ announce: Announce, _ effects: inout PeerEffects) {
    guard let prefix = prefixes.first(where: { $0.value == announce.request })?.key else { return }
    for model in announce.models {
      effects.events.append(
        .announced(prefix: prefix, model: model.model, version: model.version, fields: Int(model.fields)))
    }
    if announce.isComplete { effects.events.append(.listed(prefix: prefix)) }
  }

  // MARK: Joins

  private mutating func handle(_ assigned: TopicAssigned, _ effects: inout PeerEffects) {
    guard assigned.session == connection.sessionID, let index = models.index(of: assigned.model) else { return }
    assign(assigned.topic, at: index, &effects)
  }

  private mutating func assign(_ topic: Topic, at index: Int, _ effects: inout PeerEffects) {
    guard models[at: index].join.topic != topic else { return }
    if let old = models[at: index].assign(topic) {
      topics[old] = nil
      effects.link.append(.unsubscribe(old))
    }
    topics[topic] = models.keys[index]
    effects.link.append(.subscribe(topic))
  }

  private mutating func handle(_ joined: Joined, now: UInt64, _ effects: inout PeerEffects) {
    guard joined.session == connection.sessionID, let index = models.index(of: joined.model),
      models[at: index].join.request == joined.request
    else { return }
    // The frame that named it may have been dropped.
    assign(joined.topic, at: index, &effects)
    if !models[at: index].isEphemeral, context.epoch != joined.epoch {
      context.epoch = joined.epoch
      let isRecovering = welcome?.isRecovering ?? false
      for other in models.indices where other != index {
        models[at: other].decideWhetherWitness(of: joined.epoch, isRecovering: isRecovering)
      }
    }
    let isComplete = models[at: index].receive(
      joined, after: connection.heartbeats.count, now: now, &context, &effects)
    goOn(at: index, isComplete: isComplete, now: now, &effects)
  }

  private mutating func handle(_ chunk: CatchupChunk, now: UInt64, _ effects: inout PeerEffects) {
    guard chunk.session == connection.sessionID,
      let index = models.indices.first(where: { models[at: $0].join.request == chunk.request })
    else { return }
    let isComplete = models[at: index].receive(chunk, after: connection.heartbeats.count, now: now, &context, &effects)
    goOn(at: index, isComplete: isComplete, now: now, &effects)
  }

  /// What follows when a join has gone on: a lapsed model is asked for again, a complete one has its repair reported.
  private mutating func goOn(at index: Int, isComplete: Bool, now: UInt64, _ effects: inout PeerEffects) {
    askIfLapsed(at: index, now: now, &effects)
    guard isComplete else { return }
    if models[at: index].divergence.end(), connection.hubCan(Capability.applied) {
      reports.ask(for: 0, of: models.keys[index])
    }
    if models[at: index].isEphemeral, models[at: index].join.topic != nil {
      writeClaims(models[at: index].orphanDeletions(of: identity.tag), at: index, now: now)
    }
  }

  /// Asks for a model that does not fit what the hub says of it.
  mutating func askIfLapsed(at index: Int, now: UInt64, _ effects: inout PeerEffects) {
    if models[at: index].join.isIdle { askToJoin([index], now: now, &effects) }
  }

  // MARK: Following

  private mutating func receiveCommits(
    _ reader: WireReader, _ frame: UnsafeRawBufferPointer, _ topic: Topic, now: UInt64, _ effects: inout PeerEffects
  ) throws(WireError) {
    guard let index = index(of: topic) else {
      context.counters.otherTopic += 1
      return
    }
    defer { askIfLapsed(at: index, now: now, &effects) }
    try models[at: index].receiveCommits(reader, in: frame, now: now, &context, &effects)
  }

  private mutating func compare(
    _ topic: Topic, _ epoch: Epoch, _ version: Version, _ digest: UInt64, now: UInt64, _ effects: inout PeerEffects
  ) {
    guard let index = index(of: topic) else { return }
    models[at: index].compare(epoch, version, digest, now: now, &context, &effects)
    askIfLapsed(at: index, now: now, &effects)
  }

  func index(of topic: Topic) -> Int? { topics[topic].flatMap { models.index(of: $0) } }

  /// The epoch of a model named in a message about several models, which carries the log's epoch: an ephemeral model
  /// lives as long as the hub's process.
  func epoch(of topic: Topic, ifStored epoch: Epoch) -> Epoch {
    index(of: topic).map { models[at: $0].isEphemeral } == true ? Epoch(connection.start) : epoch
  }

  /// Sends the committed values, as they were in the old epoch, to a hub that lacks them.
  private mutating func offer(_ ask: AskOffer, now: UInt64, _ effects: inout PeerEffects) {
    guard let index = index(of: ask.topic), ask.session == connection.sessionID, models[at: index].mayOffer
    else { return }
    let offers = models[at: index].replica.offers(
      answering: ask, withNumbers: connection.hubCan(Capability.recovery), limit: limits.chunkBytes)
    for offer in offers { send(.offer(offer), now: now, &effects) }
    let fields = offers.reduce(0) { $0 + $1.fields.count }
    effects.events.append(.notice(.offered(model: models.keys[index], fields: fields)))
  }

  // MARK: Ephemeral models (protocol.md §9)

  /// Claims this peer's ephemeral fields again: the hub may have taken it for gone, or may be another process.
  /// Otherwise the claims change nothing.
  mutating func claimAgain(now: UInt64) {
    for index in models.sortedIndices(where: { $0.isEphemeral }) {
      writeClaims(models[at: index].claimsToRepeat, at: index, now: now)
    }
  }

  /// Claims again what is missing, and gives up the orphaned fields that remain.
  private mutating func claimLost(now: UInt64) {
    let tag = identity.tag
    for index in models.sortedIndices(where: { $0.isEphemeral && $0.join.isCurrent }) {
      writeClaims(models[at: index].orphanDeletions(of: tag), at: index, now: now)
      writeClaims(models[at: index].lostClaims(of: tag), at: index, now: now)
    }
  }

  private mutating func writeClaims(_ proposals: [Proposal], at index: Int, now: UInt64) {
    // No caller waits for the outcome. If the outbox has no room now, a later claim succeeds. Nothing of an ephemeral
    // model is recorded, so there is no effect to perform.
    var none = PeerEffects()
    for proposal in proposals { _ = try? write(proposal, to: models.keys[index], now: now, into: &none) }
  }
}
