import BindingEdge
import BindingHub
import BindingPeer
import BindingProtocol

/// Hubs of one log, each of which follows what the peers of the others have in ephemeral models; and peers of them.
package final class SiblingStage: Stage {
  /// The way from one hub to another.
  private struct Way {
    let from: Int
    /// Its number among the ways of `from`.
    let number: Int
    var uplink: Uplink
    var link: StageLink
    /// Whether nothing arrives, in either direction.
    var isCut = false
  }
  private var all: [StageHub]
  private var ways: [Way] = []
  private var runs: UInt64 = 0
  /// Hubs that do nothing at present.
  private var stopped: Set<Int> = []

  package init(hubs count: Int = 3) {
    all = (0..<count).map { StageHub(start: StartNumber(100 * ($0 + 1)), now: 1_000, siblings: count - 1) }
    super.init()
    for from in 0..<count { makeWays(from: from) }
    advance(1_000)
  }

  override package var hubs: [StageHub] { all }

  private func makeWays(from: Int) {
    runs += 1
    for (number, to) in all.indices.filter({ $0 != from }).enumerated() {
      let seed = runs * 100 + UInt64(to)
      let uplink = Uplink(
        identity: Identity(secret: Secret(high: 2, low: seed), name: "hub-\(from)"), number: nil, seed: seed, now: now)
      ways.append(Way(from: from, number: number, uplink: uplink, link: StageLink(hub: all[to])))
    }
  }

  // MARK: Faults

  /// Nothing arrives between two hubs any more, or everything again.
  package func cut(_ from: Int, _ to: Int, _ isCut: Bool = true) {
    for index in ways.indices where ways[index].from == from && ways[index].link.hub === all[to] {
      ways[index].isCut = isCut
    }
  }

  /// A hub stops; its peers go to another one.
  package func stop(_ hub: Int, peersTo other: Int) {
    stopped.insert(hub)
    all[hub].answers = false
    for index in ways.indices where ways[index].link.hub === all[hub] { lose(&ways[index]) }
    losePeers(of: all[hub], to: all[other])
    settle()
  }

  /// It goes on as it was.
  package func goOn(_ hub: Int) {
    stopped.remove(hub)
    all[hub].answers = true
    settle()
  }

  /// A hub is killed, and started anew.
  package func restart(_ hub: Int) {
    for index in ways.indices where ways[index].link.hub === all[hub] { lose(&ways[index]) }
    for index in ways.indices where ways[index].from == hub { lose(&ways[index]) }
    ways.removeAll { $0.from == hub }
    all[hub].restart(now)
    makeWays(from: hub)
    losePeers(of: all[hub])
    settle()
  }

  private func lose(_ way: inout Way) {
    if way.link.isOpen { way.link.hub.close(way.link.number, now) }
    way.link.isOpen = false
    way.uplink.lost(now: now)
  }

  // MARK: Work

  override func turnUplinks() -> Bool {
    var isBusy = false
    for index in ways.indices where !stopped.contains(ways[index].from) {
      if turn(&ways[index]) { isBusy = true }
    }
    return isBusy
  }

  private func turn(_ way: inout Way) -> Bool {
    let from = all[way.from]
    var isBusy = false
    if let due = way.link.opensAt, due <= now, way.link.hub.answers, !way.isCut {
      open(&way.link)
      way.uplink.opened(now: now)
      isBusy = true
    }
    for frame in way.link.isOpen && way.link.hub.answers ? way.link.hub.take(way.link.number) : [] where !way.isCut {
      frame.withUnsafeBytes { way.uplink.receive($0, now: now) }
      isBusy = true
    }
    for request in from.machine.takeRequests(ofSibling: way.number) {
      way.uplink.handle(request, now: now)
      isBusy = true
    }
    if way.uplink.nextDeadline <= now { way.uplink.tick(now: now) }
    way.uplink.finishDrain(now: now)
    for action in way.uplink.takeActions() {
      if way.isCut, case .send = action { continue }
      if carryOut(action, &way.link) { isBusy = true }
    }
    let told = way.uplink.takeEvents()
    guard !told.isEmpty else { return isBusy }
    from.act(now) { machine, time, output in
      for event in told { machine.handle(event, ofSibling: way.number, time: time, into: &output) }
    }
    return true
  }
}
