import BindingHub
import BindingPeer
import BindingProtocol

/// The hub's process: its machine, the store behind it, and the frames that wait while it is stopped.
final class SimulatedHub: SimulationPart {
  let context: SimulationContext
  let invariants: Invariants
  let network: SimulatedNetwork
  let store: SimulatedStore
  /// Its way to a log that it shares; in a cell alone.
  @exclusivity(unchecked) var way = WayToLog()
  @exclusivity(unchecked) var machine: HubMachine?
  @exclusivity(unchecked) var output = HubOutput()
  /// Counts the starts of the hub.
  @exclusivity(unchecked) private(set) var run = 0
  @exclusivity(unchecked) var epoch: Epoch = 1 << 32
  /// The model of each topic that this hub has ever assigned.
  @exclusivity(unchecked) var topicNames: [Topic: String] = [:]
  /// Who opened each connection of this run, in histories with rights.
  @exclusivity(unchecked) private var users: [ConnectionID: Int] = [:]
  /// Its keys, without a session's number; nil: it has none.
  @exclusivity(unchecked) var keys: AnnouncedKeys?
  /// While the process is stopped, its events wait in `inbox`.
  @exclusivity(unchecked) private(set) var isPaused = false
  @exclusivity(unchecked) private var inbox: [HubEvent] = []
  /// Frames of the output that the invariants have observed.
  @exclusivity(unchecked) var observedFrames = 0

  init(
    _ context: SimulationContext, _ invariants: Invariants, _ network: SimulatedNetwork, of cell: SimulatedCell? = nil
  ) {
    self.context = context
    self.invariants = invariants
    self.network = network
    way.cell = cell
    way.index = cell?.hubs.count ?? 0
    store = cell?.store ?? SimulatedStore(context, invariants)
  }

  /// Whether its process exists, stopped or not.
  var isThere: Bool { machine != nil }
  /// Whether it reads what it receives.
  var isRunning: Bool { machine != nil && !isPaused }
  var time: HubTime { HubTime(monotonic: now, wall: context.wall + UInt64(index) * profile.cell.clockStep) }
  var start: StartNumber { StartNumber(run) }
  var counters: HubCounters? { machine?.counters }

  // MARK: Starting and stopping

  /// - Returns: whether its log lacks nothing.
  func startMachine() throws(Violation) -> Bool {
    run = cell?.nextStart() ?? run + 1
    let isProven = cell != nil || run == 1 || profile.isDurable && !store.isTailLost
    if cell != nil { epoch = SimulatedCell.epoch } else if !isProven || run == 1 { epoch += 1 << 32 | 1 }
    store.restart()
    if !isProven { store.beginRecovery() }
    topicNames.removeAll()
    users.removeAll()
    try invariants.observe(.hubStarts(self, isProven: isProven))
    var configuration = HubMachineConfiguration()
    configuration.name = "simulated"
    configuration.leaseMilliseconds = profile.leaseMilliseconds
    if profile.forgetsSoon { configuration.maxIdentities = 1 }
    configuration.limits.maxUnacknowledged = profile.maxUnacknowledged
    configuration.limits.chunkBytes = profile.chunkBytes
    configuration.maxDeletedNames = profile.maxDeletedNames
    configuration.earlyMilliseconds = profile.earlyMilliseconds
    configuration.listGap = profile.listGap
    (configuration.isShared, configuration.otherHubs) = (cell != nil, cell?.addresses ?? [])
    configuration.unusedMilliseconds = profile.cell.unused
    configuration.lossesBeforeHome = profile.cell.lossesBeforeHome
    if context.rights != nil {
      configuration.endpoints = [HubEndpoint(request: "ipc:/hub", publish: "ipc:/hub.pub")]
      configuration.topicSeed = UInt64(start)
    }
    let birth = HubBirth(logID: 7, epoch: epoch, start: start, tailProven: isProven, floor: invariants.log.floor)
    var machine = HubMachine(configuration: configuration, birth: birth, time: time, epochSeed: chance.next())
    _ = machine.apply(context.rights?.policy)
    machine.apply(context.rights?.members)
    if let keys { machine.announce(keys, into: &output) }
    if let cell { try enter(cell, &machine) }
    for model in cell == nil ? store.models : [] {
      do {
        try machine.restore(try store.load(model))
      } catch {
        throw Violation(.order, "\(error)")
      }
    }
    self.machine = machine
    output.removeAll()
    observedFrames = 0
    agenda.add(.hub(index, .tick(run: run)), at: now + 1)
    return isProven
  }

