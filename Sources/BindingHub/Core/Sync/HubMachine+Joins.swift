import BindingProtocol

/// Joins: from the frame to the answer.
extension HubMachine {
  /// Handles the joins of a well-formed frame. A join with an invalid name is refused on its own.
  mutating func handle(
    _ joins: [(join: Join, fault: WireError?)], _ session: SessionID, _ time: HubTime, _ output: inout HubOutput
  ) {
    let valid = joins.filter { $0.fault == nil }.map(\.join)
    for join in self.joins.add(valid, of: session) { self.join(join, session, time, &output) }
    while self.joins.isOverfull, let share = self.joins.next() { handle(share, time, &output) }
    for case (let join, let fault?) in joins {
      guard let connection = hub.sessions[session]?.connection else { return }
      hub.counters.joins += 1
      hub.counters.modelsRefused += 1
      // The text begins with the join's name: the peer sees which join was refused.
      hub.error(
        fault.code, "\(PrintedText.escaped(join.name)): \(fault.problem)", session, connection, isFatal: false, &output)
    }
  }

  /// Handles one turn's share of the waiting joins.
  mutating func handleWaitingJoins(_ time: HubTime, _ output: inout HubOutput) {
    while let share = joins.nextOfTurn() { handle(share, time, &output) }
    joins.endTurn()
  }

  private mutating func handle(_ share: JoinQueue.Share, _ time: HubTime, _ output: inout HubOutput) {
    for next in share.joins { join(next, share.session, time, &output) }
  }

  private mutating func join(_ join: Join, _ session: SessionID, _ time: HubTime, _ output: inout HubOutput) {
    hub.counters.joins += 1
    if let tag = hub.sessions[session]?.identity.tag { hub.sessions.identities[tag]?.hasReceivedWelcome = true }
    switch join.form {
    case .prefix where edge != nil: joinListing(join, session, &output)
    case .prefix where shared != nil: joinShared(join, session, &output)
    case .prefix: publisher.announcer.join(join, session, &hub, &output)
    case .model: joinModel(join, session, time, &output)
    }
  }

  mutating func joinModel(_ join: Join, _ session: SessionID, _ time: HubTime, _ output: inout HubOutput) {
    // Not the whole record: holding it across the change below would copy all joins each time.
    guard let (identity, connection, usage) = hub.sessions.with(session, { ($0.identity, $0.connection, $0.usage) })
    else { return }
    let user = hub.access.rights(in: session, on: connection)
    // Before anything is looked up: what exists and what does not are refused alike.
    guard user.mayRead(join.name) else {
      hub.counters.modelsRefused += 1
      hub.deny("\(join.name): \(user.words) lacks the right read", session, connection, &output)
      return
    }
    if edge?.refuses(join, session, connection, hub, &output) == true { return }
    if removals.keep(join, of: session, &hub) { return }
    var index: Int
    let isNew = hub.models.index(named: join.name) == nil
    do throws(Refusal) {
      if let known = hub.models.index(named: join.name) {
        index = known
      } else if let usage, let limit = usage.refusal(.models, present: usage.models) {
        hub.counters.modelsRefused += 1
        hub.limited(usage, .models, time, &output)
        let text = "\(join.name): \(limit). Delete unused models, and leave them"
        return hub.error(.overLimit, text, session, connection, isFatal: false, &output)
      } else {
        index = try makeModel(join.name, for: identity.tag, usage)
      }
    } catch {
      hub.counters.modelsRefused += 1
      // The text begins with the model's name: the peer sees which join was refused.
      // How many models there are is not for everybody.
      let text = user.isUnlimited ? error.text : "the hub has no room for another model"
      hub.error(.overLimit, "\(join.name): \(text)", session, connection, isFatal: false, &output)
      return
    }
    let whole = index
    index = part(of: whole, for: session)
    let model = hub.models[index]
    guard serves(session, connection, model, &output) else { return }
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
    // What is published reaches a gateway's connection, whoever it speaks for.
    // What one that only writes reads reaches its connection's other session.
    let isWriter = hub.sessions[session]?.capabilities.onlyWrites == true
    let isRouted = isWriter || isPastTopics || model.permit == nil || !hub.access.rights(of: connection).hasFanout
    let wait = isRouted ? 0 : hub.configuration.subscriptionMilliseconds
    hub.sessions.with(session) {
      $0.joins[model.topic] = JoinRecord(join, subscribeBy: time.monotonic + wait, after: present)
    }
    hub.sessions.identities[identity.tag]?.presentSince[model.topic, default: time.wall] += 0
    model.members.sessions.insert(session)
    publisher.begin(session, in: index, hub, time, &output)
    if !model.members.waitingJoins.contains(session) { model.members.waitingJoins.append(session) }
    hub.send(
      .topic(TopicAssigned(session: session, request: join.request, topic: model.topic, model: join.name)), to: session,
      &output)
    if edge == nil {
      believe(join, user, session, identity, isWriter: isWriter, index, isNew: isNew, time, &output)
    } else {
      follow(index, for: session, join)
    }
    joined(index, whole, isNew: isNew, time, &output)
  }

