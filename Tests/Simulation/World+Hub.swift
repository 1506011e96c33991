import BindingHub
import BindingPeer
import BindingProtocol

/// The hub's process in the world.
extension World {
  var hubTime: HubTime { HubTime(monotonic: context.now, wall: context.wall) }

  /// Reads the hub without copying it; nil while there is no hub.
  func read<Result>(_ look: (inout HubMachine) -> Result) -> Result? {
    // SAFETY: checked for nil in the same expression; binding it would copy it.
    hub == nil ? nil : look(&hub!)
  }

  /// Visits the hub's frames in place; `body` must not add frames.
  func forEachFrame(_ body: (HubOutput.Destination, UnsafeRawBufferPointer) -> Void) {
    func look(_ output: inout HubOutput) { output.forEachFrame(body) }
    look(&hubOutput)
  }

  /// Whether the hub has a session on the peer's current connection.
  func hasSession(_ peer: SimulatedPeer) -> Bool {
    read { $0.hasSession(on: UInt64(max(peer.link.hubSide, 0))) } == true
  }

  func handleAtHub(_ event: Event) throws(Violation) {
    if isHubPaused {
      switch event {
      case .hubGoesOn(let run): if run == hubRun { return try hubGoesOn() }
      case .tickHub: break
      default: return hubInbox.append(event)
      }
    }
    switch event {
    case .toHub(let peer, let generation, let frame): try receive(frame, of: peer, generation)
    case .subscribe(let peer, let generation, let topic, let isOn):
      try subscribe(peer, generation, topic, isOn)
    case .append(let run, let batches): if hub != nil, hubRun == run { try finishAppend(batches) }
    case .reload(let run, let model): if hub != nil, hubRun == run { try reload(model) }
    case .tickHub(let run):
      guard hubRun == run, var due = read({ $0.nextDeadline }) else { return }
      if due <= context.now, !isHubPaused {
        try tickHub(isAfterPause: false)
        due = read { $0.nextDeadline } ?? context.now
      }
      context.agenda.add(.tickHub(run), at: max(context.now + 1, min(due, context.now + 250)))
    default: break
    }
  }

  private func receive(_ frame: [UInt8], of peer: Int, _ generation: Int) throws(Violation) {
    guard hub != nil, peers[peer].link.hubSide == generation else { return }
    context.recordDelivered(frame)
    peers[peer].link.receivedAt = context.now
    context.record("p\(peer) → hub  \(World.words(ofPeerFrame: frame))")
    if frame[0] == PeerMessageKind.join.rawValue, case (_, .join(let joins))? = try? PeerMessage.decode(frame) {
      for join in joins where join.form == .model { peers[peer].numbers.asked[join.request] = join.unacknowledged }
    }
    if context.profile.hasEphemeralOrBarriers { recordReceived(frame, of: peers[peer]) }
    let passedOver = read { $0.counters.unaskedOffers + $0.counters.implausibleReplicas }
    frame.withUnsafeBytes { hub?.receive($0, on: UInt64(generation), time: hubTime, into: &hubOutput) }
    if frame[0] == PeerMessageKind.offer.rawValue {
      let after = read { $0.counters.unaskedOffers + $0.counters.implausibleReplicas }
      recordOffer(frame, of: peers[peer], wasAccepted: after == passedOver)
    }
    try settleHub()
    received.leaving = nil
  }

  private func subscribe(_ peer: Int, _ generation: Int, _ topic: [UInt8], _ isOn: Bool) throws(Violation) {
    guard hub != nil, peers[peer].link.hubSide == generation else { return }
    if let published = World.topic(of: topic) {
      peers[peer].link.topics.removeAll { $0 == published }
      if isOn { peers[peer].link.topics.append(published) }
    }
    topic.withUnsafeBytes {
      if isOn {
        hub?.subscribed($0, by: UInt64(generation), time: hubTime, into: &hubOutput)
      } else {
        hub?.unsubscribed($0, by: UInt64(generation), time: hubTime, into: &hubOutput)
      }
    }
    try settleHub()
  }

  /// R16: only silence ends a session, and the hub never blames a peer for a pause of its own.
  private func tickHub(isAfterPause: Bool) throws(Violation) {
    let before = peers.indices.filter { hasSession(peers[$0]) }
    hub?.tick(time: hubTime, into: &hubOutput)
    for peer in before where hub != nil && !hasSession(peers[peer]) {
      if isAfterPause || context.now < peers[peer].link.receivedAt + UInt64(context.profile.leaseMilliseconds) {
        throw Violation(.lease, "the session of p\(peer) ran out, which was heard at \(peers[peer].link.receivedAt) ms")
      }
    }
    try settleHub()
  }

