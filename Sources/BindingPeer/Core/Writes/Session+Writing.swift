package import BindingProtocol

/// Writes of the program, the hub's answers to them, and the end of a drain, which sends.
extension Session {
  /// Overlays the model with a proposal immediately; the proposal is sent when it can be.
  /// - Throws: `WriteError`; then nothing of it shows and nothing is sent.
  package mutating func write(
    _ proposal: Proposal, rules: [String: RuledWrite] = [:], offline: [String: OfflineRule] = [:],
    as role: UndoRole = .step(edit: 0), to id: String, now: UInt64, into effects: inout PeerEffects
  ) throws(WriteError) -> WriteID {
    if case .stopped(let reason) = phase { throw .stopped(reason) }
    guard let index = models.index(of: id) else { throw .notJoined(model: id) }
    guard models[at: index].writes.hasNumbers else { throw .numbersUsedUp }
    if proposal.isOfList, !mayHaveLists { throw .hubWithoutLists(field: proposal.operations[0].field) }
    let bytes = try proposal.check(within: context.limits, by: identity) { models[at: index].replica.field($0)?.origin }
    let plainRules = rules.isEmpty ? [:] : rules.mapValues(\.rule)
    let superseded = models[at: index].superseded(by: proposal, rules: plainRules)
    let freed = superseded.reduce(0) { $0 + $1.bytes }
    guard pending.writes - superseded.count < context.options.maxOutboxWrites,
      pending.bytes - freed + bytes <= context.options.maxOutboxBytes
    else { throw .outboxFull(writes: pending.writes, bytes: pending.bytes) }
    pending.writes += 1 - superseded.count
    pending.bytes += bytes - freed
    for earlier in superseded {
      context.outcomes.settle(earlier.id, in: id, as: .superseded)
      models[at: index].release(earlier.id)
      models[at: index].supersede(earlier.id)
    }
    let write = nextWrite()
    var made = models[at: index].pending(write, proposal, bytes: bytes, at: now)
    made.rules = plainRules
    made.offline = offline
    if !models[at: index].expiring.isEmpty { made.sending.limit = models[at: index].expiring.limit(of: made.overlay) }
    if models[at: index].undo != nil { models[at: index].record(made, rules, as: role, now: now) }
    models[at: index].write(made, rules, superseding: superseded, context, &effects)
    return write
  }

  private mutating func nextWrite() -> WriteID {
    last.write += 1
    return WriteID(rawValue: last.write)
  }

  /// Withdraws a write. One never sent ends as expired; for one already sent, the hub is asked not to apply it.
  /// Returns false if it has an outcome or is unknown.
  package mutating func withdraw(_ write: WriteID, now: UInt64, into effects: inout PeerEffects) -> Bool {
    for index in models.indices where models[at: index].withdraw(write, &context, &effects) { return true }
    return false
  }

  /// Answers `PeerQuestion.merge`: the value that the two become, or nil to end the write as a conflict.
  package mutating func merged(_ write: WriteID, _ question: MergeQuestion, into value: FieldValue?, now: UInt64) {
    for index in models.indices where models[at: index].merged(write, question, into: value, &context) { return }
  }

  mutating func handle(_ outcomes: Outcomes, now: UInt64, _ effects: inout PeerEffects) {
    guard outcomes.session == connection.sessionID else {
      context.counters.otherSession += 1
      return
    }
    for outcome in outcomes.outcomes {
      guard let index = index(of: outcome.topic) else { continue }
      let epoch = epoch(of: outcome.topic, ifStored: outcomes.epoch)
      models[at: index].receive(outcome, in: epoch, now: now, &context, &effects)
      askIfLapsed(at: index, now: now, &effects)
    }
  }

  // MARK: Earlier runs

  /// Overlays models with the writes of an earlier run, below all writes of this run. To those models this run sends
  /// nothing before `carriedEnded` has reported the end of each.
  /// - Returns: the ids of those writes in this session, in order.
  package mutating func carry(_ run: PreviousRun, wall: UInt64) -> [WriteID] {
    context.previousTags.formUnion(run.earlier.union([run.identity.tag]))
    return run.writes.map { write in
      let id = nextWrite()
      let isOld = write.isOld(at: wall, context.options)
      carried.append(CarriedWrite(id: id, tag: run.identity.tag, kept: write, number: write.number, isOld: isOld))
      return id
    }
  }

