import BindingProtocol

/// The end of a drain: decisions leave for the store, and stored batches are applied, published and acknowledged.
extension HubMachine {
  /// Ends a drain. Puts one batch of decisions per model into `output.batches`, and sends the answers that need no
  /// store.
  package mutating func finishDrain(time: HubTime, into output: inout HubOutput) {
    endRepresented(time, &output)
    if !proposals.sequencer.declared.isEmpty {
      reporter.disagreements.record(proposals.sequencer.declared, &output)
      proposals.sequencer.declared.removeAll()
    }
    for text in hub.access.takeDenied() { output.notices.append(.denied(text)) }
    handleWaitingJoins(time, &output)
    if !expiries.due.isEmpty { expiries.fallBack(&hub, time) }
    for index in hub.models.touched { settleEphemeral(index, time, &output) }
    var still: [Int] = []
    var next = 0
    // Handling one model may touch another.
    while next < hub.models.touched.count {
      let index = hub.models.touched[next]
      next += 1
      if settle(index, time, &output) {
        still.append(index)
      } else {
        hub.models.isSettled(index)
        if hub.models[index].members.sessions.isEmpty {
          removeIfGone(index)
          if !hub.models.isRemoved(index) { shared?.unused.add(hub.models[index], now: time.monotonic) }
        }
      }
    }
    hub.models.keepTouched(still)
    removals.send(presence, &hub, time, &output)
    if shared != nil {
      rememberSent(output.batches)
      announceListed(&output)
    }
    publisher.sendShares(&hub, &output)
    if edge == nil {
      history.readNext(publisher.congested, &hub, time, &output)
    } else {
      edge?.requests += history.passOn(hub.models)
    }
    hub.sendOutcomes(&output)
    reporter.send(heartbeat: publisher.heads.number, &hub, edge, others, time, &output)
    publisher.endWaits(siblings: siblings.reachedCount, &hub, time, &output)
    tellHubs(publisher.barriers.takeCounted())
  }

  /// Sends a model's decisions to the store, renumbers its fields, and answers its joins.
  /// - Returns: whether it is to be settled again.
  private mutating func settle(_ index: Int, _ time: HubTime, _ output: inout HubOutput) -> Bool {
    let isRecovered = recovery.finish(index, &hub, time)
    let model = hub.models[index]
    tendOwner(index, time, &output)
    passOnDue(index, time, &output)
    if !model.members.waitingJoins.isEmpty, edge == nil { raiseLastDecidedOfWaitingJoins(index, time) }
    if model.batch.hasDecisions, !model.batch.isAppending, model.ephemeral == nil {
      let batch = model.finishBatch(epoch: hub.epoch, isShared: shared != nil)
      output.batches.append(batch)
    } else if mayRenumber(index, time) {
      publisher.renumber(index, &hub, &output)
    }
    answerJoins(index, time, &output)
    return !isRecovered || !model.members.waitingJoins.isEmpty || model.isBusy || waitsToRenumber(model, time)
      || shared != nil && isPassing(model)
  }

  /// Whether the model may be renumbered now: every decision is stored and no recovery is under way or expected. A
  /// deletion must not be forgotten while a peer may still offer the field.
  private func mayRenumber(_ index: Int, _ time: HubTime) -> Bool {
    let model = hub.models[index]
    guard edge == nil else { return false }
    let isLate = model.ephemeral != nil || time.monotonic >= renumbersFrom
    return isLate && model.isWorn(hub.configuration) && model.removal == nil && model.isSettled && !model.isBusy
      && hub.models.hasTopics
  }

  /// Whether renumbering waits only for room in the store, or for the end of the time in which peers may offer
  /// fields.
  private func waitsToRenumber(_ model: ModelLog, _ time: HubTime) -> Bool {
    edge == nil && time.monotonic < renumbersFrom && model.ephemeral == nil && model.isWorn(hub.configuration)
  }

  private var renumbersFrom: UInt64 { max(hub.storeFullUntil, recovery.isEarlyUntil(hub.configuration)) }

  // MARK: The store's answers

  /// Handles the store's results. Stored batches are applied, published and acknowledged.
  /// - Parameters:
  ///   - results: one per batch, in the same order.
  ///   - batches: in the order in which they left.
  package mutating func appended(
    _ results: [Appended], of batches: [Batch], time: HubTime, into output: inout HubOutput
  ) {
    for (result, batch) in zip(results, batches) {
      guard let index = hub.models.index(named: batch.model) else { continue }
      settle(result, of: batch, index, time, &output)
      if case .unknown = result { continue }
      if case .stored = result, batch.form == .removal { continue }
      keepRemoved(index, time, &output)
      goOn(index, time, &output)
    }
    finishDrain(time: time, into: &output)
  }

