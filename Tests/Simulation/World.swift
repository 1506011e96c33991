import BindingPeer
import BindingProtocol

/// Runs a hub, its store and some peers in simulated time: the machines and codecs of the product, driven by one
/// seed.
///
/// A chaos phase injects the faults of the profile; then everything heals. Invariants are checked at every step.
package final class World: SimulationPart {
  let context: SimulationContext
  let invariants: Invariants
  let network: SimulatedNetwork
  /// The hub, or the first of the cell.
  let hub: SimulatedHub
  private let cell: SimulatedCell?
  private let attackers: Attackers
  private let faults: Faults
  private let workload: Workload
  private let ephemeralWorkload: EphemeralWorkload
  private let expiryWorkload: ExpiryWorkload
  private let rightsChanges: RightsChanges
  private let keyChanges: KeyChanges
  private let undoWorkload: UndoWorkload

  /// Creates the world of one seed.
  /// - Parameters:
  ///   - profile: the faults to inject; nil draws them from the seed.
  ///   - keepsTrace: whether to record every step in `trace`.
  ///   - isCell: whether the drawn history is one of several hubs over one log.
  package init(seed: UInt64, profile: FaultProfile? = nil, isCell: Bool = false, keepsTrace: Bool = false) {
    // Each stream of its own, so that drawing from one does not change what the others give.
    var chance = Chance(seed: seed)
    var featureChance = Chance(seed: seed ^ 0x5EED_C0DE)
    var drawn = profile ?? FaultProfile(drawnFrom: &chance)
    var attackChance = Chance(seed: seed ^ 0x11A2_5EED)
    var rightsChance = Chance(seed: seed ^ 0x0ACC_E555)
    var limitChance = Chance(seed: seed ^ 0x0117_5EED)
    var keysChance = Chance(seed: seed ^ 0x0CE1_5EED)
    var expiryChance = Chance(seed: seed ^ 0x0E49_5EED)
    var historyChance = Chance(seed: seed ^ 0x0415_5EED)
    var keepingChance = Chance(seed: seed ^ 0x0CEE_95ED)
    var undoChance = Chance(seed: seed ^ 0x0D0B_5EED)
    var listChance = Chance(seed: seed ^ 0x0115_75EED)
    var recoveryChance = Chance(seed: seed ^ 0x02EC_5EED)
    if profile == nil {
      drawn.drawFeatures(from: &featureChance)
      drawn.drawForgedOffers(from: &attackChance)
      drawn.drawRights(from: &rightsChance)
      drawn.drawLimits(from: &limitChance)
      drawn.drawKeys(from: &keysChance)
      drawn.drawExpiry(from: &expiryChance)
      drawn.drawHistories(from: &historyChance)
      drawn.drawKeeping(from: &keepingChance)
      drawn.drawUndo(from: &undoChance)
      drawn.drawLists(from: &listChance)
      drawn.drawRecovery(from: &recoveryChance)
      var cellChance = Chance(seed: seed ^ 0x0CE1_15EED)
      if isCell { drawn.drawCell(from: &cellChance) }
    }
    context = SimulationContext(
      profile: drawn, chance: chance, featureChance: featureChance, rightsChance: rightsChance, keepsTrace: keepsTrace)
    if drawn.hasLimits { context.rights?.drawLimits(&limitChance) }
    invariants = Invariants(context)
    network = SimulatedNetwork(context, isolationChance: Chance(seed: seed ^ 0x0F06_5EED))
    let isAlone = drawn.cell.hubs == 1
    cell = isAlone ? nil : SimulatedCell(context, invariants, faultChance: Chance(seed: seed ^ 0x0E6_15EED))
    hub = SimulatedHub(context, invariants, network, of: cell)
    cell?.hubs.append(hub)
    while let cell, cell.hubs.count < drawn.cell.hubs {
      cell.hubs.append(SimulatedHub(context, invariants, network, of: cell))
    }
    attackers = Attackers(hub, chance: attackChance)
    faults = Faults(hub, attackers)
    undoWorkload = UndoWorkload(context, invariants.undo)
    workload = Workload(context, network, faults, undoWorkload, historyChance)
    ephemeralWorkload = EphemeralWorkload(context, network)
    expiryWorkload = ExpiryWorkload(context, network, invariants, expiryChance)
    rightsChanges = RightsChanges(hub)
    keyChanges = KeyChanges(hub, keysChance)
    for index in 0..<drawn.peers {
      let book = drawn.hasOutboxes && index % 2 == 0 ? OutboxBook() : nil
      network.peers.append(SimulatedPeer(index, after: nil, book: book, of: hub))
    }
  }

  deinit { network.removePeers() }

  /// A fingerprint of the history so far.
  package var digest: UInt64 { context.digest.value }

  /// How often each situation has occurred so far.
  package var counts: Counts { context.counts }

  /// The last steps, one a line; empty unless the world keeps a trace.
  package var trace: [String] { context.trace }

  /// Runs the whole history.
  /// - Throws: `Violation`, which names the violated rule and the moment.
  package func run() throws(Violation) {
    do {
      try runChaos()
      try heal()
      try checkAtRest()
      try takeBack()
      try loseTail()
      try checkAtRest()
    } catch {
      throw error.at(now)
    }
    for hub in hubs { if let counters = hub.counters { context.add(counters) } }
    counts[.decided] = invariants.log.decided
    for peer in network.peers { counts[.unbuffered] += peer.session.counters.unbuffered }
  }

  private func runChaos() throws(Violation) {
    for hub in hubs { try faults.start(hub) }
    for peer in network.peers {
      if profile.writesTooDeep { try peer.writeTooDeep() }
      agenda.add(.tick(peer: peer.index, run: 0), at: now + chance.within(0...50))
      agenda.add(.step(peer: peer.index), at: now + chance.within(20...400))
    }
    ephemeralWorkload.begin()
    expiryWorkload.begin()
    attackers.awaitAttack()
    rightsChanges.awaitChange()
    keyChanges.awaitChange()
    try run(for: profile.chaosMilliseconds)
  }

  func run(for milliseconds: UInt64) throws(Violation) {
    let end = now + milliseconds
    while let event = context.nextEvent(until: end) { try handle(event) }
  }

  private var hubs: [SimulatedHub] { cell?.hubs ?? [hub] }

  // MARK: Events

  private func handle(_ event: WorldEvent) throws(Violation) {
    switch event {
    case .hub(let index, let event): try hubs[index].handle(event)
    case .peer(let index, let run, let event):
      let peer = network.peers[index]
      if peer.process.run == run { try handle(event, of: peer) }
    case .tick(let peer, let run): if network.peers[peer].process.run == run { try network.peers[peer].tick() }
    case .frame(let frame, let index, let generation, let isPublished):
      let peer = network.peers[index]
      if peer.process.isPaused {
        peer.queue(frame, generation, isPublished: isPublished)
      } else {
        try peer.deliver(frame, generation)
      }
    case .connect(let peer, let generation): try network.peers[peer].connect(generation)
    case .endMute(let peer, let generation): try network.peers[peer].endMute(generation)
    case .step(let peer): try workload.step(network.peers[peer])
    case .stepInEphemeralModel(let peer): try ephemeralWorkload.step(network.peers[peer])
    case .stepExpiring(let peer): try expiryWorkload.step(network.peers[peer])
    case .lookAtExpiring: try expiryWorkload.look()
    case .startHub(let index): if !hubs[index].isThere { try faults.start(hubs[index]) }
    case .endQuiet: context.isQuiet = false
    case .forgeOffer(let run): if hub.run == run { try attackers.forgeOffer() }
    case .attack: try attackers.attack()
    case .changeRights: try rightsChanges.change()
    case .changeKeys: try keyChanges.change()
    }
  }

  private func handle(_ event: PeerEvent, of peer: SimulatedPeer) throws(Violation) {
    switch event {
    case .resume: try peer.resume()
    case .keep: peer.keep()
    case .kept: try peer.finishKeeping()
    case .crash: try faults.interrupt(peer, crashes: true)
    case .disconnect: try faults.interrupt(peer, crashes: false)
    case .isolate: try faults.isolate(peer)
    case .answer(let model, let hops): try peer.writeAnswer(to: model, hops: hops)
    case .merge(let id, let model, let question): try peer.answer(question, of: id, in: model)
    case .withdraw(let id): try peer.withdraw(id)
    case .visit(let step): try workload.visit(peer, step: step)
    case .rejoinEphemeralModel: try ephemeralWorkload.rejoin(peer)
    case .withdrawInEphemeralModel(let id): try ephemeralWorkload.withdraw(id, of: peer)
    case .approve(let request, let refuses): try peer.answer(request, refuses: refuses)
    }
  }

  // MARK: Healing

  /// No more faults happen, and everything comes to rest.
  private func heal() throws(Violation) {
    context.isChaos = false
    record("healing")
    for peer in network.peers where profile.visits > 0 { try workload.joinVisited(peer) }
    cell?.endMove()
    for hub in hubs {
      hub.healLog()
      if !hub.isThere { try faults.start(hub) }
    }
    try ephemeralWorkload.endOwnership()
    // Long enough for leases, back-offs, two heartbeats of resending and a recovery.
    try run(for: 15_000)
    // After a loss the numbers that a peer has not seen decided may have gaps, and each gap costs a join: on a slow
    // connection that takes time.
    for _ in 0..<6 where invariants.log.losses > 0 && isAnyUnacknowledged { try run(for: 10_000) }
    for _ in 0..<12 where needsMoreTime { try run(for: 5_000) }
    // The hub's last withdrawals of ephemeral fields are still in flight, or the commit of a write that it put off.
    if profile.hasEphemeralOrBarriers || profile.hasLimits { try run(for: 1_000) }
  }

  private var isAnyUnacknowledged: Bool { network.peers.contains { !$0.writes.unacknowledged.isEmpty } }

  /// Whether a feature needs more time to end than a history without it.
  private var needsMoreTime: Bool {
    if profile.hasOwner || profile.hasLimits, isAnyUnacknowledged { return true }
    guard let ephemeral = invariants.ephemeral, hub.isThere else { return false }
    // A hub stopped at the end of the chaos phase gave every session a new term.
    return ephemeral.hasFieldsOfAbsent(network.peers)
  }

  /// One of the peers undoes and redoes while nobody else writes.
  private func takeBack() throws(Violation) {
    guard profile.hasUndo, let peer = network.peers.first(where: { $0.outbox.successor == nil }) else { return }
    try undoWorkload.takeBack(peer) { milliseconds throws(Violation) in try run(for: milliseconds) }
  }

  private func checkAtRest() throws(Violation) {
    // A renumbering ends the sessions of all peers in the model; they say hello again.
    var seen = 0
    for _ in 0..<6 where invariants.log.renumberings != seen {
      seen = invariants.log.renumberings
      try run(for: 5_000)
    }
    try invariants.atRest(hub, network.peers)
    try cell?.checkAtRest()
  }
}
