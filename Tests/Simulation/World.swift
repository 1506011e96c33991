import BindingHub
import BindingPeer
import BindingProtocol

/// Runs a hub, its store and some peers in simulated time: the machines and codecs of the product, driven by one
/// seed.
///
/// A chaos phase injects the faults of the profile; then everything heals. Invariants are checked at every step.
package final class World {
  enum Event {
    case toHub(peer: Int, generation: Int, frame: [UInt8])
    case toPeer(peer: Int, generation: Int, frame: [UInt8], isPublished: Bool)
    case subscribe(peer: Int, generation: Int, topic: [UInt8], isOn: Bool)
    case connect(peer: Int, generation: Int)
    case tickHub(Int)
    case tickPeer(peer: Int, run: Int)
    case act(peer: Int)
    case startHub
    case append(hubRun: Int, [Batch])
    case reload(hubRun: Int, model: String)
    case goOn(peer: Int, run: Int)
    case hubGoesOn(hubRun: Int)
    case answer(peer: Int, run: Int, model: Int, hops: UInt8)
    /// Indirect, so that it does not enlarge every other case.
    indirect case merge(peer: Int, run: Int, WriteID, model: Int, MergeQuestion)
    case withdraw(peer: Int, run: Int, WriteID)
    case visit(peer: Int, run: Int, step: Int)
    case endMute(peer: Int, generation: Int)
    case endQuiet
    case besides(Besides)
  }

  let context: SimulationContext

  @exclusivity(unchecked) var hub: HubMachine?
  @exclusivity(unchecked) var hubRun = 0
  @exclusivity(unchecked) var hubOutput = HubOutput()
  /// The model of each topic that this hub has ever assigned.
  @exclusivity(unchecked) var topicNames: [Topic: String] = [:]
  @exclusivity(unchecked) var epoch: Epoch = 1 << 32
  @exclusivity(unchecked) var log: [Batch] = []
  /// Batches that the store has received and not yet answered.
  @exclusivity(unchecked) var underway: [Batch] = []
  @exclusivity(unchecked) var isTailLost = false
  @exclusivity(unchecked) var oracle: Oracle
  @exclusivity(unchecked) var peers: [SimulatedPeer] = []
  @exclusivity(unchecked) var modelFrames = 0
  /// Frames of the hub's output already checked against the oracle.
  @exclusivity(unchecked) var checkedFrames = 0
  /// Writes that ended without being committed.
  @exclusivity(unchecked) var notCarriedOut: [(peer: Int, id: WriteID, write: SimulatedWrite)] = []
  /// How often the log, or its end, was lost.
  @exclusivity(unchecked) var losses = 0
  @exclusivity(unchecked) var divergences = 0
  /// While the hub's process is stopped, its events wait in `hubInbox`.
  @exclusivity(unchecked) var isHubPaused = false
  @exclusivity(unchecked) var hubInbox: [Event] = []
  /// The exception to `isQuiet`: a freshly started peer, which may write to models that have lost nothing.
  @exclusivity(unchecked) var newcomer: Int?
  @exclusivity(unchecked) var lostModels: Swift.Set<Int> = []
  @exclusivity(unchecked) var probe: Probe?
  /// The write being made; it may supersede others.
  @exclusivity(unchecked) var writing: (id: WriteID, write: SimulatedWrite)?
  /// Words and numbers put into gathering fields so far.
  @exclusivity(unchecked) var gatheredCount = 0
  /// A spare buffer, so that `settle` does not allocate.
  @exclusivity(unchecked) var emptyOutput = PeerOutput()
  /// The kind of message that a peer is reading.
  @exclusivity(unchecked) var delivering: HubMessageKind?
  /// Chance for features between peers.
  /// Chance for everything that impostors do.
  @exclusivity(unchecked) var lieChance: Chance
  @exclusivity(unchecked) var forgetting: Chance
  let lies: [Lie]
  @exclusivity(unchecked) var received = Received()
  /// The truth about the first model's ephemeral model, if any peer joins it, and the approvals of its owner.
  @exclusivity(unchecked) var ephemeral: EphemeralOracle?
  @exclusivity(unchecked) var ownership = Ownership()
  /// Barriers that the hub has received, and the highest version of the first model that each identity has reached
  /// in each epoch.
  @exclusivity(unchecked) var asked: [AskedBarrier] = []
  @exclusivity(unchecked) var reached: [Tag: [Epoch: Version]] = [:]

  /// Creates the world of one seed.
  /// - Parameters:
  ///   - profile: the faults to inject; nil draws them from the seed.
  ///   - keepsTrace: whether to record every step in `trace`.
  package init(seed: UInt64, profile: FaultProfile? = nil, keepsTrace: Bool = false) {
    var chance = Chance(seed: seed)
    var featureChance = Chance(seed: seed ^ 0x5EED_C0DE)
    var drawn = profile ?? FaultProfile(drawnFrom: &chance)
    var lieChance = Chance(seed: seed ^ 0x11A2_5EED)
    if profile == nil {
      drawn.drawFeatures(from: &featureChance)
      drawn.drawForgedOffers(from: &lieChance)
    }
    context = SimulationContext(
      profile: drawn, chance: chance, featureChance: featureChance, keepsTrace: keepsTrace)
    lies = drawn.forgedOffers > 0 ? World.drawLies(from: &lieChance) : []
    self.lieChance = lieChance
    forgetting = Chance(seed: seed ^ 0x0F06_5EED)
    oracle = Oracle(modelNames: context.modelNames)
    oracle.claims.mayRepeatWords = drawn.forgetsSoon
    if drawn.hasEphemeralModel { ephemeral = EphemeralOracle(of: context.modelNames[0]) }
    for index in 0..<drawn.peers {
      peers.append(makePeer(index, book: drawn.hasOutboxes && index % 2 == 0 ? OutboxBook() : nil))
    }
  }

  /// A fingerprint of the history so far.
  package var digest: UInt64 { context.digest.value }

  /// How often each situation has occurred so far.
  package var counts: Counts { context.counts }

  /// The last steps, one a line; empty unless the world keeps a trace.
  package var trace: [String] { context.trace }

  /// Runs the whole history.
  /// - Throws: `Violation`, which names the violated invariant and the moment.
  package func run() throws(Violation) {
    do { try runAll() } catch { throw error.at(context.now) }
  }

  private func runAll() throws(Violation) {
    try startHub()
    for index in peers.indices {
      if context.profile.writesTooDeep { try writeTooDeep(index) }
      context.agenda.add(.tickPeer(peer: index, run: 0), at: context.now + context.chance.within(0...50))
      context.agenda.add(.act(peer: index), at: context.now + context.chance.within(20...400))
    }
    beginEphemeralWriters()
    awaitLie()
    let chaosEnds = context.now + context.profile.chaosMilliseconds
    try run(until: chaosEnds)
    context.isChaos = false
    context.record("healing")
    for peer in peers.indices where context.profile.visits > 0 { try joinVisited(peer) }
    if hub == nil { try startHub() }
    try endOwnership()
    // Long enough for leases, back-offs, two heartbeats of resending and a recovery.
    try run(until: chaosEnds + 15_000)
    // After a loss the numbers that a peer has not seen decided may have gaps, and each gap costs a join: on a slow
    // connection that takes time.
    for _ in 0..<6 where losses > 0 && peers.contains(where: { !$0.writes.unacknowledged.isEmpty }) {
      try run(until: context.now + 10_000)
    }
    for _ in 0..<12 where needsMoreTime { try run(until: context.now + 5_000) }
    // The hub's last withdrawals of ephemeral fields are still in flight.
    if context.profile.hasEphemeralOrBarriers { try run(until: context.now + 1_000) }
    try awaitRenumbered()
    try checkHealed()
    try probeTail()
    try awaitRenumbered()
    try checkHealed()
    if let counters = hub?.counters { add(counters) }
    context.counts[.decided] = oracle.decided
    for peer in peers { context.counts[.unbuffered] += peer.session.counters.unbuffered }
  }

  /// A renumbering ends the sessions of all peers in the model; they say hello again.
  private func awaitRenumbered() throws(Violation) {
    var seen = 0
    for _ in 0..<6 where oracle.renumberings != seen {
      seen = oracle.renumberings
      try run(until: context.now + 5_000)
    }
  }

  func run(until end: UInt64) throws(Violation) {
    while let event = context.nextEvent(until: end) { try handle(event) }
  }

  private func handle(_ event: Event) throws(Violation) {
    switch event {
    case .toHub, .subscribe, .append, .reload, .tickHub, .hubGoesOn: try handleAtHub(event)
    case .toPeer(let peer, let generation, let frame, let isPublished):
      if peers[peer].process.isPaused {
        queue(frame, generation, for: peers[peer], isPublished: isPublished)
      } else {
        try deliver(frame, generation, to: peer)
      }
    case .connect(let peer, let generation): try connect(peer, generation)
    case .tickPeer(let peer, let run): if peers[peer].process.run == run { try tick(peers[peer]) }
    case .act(let peer): try act(peer)
    case .startHub: if hub == nil { try startHub() }
    case .goOn(let peer, let run): if peers[peer].process.run == run { try goOn(peer) }
    case .answer(let peer, let run, let model, let hops):
      if peers[peer].process.run == run, !peers[peer].process.isPaused { try writeAnswer(peer, to: model, hops: hops) }
    case .merge(let peer, let run, let id, let model, let question):
      if peers[peer].process.run == run { try answer(question, of: id, in: model, peer) }
    case .withdraw(let peer, let run, let id): if peers[peer].process.run == run { try withdraw(id, of: peer) }
    case .visit(let peer, let run, let step): if peers[peer].process.run == run { try visit(peer, step: step) }
    case .endMute(let peer, let generation): try endMute(peer, generation)
    case .endQuiet: context.isQuiet = false
    case .besides(let event): try handle(event)
    }
  }

  private func tick(_ peer: SimulatedPeer) throws(Violation) {
    let (run, time) = (peer.process.run, context.now + peer.process.clockOffset)
    let due = peer.read { $0.nextDeadline }
    if !peer.process.isPaused, due <= time {
      peer.session.tick(now: time, into: &peer.output)
      try settle(peer.index)
    }
    let wait = due == .max ? 200 : min(due - min(due, time), 200)
    context.agenda.add(.tickPeer(peer: peer.index, run: run), at: context.now + max(wait, 25))
  }

  func deliver(_ frame: [UInt8], _ generation: Int, to index: Int) throws(Violation) {
    guard peers[index].link.generation == generation else { return }
    context.recordDelivered(frame)
    context.record("hub → p\(index)  \(World.words(ofHubFrame: frame))")
    delivering = HubMessageKind(rawValue: frame[4])
    defer { delivering = nil }
    if delivering == .catchup { lookAtSnapshot(frame, for: index) }
    let (time, peer) = (peerNow(index), peers[index])
    frame.withUnsafeBytes { peer.session.receive($0, now: time, into: &peer.output) }
    try settle(index)
  }

  func peerNow(_ peer: Int) -> UInt64 { context.now + peers[peer].process.clockOffset }
}
