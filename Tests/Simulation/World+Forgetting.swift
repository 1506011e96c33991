import BindingPeer
import BindingProtocol

/// Peers that are away for so long that the hub forgets them (R11): some before they received an outcome, some
/// before they learned that the hub no longer knows them.
extension World {
  /// R11: a hub that need not forget anyone knows every writer with a last decided number in the log.
  func checkForgotten(_ peer: Int) throws(Broken) {
    guard losses == 0, !profile.forgetsSoon else { return }
    let tag = peers[peer].session.identity.tag
    for (model, name) in modelNames.prefix(profile.models).enumerated()
    where lastRecord(of: name) > 0 && oracle.lastDecided(of: tag, in: model) > 0 {
      throw broken(.outcomeKept, "the hub says that it does not know p\(peer), which has a mark in \(name)")
    }
  }

  /// Whether the hub may have forgotten outcomes of a peer, or of the run whose writes it sends.
  func mayBeForgotten(_ peer: SimulatedPeer) -> Bool {
    peer.successor == nil ? profile.forgetsSoon && peer.wasForgotten : profile.forgetsSoon || peer.wasForgotten
  }

  /// A peer may disappear before it receives an outcome.
  func strandSometimes(_ peer: Int) {
    guard profile.forgetsSoon, forgetting.perMille(60) else { return }
    agenda.add(.besides(.strand(peer: peer, run: peers[peer].run)), at: now)
  }

  /// A peer may disappear before it receives the welcome that says it is unknown.
  func cutWelcomeSometimes(_ peer: Int) {
    guard profile.forgetsSoon, forgetting.perMille(300) else { return }
    agenda.add(.besides(.breakOff(peer: peer, run: peers[peer].run, crashes: false)), at: now)
  }

  /// Its connection breaks, and its process stops until its lease has expired.
  func strand(_ index: Int) throws(Broken) {
    guard isChaos, !isQuiet, peers[index].successor == nil, !peers[index].isPaused else { return }
    record("p\(index) is cut off for longer than its lease")
    counts[.stranded] += 1
    breakConnection(index)
    try settle(index)
    stop(index)
    let lease = UInt64(profile.leaseMilliseconds)
    agenda.add(.goOn(peer: index, run: peers[index].run), at: now + lease + forgetting.within(100...2_500))
  }
}
