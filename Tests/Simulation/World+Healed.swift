import BindingHub
import BindingPeer
import BindingProtocol

extension World {
  /// After everything has healed, all replicas equal the hub's, and nothing is pending.
  func checkHealed() throws(Violation) {
    for peer in peers where !peer.outbox.isOver {
      guard peer.session.phase == .live else {
        throw Violation(.convergence, "\(peer) is \(peer.session.phase) after all has healed")
      }
      if let (id, write) = peer.writes.unacknowledged.first {
        throw Violation(
          .convergence,
          "write \(id.rawValue) of \(peer) to \(context.modelNames[write.model]) "
            + "has no outcome after all has healed"
        )
      }
      for (index, model) in context.modelNames.enumerated() {
        guard let head = hub?.head(of: model) else { continue }
        let mine = peer.session.version(of: model)
        guard mine.version == head.version, mine.epoch == hub?.epoch else {
          throw Violation(
            .convergence,
            "\(peer) has version \(mine.version) of \(model) in epoch \(mine.epoch >> 32), "
              + "the hub \(head.version) in \((hub?.epoch ?? 0) >> 32)"
          )
        }
        guard peer.session.digest(of: model) == head.digest else {
          throw Violation(.convergence, "\(peer) and the hub have other digests of \(model)")
        }
        if context.profile.joinsPrefix, peer.outbox.successor == nil, !peer.observed.announced[index],
          head.version > oracle.floor.version
        {
          throw Violation(.convergence, "\(peer) joined the prefix of \(model) and was not told of it")
        }
      }
      try checkNothingParted(peer)
      if peer.session.unconfirmed > 0 {
        throw Violation(.convergence, "\(peer) still context.counts unconfirmed writes")
      }
    }
    for (peer, id, write) in notCarriedOut { try checkNotCarriedOut(peer, id, write) }
    if context.profile.hasEphemeralOrBarriers { try checkEphemeralAndBarriers() }
    if divergences > 0 { throw Violation(.trueReplica, "a replica diverged from the hub at the same version") }
  }
}
