import BindingProtocol

/// The connection to the hub: what it brings and takes away for the models.
extension Session {
  /// A new request connection is open: sends hello under a new session number.
  package mutating func opened(now: UInt64, into effects: inout PeerEffects) {
    guard !phase.isStopped else { return }
    context.counters.connections += 1
    connection.open(now: now, &effects)
    let hello = Hello(
      lowest: 0, highest: 0, identity: identity, isResuming: connection.wasWelcomed,
      leaseMilliseconds: context.options.leaseMilliseconds, encoding: "json",
      capabilities: context.capabilities + [opening.text])
    send(.hello(hello), now: now, &effects)
  }

  /// The connection was lost or could not be opened: retries after a pause.
  /// - Parameter problem: why the next one will hardly do better, in words for a person.
  package mutating func lost(now: UInt64, refused problem: String? = nil, into effects: inout PeerEffects) {
    reopen(.lost, now: now, &effects)
    if let problem { connection.refused(problem) }
  }

  mutating func reopen(_ reason: Reopening, now: UInt64, _ effects: inout PeerEffects) {
    guard !phase.isStopped else { return }
    if phase == .live { effects.events.append(.notice(.reopening(reason))) }
    disconnect()
    connection.reopen(reason, now: now, context.options, &effects)
  }

  /// Discards everything that belonged to the connection; replicas and pending writes stay.
  private mutating func disconnect() {
    topics.removeAll()
    reports.removeAll()
    barriers.disconnect()
    history.disconnect()
    for index in models.indices { models[at: index].disconnect(heardAt: connection.lastReceivedAt) }
    if keeping.choice != nil { keeping.isDue = true }
  }

  mutating func stop(_ reason: StopReason, _ effects: inout PeerEffects) {
    guard !phase.isStopped else { return }
    context.recordHubAndOutcomes(&effects)
    disconnect()
    connection.stop(reason, &effects)
    for id in barriers.removeAll() { effects.events.append(.awaited(id, .stopped(reason))) }
    for id in history.removeAll() { effects.events.append(.past(id, .stopped(reason))) }
    // What its outbox keeps shows until the program ends: the next run begins with it.
    endAll(as: .unknown("this peer has stopped"), show: reason == .closed && context.journal.isKept)
    // The writes end for this program, not for the outbox: the next run sends them. Under another's tag no run can.
    if reason != .notYours { context.outcomes.skipRecording() }
    effects.link.append(.close)
  }

  /// Ends all writes of this run.
  /// - Parameter show: whether those of models that are kept go on showing.
  private mutating func endAll(as outcome: Outcome, show: Bool = false) {
    for index in models.sortedIndices() {
      models[at: index].endAll(as: outcome, show: show && models[at: index].keeps(context), &context)
    }
  }

  /// Ends the session: unacknowledged writes end as unknown, and the hub is notified. If an outbox keeps such writes,
  /// the hub is not notified, so that it remembers this identity.
  package mutating func bye(now: UInt64, into effects: inout PeerEffects) {
    if phase == .live, !context.journal.isKept || unconfirmed == 0 && !hasDeferredOutcomes {
      // The hub forgets an identity immediately once all its outcomes are confirmed.
      let entries = aliveEntries().filter { $0.confirmed > 0 }
      if !entries.isEmpty { sendAlive(entries, now: now, &effects) }
      send(.leave(Leave()), now: now, &effects)
    }
    stop(.closed, &effects)
  }

  // MARK: Welcome

