import BindingHub
import BindingPeer
import BindingProtocol

/// A version that is reported as applied by others is applied (§5.3).
struct BarrierOracle: Invariant, SimulationPart {
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
    let served: [Tag: SessionOracle.Received.Membership]
  }
  let context: SimulationContext
  let sessions: SessionOracle
  /// Barriers that the hub has received, and the highest version of the first model that each identity has reached in
  /// each epoch.
  var asked: [AskedBarrier] = []
  var reached: [Tag: [Epoch: Version]] = [:]

  mutating func observe(_ event: Observation) throws(Violation) {
    switch event {
    case .hubStarts: asked.removeAll()
    case .received(let frame, let peer, _) where frame[0] == PeerMessageKind.awaitApplied.rawValue:
      guard case (let header, .awaitApplied(let wanted))? = try? PeerMessage.decode(frame) else { return }
      record(wanted, in: header.session, of: peer)
    case .sent(let frame, .awaited, _, _):
      guard case (_, .awaited(let awaited))? = try? HubMessage.decode(frame) else { return }
      try check(awaited)
    case .peerSent(let frame, let peer) where frame[0] == PeerMessageKind.report.rawValue:
      try checkReport(frame, of: peer)
    case .updated(let update, let peer): if update.model == modelNames[0] { recordReached(update, peer) }
    case .barrierEnded(let id, let end, let peer): try self.end(id, end, peer)
    default: break
    }
  }

  /// The latest time at which the end of a barrier is reported: the peer waits for the hub's answer, checks its own
  /// timeout only now and then, and does neither while its process is stopped.
  private func latestEnd(of barrier: PeerBarrier, at peer: SimulatedPeer) -> UInt64 {
    barrier.deadline + 1_000 + 300 + (peer.process.slept - barrier.slept)
  }

  /// Records the version that a peer has reached, by its identity and the epoch of the log.
  private mutating func recordReached(_ update: ModelUpdate, _ peer: SimulatedPeer) {
    let tag = peer.tag
    let known = reached[tag]?[update.epoch] ?? 0
    reached[tag, default: [:]][update.epoch] = max(known, update.version)
  }

  /// A peer reports only versions that it has.
  private func checkReport(_ frame: [UInt8], of peer: SimulatedPeer) throws(Violation) {
    guard case (_, .report(let entries))? = try? PeerMessage.decode(frame) else { return }
    for entry in entries {
      let names = modelNames + [Names.ephemeral(modelNames[0])]
      let isTrue = names.contains { peer.session.version(of: $0) == (entry.epoch, entry.version) }
      if !isTrue { throw Violation(.barrier, "\(peer) reports version \(entry.version), which it does not have") }
    }
  }

  // MARK: At the hub

  private mutating func record(_ wanted: AwaitApplied, in session: SessionID, of peer: SimulatedPeer) {
    guard peer.hub.model(of: wanted.topic) == 0 else { return }
    asked.removeAll { $0.session == session && $0.request == wanted.request }
    asked.append(
      AskedBarrier(
        session: session, request: wanted.request, epoch: wanted.epoch, version: wanted.version, count: wanted.count,
        receivedAt: now, timeout: UInt64(wanted.timeoutMilliseconds), served: sessions.received.served))
  }

  /// §5.3: the hub reports a version as applied only when it is.
  private mutating func check(_ awaited: Awaited) throws(Violation) {
    guard let index = asked.firstIndex(where: { $0.session == awaited.session && $0.request == awaited.request })
    else { return }
    let barrier = asked.remove(at: index)
    if awaited.end == .incomplete, now < barrier.receivedAt + barrier.timeout {
      throw Violation(.barrier, "the hub gave up waiting for version \(barrier.version) before the time was over")
    }
    guard awaited.end == .complete else { return }
    let have = reached.values.count { $0[barrier.epoch] ?? 0 >= barrier.version }
    guard awaited.applied <= have, awaited.applied >= barrier.count else {
      throw Violation(
        .barrier,
        "the hub says that \(awaited.applied) have version \(barrier.version) of \(modelNames[0]); \(have) have it, "
          + "and \(barrier.count == 0 ? "all" : "\(barrier.count)") were waited for")
    }
    guard barrier.count == 0 else { return }
    for (tag, membership) in barrier.served.sorted(by: { $0.key < $1.key })
    where sessions.received.served[tag] == membership && sessions.isLiving(tag)
      && reached[tag]?[barrier.epoch] ?? 0 < barrier.version
    {
      throw Violation(
        .barrier,
        "the hub says that all have version \(barrier.version) of \(modelNames[0]); \(tag.short) has it not")
    }
  }

  // MARK: At its peer

  private mutating func end(_ id: BarrierID, _ end: BarrierEnd, _ peer: SimulatedPeer) throws(Violation) {
    record("\(peer) ends its wait: \(end)")
    guard let barrier = peer.barriers.removeValue(forKey: id) else {
      throw Violation(.barrier, "a wait of \(peer) ended twice, now as \(end)")
    }
    if now > latestEnd(of: barrier, at: peer) {
      throw Violation(.barrier, "\(peer) waited until \(barrier.deadline) ms and got the answer only now")
    }
    switch end {
    case .applied: counts[.barrierMet] += 1
    case .missing(let names, let applied, let of):
      counts[.barrierMissed] += 1
      guard now >= barrier.deadline else {
        throw Violation(.barrier, "\(peer) got the missing peers before its timeout")
      }
      guard applied < of, barrier.count > 0 || names.count == of - applied else {
        throw Violation(.barrier, "\(peer) got the answer that \(names) are missing, \(applied) of \(of) have it")
      }
    case .otherEpoch: counts[.barrierOfOldEpoch] += 1
    case .noAnswer:
      counts[.barrierUnanswered] += 1
      guard now >= barrier.deadline else {
        throw Violation(.barrier, "a wait of \(peer) ended without an answer before its time was over")
      }
    case .notJoined where profile.leaves > 0: break
    case .notJoined, .tooMany, .hubTooOld, .stopped:
      throw Violation(.barrier, "a wait of \(peer) ended as \(end)")
    }
  }

  func atRest(_ hub: SimulatedHub, _ peers: [SimulatedPeer]) throws(Violation) {
    for peer in peers where !peer.outbox.isOver {
      guard let barrier = peer.barriers.values.first(where: { latestEnd(of: $0, at: peer) < now }) else { continue }
      throw Violation(.barrier, "\(peer) still waits, since \(barrier.askedAt) ms, until \(barrier.deadline) ms")
    }
  }
}
