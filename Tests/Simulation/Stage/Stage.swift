import BindingHub
package import BindingPeer
package import BindingProtocol

/// Hubs and peers on one thread, without sockets. Messages arrive immediately.
package class Stage {
  package private(set) var peers: [String: StagePeer] = [:]
  package private(set) var now: UInt64 = 1_000
  private var lastLink: UInt64 = 0
  private var lastSecret: UInt64 = 100
  /// Looks at a peer after each of its drains; returns what is wrong.
  package var look: (String, StagePeer) -> String? = { _, _ in nil }
  /// What must not happen, whatever is tested.
  package var problems: [String] { stuck + hubs.flatMap(\.problems) }
  private var stuck: [String] = []

  /// The hubs that answer now, or will again.
  var hubs: [StageHub] { [] }

  /// Lets the links between hubs work.
  /// - Returns: whether anything was done.
  func turnUplinks() -> Bool { false }

  /// The peers, in an order that is the same in each run.
  var peersInOrder: [(name: String, peer: StagePeer)] {
    peers.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  // MARK: Peers

  @discardableResult
  package func join(
    _ name: String, at hub: StageHub, models: [String] = ["lamp"], latest: Bool = false
  ) -> StagePeer {
    lastSecret += 1
    var options = SessionOptions()
    options.readsLatest = latest
    let session = Session(
      identity: Identity(secret: Secret(high: lastSecret, low: 4), name: name), seed: lastSecret, options: options,
      now: now)
    let peer = StagePeer(session, at: hub)
    peers[name] = peer
    for model in models { peer.session.join(model, now: now, into: &peer.effects) }
    settle()
    return peer
  }

  /// Another hub answers this peer from now on.
  package func move(_ peer: StagePeer, to hub: StageHub) {
    lose(peer)
    peer.link.hub = hub
    advance(1_500)
  }

  package func lose(_ peer: StagePeer) {
    if peer.link.isOpen { peer.link.hub.close(peer.link.number, now) }
    peer.link.isOpen = false
    peer.session.lost(now: now, into: &peer.effects)
    settle()
  }

  /// All peers of a hub lose their links, and go to another one.
  func losePeers(of hub: StageHub, to other: StageHub? = nil) {
    for (_, peer) in peersInOrder where peer.link.hub === hub {
      peer.link.isOpen = false
      if let other { peer.link.hub = other }
      peer.session.lost(now: now, into: &peer.effects)
    }
  }

  @discardableResult
  package func write(_ peer: StagePeer, _ operations: [FieldOperation], _ model: String = "lamp") -> WriteID? {
    let write = try? peer.session.write(
      Proposal(operations: operations), to: model, now: now, into: &peer.effects)
    settle()
    return write
  }

  /// Writes, and loses the link after the write has left and before anything has come back.
  @discardableResult
  package func writeAndLose(_ peer: StagePeer, _ operations: [FieldOperation], _ model: String = "lamp") -> WriteID? {
    peer.isDeaf = true
    let id = write(peer, operations, model)
    peer.isDeaf = false
    lose(peer)
    return id
  }

  // MARK: Time

  /// Lets time pass, in steps of 50 ms.
  package func advance(_ milliseconds: UInt64) {
    let end = now + milliseconds
    while now < end {
      now += 50
      settle()
    }
  }

  /// Delivers everything until nothing is left.
  package func settle() {
    var rounds = 0
    while turn() {
      rounds += 1
      if rounds > 10_000 { return stuck.append("the stage does not come to rest") }
    }
  }

  private func turn() -> Bool {
    var isBusy = false
    for hub in hubs where hub.answers && hub.machine.nextDeadline <= now {
      hub.act(now) { machine, time, output in machine.tick(time: time, into: &output) }
    }
    if turnUplinks() { isBusy = true }
    for (name, peer) in peersInOrder {
      if turn(peer) { isBusy = true }
      if let problem = look(name, peer) { stuck.append(problem) }
    }
    return isBusy
  }

  private func turn(_ peer: StagePeer) -> Bool {
    guard !peer.isStopped else { return false }
    var isBusy = false
    if let due = peer.link.opensAt, due <= now, peer.link.hub.answers {
      open(&peer.link)
      peer.session.opened(now: now, into: &peer.effects)
      isBusy = true
    }
    for frame in peer.link.isOpen && peer.link.hub.answers ? peer.link.hub.take(peer.link.number) : [] {
      isBusy = true
      if peer.isDeaf { continue }
      if let kind = HubMessageKind(rawValue: frame[4]) { peer.received.append(kind) }
      frame.withUnsafeBytes { peer.session.receive($0, now: now, into: &peer.effects) }
    }
    if peer.session.nextDeadline <= now { peer.session.tick(now: now, into: &peer.effects) }
    peer.session.finishDrain(now: now, into: &peer.effects)
    let effects = peer.effects
    peer.effects = PeerEffects()
    for outcome in effects.outcomes {
      switch outcome {
      case .settled(let id, _, let outcome):
        if peer.outcomes[id] != nil { stuck.append("a write has ended twice") }
        peer.outcomes[id] = outcome
      case .retryLater(_, _, let reason): peer.retries.append(reason)
      }
    }
    for event in effects.events {
      switch event {
      case .announced(_, let model, _, _): peer.listed.append(model)
      case .awaited(let id, let end): peer.barriers[id] = end
      case .past(let id, let end): peer.pages[id] = end
      default: break
      }
    }
    for case .approve(_, let request) in effects.questions {
      peer.asked.append(request)
      guard let answer = peer.answer else { continue }
      peer.session.answer(request, refusing: answer(request), now: now, into: &peer.effects)
      isBusy = true
    }
    for action in effects.link where carryOut(action, &peer.link) { isBusy = true }
    return isBusy
  }

  /// Waits until others have applied a version.
  /// - Parameter count: how many; 0: all.
  package func wait(
    _ peer: StagePeer, _ version: Version, count: UInt32 = 0, timeout: UInt64 = 30_000, _ model: String = "lamp"
  ) -> BarrierID {
    let id = peer.session.awaitApplied(version, of: model, count: count, timeoutMilliseconds: timeout, now: now)
    settle()
    return id
  }

  /// Asks for a page of history, the newest commits first.
  package func askHistory(_ peer: StagePeer, count: UInt16 = 0, _ model: String = "lamp") -> HistoryID {
    var request = HistoryRequest(request: 0, topic: 0)
    request.count = count
    let id = peer.session.askHistory(request, of: model, timeoutMilliseconds: 60_000, now: now)
    settle()
    return id
  }

  /// What a peer shows of a field.
  package func value(_ peer: StagePeer, _ field: String, _ model: String = "lamp") -> String? {
    peer.session.shown(model, field).map { String(decoding: $0.bytes, as: UTF8.self) }
  }

  /// What a peer shows of a model's ephemeral model, without the presence fields.
  package func shown(_ peer: StagePeer, _ model: String = "lamp") -> [String: String] {
    var shown: [String: String] = [:]
    for field in peer.session.committed(Names.ephemeral(model), after: 0) {
      guard let value = field.value, !field.name.hasPrefix(Names.presencePrefix) else { continue }
      shown[field.name] = "\(String(decoding: value.bytes, as: UTF8.self)) of \(field.origin.name)"
    }
    return shown
  }

  /// The peers that a peer sees in a model, with what each announces.
  package func present(_ peer: StagePeer, _ model: String = "lamp") -> [String: String] {
    var present: [String: String] = [:]
    for field in peer.session.committed(Names.ephemeral(model), after: 0) {
      guard field.name.hasPrefix(Names.presencePrefix), let json = try? field.value?.json,
        let name = json["name"]?.string
      else { continue }
      present[name] = (present[name].map { "\($0) and " } ?? "") + (json["says"]?.text ?? "nothing")
    }
    return present
  }

  // MARK: Links

  func open(_ link: inout StageLink) {
    if link.isOpen { link.hub.close(link.number, now) }
    lastLink += 1
    (link.number, link.isOpen, link.opensAt) = (lastLink, true, nil)
  }

  /// - Returns: whether something was sent.
  func carryOut(_ action: LinkAction, _ link: inout StageLink) -> Bool {
    switch action {
    case .open(let pause):
      if link.isOpen { link.hub.close(link.number, now) }
      (link.isOpen, link.opensAt) = (false, now + pause)
      return pause == 0
    case .send(let frame):
      link.kinds[frame[0], default: 0] += 1
      guard link.isOpen, link.hub.answers else { return false }
      let number = link.number
      link.hub.act(now) { machine, time, output in
        frame.withUnsafeBytes { machine.receive($0, on: number, time: time, into: &output) }
      }
      return true
    case .listen(let topic, _):
      guard link.isOpen else { return false }
      link.hub.subscribe(topic, link.number, now)
      link.hub.subscribe(Topics.bytes(Topics.heartbeat), link.number, now)
      return true
    case .subscribe(let topic):
      guard link.isOpen else { return false }
      link.hub.subscribe(Topics.bytes(topic), link.number, now)
      return true
    case .close:
      if link.isOpen { link.hub.close(link.number, now) }
      link.isOpen = false
      return false
    case .unsubscribe, .learn, .remember: return false
    }
  }
}