  /// Its process is gone, with all that it has not stored.
  func kill() {
    record("\(self) crashes")
    counts[.hubCrash] += 1
    if let counters { context.add(counters) }
    endWay()
    machine = nil
    isPaused = false
    inbox.removeAll()
  }

  func pause() {
    record("the hub is stopped")
    counts[.hubPause] += 1
    isPaused = true
    agenda.add(.hub(index, .resume(run: run)), at: now + chance.within(3_100...6_000))
  }

  private func resume() throws(Violation) {
    record("the hub goes on")
    isPaused = false
    try announceKeys()
    try tick(isAfterPause: true)
    let events = inbox
    inbox.removeAll()
    for event in events where !isPaused { try handle(event) }
  }

  // MARK: Events

  func handle(_ event: HubEvent) throws(Violation) {
    if isPaused {
      switch event {
      case .resume(let run): if run == self.run { return try resume() }
      case .tick: break
      case .stepLog(let run): return try stepLog(run)
      case .turnLinks(let run): return try turnLinks(run)
      default: return inbox.append(event)
      }
    }
    switch event {
    case .frame(let frame, let peer, let generation): try receive(frame, of: network.peers[peer], generation)
    case .subscription(let topic, let isOn, let peer, let generation):
      try subscribe(network.peers[peer], generation, topic, isOn)
    case .appended(let batches, let run): if isThere, self.run == run { try finishAppend(batches) }
    case .history(let query, let run): if isThere, self.run == run { try finishReading(query) }
    case .reload(let model, let run): if isThere, self.run == run { try reload(model) }
    case .tick(let run):
      guard self.run == run, var due = read({ $0.nextDeadline }) else { return }
      if due <= now, !isPaused {
        try tick(isAfterPause: false)
        due = read { $0.nextDeadline } ?? now
      }
      agenda.add(.hub(index, .tick(run: run)), at: max(now + 1, min(due, now + 250)))
    case .resume: break
    case .stepLog(let run): try stepLog(run)
    case .healLog(let run): if self.run == run { healLog() }
    case .turnLinks(let run): try turnLinks(run)
    case .linkFrame(let frame, let connection, let run): try receive(frame, ofLink: connection, run)
    }
  }

  private func receive(_ frame: [UInt8], of peer: SimulatedPeer, _ generation: Int) throws(Violation) {
    guard peer.link.hubSide == generation else { return try receiveLate(frame, of: peer, generation) }
    guard isThere else { return }
    context.recordDelivered(frame)
    peer.link.receivedAt = now
    record("\(peer) → hub  \(FrameText.text(ofPeerFrame: frame))")
    try invariants.observe(.received(frame, peer, self))
    let ignored = read { $0.counters.unaskedOffers + $0.counters.implausibleReplicas }
    receive(frame, on: UInt64(generation))
    if frame[0] == PeerMessageKind.offer.rawValue {
      let after = read { $0.counters.unaskedOffers + $0.counters.implausibleReplicas }
      try invariants.observe(.offerRead(frame, peer, wasAccepted: after == ignored))
    }
    try settle()
  }

  private func subscribe(_ peer: SimulatedPeer, _ generation: Int, _ topic: [UInt8], _ isOn: Bool) throws(Violation) {
    guard isThere, peer.link.hubSide == generation else { return }
    if let published = SimulatedHub.topic(of: topic) {
      peer.link.topics.removeAll { $0 == published }
      if isOn { peer.link.topics.append(published) }
    }
    topic.withUnsafeBytes {
      if isOn {
        machine?.subscribed($0, by: UInt64(generation), time: time, into: &output)
      } else {
        machine?.unsubscribed($0, by: UInt64(generation), time: time, into: &output)
      }
    }
    try settle()
  }

  private func tick(isAfterPause: Bool) throws(Violation) {
    let before = network.peers.filter { $0.hub === self && hasSession($0) && read { $0.isDraining } == false }
    machine?.tick(time: time, into: &output)
    for peer in before where isThere && !hasSession(peer) {
      try invariants.observe(.sessionExpired(peer, isAfterPause: isAfterPause))
    }
    try settle()
    if cell != nil { try endIfDrained() }
  }

