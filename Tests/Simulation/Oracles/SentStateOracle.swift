import BindingHub
import BindingPeer
import BindingProtocol

/// What the hub sends: its store holds it, and it forgets no outcome that its peer has not seen (R1, R2, R8, R11).
struct SentStateOracle: Invariant, SimulationPart {
  let context: SimulationContext
  let log: LogOracle

  mutating func observe(_ event: Observation) throws(Violation) {
    switch event {
    case .sent(let frame, let kind, let destination, let hub): try check(frame, kind, to: destination, hub)
    case .received(let frame, let peer, _) where frame[0] == PeerMessageKind.hello.rawValue:
      peer.numbers.storedAtHello = Swift.Set(modelNames.indices.filter { log.results.isKept(peer.tag, in: $0) })
    case .received(let frame, let peer, _) where frame[0] == PeerMessageKind.join.rawValue:
      guard case (_, .join(let joins))? = try? PeerMessage.decode(frame) else { return }
      for join in joins where join.form == .model { peer.numbers.asked[join.request] = join.unacknowledged }
    case .peerSent(let frame, let peer) where frame[0] == PeerMessageKind.join.rawValue:
      if profile.keepsReplicas { try checkWitness(frame, of: peer) }
    case .peerSent(let frame, let peer) where frame[0] == PeerMessageKind.propose.rawValue:
      if profile.forgedOffers > 0 { recordSent(frame, by: peer) }
    default: break
    }
  }

  private func check(
    _ frame: UnsafeRawBufferPointer, _ kind: HubMessageKind, to destination: HubOutput.Destination, _ hub: SimulatedHub
  ) throws(Violation) {
    switch kind {
    case .commits:
      var reader = WireReader(frame)
      guard let header = try? HubHeader(from: &reader), let cursor = try? CommitCursor(reader) else { return }
      return try check(header.topic, cursor.epoch, cursor.lastVersion, "commits", hub)
    case .catchup, .head, .joined, .outcomes, .welcome: break
    default: return
    }
    guard case (let header, let message)? = try? HubMessage.decode(frame) else { return }
    let peer: SimulatedPeer? =
      if case .connection(let id) = destination { hub.network.peer(on: id) } else { nil }
    switch message {
    case .catchup(let chunk):
      if chunk.chunk > 0 { counts[.snapshotInChunks] += 1 }
      if chunk.isLast, let answered = peer.flatMap({ $0.numbers.answered[chunk.request] }),
        chunk.version > answered
      {
        counts[.catchupMovedOn] += 1
      }
      try check(header.topic, chunk.epoch, chunk.version, "a catch-up", hub)
    case .head(let head): try check(header.topic, head.epoch, head.version, "a head", hub)
    case .joined(let joined):
      try check(joined.topic, joined.epoch, joined.version, "the answer to a join", hub)
      if let peer {
        peer.numbers.answered[joined.request] = joined.version
        try check(joined, to: peer)
      }
    case .welcome(let welcome):
      if let peer, !welcome.knewIdentity { try checkForgotten(peer) }
    case .outcomes(let outcomes):
      guard let peer else { return }
      for outcome in outcomes.outcomes { try check(outcome, outcomes.epoch, to: peer, hub) }
    default: break
    }
  }

  private func check(
    _ topic: Topic, _ epoch: Epoch, _ version: Version, _ what: String, _ hub: SimulatedHub
  ) throws(Violation) {
    guard version > 0, let model = hub.model(of: topic) else { return }
    if log.state(.init(model: model, epoch: epoch, version: version)) == nil {
      throw Violation(.storedFirst, "\(what) contained version \(version) of \(modelNames[model]) before it was stored")
    }
  }

  /// R8, R13.
  private func check(_ joined: Joined, to peer: SimulatedPeer) throws(Violation) {
    let tag = peer.tag
    guard let model = modelNames.firstIndex(of: joined.model) else { return }
    let lastDecided = log.lastDecided(of: tag, in: model)
    if joined.lastDecided > lastDecided {
      throw Violation(
        .soundJoin, "\(peer) joined \(joined.model) as decided up to \(joined.lastDecided), stored is \(lastDecided)")
    }
    if let unacknowledged = peer.numbers.asked[joined.request], unacknowledged > lastDecided + 1 {
      throw Violation(
        .soundJoin,
        "\(peer) joined \(joined.model) as decided up to \(unacknowledged - 1), stored is \(lastDecided)")
    }
    guard joined.delivery == .published, peer.link.isConnected else { return }
    if !peer.link.topics.contains(joined.topic) {
      throw Violation(.soundJoin, "\(peer) joined \(joined.model) as published without having subscribed to it")
    }
  }