  mutating func handle(_ welcome: Welcome, start: StartNumber, now: UInt64, _ effects: inout PeerEffects) {
    guard phase == .welcoming, welcome.session == connection.sessionID else { return }
    if let logID, logID != welcome.logID,
      case let found = connection.hubs.compare(logID, with: welcome.logID), !found.goesOver
    {
      context.counters.otherLogs += 1
      if found.isNews, let misfit = connection.hubs.misfit { effects.events.append(.notice(.misfit(misfit))) }
      return reopen(.otherLog, now: now, &effects)
    }
    let wasWelcomed = connection.wasWelcomed
    connection.accept(welcome, start: start, now: now)
    context.limits = welcome.limits
    if let draft = Capability.otherDraft(in: welcome.capabilities) {
      effects.events.append(.notice(.otherDraft(draft)))
    }
    if let logID, logID != welcome.logID { changeLog(from: logID, to: welcome.logID, &effects) }
    context.logID = welcome.logID
    if isDisowned {
      endAll(as: .unknown("it was sent under a tag of an older version, whose outcomes can no longer be requested"))
    }
    if let epoch, epoch != welcome.epoch {
      effects.events.append(.notice(.newEpoch(old: epoch, new: welcome.epoch)))
    }
    // How long an earlier run waited is unknown.
    if let epoch, wasWelcomed, !welcome.knewIdentity,
      context.isResumed || numbering.mayBeForgotten(by: welcome, now: now),
      // A new epoch of the log may hold most of what this peer wrote. A hub that announces how long it remembers
      // identities forgets none earlier; for one that does not, numbered writes are resent unchanged.
      epoch == welcome.epoch || welcome.limits.identityMilliseconds > 0
    {
      effects.events.append(.notice(.unknownIdentity))
      for index in models.sortedIndices(where: { !$0.isEphemeral }) {
        models[at: index].forgetNumbers(&context, &effects)
      }
      // A decided write whose outcome is not recorded would be sent again by the next run, to a hub without its number.
      context.outcomes.record(&effects)
      effects.journal += context.outcomes.deferred.takeAll()
      for index in models.indices { models[at: index].keeping.setLowestUnstored(nil) }
    }
    context.epoch = welcome.epoch
    numbering.hubNow = welcome.now
    for index in models.indices {
      models[at: index].decideWhetherWitness(of: welcome.epoch, isRecovering: welcome.isRecovering)
      models[at: index].welcome(from: start, knows: welcome.knewIdentity, &context)
    }
    claimAgain(now: now)
    connection.goLive(&effects)
    effects.link.append(.listen(sessionTopic: Topics.sessionTopic(connection.sessionID), endpoints: welcome.endpoints))
    askToJoin(models.sortedIndices(), now: now, &effects)
    if !prefixes.isEmpty {
      let joins = prefixes.sorted { $0.key < $1.key }.map { Join(request: $0.value, prefix: $0.key) }
      send(.join(joins), now: now, &effects)
    }
  }

  /// The replicas belong to another log: sets them aside; nothing of them is shown or sent.
  private mutating func changeLog(from old: LogID, to new: LogID, _ effects: inout PeerEffects) {
    effects.events.append(.notice(.otherLog(old: old, new: new)))
    context.epoch = nil
    for index in models.sortedIndices(where: { !$0.isEphemeral }) {
      models[at: index].endAll(
        as: .unknown("the hub has another log than the one that the write was made for"), show: false, &context)
      keepLast(of: models.keys[index], now: connection.lastReceivedAt)
      models[at: index].changeLog(from: old, to: new)
    }
    releaseDeferredOutcomes()
  }

  // MARK: Time

  /// When `tick` is due.
  package var nextDeadline: UInt64 {
    var deadline = min(connection.nextDeadline(context.options), barriers.nextDeadline, history.nextDeadline)
    if !expiringModels.isEmpty { deadline = min(deadline, nextExpiry) }
    guard phase == .live else { return deadline }
    for index in models.indices {
      if let since = models[at: index].join.waitingSince {
        deadline = min(deadline, since + context.options.joinMilliseconds)
      } else if models[at: index].join.isCurrent {
        let from = models[at: index].writes.sendsFrom
        if !models[at: index].writes.isEmpty, from > 0 { deadline = min(deadline, from) }
      }
    }
    return deadline
  }

  /// Performs what is due at this time.
  package mutating func tick(now: UInt64, into effects: inout PeerEffects) {
    for id in barriers.expired(now: now) { effects.events.append(.awaited(id, .noAnswer)) }
    for id in history.expired(now: now) { effects.events.append(.past(id, .noAnswer)) }
    if let reason = connection.tick(now: now, context.options, &effects) {
      return reopen(reason, now: now, &effects)
    }
    guard phase == .live else { return }
    let limit = context.options.joinMilliseconds
    let late = models.sortedIndices { model in model.join.waitingSince.map { now >= $0 + limit } ?? false }
    if !late.isEmpty { askToJoin(late, now: now, &effects) }
  }