  func finishDrain() { machine?.finishDrain(time: time, into: &output) }

  func append(_ batches: [Batch]) throws(Violation) {
    let results = try store.append(batches, for: self)
    machine?.appended(results, of: batches, time: time, into: &output)
  }

  func read(_ query: HistoryQuery) {
    machine?.answered(query, .success(store.history(query)), into: &output)
  }

  func load(_ model: String) throws(Violation) {
    machine?.reloaded(try store.load(model), time: time, into: &output)
  }

  // MARK: Connections

  /// Reads a frame; what follows from it happens when the hub settles.
  func receive(_ frame: [UInt8], on connection: ConnectionID) {
    var frame = frame
    if let rights = context.rights, let user = user(on: connection) {
      if machine?.isIdentified(connection) == false {
        machine?.identify(connection, as: rights.principal(of: user))
        users[connection] = user
      }
      if let somebody = rights.representation(of: user) { frame = SimulatedHub.passedOn(frame, for: somebody) }
    }
    frame.withUnsafeBytes { machine?.receive($0, on: connection, time: time, into: &output) }
  }

  /// A frame as a gateway passes it on: a hello names for whom it is.
  private static func passedOn(_ frame: [UInt8], for somebody: Representation) -> [UInt8] {
    frame.withUnsafeBytes { bytes in
      var reader = WireReader(bytes)
      guard let header = try? PeerHeader(from: &reader), header.kind == .hello, var hello = try? Hello(from: &reader)
      else { return frame }
      hello.capabilities.append(somebody.text)
      return PeerMessage.hello(hello).encode(session: header.session, start: header.start)
    }
  }

  func closed(_ connection: ConnectionID) { machine?.closed(connection, time: time, into: &output) }

  /// The user at the other end of a connection, by its number in the table of rights; nil: nobody knows.
  func user(on connection: ConnectionID) -> Int? {
    if let user = users[connection] { return user }
    if let peer = network.peer(on: connection) ?? network.peers.first(where: { $0.link.lost == Int(connection) }) {
      return peer.user
    }
    // Some connections of attackers come without a name.
    return connection % 4 == 0 ? nil : context.rights?.stranger
  }

  /// Puts the present rights in force, and ends the connections whose users have others now.
  func applyRights() throws(Violation) {
    guard isThere, let policy = context.rights?.policy else { return }
    try invariants.observe(.rightsChange)
    for connection in machine?.apply(policy, time: time) ?? [] {
      counts[.connectionEndedForRights] += 1
      machine?.expel(connection, time: time, into: &output)
      guard let peer = network.peer(on: connection) else { continue }
      peer.disconnect()
      try peer.settle()
    }
    try settle()
  }

  /// Tells the present keys; a hub that is stopped or gone does so later.
  func announceKeys() throws(Violation) {
    guard isRunning, let keys else { return }
    machine?.announce(keys, into: &output)
    try settle()
  }

  // MARK: Reading

  /// Reads the hub without copying it; nil while there is no hub.
  func read<Result>(_ look: (inout HubMachine) -> Result) -> Result? {
    // SAFETY: checked for nil in the same expression; binding it would copy it.
    machine == nil ? nil : look(&machine!)
  }

  /// Whether the hub has a session on the peer's current connection.
  func hasSession(_ peer: SimulatedPeer) -> Bool {
    read { $0.hasSession(on: UInt64(max(peer.link.hubSide, 0))) } == true
  }

  /// The hub's topic of a model.
  func topic(of model: Int) -> Topic? { read { $0.topic(of: modelNames[model]) } ?? nil }

  /// The index of the model behind a topic of the hub.
  func model(of topic: Topic) -> Int? { topicNames[topic].flatMap { modelNames.firstIndex(of: $0) } }

  func name(of topic: Topic) -> String? { topicNames[topic] }

  /// The name of a field by this hub's number, which may be another hub's no more.
  func fieldName(_ id: FieldID, of topic: Topic) -> String? { machine?.fieldName(id, of: topic) }

  func head(of model: String) -> (version: Version, digest: UInt64)? { machine?.head(of: model) }
}
