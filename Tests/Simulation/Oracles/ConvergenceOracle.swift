import BindingHub
import BindingPeer
import BindingProtocol

/// Once losses have ended, all replicas equal the hub's, and nothing is pending (G4).
struct ConvergenceOracle: Invariant, SimulationPart {
  let context: SimulationContext
  let log: LogOracle
  /// How often a replica differed from the hub at the same version.
  var divergences = 0

  mutating func observe(_ event: Observation) throws(Violation) {
    if case .diverged = event { divergences += 1 }
  }

  /// After everything has healed, all replicas equal the hub's, and nothing is pending.
  func atRest(_ hub: SimulatedHub, _ peers: [SimulatedPeer]) throws(Violation) {
    for peer in peers where !peer.outbox.isOver {
      guard peer.session.phase == .live else {
        throw Violation(.convergence, "\(peer) is \(peer.session.phase) after all has healed")
      }
      if let (id, write) = peer.writes.unacknowledged.first {
        throw Violation(
          .convergence,
          "write \(id.rawValue) of \(peer) to \(modelNames[write.model]) has no outcome after all has healed")
      }
      for (index, model) in modelNames.enumerated() {
        guard let head = peer.hub.head(of: model) else { continue }
        let mine = peer.session.version(of: model)
        if context.rights?.mayRead(peer.user, index) == false {
          guard mine.version == 0 else {
            throw Violation(.readingRight, "\(peer) keeps version \(mine.version) of \(model), which it may not read")
          }
          continue
        }
        guard mine.version == head.version, mine.epoch == peer.hub.epoch else {
          throw Violation(
            .convergence,
            "\(peer) has version \(mine.version) of \(model) in epoch \(mine.epoch >> 32), "
              + "the hub \(head.version) in \(hub.epoch >> 32)")
        }
        guard peer.session.digest(of: model) == head.digest else {
          throw Violation(.convergence, "\(peer) and the hub have other digests of \(model)")
        }
        if profile.joinsPrefix, peer.outbox.successor == nil, !peer.observed.announced[index],
          head.version > log.floor.version
        {
          throw Violation(.convergence, "\(peer) joined the prefix of \(model), which was not announced to it")
        }
      }
      if peer.session.unconfirmed > 0 { throw Violation(.convergence, "\(peer) still counts unconfirmed writes") }
    }
    if divergences > 0 { throw Violation(.trueReplica, "a replica diverged from the hub at the same version") }
  }
}
