import BindingEdge
import BindingHub
import BindingPeer
import BindingProtocol

/// The links of one hub of a cell to the others, over which it passes proposals on. Messages of a link arrive in their
/// order, after a while; a link that is lost opens again.
final class SimulatedLinks: SimulationPart {
  private struct Link {
    /// The other hub, by its index.
    let hub: Int
    var uplink: Uplink
    /// Its connection to the other hub; nil: none is open.
    var connection: ConnectionID?
    /// The run of the other hub to which it leads.
    var run = 0
    var opensAt: UInt64? = 0
    var topics: [Topic] = []
    /// What is on its way here, each with the time of its arrival.
    var arriving: [(at: UInt64, frame: [UInt8])] = []
    var lastArrivalAt: UInt64 = 0
    var lastDepartureAt: UInt64 = 0

    /// It is `mutating` so that the uplink is not copied where nothing is due.
    mutating func tickIfDue(_ now: UInt64) {
      if uplink.nextDeadline <= now { uplink.tick(now: now) }
    }
  }
  let context: SimulationContext
  private unowned let hub: SimulatedHub
  @exclusivity(unchecked) private var links: [Link]
  @exclusivity(unchecked) private var delays: Chance

  /// Connections of links. Those of peers have lower numbers, those of attackers higher ones.
  static let connections: Range<ConnectionID> = 1 << 40..<1 << 41
  /// The most milliseconds between two turns.
  private static let longestPause: UInt64 = 20

  init(of hub: SimulatedHub, in cell: SimulatedCell, seed: UInt64) {
    (self.hub, context) = (hub, hub.context)
    delays = Chance(seed: seed)
    links = (0..<hub.profile.cell.hubs).filter { $0 != hub.index }.map { other in
      let identity = Identity(
        secret: Secret(high: seed, low: UInt64(other)), name: "hub-\(hub.index)")
      return Link(
        hub: other,
        uplink: Uplink(identity: identity, number: nil, seed: seed &+ UInt64(other), now: hub.now))
    }
  }

  var count: Int { links.count }

  // MARK: Faults

  /// All links end; those of a hub that goes on open again.
  func lose() {
    for index in links.indices { lose(index) }
  }

  private func lose(_ index: Int) {
    if let connection = links[index].connection, let other = other(index), other.run == links[index].run {
      other.machine?.closed(connection, time: other.time, into: &other.output)
    }
    links[index].connection = nil
    links[index].arriving.removeAll()
    links[index].uplink.lost(now: now)
  }

  private func other(_ index: Int) -> SimulatedHub? { hub.cell?.hubs[links[index].hub] }

  // MARK: Messages

  /// Something is sent to the hub of these links.
  /// - Parameter topic: nil: it is for one connection.
  func receive(_ frame: [UInt8], from sender: SimulatedHub, over connection: ConnectionID?, topic: Topic?) {
    for index in links.indices where links[index].hub == sender.index && links[index].run == sender.run {
      guard let present = links[index].connection else { continue }
      guard connection.map({ $0 == present }) ?? topic.map(links[index].topics.contains) ?? false else { continue }
      links[index].lastArrivalAt = max(links[index].lastArrivalAt, now + delay())
      links[index].arriving.append((links[index].lastArrivalAt, frame))
    }
  }

  private func delay() -> UInt64 {
    delays.perMille(profile.cell.linkDelays) ? delays.within(200...900) : delays.within(0...3)
  }

  // MARK: Turns

  /// Does what is due.
  /// - Returns: when the next turn is due.
  func turn() throws(Violation) -> UInt64 {
    for index in links.indices {
      if links[index].connection != nil, other(index)?.run != links[index].run { lose(index) }
      if links[index].connection != nil, delays.perMille(profile.cell.linkLosses), context.isChaos { lose(index) }
      open(index)
      while let next = links[index].arriving.first, next.at <= now {
        links[index].arriving.removeFirst()
        next.frame.withUnsafeBytes { links[index].uplink.receive($0, now: now) }
      }
      let number = index
      for request in hub.read({ $0.takeRequests(ofSibling: number) }) ?? [] {
        links[index].uplink.handle(request, now: now)
      }
      links[index].tickIfDue(now)
      links[index].uplink.finishDrain(now: now)
      for action in links[index].uplink.takeActions() { carryOut(action, index) }
      for event in links[index].uplink.takeEvents() {
        hub.machine?.handle(event, ofSibling: index, time: hub.time, into: &hub.output)
      }
    }
    try hub.settle()
    return now + delays.within(1...SimulatedLinks.longestPause)
  }

  private func open(_ index: Int) {
    guard let due = links[index].opensAt, due <= now, let other = other(index), other.isRunning else { return }
    links[index].connection = hub.cell?.nextLink()
    (links[index].run, links[index].opensAt, links[index].topics) = (other.run, nil, [])
    links[index].uplink.opened(now: now)
  }

  private func carryOut(_ action: LinkAction, _ index: Int) {
    switch action {
    case .open(let pause):
      links[index].connection = nil
      links[index].opensAt = now + pause
    case .close: links[index].connection = nil
    case .send(let frame):
      guard let connection = links[index].connection else { return }
      links[index].lastDepartureAt = max(links[index].lastDepartureAt, now + delay())
      agenda.add(
        .hub(links[index].hub, .linkFrame(frame, connection, run: links[index].run)), at: links[index].lastDepartureAt)
    case .listen(let topic, _): subscribe(topic, index)
    case .subscribe(let topic):
      links[index].topics.append(topic)
      subscribe(Topics.bytes(topic), index)
    case .unsubscribe(let topic): links[index].topics.removeAll { $0 == topic }
    case .learn, .remember: break
    }
  }

  private func subscribe(_ topic: [UInt8], _ index: Int) {
    guard let connection = links[index].connection, let other = other(index), other.run == links[index].run else {
      return
    }
    links[index].topics.append(Topics.heartbeat)
    topic.withUnsafeBytes {
      other.machine?.subscribed($0, by: connection, time: other.time, into: &other.output)
    }
  }
}
