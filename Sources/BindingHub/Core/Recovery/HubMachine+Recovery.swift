import BindingProtocol

extension HubMachine {
  /// Asks who joins with a replica of an older life for it, if this hub may lack some of that.
  mutating func askForOffer(
    _ join: Join, _ session: SessionID, _ model: ModelLog, _ time: HubTime, _ output: inout HubOutput
  ) {
    guard model.ephemeral == nil else { return }
    guard configuration.recovery, !tailProven else { return reportIfAhead(join, session, model, &output) }
    let now = time.monotonic
    // Who has nothing may be quicker than who has a replica, and what it writes would stand against what is brought
    // back: so a hub that has just lost its memory first gives those a chance who have one.
    if model.recovery == nil, !model.hasRecords, now < startedAt + configuration.recoveryQuietMilliseconds {
      model.recovery = Recovery(now: now, limitMilliseconds: configuration.recoveryMilliseconds)
    }
    guard join.version > 0, join.epoch != epoch, join.epoch != 0 else { return }
    let point = RecoveryPoint(epoch: join.epoch, version: join.version)
    guard point.isPlausible(in: epoch) else {
      sequencer.counters.implausibleReplicas += 1
      return
    }
    if let stored = model.storedFrom, stored >= point { return }
    let isEarly = now < epochBegan + configuration.earlyMilliseconds
    guard model.asked.mayAsk(at: point, isEarly: isEarly) else { return }
    if let before = model.recovery?.forget(session) { model.asked.withdraw(at: before) }
    model.asked.ask(at: point)
    if model.recovery == nil {
      model.recovery = Recovery(now: now, limitMilliseconds: configuration.recoveryMilliseconds)
    }
    if model.recovery?.hasAsked == false { sequencer.counters.recoveries += 1 }
    model.recovery?.ask(session, request: join.request, at: point, now: now)
    send(.askOffer(AskOffer(session: session, request: join.request, topic: model.topic)), to: session, &output)
  }

  /// A peer that has more of an older life than this hub, which asks nobody for it: it was put back on purpose, or was
  /// told to ask for nothing.
  private mutating func reportIfAhead(
    _ join: Join, _ session: SessionID, _ model: ModelLog, _ output: inout HubOutput
  ) {
    let point = RecoveryPoint(epoch: join.epoch, version: join.version)
    let known = max(RecoveryPoint(epoch: model.lastEpoch, version: model.version), model.storedFrom ?? .beginning)
    guard join.version > 0, join.epoch != epoch, point > known, let peer = sessions[session]?.identity.fullName
    else { return }
    sequencer.counters.peersAhead += 1
    output.notices.append(.ahead(peer: peer, model: model.id, version: join.version, here: model.version))
  }

  /// Takes a part of a replica in.
  mutating func receive(_ offer: Offer, _ session: SessionID) {
    guard let index = index(of: offer.topic), let offerer = sessions[session]?.identity else { return }
    let model = models[index]
    switch model.recovery?.receive(offer, from: session, offerer, in: epoch, configuration.limits) ?? .unasked {
    case .unasked: sequencer.counters.unaskedOffers += 1
    case .refused: sequencer.counters.implausibleReplicas += 1
    case .part: break
    case .whole(let point, let refused):
      model.asked.came(at: point)
      sequencer.counters.refusedOfferedFields += UInt64(refused)
    }
    touch(index)
  }

  /// Who does not say when a proposal was sent first may have sent each of them in an earlier epoch.
  func mayBeOld(_ proposal: ProposalCursor, _ session: SessionID) -> Bool {
    proposal.isEarlier || sessions[session]?.reportsEarlier == false
  }

  /// Whoever was asked for a replica is gone, or asks to be caught up with anew.
  func giveUpOffer(of session: SessionID, _ model: ModelLog) {
    if let point = model.recovery?.forget(session) { model.asked.withdraw(at: point) }
  }

  /// Puts the recovered fields into the model's pending batch when the recovery is over; false while it goes on.
  mutating func finishRecovery(_ index: Int, _ time: HubTime) -> Bool {
    let model = models[index]
    guard let recovery = model.recovery else { return true }
    guard recovery.isOver(now: time.monotonic, quietMilliseconds: configuration.recoveryQuietMilliseconds),
      !model.isAppending, !sequencer.isFull(for: model, time)
    else { return false }
    var isComplete = true
    if recovery.furthest != nil {
      let adopted = model.adopt(recovery, epoch: epoch, wall: time.wall, limits: configuration.limits)
      sequencer.counters.recoveredFields += UInt64(adopted.count)
      isComplete = adopted.isComplete
      for tag in Set(recovery.fields.values.lazy.map(\.offerer.tag)) { sessions.identities[tag]?.models.insert(index) }
    }
    guard isComplete else { return false }
    model.recovery = nil
    if model.hasPendingBatch { model.pendingBatch.recovery = recovery }
    return true
  }
}