  /// Handles the store's result of one batch.
  mutating func settle(
    _ result: Appended, of batch: Batch, _ index: Int, _ time: HubTime, _ output: inout HubOutput
  ) {
    switch result {
    case .stored:
      switch batch.form {
      case .ordinary: stored(batch, index, time, &output)
      case .renumbering: publisher.renumbered(batch, index, &hub, &output)
      case .removal: removed(batch, index, time, &output)
      }
    case .moved(let others):
      hub.counters.movedBatches += 1
      hub.putOff(index)
      for other in others { apply(other, index, time, &output) }
    case .full:
      hub.counters.fullAppends += 1
      hub.storeFullUntil = time.monotonic + hub.configuration.fullMilliseconds
      hub.putOff(index, .storeFull, pauseMilliseconds: UInt32(clamping: hub.configuration.fullMilliseconds))
    case .unknown:
      hub.counters.unknownBatches += 1
      output.reload.append(batch.model)
    }
  }

  mutating func stored(_ batch: Batch, _ index: Int, _ time: HubTime, _ output: inout HubOutput) {
    let model = hub.models[index]
    hub.counters.batches += 1
    hub.counters.commits += batch.version - batch.previous
    hub.counters.changes += UInt64(model.batch.pending.touched.count)
    let expired = model.expires
    if shared != nil { model.batch.shared.forgotten.add(batch.decisions, in: batch.record) }
    model.apply(batch, recentLimit: hub.configuration.recentCommits)
    let pendingBatch = model.batch.pending
    if expired || model.expires {
      expiries.update(index, model, now: time.monotonic)
      for field in pendingBatch.renewed {
        expiries.renew(model.fields[field].name, of: index, now: time.monotonic)
      }
    }
    if !publisher.catchups.isEmpty {
      publisher.catchups.recordChanges(pendingBatch.touched, in: model, after: batch.previous)
    }
    for (field, version) in pendingBatch.weakFields where model.fields[field].version == version {
      model.fields[field].isWeak = true
    }
    for (field, point) in pendingBatch.recoveredFields { model.recordBroughtBack(field, from: point) }
    hub.sessions.enqueue(pendingBatch.answers, pendingBatch.others, of: model, wall: time.wall)
    model.clearBatch()
    model.batch.isAppending = false
    model.forgetWriters()
    if !model.members.unable.isEmpty { endUnable(in: index, time, &output) }
    publisher.publish(batch, index, &hub, &output)
  }

  /// Decides the proposals that waited for the store or for the owner.
  mutating func goOn(_ index: Int, _ time: HubTime, _ output: inout HubOutput) {
    hub.models.touch(index)
    let model = hub.models[index]
    if shared != nil { followOwner(index, time, &output) }
    // The end of the drain renumbers the fields; waiting proposals name them by their present ids.
    guard !model.batch.isAppending, !mayRenumber(index, time) else { return }
    recovery.believeLate(model, &hub, &publisher, time, &output)
    raiseLastDecidedOfWaitingJoins(index, time)
    answerJoins(index, time, &output)
    publisher.catchups.finish(model, publisher.congested, &hub, &output)
    if shared != nil { model.batch.waiting.insert(contentsOf: model.batch.shared.takeEarly(), at: 0) }
    if shared != nil, model.approval.isElsewhere(from: hub.start) { return goOnAtOwner(index, time, &output) }
    if model.batch.shared.home.isOwners { leaveOwner(index, time) }
    if shared != nil, model.approval.isAwaited(at: hub.start) { return }
    if model.batch.shared.home.link != nil { return goOnElsewhere(index, time, &output) }
    proposals.decideWaiting(in: index, &hub, time, &output)
  }

  /// Replaces a model by what the store has, after an append with an unknown result. The stored state wins over
  /// every decision of this hub.
  package mutating func reloaded(_ stored: StoredModel, time: HubTime, into output: inout HubOutput) {
    guard let index = hub.models.index(named: stored.model) else { return }
    let model = hub.models[index]
    if model.removal?.isUnderWay == true, stored.chunks.isEmpty, stored.batches.isEmpty {
      removed(
        .removal(of: model.id, record: model.position.record + 1, epoch: hub.epoch, version: model.version), index,
        time,
        &output)
      return finishDrain(time: time, into: &output)
    }
    // The store may have these renewals: their writers are told so.
    let renewed = model.batch.pending.renewed.map { model.fields[$0].name }
    hub.putOff(index)
    keepRemoved(index, time, &output)
    do throws(StoreError) {
      try apply(stored, index, time, &output)
    } catch {
      output.failure = error
      return
    }
    for field in renewed { expiries.renew(field, of: index, now: time.monotonic) }
    goOn(index, time, &output)
    finishDrain(time: time, into: &output)
  }

