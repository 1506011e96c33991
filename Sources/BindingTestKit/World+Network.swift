import BindingHub
import BindingPeer
import BindingWire

extension World {
  func sendDown(_ frame: [UInt8], to peer: Int, isPublished: Bool) {
    guard peers[peer].isConnected else { return }
    var copies = 1
    if isPublished {
      if probe?.drops(frame, to: peer) == true { return }
      let isOfModel = frame[0] != 0 && frame[3] != 0
      if isOfModel {
        modelFrames += 1
        // The probe at the end loses as much as may be lost already.
        if climate.droppedFrame == modelFrames - 1, probe == nil { copies = 0 }
      }
      if isChaos, chance.perMille(climate.lostFrames) { copies = 0 }
      if isChaos, copies == 1, chance.perMille(climate.repeatedFrames) { copies = 2 }
    }
    if copies == 0 { counts[.lostFrame] += 1 }
    for _ in 0..<copies {
      let delay = chance.within(1...(isPublished ? climate.publishDelay : climate.requestDelay))
      let line = isPublished ? \SimulatedPeer.publishLine : \SimulatedPeer.requestLine
      let time = max(now + delay, peers[peer][keyPath: line])
      peers[peer][keyPath: line] = time
      agenda.add(.toPeer(peer: peer, generation: peers[peer].generation, frame: frame), at: time)
    }
  }

  private func sendUp(_ event: Event, of peer: Int, isPublish: Bool) {
    let delay = chance.within(1...(isPublish ? climate.publishDelay : climate.requestDelay))
    let line = isPublish ? \SimulatedPeer.subscriptionLine : \SimulatedPeer.upLine
    let time = max(now + delay, peers[peer][keyPath: line])
    peers[peer][keyPath: line] = time
    agenda.add(event, at: time)
  }

  /// Cuts both connections. The peer hears of it at once, the hub when it next hears from that peer.
  func breakConnection(_ peer: Int) {
    guard peers[peer].isConnected else { return }
    let generation = peers[peer].hubSide
    peers[peer].isConnected = false
    if hub != nil {
      let topic = Topics.sessionTopic(peers[peer].sessionOnTheWire)
      topic.withUnsafeBytes { hub?.unsubscribed($0, by: UInt64(generation), time: hubTime, into: &hubOutput) }
      hub?.closed(UInt64(generation), time: hubTime, into: &hubOutput)
    }
    peers[peer].topics.removeAll()
    peers[peer].generation += 1
    peers[peer].session.lost(now: peerNow(peer), into: &peers[peer].output)
  }

  func connect(_ peer: Int, _ generation: Int) throws(Broken) {
    guard peers[peer].generation == generation else { return }
    guard hub != nil else {
      peers[peer].generation += 1
      peers[peer].session.lost(now: peerNow(peer), into: &peers[peer].output)
      return try settle(peer)
    }
    counts[.connected] += 1
    peers[peer].hubSide = generation
    peers[peer].isConnected = true
    peers[peer].topics.removeAll()
    peers[peer].session.opened(now: peerNow(peer), into: &peers[peer].output)
    try settle(peer)
  }

