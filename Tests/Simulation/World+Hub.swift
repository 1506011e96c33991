import BindingHub
import BindingPeer
import BindingProtocol

/// The hub's process in the world.
extension World {
  var hubTime: HubTime { HubTime(monotonic: now, wall: 1_700_000_000_000 + now) }

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
    read { $0.hasSession(on: UInt64(max(peer.hubSide, 0))) } == true
  }

  func handleAtHub(_ event: Event) throws(Broken) {
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
      if due <= now, !isHubPaused {
        try tickHub(isAfterPause: false)
        due = read { $0.nextDeadline } ?? now
      }
      agenda.add(.tickHub(run), at: max(now + 1, min(due, now + 250)))
    default: break
    }
  }

  private func receive(_ frame: [UInt8], of peer: Int, _ generation: Int) throws(Broken) {
    guard hub != nil, peers[peer].hubSide == generation else { return }
    counts[.delivered] += 1
    peers[peer].receivedAt = now
    record("p\(peer) → hub  \(World.words(ofPeerFrame: frame))")
    if frame[0] == PeerMessageKind.join.rawValue, case (_, .join(let joins))? = try? PeerMessage.decode(frame) {
      for join in joins where join.form == .model { peers[peer].asked[join.request] = join.unacknowledged }
    }
    if profile.hasEphemeralOrBarriers { recordReceived(frame, of: peers[peer]) }
    let passedOver = read { $0.counters.unaskedOffers + $0.counters.implausibleReplicas }
    frame.withUnsafeBytes { hub?.receive($0, on: UInt64(generation), time: hubTime, into: &hubOutput) }
    if frame[0] == PeerMessageKind.offer.rawValue {
      let now = read { $0.counters.unaskedOffers + $0.counters.implausibleReplicas }
      recordOffer(frame, of: peers[peer], wasAccepted: now == passedOver)
    }
    try settleHub()
    received.leaving = nil
  }

  private func subscribe(_ peer: Int, _ generation: Int, _ topic: [UInt8], _ isOn: Bool) throws(Broken) {
    guard hub != nil, peers[peer].hubSide == generation else { return }
    if let published = World.topic(of: topic) {
      peers[peer].topics.removeAll { $0 == published }
      if isOn { peers[peer].topics.append(published) }
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
  private func tickHub(isAfterPause: Bool) throws(Broken) {
    let before = peers.indices.filter { hasSession(peers[$0]) }
    hub?.tick(time: hubTime, into: &hubOutput)
    for peer in before where hub != nil && !hasSession(peers[peer]) {
      if isAfterPause || now < peers[peer].receivedAt + UInt64(profile.leaseMilliseconds) {
        throw broken(.lease, "the session of p\(peer) ran out, which was heard at \(peers[peer].receivedAt) ms")
      }
    }
    try settleHub()
  }

  func startHub() throws(Broken) {
    hubRun += 1
    let isProven = hubRun == 1 || profile.isDurable && !isTailLost
    if !isProven || hubRun == 1 { epoch += 1 << 32 | 1 }
    if !isProven { losses += 1 }
    if !profile.isDurable { log.removeAll() }
    if !isProven { oracle.claims.begin() }
    oracle.begin(epoch, with: log)
    isTailLost = false
    topicNames.removeAll()
    var configuration = HubConfiguration()
    configuration.name = "simulated"
    configuration.leaseMilliseconds = profile.leaseMilliseconds
    if profile.forgetsSoon { configuration.maxIdentities = 1 }
    configuration.limits.maxUnacknowledged = profile.maxUnacknowledged
    configuration.limits.chunkBytes = profile.chunkBytes
    configuration.maxDeletedNames = profile.maxDeletedNames
    let birth = HubBirth(logID: 7, epoch: epoch, start: StartNumber(hubRun), tailProven: isProven, floor: oracle.floor)
    var hub = HubMachine(configuration: configuration, birth: birth, time: hubTime, epochSeed: chance.next())
    for model in Swift.Set(log.map(\.model)).sorted() where lastRecord(of: model) > 0 {
      do {
        try hub.restore(try stored(model))
      } catch {
        throw broken(.order, "\(error)")
      }
    }
    self.hub = hub
    resetHubObservations()
    hubOutput.removeAll()
    checkedFrames = 0
    agenda.add(.tickHub(hubRun), at: now + 1)
    if !isProven { awaitForgedOffer() }
    record("hub starts, run \(hubRun), epoch \(epoch >> 32)")
    if hubRun > 1, profile.impostors > 0 { try impersonateFirst() }
  }

  func crashHub(losingUnnoticed: Bool = false) throws(Broken) {
    record("hub crashes")
    counts[.hubCrash] += 1
    if let counters = hub?.counters { add(counters) }
    hub = nil
    isHubPaused = false
    hubInbox.removeAll()
    if losingUnnoticed { loseUnnoticed() } else { try crashStore() }
    for index in peers.indices where peers[index].isConnected {
      breakConnection(index)
      try settle(index)
    }
    agenda.add(.startHub, at: now + chance.within(50...1_500))
  }

  func pauseHub() {
    record("the hub is stopped")
    counts[.hubPause] += 1
    isHubPaused = true
    agenda.add(.hubGoesOn(hubRun: hubRun), at: now + chance.within(3_100...6_000))
  }

  private func hubGoesOn() throws(Broken) {
    record("the hub goes on")
    isHubPaused = false
    try tickHub(isAfterPause: true)
    let inbox = hubInbox
    hubInbox.removeAll()
    for event in inbox where !isHubPaused { try handleAtHub(event) }
  }

  /// Passes decided batches to the store, returns the results to the hub, and sends the frames.
  func settleHub() throws(Broken) {
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
        guard let peer = peers.first(where: { $0.hubSide == Int(connection) }) else { return }
        sendDown(frame, to: peer, isPublished: false)
      case .publish:
        guard let topic = World.topic(of: frame.prefix(4)) else { return }
        for peer in peers where peer.topics.contains(topic) { sendDown(frame, to: peer, isPublished: true) }
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
    record("the hub believes that commits are missing: epoch \(new >> 32)")
    counts[.provenLoss] += 1
    // The proof may have been a lie: then nothing is lost, yet the hub behaves as if something were.
    losses = max(losses, 1)
    epoch = new
    oracle.begin(epoch, with: log)
  }

  func add(_ counters: HubCounters) {
    counts[.repeated] += counters.repeats
    counts[.routedJoin] += counters.routedJoins
    counts[.recoveredField] += counters.recoveredFields
    counts[.jump] += counters.jumps
    counts[.raisedLastDecided] += counters.raisedMarks
    counts[.expiredLease] += counters.expiredLeases
    counts[.movedBatch] += counters.movedBatches
    counts[.unknownBatch] += counters.unknownBatches
    counts[.fullStore] += counters.fullAppends
    counts[.deltaServed] += counters.deltas
    counts[.snapshotServed] += counters.snapshots
    counts[.expiredAtHub] += counters.expired
    counts[.removedModel] += counters.removedModels
    counts[.renumberedModel] += counters.renumberedModels
  }
}
