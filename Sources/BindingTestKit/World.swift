import BindingHub
import BindingPeer
import BindingWire

/// A hub, its store and some peers in simulated time: the same machines and codecs as live, driven by chance from one seed.
///
/// A chaos phase with the faults of the climate, then a phase in which everything heals; at each step invariants are looked at.
public final class World {
  enum Event {
    case toHub(peer: Int, generation: Int, frame: [UInt8])
    case toPeer(peer: Int, generation: Int, frame: [UInt8])
    case subscribe(peer: Int, generation: Int, topic: [UInt8], isOn: Bool)
    case connect(peer: Int, generation: Int)
    case tickHub(Int)
    case tickPeer(peer: Int, life: Int)
    case act(peer: Int)
    case startHub
  }

  public let seed: UInt64
  let climate: Climate
  var chance: Chance
  var now: UInt64 = 1_000
  var agenda = Agenda<Event>()
  var isChaos = true
  public internal(set) var counts = Counts()
  public internal(set) var trace: [String] = []
  let keepsTrace: Bool

  var hub: HubMachine?
  var hubLife = 0
  var hubOutput = HubOutput()
  var epoch: Epoch = 1 << 32
  var log: [Batch] = []
  var ledger = Ledger()
  var peers: [SimulatedPeer] = []
  let modelNames: [String]
  static let fields = ["a", "b", "c", "n"]
  private var modelFrames = 0

  public init(seed: UInt64, climate: Climate? = nil, keepsTrace: Bool = false) {
    self.seed = seed
    self.keepsTrace = keepsTrace
    var chance = Chance(seed: seed)
    let drawn = climate ?? Climate(drawnFrom: &chance)
    self.climate = drawn
    modelNames = (0..<drawn.models).map { "m\($0)" }
    self.chance = chance
    for index in 0..<drawn.peers { peers.append(makePeer(index)) }
  }

  /// Runs the whole history.
  /// - Throws: `Broken`, naming the invariant and the moment.
  public func run() throws(Broken) {
    startHub()
    for index in peers.indices {
      agenda.add(.tickPeer(peer: index, life: 0), at: now + chance.within(0...50))
      agenda.add(.act(peer: index), at: now + chance.within(20...400))
    }
    let chaosEnds = now + climate.chaosMilliseconds
    try run(until: chaosEnds)
    isChaos = false
    note("healing")
    if hub == nil { startHub() }
    // Long enough for leases, back-offs, two beats of resending and a rescue.
    try run(until: chaosEnds + 20_000)
    try checkEnd()
  }

  func run(until end: UInt64) throws(Broken) {
    while let next = agenda.nextTime, next <= end, let (time, event) = agenda.take() {
      now = time
      try handle(event)
    }
    now = end
  }

  private func handle(_ event: Event) throws(Broken) {
    switch event {
    case .toHub(let peer, let generation, let frame):
      guard hub != nil, peers[peer].hubSide == generation else { return }
      counts.deliveries += 1
      note("p\(peer) → hub  \(World.words(ofPeerFrame: frame))")
      frame.withUnsafeBytes { hub?.receive($0, on: UInt64(generation), time: hubTime, into: &hubOutput) }
      try settleHub()
    case .toPeer(let peer, let generation, let frame):
      guard peers[peer].generation == generation else { return }
      counts.deliveries += 1
      note("hub → p\(peer)  \(World.words(ofHubFrame: frame))")
      frame.withUnsafeBytes { peers[peer].session.receive($0, now: peerNow(peer), into: &peers[peer].output) }
      try settle(peer)
    case .subscribe(let peer, let generation, let topic, let isOn):
      guard hub != nil, peers[peer].hubSide == generation else { return }
      if isOn { peers[peer].topics.insert(topic) } else { peers[peer].topics.remove(topic) }
      topic.withUnsafeBytes {
        if isOn {
          hub?.subscribed($0, by: UInt64(generation), time: hubTime, into: &hubOutput)
        } else {
          hub?.unsubscribed($0, by: UInt64(generation), time: hubTime, into: &hubOutput)
        }
      }
      try settleHub()
    case .connect(let peer, let generation): try connect(peer, generation)
    case .tickHub(let life):
      guard hubLife == life, let due = hub?.nextDeadline else { return }
      if due <= now {
        hub?.tick(time: hubTime, into: &hubOutput)
        try settleHub()
      }
      agenda.add(.tickHub(life), at: max(now + 1, min(hub?.nextDeadline ?? now, now + 250)))
    case .tickPeer(let peer, let life):
      guard peers[peer].life == life else { return }
      if peers[peer].session.nextDeadline <= peerNow(peer) {
        peers[peer].session.tick(now: peerNow(peer), into: &peers[peer].output)
        try settle(peer)
      }
      agenda.add(.tickPeer(peer: peer, life: life), at: now + 25)
    case .act(let peer): try act(peer)
    case .startHub: if hub == nil { startHub() }
    }
  }