  // MARK: Messages

  mutating func send(_ message: PeerMessage, now: UInt64, _ effects: inout PeerEffects) {
    let start: StartNumber = if case .hello = message { 0 } else { connection.start }
    send(message.encode(session: connection.sessionID, start: start), now: now, &effects)
  }

  mutating func send(_ frame: [UInt8], now: UInt64, _ effects: inout PeerEffects) {
    context.counters.framesSent += 1
    connection.lastSentAt = now
    effects.link.append(.send(frame))
  }

  /// Sends joins that state the epoch, version, names and lowest unacknowledged number of each replica.
  mutating func askToJoin(_ indices: [Int], now: UInt64, _ effects: inout PeerEffects) {
    var joins: [Join] = []
    for index in indices where !models[at: index].isEphemeral || connection.hubCan(Capability.ephemeral) {
      joins.append(models[at: index].ask(as: nextRequest(), now: now, isJournalLagging: isJournalLagging))
    }
    for part in joins.chunks(of: 500) { send(.join(part), now: now, &effects) }
  }

  /// Leaves a model whose writes all have their outcomes.
  mutating func forget(_ id: String, now: UInt64, _ effects: inout PeerEffects) {
    keepLast(of: id, now: now)
    guard let model = models.removeValue(forKey: id) else { return }
    reports.remove(id)
    expiringModels.remove(id)
    undo.forget(id, model.undo)
    for barrier in barriers.removeAll(of: id) { effects.events.append(.awaited(barrier, .notJoined)) }
    for asked in history.removeAll(of: id) { effects.events.append(.past(asked, .notJoined)) }
    numbering.leave(id, after: model.writes.lastNumber)
    guard let topic = model.join.topic else { return }
    topics[topic] = nil
    effects.link.append(.unsubscribe(topic))
    guard phase == .live else { return }
    // The hub keeps its decisions on this peer's writes until the peer confirms that it has their outcomes.
    if model.writes.lastNumber > 0, !isJournalLagging {
      let (confirmed, applied) = (model.lowestUnconfirmed - 1, model.replica.version)
      let entry = AliveEntry(topic: topic, confirmed: confirmed, applied: applied)
      sendAlive([entry], now: connection.lastSentAt, &effects)
    }
    send(.leave(Leave(topics: [topic])), now: connection.lastSentAt, &effects)
  }

  mutating func sendAlive(_ entries: [AliveEntry], now: UInt64, _ effects: inout PeerEffects) {
    send(.alive(Alive(heartbeat: connection.heartbeats.last, entries: entries)), now: now, &effects)
  }

  mutating func aliveEntries() -> [AliveEntry] {
    var entries: [AliveEntry] = []
    if isJournalLagging { return entries }
    for index in models.sortedIndices(where: { $0.join.topic != nil && $0.join.isCurrent }) {
      guard let entry = models[at: index].takeAlive() else { continue }
      entries.append(entry)
      if entries.count == Int(UInt16.max) { break }
    }
    return entries
  }

  /// Sends the barriers that were not sent on this connection.
  mutating func askBarriers(now: UInt64, _ effects: inout PeerEffects) {
    for (id, barrier) in barriers.unsent {
      switch step(of: barrier) {
      case .wait: break
      case .end(let end):
        barriers.remove(id)
        effects.events.append(.awaited(id, end))
      case .ask(let topic, let epoch):
        if let wanted = barriers.ask(id, as: nextRequest(), of: topic, in: epoch, now: now) {
          send(.awaitApplied(wanted), now: now, &effects)
        }
      }
    }
  }

  private func step(of barrier: BarrierClient.Barrier) -> BarrierClient.Step {
    if case .stopped(let reason) = phase { return .end(.stopped(reason)) }
    guard phase == .live else { return .wait }
    return barriers.step(of: barrier, models[barrier.model], hubAsks: connection.hubCan(Capability.applied))
  }
}
