import BindingProtocol

/// Recovers what the log has lost: asks peers for their replicas of an older epoch, and begins another epoch when a
/// peer proves that acknowledged commits are missing.
struct RecoveryCoordinator {
  /// Whether the log is known to hold every acknowledged commit.
  private var isTailProven: Bool
  /// When the current epoch began, or, for an older epoch, when the hub started.
  private var epochBegan: UInt64
  private var random: UInt64
  /// Whether this start of the hub has begun another epoch.
  private(set) var hasBegunEpoch = false
  /// For a model that is not here, a replica at or before this point is not asked for: the model was removed.
  private var removedBefore: RecoveryPoint
  /// Models that were removed while peers may still be asked for what this hub lacks; no peer is asked for these.
  private var removedNames: Set<String> = []
  private static let mostRemovedNames = 100_000

  /// - Parameter epochSeed: random bits for the number of a later epoch.
  init(_ birth: HubBirth, time: HubTime, epochSeed: UInt64) {
    isTailProven = birth.tailProven
    epochBegan = time.monotonic
    random = epochSeed
    removedBefore = RecoveryPoint(epoch: birth.floor.epoch, version: birth.floor.version)
  }

  /// Whether peers may be asked for their replicas.
  func mayAsk(_ configuration: HubMachineConfiguration) -> Bool { configuration.recovery && !isTailProven }

  /// Whether the store was recreated, and the hub still looks for replicas of any epoch.
  func isRecreated(_ hub: borrowing HubContext, at now: UInt64) -> Bool {
    mayAsk(hub.configuration) && now < hub.startedAt + hub.configuration.recreatedMilliseconds
  }

  /// Begins to recover a model: a recreated one until the hub has waited long enough for its peers.
  private func begin(_ model: ModelLog, _ hub: borrowing HubContext, _ now: UInt64) {
    guard model.recovery.underWay == nil else { return }
    let end = hub.startedAt + hub.configuration.recreatedMilliseconds
    model.recovery.underWay =
      isRecreated(hub, at: now)
      ? Recovery(now: now, limitMilliseconds: end - now, isRecreated: true)
      : Recovery(now: now, limitMilliseconds: hub.configuration.recoveryMilliseconds)
  }

  /// Until then peers may offer fields that the hub lacks, whatever it has got of others.
  func isEarlyUntil(_ configuration: HubMachineConfiguration) -> UInt64 {
    mayAsk(configuration) ? epochBegan + configuration.earlyMilliseconds : 0
  }

  // MARK: Asking

  /// Asks a joining peer for its replica of an older epoch, if this hub may lack some of it.
  func askForOffer(
    _ join: Join, _ session: SessionID, _ model: ModelLog, _ hub: inout HubContext, _ time: HubTime,
    _ output: inout HubOutput
  ) {
    guard model.ephemeral == nil else { return }
    guard mayAsk(hub.configuration) else { return reportIfAhead(join, session, model, &hub, &output) }
    let now = time.monotonic
    // A peer without a replica may join before one that has a replica, and its writes would win over recovered
    // values. So a hub that has lost its memory first waits for peers with replicas.
    if !model.position.hasRecords,
      now < hub.startedAt + hub.configuration.recoveryQuietMilliseconds || isRecreated(hub, at: now)
    {
      begin(model, hub, now)
    }
    guard join.version > 0, join.epoch != hub.epoch, join.epoch != 0 else { return }
    let point = RecoveryPoint(epoch: join.epoch, version: join.version)
    guard point.isPlausible(in: hub.epoch) else {
      hub.counters.implausibleReplicas += 1
      return
    }
    if let stored = model.recovery.storedFrom, stored >= point { return }
    let isEarly = now < epochBegan + hub.configuration.earlyMilliseconds
    // A join is repeated while the hub waits for other peers.
    if model.recovery.underWay?.hasAnswer(of: session, at: point) == true { return }
    guard model.recovery.asked.mayAsk(at: point, isEarly: isEarly) else { return }
    if let before = model.recovery.underWay?.forget(session) { model.recovery.asked.withdraw(at: before) }
    model.recovery.asked.ask(at: point)
    begin(model, hub, now)
    if model.recovery.underWay?.hasAsked == false { hub.counters.recoveries += 1 }
    model.recovery.underWay?.ask(session, request: join.request, at: point, now: now)
    hub.send(.askOffer(AskOffer(session: session, request: join.request, topic: model.topic)), to: session, &output)
  }

