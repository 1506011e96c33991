import BindingHub
import BindingPeer
import BindingWire

/// A hub, its store and some peers in simulated time: the same machines and codecs as live, driven by chance from one
/// seed.
///
/// A chaos phase with the faults of the climate, then a phase in which everything heals; at each step invariants are
/// looked at.
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
    case append(hubLife: Int, [Batch])
    case reload(hubLife: Int, model: String)
    case goOn(peer: Int, life: Int)
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
  /// Batches that the store has been given and has not answered.
  var underway: [Batch] = []
  var isTailLost = false
  var ledger = Ledger()
  var peers: [SimulatedPeer] = []
  let modelNames: [String]
  static let fields = ["a", "b", "c", "n", Names.description]
  var modelFrames = 0

  public init(seed: UInt64, climate: Climate? = nil, keepsTrace: Bool = false) {
    self.seed = seed
    self.keepsTrace = keepsTrace
    var chance = Chance(seed: seed)
    let drawn = climate ?? Climate(drawnFrom: &chance)
    self.climate = drawn
    modelNames = (0..<drawn.models).map { "m\($0)" }
    self.chance = chance
    for index in 0..<drawn.peers {
      peers.append(makePeer(index, book: drawn.hasOutboxes && index % 2 == 0 ? OutboxBook() : nil))
    }
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
      if peers[peer].isPaused {
        peers[peer].inbox.append((generation, frame))
      } else {
        try deliver(frame, generation, to: peer)
      }
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
      if !peers[peer].isPaused, peers[peer].session.nextDeadline <= peerNow(peer) {
        peers[peer].session.tick(now: peerNow(peer), into: &peers[peer].output)
        try settle(peer)
      }
      agenda.add(.tickPeer(peer: peer, life: life), at: now + 25)
    case .act(let peer): try act(peer)
    case .startHub: if hub == nil { startHub() }
    case .append(let life, let batches): if hub != nil, hubLife == life { try finishAppend(batches) }
    case .reload(let life, let model): if hub != nil, hubLife == life { try reload(model) }
    case .goOn(let peer, let life): if peers[peer].life == life { try goOn(peer) }
    }
  }

  func deliver(_ frame: [UInt8], _ generation: Int, to peer: Int) throws(Broken) {
    guard peers[peer].generation == generation else { return }
    counts.deliveries += 1
    note("hub → p\(peer)  \(World.words(ofHubFrame: frame))")
    frame.withUnsafeBytes { peers[peer].session.receive($0, now: peerNow(peer), into: &peers[peer].output) }
    try settle(peer)
  }

  // MARK: Hub

  var hubTime: HubTime { HubTime(monotonic: now, wall: 1_700_000_000_000 + now) }

  func startHub() {
    hubLife += 1
    let isProven = hubLife == 1 || climate.isDurable && !isTailLost
    if !isProven || hubLife == 1 { epoch += 1 << 32 | 1 }
    if !climate.isDurable { log.removeAll() }
    ledger.begin(epoch, with: log)
    isTailLost = false
    var configuration = HubConfiguration()
    configuration.name = "simulated"
    configuration.leaseMilliseconds = climate.leaseMilliseconds
    let birth = HubBirth(logID: 7, epoch: epoch, start: StartNumber(hubLife), tailProven: isProven)
    let models = Swift.Set(log.map(\.model)).sorted().map(stored)
    hub = HubMachine(
      configuration: configuration, birth: birth, stored: models, time: hubTime, epochSeed: chance.next())
    hubOutput.removeAll()
    agenda.add(.tickHub(hubLife), at: now + 1)
    note("hub starts, life \(hubLife), epoch \(epoch >> 32)")
  }

  func crashHub() throws(Broken) {
    note("hub crashes")
    counts.hubCrashes += 1
    if let counters = hub?.counters { counts.add(counters) }
    hub = nil
    try crashStore()
    for index in peers.indices where peers[index].isConnected {
      breakConnection(index)
      try settle(index)
    }
    agenda.add(.startHub, at: now + chance.within(50...1_500))
  }

  /// Has the store take what was decided, hands the result back, and lets the frames go.
  func settleHub() throws(Broken) {
    guard hub != nil else { return }
    hub?.finishDrain(time: hubTime, into: &hubOutput)
    repeat { try checkNothingUnstored() } while try store()
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
        for peer in peers.indices where peers[peer].topics.contains(topic) {
          sendDown(frame, to: peer, isPublished: true)
        }
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

  func peerNow(_ peer: Int) -> UInt64 { now + peers[peer].clockOffset }

  func note(_ text: @autoclosure () -> String) {
    guard keepsTrace else { return }
    trace.append("\(now)  \(text())")
    if trace.count > 20_000 { trace.removeFirst(10_000) }
  }

  func broken(_ text: String) -> Broken { Broken("\(text) (at \(now) ms)") }
}