  // MARK: Hub

  var hubTime: HubTime { HubTime(monotonic: now, wall: 1_700_000_000_000 + now) }

  func startHub() {
    hubLife += 1
    if !climate.isDurable || hubLife == 1 { epoch += 1 << 32 | 1 }
    let isDurable = climate.isDurable && hubLife > 1
    if !isDurable { log.removeAll() }
    ledger.begin(keeping: isDurable)
    var configuration = HubConfiguration()
    configuration.name = "simulated"
    let birth = HubBirth(
      logID: 7, epoch: epoch, start: StartNumber(hubLife), tailProven: isDurable || hubLife == 1)
    var stored: [String: [Batch]] = [:]
    for batch in log { stored[batch.model, default: []].append(batch) }
    let models = stored.keys.sorted().map { StoredModel(model: $0, epoch: epoch, batches: stored[$0] ?? []) }
    hub = HubMachine(
      configuration: configuration, birth: birth, stored: models, time: hubTime, epochSeed: chance.next())
    hubOutput.removeAll()
    agenda.add(.tickHub(hubLife), at: now + 1)
    note("hub starts, life \(hubLife), epoch \(epoch >> 32)")
  }

  func crashHub() {
    note("hub crashes")
    counts.hubCrashes += 1
    if let counters = hub?.counters { counts.add(counters) }
    hub = nil
    for index in peers.indices where peers[index].isConnected { breakConnection(index) }
    agenda.add(.startHub, at: now + chance.within(50...1_500))
  }

  /// Has the store take what was decided, hands the result back, and lets the frames go.
  func settleHub() throws(Broken) {
    guard hub != nil else { return }
    hub?.finishDrain(time: hubTime, into: &hubOutput)
    while !hubOutput.batches.isEmpty {
      let batches = hubOutput.batches
      try checkNothingUnstored()
      hubOutput.batches.removeAll()
      for batch in batches {
        try ledger.enter(batch)
        log.append(batch)
      }
      hub?.appended(batches.map { _ in .stored }, of: batches, time: hubTime, into: &hubOutput)
    }
    try checkNothingUnstored()
    var frames: [(HubOutput.Destination, [UInt8])] = []
    hubOutput.forEachFrame { frames.append(($0, Array($1))) }
    hubOutput.removeAll()
    for (destination, frame) in frames {
      switch destination {
      case .connection(let connection):
        guard let peer = peers.firstIndex(where: { $0.hubSide == Int(connection) }) else { continue }
        sendDown(frame, to: peer, isPublished: false)
      case .publish:
        let topic = Array(frame.prefix(4))
        for peer in peers.indices where peers[peer].topics.contains(topic) { sendDown(frame, to: peer, isPublished: true) }
      }
    }
  }