  /// - Parameter hub: the one that sends it; the peer may be on its way to another one.
  private func check(
    _ outcome: WireOutcome, _ epoch: Epoch, to peer: SimulatedPeer, _ hub: SimulatedHub
  ) throws(Violation) {
    guard let model = hub.model(of: outcome.topic) else { return }
    let tag = peer.tag
    var name = LogOracle.Name(model: model, tag: tag, number: outcome.number)
    switch outcome.rest {
    case .retryLater, .expected: return
    case .unknown:
      counts[.receivedUnknown] += 1
      return try checkUnknown(outcome.number, in: model, to: peer)
    case .committed(let count, let version):
      for offset in 0..<UInt32(count) {
        name = LogOracle.Name(model: model, tag: tag, number: outcome.number + offset)
        let point = LogOracle.Point(model: model, epoch: epoch, version: version + Version(offset))
        guard let entry = log.entry(point), entry.tag == tag, entry.number == name.number else {
          throw Violation(
            .storedFirst,
            "\(peer) received that proposal \(name.number) became version \(point.version) of \(modelNames[model]), "
              + "which is not stored so")
        }
        countRepeat(of: name, decidedIn: entry.run, by: hub)
      }
    default:
      let result = log.results[name]
      guard result.decision == outcome.kind else {
        throw Violation(
          .storedFirst, "\(peer) received \(outcome.kind) for proposal \(outcome.number), which is not stored so")
      }
      countRepeat(of: name, decidedIn: result.run, by: hub)
    }
  }

  private func countRepeat(of name: LogOracle.Name, decidedIn run: Int, by hub: SimulatedHub) {
    if log.results[name].isSent { counts[.repeatAnswered] += 1 }
    log.results[name].isSent = true
    if run < hub.run { counts[.repeatAfterRestart] += 1 }
  }

  /// R11: a hub that need not forget anyone knows every writer with a last decided number in the log.
  private func checkForgotten(_ peer: SimulatedPeer) throws(Violation) {
    guard log.losses == 0, !profile.forgetsSoon else { return }
    let tag = peer.tag
    // What an earlier process of it had sent to another hub may be stored later.
    for (model, name) in modelNames.prefix(profile.models).enumerated()
    where (profile.cell.hubs == 1 || peer.numbers.storedAtHello.contains(model))
      && log.results.isKept(tag, in: model)
    {
      throw Violation(
        .outcomeKept, "the hub says that it does not know \(peer), whose last decided number in \(name) is stored")
    }
  }

  /// A replica from disk counts for the hub only if it was current in the hub's last epoch.
  private func checkWitness(_ frame: [UInt8], of peer: SimulatedPeer) throws(Violation) {
    guard case (_, .join(let joins))? = try? PeerMessage.decode(frame), let epoch = peer.read({ $0.epoch }) else {
      return
    }
    for join in joins where join.form == .model && peer.read({ $0.isFromFile(join.name) }) {
      let kept = peer.read { $0.version(of: join.name) }
      let isOfLastEpoch = kept.epoch == epoch || kept.epoch >> 32 + 1 == epoch >> 32
      if !isOfLastEpoch { counts[.replacedReplica] += 1 }
      if join.version > 0, !isOfLastEpoch {
        throw Violation(
          .soundJoin,
          "\(peer) joins \(join.name) with a replica of epoch \(kept.epoch >> 32) from disk in epoch \(epoch >> 32)")
      }
    }
  }

  /// Records the epoch in which a proposal was first sent.
  private func recordSent(_ frame: [UInt8], by peer: SimulatedPeer) {
    guard case (let header, .propose(let proposals))? = try? PeerMessage.decode(frame),
      header.start == peer.hub.start, let epoch = peer.read({ $0.epoch })
    else { return }
    for proposal in proposals {
      guard let model = peer.hub.model(of: proposal.topic), peer.numbers.firstSent[model][proposal.number] == nil else {
        continue
      }
      // A proposal marked as first sent in an earlier epoch may stem from an earlier process.
      peer.numbers.firstSent[model][proposal.number] = proposal.isEarlier ? 0 : epoch
    }
  }

  /// A proposal first sent in this epoch has an outcome, whatever others say of older epochs.
  private func checkUnknown(_ number: ProposalNumber, in model: Int, to peer: SimulatedPeer) throws(Violation) {
    peer.numbers.receivedUnknown = true
    guard peer.numbers.firstSent[model][number] == peer.hub.epoch else { return }
    throw Violation(
      .outcomeKept,
      "\(peer) received an unknown outcome for proposal \(number) to \(modelNames[model]), which was first "
        + "sent in this epoch")
  }
}
