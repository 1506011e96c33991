import BindingHub
import BindingPeer
import BindingProtocol

/// Frames that leave the hub, checked against the store.
extension World {
  /// R1, R2: every sent frame describes stored state only.
  func checkSent() throws(Violation) {
    guard hubOutput.frameCount > checkedFrames else { return }
    var problem: Violation?
    var number = 0
    forEachFrame { destination, bytes in
      number += 1
      guard number > checkedFrames, problem == nil, bytes.count > 4 else { return }
      do throws(Violation) { try check(bytes, to: destination) } catch { problem = error }
    }
    checkedFrames = number
    if let problem { throw problem }
  }

  private func check(_ frame: UnsafeRawBufferPointer, to destination: HubOutput.Destination) throws(Violation) {
    guard let kind = HubMessageKind(rawValue: frame[4]) else { return }
    if context.profile.hasEphemeralOrBarriers { try look(frame, kind, to: destination) }
    switch kind {
    case .commits:
      var reader = WireReader(frame)
      guard let header = try? HubHeader(from: &reader), let cursor = try? CommitCursor(reader) else { return }
      return try check(header.topic, cursor.epoch, cursor.lastVersion, "commits")
    case .catchup, .head, .joined, .outcomes, .welcome: break
    case .topic:
      if case (_, .topic(let assigned))? = try? HubMessage.decode(frame) { topicNames[assigned.topic] = assigned.model }
      return
    default: return
    }
    guard case (let header, let message)? = try? HubMessage.decode(frame) else { return }
    let peer: Int? =
      if case .connection(let id) = destination { peers.firstIndex { $0.link.hubSide == Int(id) } } else { nil }
    switch message {
    case .catchup(let chunk):
      if chunk.chunk > 0 { context.counts[.snapshotInChunks] += 1 }
      if chunk.isLast, let answered = peer.flatMap({ peers[$0].numbers.answered[chunk.request] }),
        chunk.version > answered
      {
        context.counts[.catchupMovedOn] += 1
      }
      try check(header.topic, chunk.epoch, chunk.version, "a catch-up")
    case .head(let head): try check(header.topic, head.epoch, head.version, "a head")
    case .joined(let joined):
      try check(joined.topic, joined.epoch, joined.version, "the answer to a join")
      if let peer {
        peers[peer].numbers.answered[joined.request] = joined.version
        try check(joined, to: peer)
      }
    case .welcome(let welcome):
      // A writer whose numbers the hub has forgotten starts again in an ephemeral model.
      if let peer, !welcome.knewIdentity {
        ephemeral?.forget(peers[peer].session.identity.tag)
        try checkForgotten(peer)
        cutWelcomeSometimes(peer)
      }
    case .outcomes(let outcomes):
      guard let peer else { return }
      strandSometimes(peer)
      for outcome in outcomes.outcomes { try check(outcome, outcomes.epoch, to: peer) }
    default: break
    }
  }

  private func check(_ topic: Topic, _ epoch: Epoch, _ version: Version, _ what: String) throws(Violation) {
    guard version > 0, let model = model(of: topic) else { return }
    if oracle.state(.init(model: model, epoch: epoch, version: version)) == nil {
      throw Violation(
        .storedFirst, "\(what) told version \(version) of \(context.modelNames[model]) before it was stored")
    }
  }

  /// R8, R13.
  private func check(_ joined: Joined, to peer: Int) throws(Violation) {
    let tag = peers[peer].session.identity.tag
    guard let model = context.modelNames.firstIndex(of: joined.model) else { return }
    let lastDecided = oracle.lastDecided(of: tag, in: model)
    if joined.lastDecided > lastDecided {
      throw Violation(
        .soundJoin, "p\(peer) was told mark \(joined.lastDecided) in \(joined.model), stored is \(lastDecided)")
    }
    if let unacknowledged = peers[peer].numbers.asked[joined.request], unacknowledged > lastDecided + 1 {
      throw Violation(
        .soundJoin,
        "p\(peer) joined \(joined.model) with \(unacknowledged - 1) decided; the stored mark is \(lastDecided)")
    }
    guard joined.delivery == .published, peers[peer].link.isConnected else { return }
    if !peers[peer].link.topics.contains(joined.topic) {
      throw Violation(.soundJoin, "p\(peer) joined \(joined.model) as published without having subscribed to it")
    }
  }

  private func check(_ outcome: WireOutcome, _ epoch: Epoch, to peer: Int) throws(Violation) {
    guard let model = model(of: outcome.topic) else { return }
    let tag = peers[peer].session.identity.tag
    var name = Oracle.Name(model: model, tag: tag, number: outcome.number)
    switch outcome.rest {
    case .retryLater, .expected: return
    case .unknown:
      context.counts[.receivedUnknown] += 1
      return try checkUnknown(outcome.number, in: model, to: peer)
    case .committed(let count, let version):
      for offset in 0..<UInt32(count) {
        name = Oracle.Name(model: model, tag: tag, number: outcome.number + offset)
        let point = Oracle.Point(model: model, epoch: epoch, version: version + Version(offset))
        guard let entry = oracle.entry(point), entry.tag == tag, entry.number == name.number else {
          throw Violation(
            .storedFirst,
            "p\(peer) was told that proposal \(name.number) became version \(point.version) of "
              + "\(context.modelNames[model]), "
              + "which is not stored so")
        }
        countRepeat(of: name, decidedIn: entry.run)
      }
    default:
      let fate = oracle.fates[name]
      guard fate.decision == outcome.kind else {
        throw Violation(
          .storedFirst, "p\(peer) was told \(outcome.kind) of proposal \(outcome.number), which is not stored so")
      }
      countRepeat(of: name, decidedIn: fate.run)
    }
  }

  private func countRepeat(of name: Oracle.Name, decidedIn run: Int) {
    if oracle.fates[name].isSent { context.counts[.repeatAnswered] += 1 }
    oracle.fates[name].isSent = true
    if run < hubRun { context.counts[.repeatAfterRestart] += 1 }
  }

  /// The index of the model behind a topic of the hub.
  func model(of topic: Topic) -> Int? {
    topicNames[topic].flatMap { context.modelNames.firstIndex(of: $0) }
  }
}
