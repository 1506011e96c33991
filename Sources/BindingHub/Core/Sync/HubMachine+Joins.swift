import BindingProtocol

extension HubMachine {
  mutating func join(_ join: Join, _ session: SessionID, _ time: HubTime, _ output: inout HubOutput) {
    hub.counters.joins += 1
    if let tag = hub.sessions[session]?.identity.tag { hub.sessions.identities[tag]?.hasReceivedWelcome = true }
    switch join.form {
    case .prefix: joinPrefix(join, session, &output)
    case .model: joinModel(join, session, time, &output)
    }
  }

  mutating func joinModel(_ join: Join, _ session: SessionID, _ time: HubTime, _ output: inout HubOutput) {
    // Not the whole record: holding it across the change below would copy all joins each time.
    guard let (identity, connection) = hub.sessions.with(session, { ($0.identity, $0.connection) }) else { return }
    if let going = indexOfRemoval(join.name) {
      hub.models[going].removal?.joins.append((session, join))
      return
    }
    let index: Int
    do throws(Refusal) {
      if let known = hub.models.index(named: join.name) {
        index = known
      } else {
        index = try makeModelIfRoom(join.name, for: identity.tag)
      }
    } catch {
      hub.counters.modelsRefused += 1
      // The text begins with the model's name: the peer sees which join was refused.
      hub.error(
        .overLimit, "\(join.name): \(error.text)", session, connection, isFatal: false, &output)
      return
    }
    let model = hub.models[index]
    let (present, count) = hub.sessions.with(session) { ($0.joins[model.topic], $0.joins.count) } ?? (nil, 0)
    if present == nil, count >= 4 * hub.configuration.limits.maxTopics {
      hub.counters.topicsRefused += 1
      hub.error(
        .tooManyTopics, "\(join.name): \(count) models are joined; a session may join no more", session, connection,
        isFatal: false, &output)
      return
    }
    // Past `maxTopics` a session is served on its request connection.
    let isPastTopics = present == nil && count >= hub.configuration.limits.maxTopics
    let wait = isPastTopics ? 0 : hub.configuration.subscriptionMilliseconds
    hub.sessions.with(session) {
      $0.joins[model.topic] = JoinRecord(
        open: join, subscribeBy: time.monotonic + wait, delivery: present?.delivery, healed: present?.healed ?? 0)
    }
    hub.sessions.identities[identity.tag]?.presentSince[model.topic, default: time.wall] += 0
    model.sessions.insert(session)
    endCatchup(of: session, in: model)
    if !model.waitingJoins.contains(session) { model.waitingJoins.append(session) }
    hub.send(
      .topic(TopicAssigned(session: session, request: join.request, topic: model.topic, model: join.name)), to: session,
      &output)
    believeIfAhead(join, session, model, &output)
    askForOffer(join, session, model, time, &output)
    if let writer = model.knownWriter(identity.tag) {
      model.withWriter(writer) { $0.confirm(min(max(join.unacknowledged, 1) - 1, $0.lastStored)) }
    }
    raiseLastDecided(join, identity, index, time)
    hub.models.touch(index)
    if let stored = model.ephemeral == nil ? index : model.counterpart { publishPresence(ofModelAt: stored, time) }
  }

  /// R8: last decided numbers never go back, whatever this hub has lost. Nothing is decided while a batch is being
  /// stored; `raiseLastDecidedOfWaitingJoins` then raises the number before the join is answered.
  private mutating func raiseLastDecided(_ join: Join, _ origin: Origin, _ index: Int, _ time: HubTime) {
    let model = hub.models[index]
    if join.unacknowledged > 1 || model.knownWriter(origin.tag) != nil {
      let writer = model.writer(for: origin)
      hub.sessions.identities[origin.tag]?.models.insert(index)
      let decided = max(join.unacknowledged, 1) - 1
      guard model.withWriter(writer, { $0.lastDecided < decided }), !model.isAppending,
        !hub.isStoreFull(for: model, time)
      else { return }
      hub.counters.raisedMarks += 1
      model.withWriter(writer) { $0.lastDecided = decided }
      model.borrowBatch()
      model.pendingBatch.touchedWriters.append(writer)
      model.pendingBatch.decisions.append(Decision(origin: origin, number: decided, outcome: nil))
    }
  }

  /// Raises the last decided numbers for joins that arrived while a batch was being stored.
  mutating func raiseLastDecidedOfWaitingJoins(_ index: Int, _ time: HubTime) {
    let model = hub.models[index]
    for id in model.waitingJoins {
      guard let join = hub.sessions.join(of: id, in: model.topic)?.open,
        let identity = hub.sessions.with(id, { $0.identity })
      else { continue }
      raiseLastDecided(join, identity, index, time)
    }
  }

  /// R8: a peer ahead in the current epoch proves that acknowledged commits are missing here. Believed once per
  /// start.
  private mutating func believeIfAhead(
    _ join: Join, _ session: SessionID, _ model: ModelLog, _ output: inout HubOutput
  ) {
    guard model.ephemeral == nil, join.epoch == hub.epoch, join.version > model.version,
      join.version <= RecoveryPoint.lastVersion
    else { return }
    guard !model.isAppending else {
      hub.sessions.with(session) { $0.joins[model.topic]?.aheadOf = model.version }
      return
    }
    believe(&output)
  }