  /// Applies what other hubs have stored meanwhile. Compacted commits can no longer be published: the joined peers
  /// get the head, and catch up.
  mutating func apply(
    _ stored: StoredModel, _ index: Int, _ time: HubTime, _ output: inout HubOutput
  ) throws(StoreError) {
    let model = hub.models[index]
    let compacted = try ModelCompactor(StoredModel(model: stored.model, chunks: stored.chunks, batches: []))
    guard compacted.record <= model.position.record else {
      if !compacted.names.starts(with: model.fields.slots.lazy.map(\.name)) {
        model.fields = FieldSlots()
        model.renumber([])
        publisher.endSessions(in: index, &hub, &output)
      }
      let isFirst = model.position.tail == nil
      try model.restore(stored, recentLimit: hub.configuration.recentCommits)
      model.missRecords(to: model.position.record)
      if !isFirst { SharedWriters.endUnknown(in: index, &hub) }
      endUnable(in: index, time, &output)
      expiries.update(index, model, now: time.monotonic)
      publisher.heads.add(index)
      publisher.announcer.announceFirstCommit(of: model, &hub, &output)
      return
    }
    if let first = stored.batches.first { missRemoval(of: index, before: first, time, &output) }
    for batch in stored.batches where batch.record > model.position.record {
      apply(batch, index, time, &output)
    }
  }

  /// Applies and publishes a batch that another hub stored, or that this hub did not know to be stored.
  mutating func apply(_ batch: Batch, _ index: Int, _ time: HubTime, _ output: inout HubOutput) {
    guard batch.form == .ordinary else { return publisher.renumbered(batch, index, &hub, &output) }
    let model = hub.models[index]
    model.batch.lists.forget()
    model.apply(batch, recentLimit: hub.configuration.recentCommits)
    model.batch.shared.forgotten.add(batch.decisions, in: batch.record)
    SharedWriters.end(batch.decisions, in: index, &hub)
    endUnable(in: index, time, &output)
    expiries.update(index, hub.models[index], now: time.monotonic)
    publisher.publish(batch, index, &hub, &output)
  }

  // MARK: Removed models

  private mutating func removeIfGone(_ index: Int) {
    // An edge keeps the names and topics of its models.
    guard edge == nil else { return }
    if removals.removeIfGone(index, presence, &hub) { remove(index) }
  }

  /// The store has removed a model. Joins that arrived meanwhile make a new one.
  private mutating func removed(_ batch: Batch, _ index: Int, _ time: HubTime, _ output: inout HubOutput) {
    let joins = removals.end(hub.models[index]) ?? []
    hub.models.floor.raise(over: batch)
    hub.counters.removedModels += 1
    recovery.recordRemoved(batch.model, &hub)
    remove(index)
    for (session, join) in joins { joinModel(join, session, time, &output) }
  }

  /// Keeps a model whose removal was not stored.
  mutating func keepRemoved(_ index: Int, _ time: HubTime, _ output: inout HubOutput) {
    guard let joins = removals.end(hub.models[index]) else { return }
    hub.models.touch(index)
    for (session, join) in joins { joinModel(join, session, time, &output) }
  }

  /// Removes a model from memory. Its topic is never reused; its index is.
  mutating func remove(_ index: Int) {
    let model = hub.models[index]
    hub.models.remove(index)
    for writer in model.writers.records { hub.sessions.identities[writer.origin.tag]?.models.remove(index) }
    if let maker = model.members.maker { hub.sessions.identities[maker]?.made -= 1 }
    model.members.makerUsage?.models -= 1
    publisher.forget(index)
    expiries.forget(index)
    if let whole = model.ephemeral?.whole {
      hub.models[whole].ephemeral?.part = nil
      hub.models.touch(whole)
    }
    guard model.ephemeral != nil, let stored = model.counterpart else { return }
    presence.forget(index)
    (hub.models[stored].counterpart, hub.models[stored].approval.owner) = (nil, nil)
    hub.models.touch(stored)
  }
}
