import BindingHub
import BindingPeer
import BindingProtocol

extension World {
  func sendDown(_ frame: [UInt8], to peer: SimulatedPeer, isPublished: Bool) {
    guard peer.link.isConnected else { return }
    var copies = 1
    if isPublished {
      if probe?.drops(frame, to: peer.index) == true { return }
      let isOfModel = frame[0] != 0 && frame[3] != 0
      if isOfModel {
        modelFrames += 1
        // The probe at the end already loses as much as the protocol tolerates.
        if context.profile.droppedFrame == modelFrames - 1, probe == nil { copies = 0 }
      }
      if context.isChaos, context.now < peer.link.deafUntil || context.chance.perMille(context.profile.lostFrames) {
        copies = 0
      }
      if context.isChaos, copies == 1, context.chance.perMille(context.profile.repeatedFrames) { copies = 2 }
    }
    if copies == 0 { context.counts[.lostFrame] += 1 }
    for _ in 0..<copies {
      let delay = context.chance.within(1...(isPublished ? context.profile.publishDelay : context.profile.requestDelay))
      let time = max(context.now + delay, isPublished ? peer.link.lastPublishArrival : peer.link.lastRequestArrival)
      if isPublished { peer.link.lastPublishArrival = time } else { peer.link.lastRequestArrival = time }
      context.agenda.add(
        .toPeer(peer: peer.index, generation: peer.link.generation, frame: frame, isPublished: isPublished),
        at: time)
    }
  }

  private func sendUp(_ entry: Event, of peer: SimulatedPeer, isPublish: Bool) {
    let delay = context.chance.within(1...(isPublish ? context.profile.publishDelay : context.profile.requestDelay))
    let time = max(context.now + delay, isPublish ? peer.link.lastSubscriptionArrival : peer.link.lastUpArrival)
    if isPublish { peer.link.lastSubscriptionArrival = time } else { peer.link.lastUpArrival = time }
    context.agenda.add(entry, at: time)
  }

  /// Queues a frame for a stopped process. Published frames beyond `queueFrames` are dropped silently.
  func queue(_ frame: [UInt8], _ generation: Int, for peer: SimulatedPeer, isPublished: Bool) {
    if isPublished {
      guard peer.process.publishedInInbox < context.profile.queueFrames else {
        context.counts[.queueOverflow] += 1
        return
      }
      peer.process.publishedInInbox += 1
    }
    peer.process.inbox.append((generation, frame))
  }

  /// Cuts one direction of a peer's connections for a while: either no published frame arrives at the peer, or no
  /// frame of the peer arrives at the hub, which ends with a broken connection.
  func cutOneWay(_ peer: SimulatedPeer) {
    context.counts[.oneWayCut] += 1
    let end = context.now + context.chance.within(500...6_000)
    if context.chance.perMille(500) {
      context.record("\(peer) hears nothing of what is published")
      peer.link.deafUntil = end
    } else {
      context.record("nothing that \(peer) says arrives")
      peer.link.muteUntil = end
      context.agenda.add(.endMute(peer: peer.index, generation: peer.link.generation), at: end)
    }
  }

  func endMute(_ peer: Int, _ generation: Int) throws(Violation) {
    peers[peer].link.muteUntil = 0
    guard peers[peer].link.generation == generation else { return }
    breakConnection(peer)
    try settle(peer)
  }

  /// Cuts both connections. The peer notices immediately, the hub when it next receives from that peer.
  func breakConnection(_ peer: Int) {
    guard peers[peer].link.isConnected else { return }
    let generation = peers[peer].link.hubSide
    peers[peer].link.isConnected = false
    if hub != nil {
      let topic = Topics.sessionTopic(peers[peer].link.session)
      topic.withUnsafeBytes { hub?.unsubscribed($0, by: UInt64(generation), time: hubTime, into: &hubOutput) }
      hub?.closed(UInt64(generation), time: hubTime, into: &hubOutput)
    }
    peers[peer].link.topics.removeAll()
    peers[peer].link.generation += 1
    peers[peer].session.lost(now: peerNow(peer), into: &peers[peer].output)
  }

  func connect(_ peer: Int, _ generation: Int) throws(Violation) {
    guard peers[peer].link.generation == generation else { return }
    guard hub != nil else {
      peers[peer].link.generation += 1
      peers[peer].session.lost(now: peerNow(peer), into: &peers[peer].output)
      return try settle(peer)
    }
    context.counts[.connected] += 1
    peers[peer].link.hubSide = generation
    peers[peer].link.isConnected = true
    peers[peer].link.topics.removeAll()
    peers[peer].session.opened(now: peerNow(peer), into: &peers[peer].output)
    try settle(peer)
  }

  /// Performs a session's actions and checks its updates against the oracle.
  func settle(_ index: Int) throws(Violation) {
    let peer = peers[index]
    peer.session.finishDrain(now: context.now + peer.process.clockOffset, into: &peer.output)
    if !peer.output.actions.isEmpty {
      // An action may call `settle` again: the nested call finds no spare output and makes its own.
      var output = PeerOutput()
      swap(&output, &emptyOutput)
      swap(&output, &peer.output)
      for action in output.actions.indices { try carryOut(output.actions[action], of: peer) }
      if peer.outbox.successor != nil { try reportToSuccessor(output.actions, of: index) }
      output.removeAll()
      swap(&output, &emptyOutput)
    } else if peer.outbox.successor != nil {
      try reportToSuccessor([], of: index)
    }
    if !peer.writes.acknowledged.isEmpty { try checkAcknowledged(peer) }
  }