  /// Believes peers that were ahead while a batch was being stored: that batch was decided on a lost tail.
  mutating func believeLate(_ index: Int, _ time: HubTime, _ output: inout HubOutput) {
    let model = hub.models[index]
    for id in model.waitingJoins {
      guard let record = hub.sessions[id]?.joins[model.topic], let version = record.aheadOf, let join = record.open
      else {
        continue
      }
      hub.sessions.with(id) { $0.joins[model.topic]?.aheadOf = nil }
      if join.epoch == hub.epoch, !believedPeerAhead {
        believe(&output)
        model.storedFrom = RecoveryPoint(epoch: join.epoch, version: version)
      }
      askForOffer(join, id, model, time, &output)
    }
  }

  /// Begins a new epoch of the log, once per start.
  private mutating func believe(_ output: inout HubOutput) {
    guard !believedPeerAhead else { return }
    believedPeerAhead = true
    epochBegan = hub.lastTick
    hub.counters.newEpochs += 1
    tailProven = false
    // SplitMix64 of the given seed: the machine has no source of randomness of its own.
    random &+= 0x9E37_79B9_7F4A_7C15
    var mixed = random
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    mixed ^= mixed >> 31
    for model in hub.models where model.version > 0 && model.ephemeral == nil {
      model.storedFrom = RecoveryPoint(epoch: hub.epoch, version: model.version)
    }
    recoverNoRemoved()
    hub.epoch = (hub.epoch >> 32 + 1) << 32 | (mixed & 0xFFFF_FFFF | 1)
    hub.epoch = hub.epoch
    output.newEpoch = hub.epoch
    endBarriersOfOldEpoch(&output)
    for index in hub.models.indices where hub.models[index].ephemeral == nil {
      hub.models[index].asked = AskedReplicas()
      // Decisions that are not stored belong to the epoch that has ended; their peers resend the proposals.
      if !hub.models[index].isAppending { hub.dropBatch(index) }
      if hub.models[index].version > 0 { recentlyChanged.insert(index) }
      hub.models[index].headsLeft = 3
    }
  }

  // MARK: Answering

  /// Answers joins that have subscribed or timed out, once every decision is stored.
  mutating func answerJoins(_ index: Int, _ time: HubTime, _ output: inout HubOutput) {
    let model = hub.models[index]
    guard !model.waitingJoins.isEmpty, model.isSettled else { return }
    var still: [SessionID] = []
    for id in model.waitingJoins {
      // Not the whole session: holding it across the change below would copy all its joins.
      guard
        let (joined, subscriber, tag) = hub.sessions.with(
          id, { ($0.joins[model.topic], $0.subscriber, $0.identity.tag) }),
        let record = joined, let join = record.open
      else { continue }
      let isSubscribed = hub.sessions.isSubscribed(subscriber, to: model.topic)
      // While the store is full, the last decided number may not have been raised yet.
      if hub.isStoreFull(for: model, time), model.lastStored(of: tag) < max(join.unacknowledged, 1) - 1 {
        still.append(id)
        continue
      }
      guard isSubscribed || record.delivery == .routed || record.subscribeBy <= time.monotonic else {
        still.append(id)
        continue
      }
      let delivery: Joined.Delivery = isSubscribed ? .published : .routed
      if delivery == .routed {
        if record.delivery != .routed { hub.counters.routedJoins += 1 }
        model.routed.insert(id)
      } else {
        model.routed.remove(id)
      }
      hub.sessions.with(id) {
        $0.joins[model.topic] = JoinRecord(open: nil, subscribeBy: 0, delivery: delivery, healed: record.healed)
      }
      answer(join, id, tag, model, delivery, &output)
    }
    model.waitingJoins = still
  }

  private mutating func answer(
    _ join: Join, _ id: SessionID, _ tag: Tag, _ model: ModelLog, _ delivery: Joined.Delivery, _ output: inout HubOutput
  ) {
    let modelEpoch = model.epoch(ifStored: hub.epoch)
    let catchup = Catchup(of: model, for: join, epoch: modelEpoch, session: id)
    switch catchup.follows {
    case .nothing: break
    case .delta:
      hub.counters.deltas += 1
      hub.counters.foldedCommits += model.version - min(model.version, join.version)
    case .snapshot: hub.counters.snapshots += 1
    }
    let joined = Joined(
      session: id, request: join.request, topic: model.topic, epoch: modelEpoch, version: model.version,
      digest: model.fields.digest(), lastDecided: lastDecided(of: tag, in: model), delivery: delivery,
      follows: catchup.follows,
      model: model.id)
    hub.send(.joined(joined), to: id, &output)
    if catchup.follows != .nothing { catchups.append(CatchupStream(catchup: catchup)) }
  }

  mutating func answerHeads(_ id: SessionID, _ output: inout HubOutput) {
    hub.counters.headRequests += 1
    guard let session = hub.sessions[id] else { return }
    let heads = session.joins.keys.sorted().compactMap { topic in
      hub.models.index(of: topic).map {
        ModelHead(topic: topic, version: hub.models[$0].version, digest: hub.models[$0].fields.digest())
      }
    }
    // The epoch of ephemeral models is understood.
    hub.send(.heads(HeadsAnswer(session: id, epoch: hub.epoch, heads: heads)), to: id, &output)
  }
}