  /// The other session has sent the write under this number.
  package mutating func carriedSent(_ write: WriteID, of id: String, as number: ProposalNumber) {
    guard carried.sent(write, of: id, as: number) else { return }
    models[id]?.writes.update(write) { $0.carried?.number = number }
  }

  /// The other session has the outcome or gave the write up. A committed write stays overlaid until it arrives (R6).
  package mutating func carriedEnded(_ write: WriteID, of id: String, as outcome: Outcome) {
    carried.remove(write, of: id)
    models[id]?.endCarried(write, as: outcome)
  }

  // MARK: Barriers and approval

  /// Waits until sessions have applied a version. Ends once, with `SessionEvent.awaited`. Without a hub the request is
  /// sent when there is one, and again after a reconnect, for the time that is left.
  /// - Parameters:
  ///   - count: how many sessions, this one included; 0: all that have joined when the hub is asked, and stay alive.
  ///   - timeoutMilliseconds: the longest wait.
  package mutating func awaitApplied(
    _ version: Version, of model: String, count: UInt32, timeoutMilliseconds: UInt64, now: UInt64
  ) -> BarrierID {
    barriers.add(
      .init(
        model: model, epoch: models[model]?.replica.epoch ?? 0, version: version, count: count,
        deadline: now + min(timeoutMilliseconds, UInt64(UInt32.max))))
  }

  /// Stops waiting; no `SessionEvent.awaited` follows.
  package mutating func stopWaiting(_ id: BarrierID) { barriers.remove(id) }

  /// Sends the owner's answer to `PeerQuestion.approve`, unless the connection was lost since.
  /// - Parameter reason: why the write is refused; nil: it may be applied.
  package mutating func answer(
    _ request: ApprovalRequest, refusing reason: String?, now: UInt64, into effects: inout PeerEffects
  ) {
    guard phase == .live, request.session == connection.sessionID else { return }
    var text = reason ?? ""
    while text.utf8.count > Approval.maxTextBytes { text.removeLast() }
    send(
      .approval(Approval(topic: request.topic, token: request.token, isAccepted: reason == nil, text: text)), now: now,
      &effects)
  }

  // MARK: Ending a drain

  /// Emits what has changed, one update per model, and sends what can be sent.
  package mutating func finishDrain(now: UInt64, into effects: inout PeerEffects) {
    if !expiringModels.isEmpty { expire(now: now, &effects) }
    emit(now: now, &effects)
    if !barriers.isEmpty { askBarriers(now: now, &effects) }
    if !history.isEmpty { askHistory(now: now, &effects) }
    guard phase == .live else { return }
    if connection.heartbeats.owesAskHeads {
      connection.heartbeats.owesAskHeads = false
      send(.askHeads, now: now, &effects)
    }
    sendWrites(now: now, &effects)
    // A write that could not be sent as it was has ended there.
    if context.outcomes.hasOutcomes || context.hasFinalized { emit(now: now, &effects) }
    if !reports.isEmpty {
      for entries in reports.takeReached(by: &models).chunks(of: 1_000) { send(.report(entries), now: now, &effects) }
    }
    if connection.heartbeats.owesAlive {
      connection.heartbeats.owesAlive = false
      sendAlive(aliveEntries(), now: now, &effects)
    }
    let left = models.sortedIndices { $0.join.isLeft && $0.isSettled }
    // To forget one moves another to its index.
    for id in left.map({ models.keys[$0] }) { forget(id, now: now, &effects) }
  }

  /// Emits what the last write to a model has changed, and assigns its number if it can be sent now, so that no later
  /// write supersedes it. Sends nothing: the next `finishDrain` does.
  /// - Returns: whether `finishDrain` may have something to send, or `tick` something to do sooner than before.
  package mutating func finishWriting(to id: String, now: UInt64, into effects: inout PeerEffects) -> Bool {
    emit(now: now, &effects)
    guard phase == .live, let index = models.index(of: id), models[at: index].maySend(now),
      let write = models[at: index].writes.lastUnnumbered
    else { return phase == .live || !expiringModels.isEmpty }
    var inFlight = writesInFlight
    _ = numberIfReady(write, &inFlight, now: now, at: index, &effects)
    if context.outcomes.hasOutcomes || context.hasFinalized { emit(now: now, &effects) }
    return true
  }

