package import BindingEdge
package import BindingHub
import BindingPeer
package import BindingProtocol

/// An upstream hub, an edge and peers of both.
package final class EdgeStage: Stage {
  package private(set) var home: StageHub
  package private(set) var edge: StageHub
  package private(set) var uplink: Uplink
  var uplinkLink: StageLink
  private var start: StartNumber = 76
  /// What the uplink told the edge.
  package private(set) var events: [UplinkEvent] = []
  /// Whether the uplink can be open; it breaks when that ends.
  package var uplinkAnswers = true {
    didSet { if !uplinkAnswers { loseUplink() } }
  }
  /// Changes a frame of the upstream hub on its way to the uplink; nil: it is lost.
  package var forge: ([UInt8]) -> [UInt8]? = { $0 }

  override package init() {
    home = StageHub(start: 77, now: 1_000)
    edge = StageHub(start: 99, now: 1_000, upstream: true)
    uplink = EdgeStage.newUplink(99, 1_000)
    uplinkLink = StageLink(hub: home)
    super.init()
    settle()
  }

  override var hubs: [StageHub] { [home, edge] }

  private static func newUplink(_ start: StartNumber, _ now: UInt64) -> Uplink {
    Uplink(
      identity: Identity(secret: Secret(high: 1, low: UInt64(start)), name: "edge"), number: UInt64(start),
      seed: UInt64(start), now: now)
  }

  /// Makes a peer of the edge.
  @discardableResult
  package func join(_ name: String, models: [String] = ["lamp"], latest: Bool = false) -> StagePeer {
    join(name, at: edge, models: models, latest: latest)
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
    losePeers(of: home)
    uplink.lost(now: now)
    settle()
  }

  /// The edge is killed, and started anew.
  package func restartEdge() {
    closeUplink()
    start += 1
    let killed = edge
    edge = StageHub(start: 1_000 + start, now: now, upstream: true)
    uplink = EdgeStage.newUplink(1_000 + start, now)
    uplinkLink = StageLink(hub: home)
    losePeers(of: killed, to: edge)
    advance(3_000)
  }

  private func closeUplink() {
    if uplinkLink.isOpen { uplinkLink.hub.close(uplinkLink.number, now) }
    uplinkLink.isOpen = false
  }

  override func turnUplinks() -> Bool {
    var isBusy = false
    if let due = uplinkLink.opensAt, due <= now, home.answers, uplinkAnswers {
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
}

/// What tests look at.
extension EdgeStage {
  /// How many frames of a kind the uplink has sent.
  package func uplinkSent(_ kind: PeerMessageKind) -> Int { uplinkLink.kinds[kind.rawValue] ?? 0 }

  /// Whether a model is the same at the upstream hub, at the edge and at every peer.
  package func isEqual(_ model: String = "lamp") -> Bool {
    guard let head = home.machine.head(of: model), let here = edge.machine.head(of: model), head == here else {
      return false
    }
    return peers.values.allSatisfy { peer in
      peer.session.knows(model) == false
        || peer.session.version(of: model).version == head.version && peer.session.digest(of: model) == head.digest
    }
  }
}
