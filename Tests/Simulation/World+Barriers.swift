import BindingHub
import BindingPeer
import BindingProtocol

/// Peers that wait until others have a version of the first model.
extension World {
  /// A barrier, as the waiting application knows it.
  struct Barrier {
    let version: Version
    /// 0: all.
    let count: UInt32
    let askedAt: UInt64
    let deadline: UInt64
    /// How long its process had been stopped before.
    let slept: UInt64
  }
  /// A barrier, as the hub received it.
  struct AskedBarrier {
    let session: SessionID
    let request: UInt32
    let epoch: Epoch
    let version: Version
    let count: UInt32
    let receivedAt: UInt64
    let timeout: UInt64
    /// The peers that had joined the model before, with the session of their join.
    let served: [Tag: Received.Membership]
  }

  /// The latest time at which the end of a barrier is reported: the peer waits for the hub's answer, checks its own
  /// timeout only context.now and then, and does neither while its process is stopped.
  private func latestEnd(of barrier: Barrier, at peer: SimulatedPeer) -> UInt64 {
    barrier.deadline + 1_000 + 300 + (peer.process.slept - barrier.slept)
  }

  /// A step of an application: context.now and then it waits for a present or future version.
  func awaitSometimes(_ index: Int) throws(Violation) {
    guard context.featureChance.perMille(context.profile.barriers), peers[index].outbox.successor == nil else { return }
    let version = max(
      peers[index].session.version(of: context.modelNames[0]).version + Version(context.featureChance.below(3)), 1)
    let count = context.featureChance.perMille(300) ? UInt32(1 + context.featureChance.below(context.profile.peers)) : 0
    try awaitApplied(version, count, timeout: context.featureChance.within(50...4_000), by: index)
  }

  func awaitApplied(_ version: Version, _ count: UInt32, timeout: UInt64, by index: Int) throws(Violation) {
    let peer = peers[index]
    guard peer.session.joinedModels.contains(context.modelNames[0]) else { return }
    let id = peer.session.awaitApplied(
      version, of: context.modelNames[0], count: count, timeoutMilliseconds: timeout, now: peerNow(index))
    context.record(
      "p\(index) waits for \(count == 0 ? "all" : "\(count)") to have version \(version) of \(context.modelNames[0])")
    peer.barriers[id] = Barrier(
      version: version, count: count, askedAt: context.now, deadline: context.now + timeout, slept: peer.process.slept)
    try settle(index)
  }

  /// Records the version that a peer has reached, by its identity and the epoch of the log.
  func recordReached(_ update: ModelUpdate, _ peer: SimulatedPeer) {
    guard context.profile.barriers > 0 else { return }
    let tag = peer.session.identity.tag
    let known = reached[tag]?[update.epoch] ?? 0
    reached[tag, default: [:]][update.epoch] = max(known, update.version)
  }

  /// A peer reports only versions that it has.
  func checkReport(_ frame: [UInt8], of peer: SimulatedPeer) throws(Violation) {
    guard case (_, .report(let entries))? = try? PeerMessage.decode(frame) else { return }
    for entry in entries {
      let names = context.modelNames + (ephemeral.map { [$0.name] } ?? [])
      let isTrue = names.contains { peer.session.version(of: $0) == (entry.epoch, entry.version) }
      if !isTrue {
        throw Violation(.barrier, "\(peer) reports version \(entry.version), which it does not have")
      }
    }
  }

  // MARK: At the hub

  func recordReceived(_ wanted: AwaitApplied, in session: SessionID) {
    guard context.profile.barriers > 0, model(of: wanted.topic) == 0 else { return }
    asked.removeAll { $0.session == session && $0.request == wanted.request }
    asked.append(
      AskedBarrier(
        session: session, request: wanted.request, epoch: wanted.epoch, version: wanted.version, count: wanted.count,
        receivedAt: context.now, timeout: UInt64(wanted.timeoutMilliseconds), served: received.served))
  }

  /// §5.3: the hub reports a version as applied only when it is.
  func look(_ awaited: Awaited) throws(Violation) {
    guard let index = asked.firstIndex(where: { $0.session == awaited.session && $0.request == awaited.request })
    else { return }
    let barrier = asked.remove(at: index)
    if awaited.end == .incomplete, context.now < barrier.receivedAt + barrier.timeout {
      throw Violation(.barrier, "the hub gave up waiting for version \(barrier.version) before the time was over")
    }
    guard awaited.end == .complete else { return }
    let have = reached.values.count { $0[barrier.epoch] ?? 0 >= barrier.version }
    guard awaited.applied <= have, awaited.applied >= barrier.count else {
      throw Violation(
        .barrier,
        "the hub says that \(awaited.applied) have version \(barrier.version) of \(context.modelNames[0]); "
          + "\(have) have it, "
          + "and \(barrier.count == 0 ? "all" : "\(barrier.count)") were waited for")
    }
    guard barrier.count == 0 else { return }
    for (tag, membership) in barrier.served.sorted(by: { $0.key < $1.key })
    where received.served[tag] == membership && isLiving(tag) && reached[tag]?[barrier.epoch] ?? 0 < barrier.version {
      throw Violation(
        .barrier,
        "the hub says that all have version \(barrier.version) of \(context.modelNames[0]); \(tag.short) has it not")
    }
  }

  // MARK: At its peer

  func ended(_ id: BarrierID, _ end: BarrierEnd, _ peer: SimulatedPeer) throws(Violation) {
    context.record("\(peer) waits no longer: \(end)")
    guard let barrier = peer.barriers.removeValue(forKey: id) else {
      throw Violation(.barrier, "a wait of \(peer) ended twice, context.now as \(end)")
    }
    if context.now > latestEnd(of: barrier, at: peer) {
      throw Violation(.barrier, "\(peer) waited until \(barrier.deadline) ms and was told only context.now")
    }
    switch end {
    case .applied: context.counts[.barrierMet] += 1
    case .missing(let names, let applied, let of):
      context.counts[.barrierMissed] += 1
      guard context.now >= barrier.deadline else {
        throw Violation(.barrier, "\(peer) was told who is missing before its time was over")
      }
      guard applied < of, barrier.count > 0 || names.count == of - applied else {
        throw Violation(.barrier, "\(peer) was told that \(names) are missing, \(applied) of \(of) have it")
      }
    case .otherEpoch: context.counts[.barrierOfOldEpoch] += 1
    case .noAnswer:
      context.counts[.barrierUnanswered] += 1
      guard context.now >= barrier.deadline else {
        throw Violation(.barrier, "a wait of \(peer) ended without an answer before its time was over")
      }
    case .notJoined where context.profile.leaves > 0: break
    case .notJoined, .tooMany, .hubTooOld, .stopped:
      throw Violation(.barrier, "a wait of \(peer) ended as \(end)")
    }
  }

  func checkBarriersOver() throws(Violation) {
    for peer in peers where !peer.outbox.isOver {
      guard let barrier = peer.barriers.values.first(where: { latestEnd(of: $0, at: peer) < context.now }) else {
        continue
      }
      throw Violation(.barrier, "\(peer) still waits, since \(barrier.askedAt) ms, until \(barrier.deadline) ms")
    }
  }
}