  /// Acts on what a join says of its peer: the replica that it has, and the outcomes that it has received.
  /// - Parameters:
  ///   - isWriter: nobody can be asked for a replica there: it only writes for a peer of an edge.
  ///   - isNew: the join has made the model here.
  private mutating func believe(
    _ join: Join, _ user: UserRights, _ session: SessionID, _ identity: Origin, isWriter: Bool, _ index: Int,
    isNew: Bool, _ time: HubTime, _ output: inout HubOutput
  ) {
    let model = hub.models[index]
    var claims = join
    if !user.rights(on: join.name).isBelieved { (claims.epoch, claims.version) = (0, 0) }
    if shared != nil {
      // Another hub may have made it, or gone on in it.
      if isNew { loadNew(index, &output) } else { loadIfBehind(claims, session, of: identity.tag, index, &output) }
    } else {
      recovery.believeIfAhead(claims, session, model, &hub, &publisher, &output)
      // An edge's reading session offers what the edge has.
      if !isWriter { recovery.askForOffer(claims, session, model, &hub, time, &output) }
    }
    if let writer = model.writers.index(of: identity.tag) {
      model.writers.with(writer) { $0.confirm(min(join.decided, $0.lastStored)) }
    }
    raiseLastDecided(join, identity, index, time)
  }

  /// Makes the model that a join names.
  /// - Throws: `Refusal` when the hub has no room for one more.
  private mutating func makeModel(_ id: String, for maker: Tag, _ usage: NameUsage?) throws(Refusal) -> Int {
    if hub.models.namedCount + 2 > hub.configuration.limits.maxModels { letUnusedGo(leftBy: .max) }
    let stored = Names.storedModel(of: id)
    let storedIndex = hub.models.index(named: stored)
    // An ephemeral model may need its stored model made too.
    let count = Names.isEphemeral(id) && storedIndex == nil ? 2 : 1
    let (present, limit) = (hub.models.namedCount, hub.configuration.limits.maxModels)
    guard present + count <= limit else {
      throw Refusal(
        .modelFull,
        "there are \(present) models; maxModels is \(limit). Delete unused models, and leave them")
    }
    let share = hub.configuration.maxModelsPerPeer ?? max(1, limit / 2)
    let made = usage?.models ?? hub.sessions.identities[maker]?.made ?? 0
    guard made < share || limit < HubMachine.fewModels else {
      let who = usage.map { PrintedText.escaped($0.name) } ?? "this peer"
      throw Refusal(
        .modelFull,
        "\(who) has created \(made) models; maxModelsPerPeer is \(share). Delete unused models, and leave them"
      )
    }
    guard hub.models.hasTopics else { throw Refusal(.modelFull, "all topics are used. Restart the hub") }
    var index = storedIndex ?? makeStored(stored)
    if Names.isEphemeral(id) { index = presence.makeModel(id, of: index, &hub) }
    hub.models[index].members.maker = maker
    hub.sessions.identities[maker]?.made += 1
    hub.models[index].members.makerUsage = usage
    usage?.models += 1
    return index
  }

  /// A hub limited to fewer models than this lets one peer make all of them.
  private static let fewModels = 1_000

  /// Makes a model without commits.
  private mutating func makeStored(_ id: String) -> Int {
    // In a log of several hubs each model has its own floor, which its head names.
    let index = hub.models.make(id, from: shared == nil ? hub.models.floor : .none)
    hub.models[index].recovery.storedFrom = recovery.knownPoint(ofNew: id, hub.epoch, hub.models.floor)
    return index
  }

  // MARK: Last decided numbers

  /// R8: last decided numbers never go back, whatever this hub has lost. Nothing is decided while a batch is being
  /// stored; `raiseLastDecidedOfWaitingJoins` then raises the number before the join is answered.
  private mutating func raiseLastDecided(_ join: Join, _ origin: Origin, _ index: Int, _ time: HubTime) {
    let model = hub.models[index]
    if join.unacknowledged > 1 || model.writers.index(of: origin.tag) != nil {
      let writer = model.writers.index(for: origin)
      hub.sessions.identities[origin.tag]?.models.insert(index)
      model.writers.with(writer) { $0.claim(join.decided) }
      let decided = model.writers.with(writer) { $0.claimed }
      guard model.writers.with(writer, { $0.lastDecided < decided }), !model.batch.isAppending,
        !hub.isStoreFull(for: model, time)
      else { return }
      hub.counters.raisedMarks += 1
      model.writers.with(writer) { $0.lastDecided = decided }
      model.batch.borrow()
      model.batch.pending.touchedWriters.append(writer)
      model.batch.pending.decisions.append(Decision(origin: origin, number: decided, outcome: nil))
    }
  }