  /// Reports a peer that is ahead in an older epoch at a hub that does not recover from peers: the store was
  /// restored on purpose, or recovery is off.
  private func reportIfAhead(
    _ join: Join, _ session: SessionID, _ model: ModelLog, _ hub: inout HubContext, _ output: inout HubOutput
  ) {
    let point = RecoveryPoint(epoch: join.epoch, version: join.version)
    let known = max(
      RecoveryPoint(epoch: model.position.epoch, version: model.version), model.recovery.storedFrom ?? .beginning)
    guard join.version > 0, join.epoch != hub.epoch, point > known,
      let peer = hub.sessions[session]?.identity.fullName
    else { return }
    hub.counters.peersAhead += 1
    output.notices.append(.ahead(peer: peer, model: model.id, version: join.version, here: model.version))
  }

  /// Receives a part of a replica.
  func receive(_ offer: Offer, _ session: SessionID, _ hub: inout HubContext) {
    guard let index = hub.models.index(of: offer.topic), let record = hub.sessions[session] else { return }
    let model = hub.models[index]
    let standing = hub.access.standing(of: record)
    let limits = hub.configuration.limits
    let received = model.recovery.underWay?.receive(
      offer, from: session, record.identity, standing, in: hub.epoch, limits)
    switch received ?? .unasked {
    case .unasked: hub.counters.unaskedOffers += 1
    case .refused: hub.counters.implausibleReplicas += 1
    case .part: break
    case .whole(let point, let refused):
      model.recovery.asked.came(at: point)
      hub.counters.refusedOfferedFields += UInt64(refused)
    }
    hub.models.touch(index)
  }

  /// Rights have changed: other peers may be believed from now on.
  func believeOthers(_ hub: inout HubContext) {
    for index in hub.models.touched { hub.models[index].recovery.underWay?.forgetMerged() }
  }

  /// Puts the recovered fields into the model's pending batch when the recovery is over. Returns false while it
  /// goes on.
  func finish(_ index: Int, _ hub: inout HubContext, _ time: HubTime) -> Bool {
    let model = hub.models[index]
    guard var recovery = model.recovery.underWay else { return true }
    guard recovery.isOver(now: time.monotonic, quietMilliseconds: hub.configuration.recoveryQuietMilliseconds),
      !model.batch.isAppending, !hub.isStoreFull(for: model, time)
    else { return false }
    var isComplete = true
    // Rights may have changed since a replica arrived.
    let merged = recovery.merge { hub.access.rights(of: $0).rights(on: model.id).isBelieved }
    model.recovery.underWay = recovery
    if let merged {
      let adopted = model.adopt(merged, epoch: hub.epoch, wall: time.wall, limits: hub.configuration.limits)
      hub.counters.recoveredFields += UInt64(adopted.count)
      isComplete = adopted.isComplete
      for tag in Set(merged.fields.values.lazy.map(\.offerer.tag)) {
        hub.sessions.identities[tag]?.models.insert(index)
      }
    }
    guard isComplete else { return false }
    model.recovery.underWay = nil
    recovery.forgetMerged()
    if model.batch.hasDecisions { model.batch.pending.recovery = recovery }
    return true
  }

  // MARK: Epochs

  /// R8: a peer ahead in the current epoch proves that acknowledged commits are missing here. Believed once per
  /// start.
  mutating func believeIfAhead(
    _ join: Join, _ session: SessionID, _ model: ModelLog, _ hub: inout HubContext, _ publisher: inout ModelPublisher,
    _ output: inout HubOutput
  ) {
    guard join.isAhead(of: model, in: hub.epoch) else { return }
    guard !model.batch.isAppending else {
      hub.sessions.with(session) { $0.joins[model.topic]?.aheadOf = model.version }
      return
    }
    beginEpoch(&hub, &publisher, &output)
  }

