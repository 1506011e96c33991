import BindingPeer
import BindingProtocol

/// Peers that are away for so long that the hub forgets them (R11): some before they received an outcome, some
/// before they learned that the hub no longer knows them.
extension World {
  /// R11: a hub that need not forget anyone knows every writer with a last decided number in the log.
  func checkForgotten(_ peer: Int) throws(Violation) {
    guard losses == 0, !context.profile.forgetsSoon else { return }
    let tag = peers[peer].session.identity.tag
    for (model, name) in context.modelNames.prefix(context.profile.models).enumerated()
    where lastRecord(of: name) > 0 && oracle.lastDecided(of: tag, in: model) > 0 {
      throw Violation(.outcomeKept, "the hub says that it does not know p\(peer), which has a mark in \(name)")
    }
  }

  /// Whether the hub may have forgotten outcomes of a peer, or of the run whose writes it sends.
  func mayBeForgotten(_ peer: SimulatedPeer) -> Bool {
    peer.outbox.successor == nil
      ? context.profile.forgetsSoon && peer.numbers.wasForgotten
      : context.profile.forgetsSoon || peer.numbers.wasForgotten
  }

  /// A peer may disappear before it receives an outcome.
  func strandSometimes(_ peer: Int) {
    guard context.profile.forgetsSoon, forgetting.perMille(60) else { return }
    context.agenda.add(.besides(.strand(peer: peer, run: peers[peer].process.run)), at: context.now)
  }

  /// A peer may disappear before it receives the welcome that says it is unknown.
  func cutWelcomeSometimes(_ peer: Int) {
    guard context.profile.forgetsSoon, forgetting.perMille(300) else { return }
    context.agenda.add(.besides(.breakOff(peer: peer, run: peers[peer].process.run, crashes: false)), at: context.now)
  }

  /// Its connection breaks, and its process stops until its lease has expired.
  func strand(_ index: Int) throws(Violation) {
    guard context.isChaos, !context.isQuiet, peers[index].outbox.successor == nil, !peers[index].process.isPaused else {
      return
    }
    context.record("p\(index) is cut off for longer than its lease")
    context.counts[.stranded] += 1
    breakConnection(index)
    try settle(index)
    stop(index)
    let lease = UInt64(context.profile.leaseMilliseconds)
    context.agenda.add(
      .goOn(peer: index, run: peers[index].process.run), at: context.now + lease + forgetting.within(100...2_500))
  }
}