  private func carryOut(_ action: PeerAction, of peer: SimulatedPeer) throws(Violation) {
    switch action {
    case .open(let pause):
      if peer.link.isConnected { breakQuietly(peer) }
      context.agenda.add(.connect(peer: peer.index, generation: peer.link.generation), at: context.now + pause + 1)
    case .send(let frame):
      guard peer.link.isConnected else { return }
      peer.link.session = PeerHeader.session(
        ofFrame: frame.withUnsafeBytes { UnsafeRawBufferPointer(rebasing: $0[...]) })
      if context.profile.barriers > 0, frame[0] == PeerMessageKind.report.rawValue { try checkReport(frame, of: peer) }
      if frame[0] == PeerMessageKind.offer.rawValue { try checkOffer(frame, of: peer) }
      if context.profile.forgedOffers > 0, frame[0] == PeerMessageKind.propose.rawValue { recordSent(frame, by: peer) }
      if context.now < peer.link.muteUntil { return }
      sendUp(.toHub(peer: peer.index, generation: peer.link.hubSide, frame: frame), of: peer, isPublish: false)
    case .listen(let sessionTopic, _):
      subscribe(sessionTopic, true, peer)
      subscribe(Topics.bytes(Topics.heartbeat), true, peer)
    case .subscribe(let topic): subscribe(Topics.bytes(topic), true, peer)
    case .unsubscribe(let topic): subscribe(Topics.bytes(topic), false, peer)
    case .update(let update):
      try check(update, of: peer)
      // A session that resends an earlier run's writes makes none of its own.
      if peer.outbox.successor == nil { answer(update, of: peer.index) }
    case .settled(let id, let model, let outcome):
      if model == ephemeral?.name {
        try checkEphemeralModel(outcome, of: id, peer)
      } else {
        try check(outcome, of: id, peer)
      }
    case .notice(let notice): count(notice, of: peer.index)
    case .retryLater(_, _, let code):
      context.counts[code == .busy && context.profile.maxUnacknowledged < 10 ? .retriedAsTooMany : .retryLater] += 1
    case .merge(let id, let model, let question): try ask(question, of: id, in: model, peer)
    case .approve(_, let request): ask(request, peer)
    case .awaited(let id, let end): try ended(id, end, peer)
    case .keep(let entry): keep(entry, of: peer.index)
    case .announced(_, let model, _, _):
      context.counts[.announced] += 1
      if let index = context.modelNames.firstIndex(of: model) { peer.observed.announced[index] = true }
    case .listed, .phase, .pong, .close: break
    }
  }

  private func subscribe(_ topic: [UInt8], _ isOn: Bool, _ peer: SimulatedPeer) {
    sendUp(
      .subscribe(peer: peer.index, generation: peer.link.generation, topic: topic, isOn: isOn), of: peer,
      isPublish: true)
  }

  /// The session itself gave up the connection.
  private func breakQuietly(_ peer: SimulatedPeer) {
    let generation = peer.link.hubSide
    peer.link.isConnected = false
    peer.link.topics.removeAll()
    peer.link.generation += 1
    guard hub != nil else { return }
    let topic = Topics.sessionTopic(peer.link.session)
    topic.withUnsafeBytes { hub?.unsubscribed($0, by: UInt64(generation), time: hubTime, into: &hubOutput) }
    hub?.closed(UInt64(generation), time: hubTime, into: &hubOutput)
  }

  // MARK: Trace texts

  static func words(ofPeerFrame frame: [UInt8]) -> String {
    guard let (_, message) = try? PeerMessage.decode(frame) else { return "garbage" }
    if case .propose(let proposals) = message {
      return "propose "
        + proposals.map { "\($0.topic)#\($0.number) \($0.operations.map(\.verb))" }.joined(separator: " ")
    }
    if case .join(let joins) = message {
      return "join "
        + joins.map { "\($0.name) \($0.epoch >> 32):\($0.version) unacknowledged \($0.unacknowledged)" }.joined(
          separator: " ")
    }
    return "\(message.kind)"
  }

  private static func words(of outcome: WireOutcome) -> String {
    if case .expected(let next) = outcome.rest { "expected \(next)" } else { "\(outcome.kind)" }
  }

  static func words(ofHubFrame frame: [UInt8]) -> String {
    guard let (_, message) = try? HubMessage.decode(frame) else { return "garbage" }
    switch message {
    case .outcomes(let outcomes):
      return "outcomes "
        + outcomes.outcomes.map { "\($0.topic)#\($0.number) \(words(of: $0))" }.joined(separator: " ")
    case .commits(let group): return "commits \(group.previous)…\(group.version)"
    case .joined(let joined):
      return "joined \(joined.model) \(joined.version) mark \(joined.lastDecided) follows \(joined.follows)"
    case .catchup(let chunk):
      return "catchup \(chunk.form) \(chunk.previous)…\(chunk.version) mark \(chunk.lastDecided)"
    case .error(let error): return "error \(error.code) \(error.text)"
    case .head(let head): return "head \(head.version)"
    default: return "\(message.kind)"
    }
  }
}
