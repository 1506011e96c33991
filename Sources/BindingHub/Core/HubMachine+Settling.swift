import BindingProtocol

/// The end of a drain: decisions leave for the store, and stored batches are applied, published and acknowledged.
extension HubMachine {
  /// Ends a drain. Puts one batch of decisions per model into `output.batches`, and sends the answers that need no
  /// store.
  package mutating func finishDrain(time: HubTime, into output: inout HubOutput) {
    if !sequencer.declared.isEmpty { recordDisagreements(&output) }
    handleWaitingJoins(time, &output)
    for index in hub.models.touched { settleEphemeral(index, time, &output) }
    var still: [Int] = []
    var next = 0
    // Handling one model may touch another.
    while next < hub.models.touched.count {
      let index = hub.models.touched[next]
      next += 1
      let isRecovered = finishRecovery(index, time)
      let model = hub.models[index]
      if !model.waitingJoins.isEmpty { raiseLastDecidedOfWaitingJoins(index, time) }
      if model.hasPendingBatch, !model.isAppending, model.ephemeral == nil {
        let batch = model.finishBatch(epoch: hub.epoch)
        output.batches.append(batch)
      } else if mayRenumber(index, time) {
        renumber(index, &output)
      }
      answerJoins(index, time, &output)
      if !isRecovered || !model.waitingJoins.isEmpty || model.isBusy || waitsToRenumber(index, time) {
        still.append(index)
      } else {
        hub.models.isSettled(index)
        if model.sessions.isEmpty { removeIfGone(index) }
      }
    }
    hub.models.keepTouched(still)
    if !removals.waiting.isEmpty { removeWaiting(time, &output) }
    sendCatchups(&output)
    if !announcing.isEmpty { announceShares(&output) }
    hub.sendOutcomes(&output)
    sendReports(time, &output)
    if !barriers.isEmpty { endBarriers(time, &output) }
    if !verifications.isEmpty { endVerifications(time, &output) }
  }

  /// Handles the store's results. Stored batches are applied, published and acknowledged.
  /// - Parameters:
  ///   - results: one per batch, in the same order.
  ///   - batches: in the order in which they left.
  package mutating func appended(
    _ results: [Appended], of batches: [Batch], time: HubTime, into output: inout HubOutput
  ) {
    for (result, batch) in zip(results, batches) {
      guard let index = hub.models.index(named: batch.model) else { continue }
      switch result {
      case .stored where batch.form == .removal:
        removed(batch, index, time, &output)
        continue
      case .stored where batch.form != .ordinary: renumbered(batch, index, &output)
      case .stored: stored(batch, index, time, &output)
      case .moved(let others):
        hub.counters.movedBatches += 1
        putOff(index)
        for other in others { apply(other, index, &output) }
      case .full:
        hub.counters.fullAppends += 1
        hub.storeFullUntil = time.monotonic + hub.configuration.fullMilliseconds
        putOff(index, .storeFull, pauseMilliseconds: UInt32(clamping: hub.configuration.fullMilliseconds))
      case .unknown:
        hub.counters.unknownBatches += 1
        output.reload.append(batch.model)
        continue
      }
      keepRemoved(index, time, &output)
      goOn(index, time, &output)
    }
    finishDrain(time: time, into: &output)
  }

  mutating func stored(_ batch: Batch, _ index: Int, _ time: HubTime, _ output: inout HubOutput) {
    let model = hub.models[index]
    hub.counters.batches += 1
    hub.counters.commits += batch.version - batch.previous
    hub.counters.changes += UInt64(model.pendingBatch.touched.count)
    model.apply(batch, recentLimit: hub.configuration.recentCommits)
    let pendingBatch = model.pendingBatch
    if !catchups.isEmpty { recordChanges(pendingBatch.touched, in: model, after: batch.previous) }
    for (field, version) in pendingBatch.weakFields where model.fields[field].version == version {
      model.fields[field].isWeak = true
    }
    for (field, point) in pendingBatch.recoveredFields { model.recordBroughtBack(field, from: point) }
    hub.sessions.enqueue(pendingBatch.answers, pendingBatch.others, of: model, wall: time.wall)
    model.clearBatch()
    model.isAppending = false
    model.forgetWriters()
    publish(batch, index, &output)
  }

  /// Undoes the pending batch and asks its writers to send their proposals again.
  mutating func putOff(_ index: Int, _ code: RetryReason = .busy, pauseMilliseconds: UInt32 = 5) {
    let model = hub.models[index]
    let answers = model.pendingBatch.answers
    if let recovery = model.pendingBatch.recovery { model.recovery = recovery }
    model.isAppending = false
    hub.dropBatch(index)
    for answer in answers { hub.retryLater(model.topic, answer.number, code, pause: pauseMilliseconds, answer.session) }
  }

  /// Decides the proposals that waited for the store or for the owner.
  mutating func goOn(_ index: Int, _ time: HubTime, _ output: inout HubOutput) {
    hub.models.touch(index)
    // The end of the drain renumbers the fields; waiting proposals name them by their present ids.
    guard !hub.models[index].isAppending, !mayRenumber(index, time) else { return }
    believeLate(index, time, &output)
    raiseLastDecidedOfWaitingJoins(index, time)
    answerJoins(index, time, &output)
    endCatchups(of: index, &output)
    var waiting = hub.models[index].waiting[...]
    if let pendingApproval = hub.models[index].pendingApproval {
      guard let approval = pendingApproval.approval else { return }
      hub.models[index].pendingApproval = nil
      decideWaiting(pendingApproval.proposal, approval, of: mayRefuse(pendingApproval, approval), index, time, &output)
    }
    while hub.models[index].pendingApproval == nil, let next = waiting.popFirst() {
      decideWaiting(next, nil, index, time, &output)
    }
    hub.models[index].waiting = Array(waiting)
  }

  /// The writer of a denied proposal. It is refused even when its session is gone: its peer may have resent it in a
  /// later session, and a silent owner no longer owns the model.
  private func mayRefuse(_ pending: PendingApproval, _ approval: Sequencer.Approval) -> Origin? {
    guard case .denied = approval, hub.sessions.identities[pending.origin.tag] != nil else { return nil }
    return pending.origin
  }

  private mutating func decideWaiting(
    _ proposal: ModelLog.Waiting, _ approval: Sequencer.Approval?, of gone: Origin? = nil, _ index: Int,
    _ time: HubTime, _ output: inout HubOutput
  ) {
    guard let origin = hub.sessions[proposal.session]?.identity ?? gone else { return }
    let writer = hub.writer(origin, in: index)
    let decided = proposal.frame.withUnsafeBytes { bytes -> Decided in
      // The whole frame was parsed when it arrived.
      var reader = WireReader(bytes)
      guard (try? PeerHeader(from: &reader)) != nil, var proposals = try? ProposalCursor(reader) else {
        return .answered
      }
      for _ in 0...proposal.index { _ = try? proposals.next() }
      return decide(proposals, origin, writer, proposal.session, index, time, approval: approval)
    }
    switch decided {
    case .answered: hub.sessions.with(proposal.session) { $0.unacknowledged = max($0.unacknowledged - 1, 0) }
    case .waits: break
    case .approval(let fields): ask(about: fields, of: proposal, by: origin, in: index, time, &output)
    }
  }
}
