import BindingProtocol

extension HubMachine {
  /// Asks a joining peer for its replica of an older epoch, if this hub may lack some of it.
  mutating func askForOffer(
    _ join: Join, _ session: SessionID, _ model: ModelLog, _ time: HubTime, _ output: inout HubOutput
  ) {
    guard model.ephemeral == nil else { return }
    guard hub.configuration.recovery, !tailProven else { return reportIfAhead(join, session, model, &output) }
    let now = time.monotonic
    // A peer without a replica may join before one that has a replica, and its writes would win over recovered
    // values. So a hub that has lost its memory first waits for peers with replicas.
    if model.recovery == nil, !model.hasRecords, now < hub.startedAt + hub.configuration.recoveryQuietMilliseconds {
      model.recovery = Recovery(now: now, limitMilliseconds: hub.configuration.recoveryMilliseconds)
    }
    guard join.version > 0, join.epoch != hub.epoch, join.epoch != 0 else { return }
    let point = RecoveryPoint(epoch: join.epoch, version: join.version)
    guard point.isPlausible(in: hub.epoch) else {
      hub.counters.implausibleReplicas += 1
      return
    }
    if let stored = model.storedFrom, stored >= point { return }
    let isEarly = now < epochBegan + hub.configuration.earlyMilliseconds
    guard model.asked.mayAsk(at: point, isEarly: isEarly) else { return }
    if let before = model.recovery?.forget(session) { model.asked.withdraw(at: before) }
    model.asked.ask(at: point)
    if model.recovery == nil {
      model.recovery = Recovery(now: now, limitMilliseconds: hub.configuration.recoveryMilliseconds)
    }
    if model.recovery?.hasAsked == false { hub.counters.recoveries += 1 }
    model.recovery?.ask(session, request: join.request, at: point, now: now)
    hub.send(.askOffer(AskOffer(session: session, request: join.request, topic: model.topic)), to: session, &output)
  }

  /// Reports a peer that is ahead in an older epoch at a hub that does not recover from peers: the store was
  /// restored on purpose, or recovery is off.
  private mutating func reportIfAhead(
    _ join: Join, _ session: SessionID, _ model: ModelLog, _ output: inout HubOutput
  ) {
    let point = RecoveryPoint(epoch: join.epoch, version: join.version)
    let known = max(RecoveryPoint(epoch: model.lastEpoch, version: model.version), model.storedFrom ?? .beginning)
    guard join.version > 0, join.epoch != hub.epoch, point > known, let peer = hub.sessions[session]?.identity.fullName
    else { return }
    hub.counters.peersAhead += 1
    output.notices.append(.ahead(peer: peer, model: model.id, version: join.version, here: model.version))
  }

  /// Receives a part of a replica.
  mutating func receive(_ offer: Offer, _ session: SessionID) {
    guard let index = hub.models.index(of: offer.topic), let offerer = hub.sessions[session]?.identity else { return }
    let model = hub.models[index]
    switch model.recovery?.receive(offer, from: session, offerer, in: hub.epoch, hub.configuration.limits) ?? .unasked {
    case .unasked: hub.counters.unaskedOffers += 1
    case .refused: hub.counters.implausibleReplicas += 1
    case .part: break
    case .whole(let point, let refused):
      model.asked.came(at: point)
      hub.counters.refusedOfferedFields += UInt64(refused)
    }
    hub.models.touch(index)
  }

  /// A peer that does not report when a proposal was first sent may have sent any of them in an earlier epoch.
  func mayBeOld(_ proposal: ProposalCursor, _ session: SessionID) -> Bool {
    proposal.isEarlier || hub.sessions[session]?.reportsEarlier == false
  }

  /// The peer that was asked for its replica is gone, or joins again.
  func giveUpOffer(of session: SessionID, _ model: ModelLog) {
    if let point = model.recovery?.forget(session) { model.asked.withdraw(at: point) }
  }

  /// Puts the recovered fields into the model's pending batch when the recovery is over. Returns false while it
  /// goes on.
  mutating func finishRecovery(_ index: Int, _ time: HubTime) -> Bool {
    let model = hub.models[index]
    guard let recovery = model.recovery else { return true }
    guard recovery.isOver(now: time.monotonic, quietMilliseconds: hub.configuration.recoveryQuietMilliseconds),
      !model.isAppending, !hub.isStoreFull(for: model, time)
    else { return false }
    var isComplete = true
    if recovery.furthest != nil {
      let adopted = model.adopt(recovery, epoch: hub.epoch, wall: time.wall, limits: hub.configuration.limits)
      hub.counters.recoveredFields += UInt64(adopted.count)
      isComplete = adopted.isComplete
      for tag in Set(recovery.fields.values.lazy.map(\.offerer.tag)) {
        hub.sessions.identities[tag]?.models.insert(index)
      }
    }
    guard isComplete else { return false }
    model.recovery = nil
    if model.hasPendingBatch { model.pendingBatch.recovery = recovery }
    return true
  }
}
