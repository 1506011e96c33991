import BindingHub
import BindingPeer
import BindingProtocol

extension World {
  /// After everything has healed, all replicas equal the hub's, and nothing is pending.
  func checkHealed() throws(Broken) {
    for peer in peers where !peer.isOver {
      guard peer.session.phase == .live else {
        throw broken(.convergence, "p\(peer.index) is \(peer.session.phase) after all has healed")
      }
      if let (id, write) = peer.unacknowledged.first {
        throw broken(
          .convergence,
          "write \(id.rawValue) of p\(peer.index) to \(modelNames[write.model]) has no outcome after all has healed")
      }
      for (index, model) in modelNames.enumerated() {
        guard let head = hub?.head(of: model) else { continue }
        let mine = peer.session.version(of: model)
        guard mine.version == head.version, mine.epoch == hub?.epoch else {
          throw broken(
            .convergence,
            "p\(peer.index) has version \(mine.version) of \(model) in epoch \(mine.epoch >> 32), "
              + "the hub \(head.version) in \((hub?.epoch ?? 0) >> 32)"
          )
        }
        guard peer.session.digest(of: model) == head.digest else {
          throw broken(.convergence, "p\(peer.index) and the hub have other digests of \(model)")
        }
        if profile.joinsPrefix, peer.successor == nil, !peer.announced[index],
          head.version > oracle.floor.version
        {
          throw broken(.convergence, "p\(peer.index) joined the prefix of \(model) and was not told of it")
        }
      }
      try checkNothingParted(peer)
      if peer.session.unconfirmed > 0 {
        throw broken(.convergence, "p\(peer.index) still counts unconfirmed writes")
      }
    }
    for (peer, id, write) in notCarriedOut { try checkNotCarriedOut(peer, id, write) }
    if profile.hasEphemeralOrBarriers { try checkEphemeralAndBarriers() }
    if divergences > 0 { throw broken(.trueReplica, "a replica diverged from the hub at the same version") }
  }
}