  /// Carries out what a session wants, and holds what it reveals against the ledger.
  func settle(_ peer: Int) throws(Broken) {
    peers[peer].session.finishDrain(now: peerNow(peer), into: &peers[peer].output)
    let actions = peers[peer].output.actions
    peers[peer].output.removeAll()
    let generation = peers[peer].generation
    for action in actions {
      switch action {
      case .open(let pause):
        if peers[peer].isConnected { breakQuietly(peer) }
        agenda.add(.connect(peer: peer, generation: peers[peer].generation), at: now + pause + 1)
      case .send(let frame):
        guard peers[peer].isConnected else { continue }
        peers[peer].sessionOnTheWire = PeerHeader.session(
          ofFrame: frame.withUnsafeBytes { UnsafeRawBufferPointer(rebasing: $0[...]) })
        sendUp(.toHub(peer: peer, generation: peers[peer].hubSide, frame: frame), of: peer, isPublish: false)
      case .listen(let sessionTopic, _):
        sendUp(
          .subscribe(peer: peer, generation: generation, topic: sessionTopic, isOn: true), of: peer, isPublish: true)
        sendUp(
          .subscribe(peer: peer, generation: generation, topic: Topics.bytes(Topics.beat), isOn: true), of: peer,
          isPublish: true)
      case .subscribe(let topic):
        sendUp(
          .subscribe(peer: peer, generation: generation, topic: Topics.bytes(topic), isOn: true), of: peer,
          isPublish: true)
      case .unsubscribe(let topic):
        sendUp(
          .subscribe(peer: peer, generation: generation, topic: Topics.bytes(topic), isOn: false), of: peer,
          isPublish: true)
      case .reveal(let reveal):
        try check(reveal, of: peer)
        // Who sends what an earlier life left writes nothing of its own.
        if peers[peer].heir == nil { answer(reveal, of: peer) }
      case .settled(let id, _, let outcome): try check(outcome, of: id, peer)
      case .notice(let notice): count(notice, of: peer)
      case .hold(_, _, let code): counts[code == .busy && climate.maxUndecided < 10 ? .heldAsTooMany : .hold] += 1
      case .merge(let id, _, let question):
        peers[peer].session.merged(id, question, into: question.mine, now: peerNow(peer))
      case .judge(_, let judge):
        peers[peer].session.answer(judge, refusing: nil, now: peerNow(peer), into: &peers[peer].output)
      case .keep(let note): keep(note, of: peer)
      case .announced(_, let model, _, _):
        counts[.announced] += 1
        peers[peer].announced.insert(model)
      case .listed, .phase, .pong, .close, .awaited: break
      }
    }
    try checkAcknowledged(peer)
    if peers[peer].heir != nil { try tellHeir(actions, of: peer) }
  }

  /// The session itself gave the connection up.
  private func breakQuietly(_ peer: Int) {
    let generation = peers[peer].hubSide
    peers[peer].isConnected = false
    peers[peer].topics.removeAll()
    peers[peer].generation += 1
    guard hub != nil else { return }
    let topic = Topics.sessionTopic(peers[peer].sessionOnTheWire)
    topic.withUnsafeBytes { hub?.unsubscribed($0, by: UInt64(generation), time: hubTime, into: &hubOutput) }
    hub?.closed(UInt64(generation), time: hubTime, into: &hubOutput)
  }

  // MARK: Words for the trace

  static func words(ofPeerFrame frame: [UInt8]) -> String {
    guard let (_, message) = try? PeerMessage.decode(frame) else { return "garbage" }
    if case .propose(let proposals) = message {
      return "propose " + proposals.map { "#\($0.number) \($0.operations.map(\.verb))" }.joined(separator: " ")
    }
    if case .join(let joins) = message {
      return "join "
        + joins.map { "\($0.name) \($0.epoch >> 32):\($0.version) undecided \($0.undecided)" }.joined(separator: " ")
    }
    return "\(message.kind)"
  }

  static func words(ofHubFrame frame: [UInt8]) -> String {
    guard let (_, message) = try? HubMessage.decode(frame) else { return "garbage" }
    switch message {
    case .outcomes(let outcomes):
      return "outcomes " + outcomes.outcomes.map { "#\($0.number) \($0.kind)" }.joined(separator: " ")
    case .commits(let group): return "commits \(group.previous)…\(group.version)"
    case .joined(let joined): return "joined \(joined.version) mark \(joined.mark) follows \(joined.follows)"
    case .catchup(let chunk): return "catchup \(chunk.form) \(chunk.previous)…\(chunk.version) mark \(chunk.mark)"
    case .error(let error): return "error \(error.code) \(error.text)"
    case .head(let head): return "head \(head.version)"
    default: return "\(message.kind)"
    }
  }
}