  /// R1: whatever leaves speaks of versions that the store has.
  private func checkNothingUnstored() throws(Broken) {
    var problem: String?
    hubOutput.forEachFrame { _, bytes in
      guard problem == nil, bytes.count > 4, bytes[4] == HubMessageKind.commits.rawValue,
        case (let header, .commits(let group))? = try? HubMessage.decode(bytes)
      else { return }
      let index = Int(header.topic) - Int(Topics.firstModel)
      guard let model = hub?.modelID(at: index) else { return }
      if ledger.entries[.init(model: model, epoch: group.epoch, version: group.version)] == nil {
        problem = "version \(group.version) of \(model) left before it was stored"
      }
    }
    if let problem { throw broken(problem) }
  }

  // MARK: Network

  private func sendDown(_ frame: [UInt8], to peer: Int, isPublished: Bool) {
    guard peers[peer].isConnected else { return }
    var copies = 1
    if isPublished {
      let isOfModel = frame[0] != 0 && frame[3] != 0
      if isOfModel {
        modelFrames += 1
        if climate.droppedFrame == modelFrames - 1 { copies = 0 }
      }
      if isChaos, chance.perMille(climate.lostFrames) { copies = 0 }
      if isChaos, copies == 1, chance.perMille(climate.repeatedFrames) { copies = 2 }
    }
    if copies == 0 { counts.lost += 1 }
    for _ in 0..<copies {
      let delay = chance.within(1...(isPublished ? climate.publishDelay : climate.requestDelay))
      let line = isPublished ? \SimulatedPeer.publishLine : \SimulatedPeer.requestLine
      let time = max(now + delay, peers[peer][keyPath: line])
      peers[peer][keyPath: line] = time
      agenda.add(.toPeer(peer: peer, generation: peers[peer].generation, frame: frame), at: time)
    }
  }

  private func sendUp(_ event: Event, of peer: Int, isPublish: Bool) {
    let delay = chance.within(1...(isPublish ? climate.publishDelay : climate.requestDelay))
    let line = isPublish ? \SimulatedPeer.subscriptionLine : \SimulatedPeer.upLine
    let time = max(now + delay, peers[peer][keyPath: line])
    peers[peer][keyPath: line] = time
    agenda.add(event, at: time)
  }

  /// Cuts both connections. The peer hears of it at once, the hub when it next hears from that peer.
  func breakConnection(_ peer: Int) {
    guard peers[peer].isConnected else { return }
    let generation = peers[peer].hubSide
    peers[peer].isConnected = false
    if hub != nil {
      let topic = Topics.sessionTopic(peers[peer].sessionOnTheWire)
      topic.withUnsafeBytes { hub?.unsubscribed($0, by: UInt64(generation), time: hubTime, into: &hubOutput) }
      hub?.closed(UInt64(generation), time: hubTime, into: &hubOutput)
    }
    peers[peer].topics.removeAll()
    peers[peer].generation += 1
    peers[peer].session.lost(now: peerNow(peer), into: &peers[peer].output)
  }

  private func connect(_ peer: Int, _ generation: Int) throws(Broken) {
    guard peers[peer].generation == generation else { return }
    guard hub != nil else {
      peers[peer].generation += 1
      peers[peer].session.lost(now: peerNow(peer), into: &peers[peer].output)
      return try settle(peer)
    }
    counts.connections += 1
    peers[peer].hubSide = generation
    peers[peer].isConnected = true
    peers[peer].topics.removeAll()
    peers[peer].session.opened(now: peerNow(peer), into: &peers[peer].output)
    try settle(peer)
  }