  private mutating func emit(now: UInt64, _ effects: inout PeerEffects) {
    // In one drain few of the joined models change, mostly one: only those are sorted.
    if let first = models.indices.first(where: { models[at: $0].update.cause != nil }) {
      if models.indices.last(where: { models[at: $0].update.cause != nil }) == first {
        emitUpdate(at: first, now: now, &effects)
      } else {
        for index in models.sortedIndices(where: { $0.update.cause != nil }) {
          emitUpdate(at: index, now: now, &effects)
        }
      }
    }
    context.recordHubAndOutcomes(&effects)
    context.outcomes.emit(&effects)
    if !undo.recorded.isEmpty { emitUndo(&effects) }
    context.hasFinalized = false
    pending.writes = models.indices.reduce(0) { $0 + models[at: $1].writes.count }
    pending.bytes = models.indices.reduce(0) { $0 + models[at: $1].writes.bytes }
  }

  private mutating func emitUpdate(at index: Int, now: UInt64, _ effects: inout PeerEffects) {
    if models[at: index].keeping.isOn { keeping.isDue = true }
    if models[at: index].replica.isDescriptionTouched {
      learnLimits(at: index, now: now, &effects)
      models[at: index].endMisformed(&context)
    }
    if let update = models[at: index].takeUpdate() { effects.updates.append(update) }
  }

  // MARK: Sending

  /// Sends new writes, which get their numbers now (R3), and those to resend; many proposals per frame.
  private mutating func sendWrites(now: UInt64, _ effects: inout PeerEffects) {
    var inFlight = writesInFlight
    var batch: ProposalsWriter?
    var bytes = 0
    for index in models.sortedIndices(where: { !$0.writes.isEmpty && $0.maySend(now) }) {
      guard let topic = models[at: index].join.topic else { continue }
      guard models[at: index].writes.mayBeDue else {
        models[at: index].writes.sendsFrom = 0
        continue
      }
      writes: for write in models[at: index].writes.toSend(room: context.limits.maxUnacknowledged) {
        switch numberIfReady(write, &inFlight, now: now, at: index, &effects) {
        case .ready: break
        case .ended: continue
        // Later writes wait too: a peer's writes to a model arrive in their order.
        case .waits: break writes
        }
        let size = models[at: index].send(write, after: connection.heartbeats.count, &context.counters)
        if let full = batch, bytes + size > context.limits.maxProposalBytes || full.count == 4_096 {
          send(full.finish(), now: now, &effects)
          batch = nil
        }
        if batch == nil {
          batch = ProposalsWriter(session: connection.sessionID, start: connection.start)
          bytes = 0
        }
        models[at: index].propose(write, topic, in: earlierThan(at: index), to: &batch)
        bytes += size
      }
      models[at: index].writes.sendsFrom = 0
    }
    if let batch, batch.count > 0 { send(batch.finish(), now: now, &effects) }
  }

  /// The number of writes that have a number and no outcome, over all models.
  private var writesInFlight: Int { models.indices.reduce(0) { $0 + models[at: $1].writes.inFlight } }

  /// The current epoch: a proposal numbered in another one may have been applied without the hub knowing it. nil: the
  /// hub need not be told.
  private func earlierThan(at index: Int) -> Epoch? {
    connection.hubCan(Capability.recovery) && !models[at: index].isEphemeral ? epoch : nil
  }

  /// Assigns a number to a write (R3) unless it has one, must wait, or has ended.
  private mutating func numberIfReady(
    _ write: WriteID, _ inFlight: inout Int, now: UInt64, at index: Int, _ effects: inout PeerEffects
  ) -> ModelSync.Preparation {
    guard models[at: index].writes.number(of: write) == nil else { return .ready }
    guard inFlight < context.limits.maxUnacknowledged else { return .waits }
    if !mayHaveLists, models[at: index].endIfOfList(write, &context) { return .ended }
    let preparation = models[at: index].prepare(write, now: now, &context, &effects)
    guard preparation == .ready else { return preparation }
    numbering.assign(inFlight: inFlight, now: now)
    inFlight += 1
    models[at: index].number(write, context, &effects)
    return .ready
  }
}