  /// Believes peers that were ahead while a batch was being stored: that batch was decided on a lost tail.
  mutating func believeLate(
    _ model: ModelLog, _ hub: inout HubContext, _ publisher: inout ModelPublisher, _ time: HubTime,
    _ output: inout HubOutput
  ) {
    guard !hub.configuration.isShared else { return }
    for id in model.members.waitingJoins {
      guard let record = hub.sessions[id]?.joins[model.topic], let version = record.aheadOf, let join = record.open
      else { continue }
      hub.sessions.with(id) { $0.joins[model.topic]?.aheadOf = nil }
      if join.epoch == hub.epoch, !hasBegunEpoch {
        beginEpoch(&hub, &publisher, &output)
        model.recovery.storedFrom = RecoveryPoint(epoch: join.epoch, version: version)
      }
      askForOffer(join, id, model, &hub, time, &output)
    }
  }

  /// Begins a new epoch of the log, once per start.
  private mutating func beginEpoch(
    _ hub: inout HubContext, _ publisher: inout ModelPublisher, _ output: inout HubOutput
  ) {
    guard !hasBegunEpoch else { return }
    hasBegunEpoch = true
    epochBegan = hub.lastTick
    hub.counters.newEpochs += 1
    isTailProven = false
    // SplitMix64 of the given seed: the machine has no source of randomness of its own.
    random &+= 0x9E37_79B9_7F4A_7C15
    var mixed = random
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    mixed ^= mixed >> 31
    for model in hub.models where model.version > 0 && model.ephemeral == nil {
      model.recovery.storedFrom = RecoveryPoint(epoch: hub.epoch, version: model.version)
    }
    recoverNoRemoved(hub.epoch, hub.models.floor)
    hub.epoch = (hub.epoch >> 32 + 1) << 32 | (mixed & 0xFFFF_FFFF | 1)
    output.newEpoch = hub.epoch
    publisher.barriers.endAll(&hub, &output)
    for index in hub.models.indices where hub.models[index].ephemeral == nil {
      hub.models[index].recovery.asked = AskedReplicas()
      // Decisions that are not stored belong to the epoch that has ended; their peers resend the proposals.
      if !hub.models[index].batch.isAppending { hub.dropBatch(index) }
      if hub.models[index].version > 0 { publisher.heads.add(index) }
    }
  }

  // MARK: Removed models

  /// The point up to which no replica of a missing model is asked for, which is made now; nil: each is.
  func knownPoint(ofNew model: String, _ epoch: Epoch, _ floor: LogFloor) -> RecoveryPoint? {
    let point = removedNames.contains(model) ? RecoveryPoint(epoch: epoch, version: floor.version) : removedBefore
    return point > .beginning ? point : nil
  }

  /// Remembers a removed model while peers may be asked for what this hub lacks, so that it is not recovered. Past
  /// `mostRemovedNames` no missing model is asked for.
  mutating func recordRemoved(_ model: String, _ hub: inout HubContext) {
    guard mayAsk(hub.configuration) else { return }
    removedNames.insert(model)
    if removedNames.count > RecoveryCoordinator.mostRemovedNames { recoverNoRemoved(hub.epoch, hub.models.floor) }
  }

  /// From now on no peer is asked for a missing model, unless its replica is beyond the floor.
  private mutating func recoverNoRemoved(_ epoch: Epoch, _ floor: LogFloor) {
    removedBefore = RecoveryPoint(epoch: epoch, version: floor.version)
    removedNames.removeAll()
  }
}

extension Join {
  /// The number up to which its peer has every outcome; 0: it has none.
  var decided: ProposalNumber { max(unacknowledged, 1) - 1 }

  /// Whether the peer has a version of this epoch of the log that the model has not reached here, and can have reached.
  func isAhead(of model: ModelLog, in epoch: Epoch) -> Bool {
    model.ephemeral == nil && self.epoch == epoch && version > model.version && version <= RecoveryPoint.lastVersion
  }
}