  /// Raises the last decided numbers for joins that arrived while a batch was being stored.
  mutating func raiseLastDecidedOfWaitingJoins(_ index: Int, _ time: HubTime) {
    let model = hub.models[index]
    for id in model.members.waitingJoins {
      guard let join = hub.sessions.join(of: id, in: model.topic)?.open,
        let identity = hub.sessions.with(id, { $0.identity })
      else { continue }
      raiseLastDecided(join, identity, index, time)
    }
  }

  // MARK: Answering

  /// Answers joins that have subscribed or timed out, once every decision is stored.
  mutating func answerJoins(_ index: Int, _ time: HubTime, _ output: inout HubOutput) {
    let model = hub.models[index]
    guard !model.members.waitingJoins.isEmpty, model.isSettled else { return }
    var still: [SessionID] = []
    for id in model.members.waitingJoins {
      // Not the whole session: holding it across the change below would copy all its joins.
      guard
        let (joined, subscriber, tag) = hub.sessions.with(
          id, { ($0.joins[model.topic], $0.subscriber, $0.identity.tag) }),
        let record = joined, let join = record.open
      else { continue }
      let isSubscribed = hub.sessions.isSubscribed(subscriber, to: model.topic)
      // While the store is full, the last decided number may not have been raised yet.
      if hub.isStoreFull(for: model, time), model.writers.lastStored(of: tag) < model.writers.claimed(of: tag) {
        still.append(id)
        continue
      }
      guard isSubscribed || record.delivery == .routed || record.subscribeBy <= time.monotonic,
        edge == nil ? siblings.mayAnswer(model.id, now: time.monotonic) : mayAnswer(join, of: id, in: index)
      else {
        still.append(id)
        continue
      }
      let onlyWrites = hub.sessions[id]?.capabilities.onlyWrites == true
      let delivery: Joined.Delivery = isSubscribed && model.permit != nil || onlyWrites ? .published : .routed
      if delivery == .routed {
        if record.delivery != .routed { hub.counters.routedJoins += 1 }
        model.members.routed.insert(id)
      } else {
        model.members.routed.remove(id)
      }
      hub.sessions.with(id) {
        $0.joins[model.topic] = JoinRecord(nil, subscribeBy: 0, delivery: delivery, after: record)
      }
      answer(join, id, tag, model, delivery, &output)
    }
    model.members.waitingJoins = still
  }

  private mutating func answer(
    _ join: Join, _ id: SessionID, _ tag: Tag, _ model: ModelLog, _ delivery: Joined.Delivery, _ output: inout HubOutput
  ) {
    let modelEpoch = model.epoch(ifStored: hub.epoch)
    let catchup = Catchup(of: model, for: join, epoch: modelEpoch, session: id)
    let follows = hub.sessions[id]?.capabilities.onlyWrites == true ? .nothing : catchup.follows
    switch follows {
    case .nothing: break
    case .delta:
      hub.counters.deltas += 1
      hub.counters.foldedCommits += model.version - min(model.version, join.version)
    case .snapshot: hub.counters.snapshots += 1
    }
    let lastDecided = model.writers.lastStored(of: tag)
    let joined = Joined(
      session: id, request: join.request, topic: model.topic, epoch: modelEpoch, version: model.version,
      digest: model.fields.digest(), lastDecided: lastDecided, delivery: delivery, follows: follows,
      model: join.name)
    tellRights(of: id, in: model, &output)
    hub.send(.joined(joined), to: id, &output)
    if follows != .nothing { publisher.catchups.add(catchup) }
  }

  /// Tells a session what it may do in a model, unless it may do everything.
  private func tellRights(of id: SessionID, in model: ModelLog, _ output: inout HubOutput) {
    guard let session = hub.sessions[id], session.capabilities.learnsRights else { return }
    let user = hub.access.rights(of: session)
    guard !user.isUnlimited, case let rights = user.rights(on: model.id), rights != .all else { return }
    hub.send(.rights(rights.message(to: id, model.topic)), to: id, &output)
  }

  mutating func answerHeads(_ id: SessionID, _ output: inout HubOutput) {
    hub.counters.headRequests += 1
    guard let session = hub.sessions[id] else { return }
    let heads = session.joins.keys.sorted().compactMap { topic in
      hub.models.index(of: topic).map { index in
        ModelHead(topic: topic, version: hub.models[index].version, digest: hub.models[index].fields.digest())
      }
    }
    // The epoch of ephemeral models is understood.
    hub.send(.heads(HeadsAnswer(session: id, epoch: hub.epoch, heads: heads)), to: id, &output)
  }
}