  /// Carries out what a session wants, and holds what it reveals against the ledger.
  func settle(_ peer: Int) throws(Broken) {
    peers[peer].session.finishDrain(now: peerNow(peer), into: &peers[peer].output)
    let actions = peers[peer].output.actions
    peers[peer].output.removeAll()
    let generation = peers[peer].generation
    for action in actions {
      switch action {
      case .open(let pause):
        if peers[peer].isConnected { breakQuietly(peer) }
        agenda.add(.connect(peer: peer, generation: peers[peer].generation), at: now + pause + 1)
      case .send(let frame):
        guard peers[peer].isConnected else { continue }
        peers[peer].sessionOnTheWire = PeerHeader.session(ofFrame: frame.withUnsafeBytes { UnsafeRawBufferPointer(rebasing: $0[...]) })
        sendUp(.toHub(peer: peer, generation: peers[peer].hubSide, frame: frame), of: peer, isPublish: false)
      case .listen(let sessionTopic, _):
        sendUp(.subscribe(peer: peer, generation: generation, topic: sessionTopic, isOn: true), of: peer, isPublish: true)
        sendUp(.subscribe(peer: peer, generation: generation, topic: Topics.bytes(Topics.beat), isOn: true), of: peer, isPublish: true)
      case .subscribe(let topic):
        sendUp(.subscribe(peer: peer, generation: generation, topic: Topics.bytes(topic), isOn: true), of: peer, isPublish: true)
      case .unsubscribe(let topic):
        sendUp(.subscribe(peer: peer, generation: generation, topic: Topics.bytes(topic), isOn: false), of: peer, isPublish: true)
      case .reveal(let reveal): try check(reveal, of: peer)
      case .settled(let id, _, let outcome): try check(outcome, of: id, peer)
      case .notice(let notice): count(notice, of: peer)
      case .hold: counts.holds += 1
      case .announced, .listed, .phase, .pong, .close: break
      }
    }
  }

  /// The session itself gave the connection up.
  private func breakQuietly(_ peer: Int) {
    let generation = peers[peer].hubSide
    peers[peer].isConnected = false
    peers[peer].topics.removeAll()
    peers[peer].generation += 1
    guard hub != nil else { return }
    let topic = Topics.sessionTopic(peers[peer].sessionOnTheWire)
    topic.withUnsafeBytes { hub?.unsubscribed($0, by: UInt64(generation), time: hubTime, into: &hubOutput) }
    hub?.closed(UInt64(generation), time: hubTime, into: &hubOutput)
  }

  func peerNow(_ peer: Int) -> UInt64 { now + peers[peer].clockOffset }

  func note(_ text: @autoclosure () -> String) {
    guard keepsTrace else { return }
    trace.append("\(now)  \(text())")
    if trace.count > 4_000 { trace.removeFirst(2_000) }
  }

  static func words(ofPeerFrame frame: [UInt8]) -> String {
    guard let (_, message) = try? PeerMessage.decode(frame) else { return "garbage" }
    if case .propose(let proposals) = message {
      return "propose " + proposals.map { "#\($0.number) \($0.operations.map(\.verb))" }.joined(separator: " ")
    }
    if case .join(let joins) = message {
      return "join " + joins.map { "\($0.name) \($0.epoch >> 32):\($0.version) undecided \($0.undecided)" }.joined(separator: " ")
    }
    return message.kind.name
  }

  static func words(ofHubFrame frame: [UInt8]) -> String {
    guard let (_, message) = try? HubMessage.decode(frame) else { return "garbage" }
    switch message {
    case .outcomes(let outcomes): return "outcomes " + outcomes.outcomes.map { "#\($0.number) \($0.kind)" }.joined(separator: " ")
    case .commits(let group): return "commits \(group.previous)…\(group.version)"
    case .joined(let joined): return "joined \(joined.version) mark \(joined.mark) follows \(joined.follows)"
    case .catchup(let chunk): return "catchup \(chunk.form) \(chunk.previous)…\(chunk.version) mark \(chunk.mark)"
    case .error(let error): return "error \(error.code) \(error.text)"
    case .head(let head): return "head \(head.version)"
    default: return message.kind.name
    }
  }

  func broken(_ text: String) -> Broken { Broken("\(text) (at \(now) ms)") }
}