  func startHub() throws(Violation) {
    hubRun += 1
    let isProven = hubRun == 1 || context.profile.isDurable && !isTailLost
    if !isProven || hubRun == 1 { epoch += 1 << 32 | 1 }
    if !isProven { losses += 1 }
    if !context.profile.isDurable { log.removeAll() }
    if !isProven { oracle.claims.begin() }
    oracle.begin(epoch, with: log)
    isTailLost = false
    topicNames.removeAll()
    var configuration = HubMachineConfiguration()
    configuration.name = "simulated"
    configuration.leaseMilliseconds = context.profile.leaseMilliseconds
    if context.profile.forgetsSoon { configuration.maxIdentities = 1 }
    configuration.limits.maxUnacknowledged = context.profile.maxUnacknowledged
    configuration.limits.chunkBytes = context.profile.chunkBytes
    configuration.maxDeletedNames = context.profile.maxDeletedNames
    let birth = HubBirth(logID: 7, epoch: epoch, start: StartNumber(hubRun), tailProven: isProven, floor: oracle.floor)
    var hub = HubMachine(configuration: configuration, birth: birth, time: hubTime, epochSeed: context.chance.next())
    for model in Swift.Set(log.map(\.model)).sorted() where lastRecord(of: model) > 0 {
      do {
        try hub.restore(try stored(model))
      } catch {
        throw Violation(.order, "\(error)")
      }
    }
    self.hub = hub
    resetHubObservations()
    hubOutput.removeAll()
    checkedFrames = 0
    context.agenda.add(.tickHub(hubRun), at: context.now + 1)
    if !isProven { awaitForgedOffer() }
    context.record("hub starts, run \(hubRun), epoch \(epoch >> 32)")
    if hubRun > 1, context.profile.impostors > 0 { try impersonateFirst() }
  }

  func crashHub(losingUnnoticed: Bool = false) throws(Violation) {
    context.record("hub crashes")
    context.counts[.hubCrash] += 1
    if let counters = hub?.counters { add(counters) }
    hub = nil
    isHubPaused = false
    hubInbox.removeAll()
    if losingUnnoticed { loseUnnoticed() } else { try crashStore() }
    for index in peers.indices where peers[index].link.isConnected {
      breakConnection(index)
      try settle(index)
    }
    context.agenda.add(.startHub, at: context.now + context.chance.within(50...1_500))
  }

  func pauseHub() {
    context.record("the hub is stopped")
    context.counts[.hubPause] += 1
    isHubPaused = true
    context.agenda.add(.hubGoesOn(hubRun: hubRun), at: context.now + context.chance.within(3_100...6_000))
  }

  private func hubGoesOn() throws(Violation) {
    context.record("the hub goes on")
    isHubPaused = false
    try tickHub(isAfterPause: true)
    let inbox = hubInbox
    hubInbox.removeAll()
    for event in inbox where !isHubPaused { try handleAtHub(event) }
  }

  /// Passes decided batches to the store, returns the results to the hub, and sends the frames.
  func settleHub() throws(Violation) {
    guard hub != nil else { return }
    hub?.finishDrain(time: hubTime, into: &hubOutput)
    repeat {
      beginNewEpoch()
      recordTopicOfEphemeralModel()
      try checkSent()
    } while try store()
    ownership.settled = ephemeral?.owner
    guard hubOutput.frameCount > 0 else { return hubOutput.removeAll() }
    // Sent frames arrive later: nothing re-enters the hub while its output is being visited.
    forEachFrame { destination, bytes in
      let frame = Array(bytes)
      switch destination {
      case .connection(let connection):
        guard let peer = peers.first(where: { $0.link.hubSide == Int(connection) }) else { return }
        sendDown(frame, to: peer, isPublished: false)
      case .publish:
        guard let topic = World.topic(of: frame.prefix(4)) else { return }
        for peer in peers where peer.link.topics.contains(topic) { sendDown(frame, to: peer, isPublished: true) }
      }
    }
    hubOutput.removeAll()
    checkedFrames = 0
  }

  /// The hub itself may publish under a topic not yet announced to any peer: a renumbering does.
  private func recordTopicOfEphemeralModel() {
    guard let ephemeral, let topic = read({ $0.topic(of: ephemeral.name) }) ?? nil else { return }
    topicNames[topic] = ephemeral.name
  }

  /// The topic of a four-byte subscription or frame prefix; nil for other lengths, which are session topics.
  private static func topic(of bytes: some Collection<UInt8>) -> Topic? {
    bytes.count == 4 ? bytes.reduce(0 as Topic) { $0 << 8 | Topic($1) } : nil
  }

  /// A peer has proven to the hub that commits are missing.
  private func beginNewEpoch() {
    guard let new = hubOutput.newEpoch else { return }
    hubOutput.newEpoch = nil
    context.record("the hub believes that commits are missing: epoch \(new >> 32)")
    context.counts[.provenLoss] += 1
    // The proof may have been a lie: then nothing is lost, yet the hub behaves as if something were.
    losses = max(losses, 1)
    epoch = new
    oracle.begin(epoch, with: log)
  }

  func add(_ counters: HubCounters) {
    context.counts[.repeated] += counters.repeats
    context.counts[.routedJoin] += counters.routedJoins
    context.counts[.recoveredField] += counters.recoveredFields
    context.counts[.jump] += counters.jumps
    context.counts[.raisedLastDecided] += counters.raisedMarks
    context.counts[.expiredLease] += counters.expiredLeases
    context.counts[.movedBatch] += counters.movedBatches
    context.counts[.unknownBatch] += counters.unknownBatches
    context.counts[.fullStore] += counters.fullAppends
    context.counts[.deltaServed] += counters.deltas
    context.counts[.snapshotServed] += counters.snapshots
    context.counts[.expiredAtHub] += counters.expired
    context.counts[.removedModel] += counters.removedModels
    context.counts[.renumberedModel] += counters.renumberedModels
  }
}
