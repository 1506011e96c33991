import BindingHub
import BindingPeer

/// The faults of a history that concern whole processes: crashes, pauses, and the loss of stored commits.
final class Faults: SimulationPart {
  let context: SimulationContext
  private let hub: SimulatedHub
  private let network: SimulatedNetwork
  private let impostors: Impostors
  private let attackers: Attackers
  /// The exception to a quiet time: a freshly started peer, which may write to models that have lost nothing.
  @exclusivity(unchecked) private var newcomer: Int?
  @exclusivity(unchecked) private var lostModels: Swift.Set<Int> = []

  init(_ hub: SimulatedHub, _ attackers: Attackers) {
    (context, network) = (hub.context, hub.network)
    self.hub = hub
    self.attackers = attackers
    impostors = Impostors(hub)
  }

  /// Injects the faults of one step of an application.
  /// - Returns: whether the application can do nothing else in this step.
  func inject(at peer: SimulatedPeer) throws(Violation) -> Bool {
    let profile = profile
    let hub = peer.hub
    hub.cell?.inject(at: hub)
    if hub.isThere, chance.perMille(profile.hubCrashes) { try crash(hub) }
    if chance.perMille(profile.unnoticedLosses), isAllQuiet {
      try loseUnnoticed()
      return true
    }
    if hub.isRunning, chance.perMille(profile.hubPauses) { hub.pause() }
    if chance.perMille(profile.impostors), hub.isRunning { try impostors.impersonate(peer) }
    if chance.perMille(profile.cuts) {
      record("cut \(peer)")
      peer.disconnect()
      try peer.settle()
    }
    if chance.perMille(profile.peerCrashes) {
      try crash(peer)
      return true
    }
    if chance.perMille(profile.oneWayCuts) { network.cutOneWay(peer) }
    if peer.process.isPaused { return true }
    guard chance.perMille(profile.pauses) else { return false }
    record("\(peer) is stopped")
    counts[.peerPause] += 1
    peer.pause()
    context.schedule(.resume, of: peer, at: now + chance.within(100...4_000))
    return true
  }

  // MARK: The hub

  func start(_ hub: SimulatedHub) throws(Violation) {
    let isProven = try hub.startMachine()
    if !isProven { attackers.awaitForgedOffer() }
    record("\(hub) starts, run \(hub.run), epoch \(hub.epoch >> 32)")
    if hub.run > 1, profile.impostors > 0 { try impostors.impersonateFirst() }
  }

  private func crash(_ hub: SimulatedHub, losingUnnoticed: Bool = false) throws(Violation) {
    hub.kill()
    if losingUnnoticed {
      lostModels = try hub.store.loseUnnoticed()
    } else if hub.cell == nil {
      try hub.store.crash(with: hub)
    }
    for peer in network.peers where peer.link.isConnected && peer.hub === hub {
      peer.disconnect()
      try peer.settle()
    }
    agenda.add(.startHub(hub.index), at: now + chance.within(50...1_500))
  }

  /// The hub restarts without its last commits and does not notice. No peer writes for a while: decisions made
  /// before a peer that is ahead returns could not be told apart from the lost ones.
  private func loseUnnoticed() throws(Violation) {
    context.isQuiet = true
    agenda.add(.endQuiet, at: now + 4_000)
    try crash(hub, losingUnnoticed: true)
    let newcomer = chance.below(network.peers.count)
    self.newcomer = newcomer
    try crash(network.peers[newcomer])
  }

  /// Whether nothing is pending anywhere, in no file either from which a crashed process would send again, and every
  /// peer is current.
  private var isAllQuiet: Bool {
    guard hub.isRunning, hub.store.underway.isEmpty, !hub.store.log.isEmpty else { return false }
    return network.peers.allSatisfy { peer in
      !peer.process.isPaused && peer.writes.unacknowledged.isEmpty && !peer.session.hasDeferredOutcomes
        && peer.outbox.keeping.underWay == nil
        && modelNames.prefix(profile.models).allSatisfy { model in
          guard let head = hub.head(of: model) else { return true }
          return peer.session.isCurrent(model) && peer.session.version(of: model) == (hub.epoch, head.version)
        }
    }
  }

  /// The model to which a peer may write in a quiet time.
  func quietModel(of peer: SimulatedPeer) -> Int? {
    peer.index == newcomer ? (0..<profile.models).first { !lostModels.contains($0) } : nil
  }

  // MARK: Peers

  /// Another process takes the place of the peer's.
  func crash(_ former: SimulatedPeer) throws(Violation) {
    record("\(former) crashes")
    counts[.peerCrash] += 1
    former.disconnect()
    if former.outbox.book != nil { try former.killWithOutbox() }
    let isEarlier = former.restoreEarlierReplicas()
    let peer = SimulatedPeer(former.index, after: former, book: former.outbox.book, of: hub)
    network.peers[former.index] = peer
    if peer.outbox.keeping.choice != nil { try peer.checkRestored(after: former, isEarlier: isEarlier) }
    peer.process.steps = former.process.steps
    agenda.add(.tick(peer: peer.index, run: peer.process.run), at: now + chance.within(1...800))
    if profile.writesTooDeep, !isQuiet { try peer.writeTooDeep() }
    try peer.settle()
    try peer.sendPreviousRuns()
  }

  /// A peer's connection breaks, or its process crashes, where it was about to receive or to answer something.
  func interrupt(_ peer: SimulatedPeer, crashes: Bool) throws(Violation) {
    // A carrier, which only sends an earlier run's writes, has no process of its own.
    guard isChaos, !isQuiet, peer.outbox.successor == nil else { return }
    if crashes { return try crash(peer) }
    record("cut \(peer)")
    peer.disconnect()
    try peer.settle()
  }

  /// A peer's connection breaks, and its process stops until its lease has expired and the hub forgets it (R11).
  func isolate(_ peer: SimulatedPeer) throws(Violation) {
    guard isChaos, !isQuiet, peer.outbox.successor == nil, !peer.process.isPaused else { return }
    record("\(peer) is cut off for longer than its lease")
    counts[.stranded] += 1
    peer.disconnect()
    try peer.settle()
    peer.pause()
    context.schedule(.resume, of: peer, at: now + network.isolationTime())
  }
}
