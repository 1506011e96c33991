package import BindingEdge
package import BindingHub
package import BindingPeer
package import BindingProtocol

/// An upstream hub, an edge and peers of both on one thread, without sockets. Messages arrive immediately.
package final class EdgeStage {
  package private(set) var home: StageHub
  package private(set) var edge: StageHub
  package private(set) var uplink: Uplink
  var uplinkLink: StageLink
  package private(set) var peers: [String: StagePeer] = [:]
  package private(set) var now: UInt64 = 1_000
  private var lastLink: UInt64 = 0
  private var lastSecret: UInt64 = 100
  private var start: StartNumber = 76
  /// What the uplink told the edge.
  package private(set) var events: [UplinkEvent] = []
  /// Changes a frame of the upstream hub on its way to the uplink; nil: it is lost.
  package var forge: ([UInt8]) -> [UInt8]? = { $0 }

  package init() {
    home = StageHub(start: 77, now: 1_000)
    edge = StageHub(start: 99, now: 1_000, upstream: true)
    uplink = EdgeStage.newUplink(99, 1_000)
    uplinkLink = StageLink(hub: home)
    settle()
  }

  private static func newUplink(_ start: StartNumber, _ now: UInt64) -> Uplink {
    Uplink(
      identity: Identity(secret: Secret(high: 1, low: UInt64(start)), name: "edge"), number: UInt64(start),
      seed: UInt64(start), now: now)
  }

  /// Looks at a peer after each of its drains; returns what is wrong.
  package var look: (String, StagePeer) -> String? = { _, _ in nil }

  /// What must not happen, whatever is tested.
  package var problems: [String] { stuck + home.problems + edge.problems }
  private var stuck: [String] = []

  // MARK: Peers

  @discardableResult
  package func join(
    _ name: String, at hub: StageHub? = nil, models: [String] = ["lamp"], latest: Bool = false
  ) -> StagePeer {
    lastSecret += 1
    var options = SessionOptions()
    options.readsLatest = latest
    let session = Session(
      identity: Identity(secret: Secret(high: lastSecret, low: 4), name: name), seed: lastSecret, options: options,
      now: now)
    let peer = StagePeer(session, at: hub ?? edge)
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

  // MARK: Faults

  /// The uplink's connection breaks; the next one opens after its pause.
  package func loseUplink() {
    closeUplink()
    uplink.lost(now: now)
    settle()
  }

  /// The upstream hub is gone until `restore`.
  package func stopHome() {
    home.answers = false
    loseUplink()
  }

  /// The upstream hub is back, as it was, or with another log.
  package func restoreHome(log: LogID? = nil) {
    if let log {
      home = StageHub(log: log, epoch: 9 << 32, start: 78, now: now)
      uplinkLink.hub = home
    }
    home.answers = true
    advance(3_000)
  }

  /// The upstream hub is killed, and started anew with its store.
  package func restartHome() {
    home.restart(now)
    closeUplink()
    for peer in peers.values.sorted(by: { $0.session.identity.tag.rawValue < $1.session.identity.tag.rawValue })
    where peer.link.hub === home {
      peer.link.isOpen = false
      peer.session.lost(now: now, into: &peer.effects)
    }
    uplink.lost(now: now)
    settle()
  }

  /// The edge is killed, and started anew.
  package func restartEdge() {
    closeUplink()
    start += 1
    edge = StageHub(start: 1_000 + start, now: now, upstream: true)
    uplink = EdgeStage.newUplink(1_000 + start, now)
    uplinkLink = StageLink(hub: home)
    for peer in peers.values.sorted(by: { $0.session.identity.tag.rawValue < $1.session.identity.tag.rawValue })
    where peer.link.hub !== home {
      peer.link.isOpen = false
      peer.link.hub = edge
      peer.session.lost(now: now, into: &peer.effects)
    }
    advance(3_000)
  }

  private func closeUplink() {
    if uplinkLink.isOpen { uplinkLink.hub.close(uplinkLink.number, now) }
    uplinkLink.isOpen = false
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
    for hub in [home, edge] where hub.answers && hub.machine.nextDeadline <= now {
      hub.act(now) { machine, time, output in machine.tick(time: time, into: &output) }
    }
    if turnUplink() { isBusy = true }
    for name in peers.keys.sorted() {
      guard let peer = peers[name] else { continue }
      if turn(peer) { isBusy = true }
      if let problem = look(name, peer) { stuck.append(problem) }
    }
    return isBusy
  }

  private func turn(_ peer: StagePeer) -> Bool {
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
    for case .announced(_, let model, _, _) in effects.events { peer.listed.append(model) }
    for action in effects.link where carryOut(action, &peer.link) { isBusy = true }
    return isBusy
  }

  private func turnUplink() -> Bool {
    var isBusy = false
    if let due = uplinkLink.opensAt, due <= now, home.answers {
      uplink.name(edges: edge.machine.edgesBelow)
      open(&uplinkLink)
      uplink.opened(now: now)
      isBusy = true
    }
    for frame in uplinkLink.isOpen && home.answers ? home.take(uplinkLink.number) : [] {
      guard let frame = forge(frame) else { continue }
      frame.withUnsafeBytes { uplink.receive($0, now: now) }
      isBusy = true
    }
    for request in edge.machine.takeRequests() {
      uplink.handle(request, now: now)
      isBusy = true
    }
    if uplink.nextDeadline <= now { uplink.tick(now: now) }
    uplink.finishDrain(now: now)
    for action in uplink.takeActions() where carryOut(action, &uplinkLink) { isBusy = true }
    let told = uplink.takeEvents()
    events += told
    if !told.isEmpty {
      edge.act(now) { machine, time, output in
        for event in told { machine.handle(event, time: time, into: &output) }
      }
      isBusy = true
    }
    return isBusy
  }

  // MARK: Links

  private func open(_ link: inout StageLink) {
    if link.isOpen { link.hub.close(link.number, now) }
    lastLink += 1
    (link.number, link.isOpen, link.opensAt) = (lastLink, true, nil)
  }

  /// - Returns: whether something was sent.
  private func carryOut(_ action: LinkAction, _ link: inout StageLink) -> Bool {
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
