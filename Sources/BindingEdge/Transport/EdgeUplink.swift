package import BindingHub
import BindingKeys
package import BindingPeer
import BindingProtocol
package import Logging
package import ZeroMQ

/// The uplink of an edge over ZeroMQ: the sockets of its one connection to the upstream hub, and the machine that they
/// feed. Belongs to the edge's thread.
package final class EdgeUplink: HubUplink {
  /// Frames read from a socket before the edge's own peers get their turn.
  private static let drainFrames = 1_024
  /// How long the last frames may take to leave.
  private static let farewellMilliseconds = 500

  private var machine: Uplink
  private var route: HubRoute
  /// The address in use, or being tried.
  private var address: HubAddress
  private let log: Logger
  /// Whether it leads to another hub of the same log.
  private let isToSibling: Bool
  private let context: Context
  private var message = Message()
  private var request: RequestLink? { didSet { isPollerStale = true } }
  private var publish: PublishLink? { didSet { isPollerStale = true } }
  private var slot: Poller.Slot?
  private var opensAt: UInt64?
  /// Whether more frames may wait than were read.
  private var mayHaveMore = false
  package private(set) var isPollerStale = true

  /// - Parameters:
  ///   - name: under which the reading session is shown upstream.
  ///   - number: the edge's; nil: it leads to another hub of the same log.
  ///   - now: milliseconds of the monotonic clock.
  package init(
    to route: HubRoute, name: String, number: UInt64?, now: UInt64, log: Logger
  ) throws(ZeroMQError) {
    self.route = route
    self.log = log
    isToSibling = number == nil
    address = route.addresses.first ?? .userDefault
    context = try Context()
    let secret = Secret(high: .random(in: 0 ... .max), low: .random(in: 0 ... .max))
    machine = Uplink(
      identity: Identity(secret: secret, name: name), number: number, hubs: route.pool, seed: .random(in: 0 ... .max),
      now: now)
  }

  /// The way to the hub at a location: an edge's upstream hub, or a sibling.
  package static func upstream(
    of location: HubLocation, name: String, log: Logger
  ) throws(PeerError) -> HubUpstream {
    upstream(by: try location.route(), name: name, log: log)
  }

  /// The same by a way that is known.
  package static func upstream(by route: HubRoute, name: String, log: Logger) -> HubUpstream {
    let address = route.addresses.map(\.description).joined(separator: ",")
    return HubUpstream(address: address) { number, now throws(HubError) in
      do throws(ZeroMQError) {
        return try EdgeUplink(to: route, name: name, number: number, now: now, log: log)
      } catch {
        throw .system("Cannot create the sockets of the uplink: \(error)")
      }
    }
  }

  package func add(to poller: inout Poller) {
    isPollerStale = false
    slot = nil
    if let request {
      _ = poller.add(request.socket)
      slot = poller.add(request.events)
    }
    if let publish { _ = poller.add(publish.socket) }
  }

  package var nextDeadline: UInt64 {
    if mayHaveMore { return 0 }
    var deadline = min(machine.nextDeadline, opensAt ?? .max)
    if let request, !request.isOpen { deadline = min(deadline, request.givesUpAt) }
    return deadline
  }

  package func turn(
    _ requests: [UplinkRequest], edges: [UInt64], after poller: borrowing Poller, now: UInt64
  ) -> [UplinkEvent] {
    if let due = opensAt, due <= now {
      machine.name(edges: edges)
      open(now)
    }
    if let slot, poller.isReadable(slot) { followConnection(now) }
    if let request, !request.isOpen, request.givesUpAt <= now { lose(now) }
    mayHaveMore = false
    if let request { receive(from: request.socket, now) }
    if let publish { receive(from: publish.socket, now) }
    for request in requests { machine.handle(request, now: now) }
    if machine.nextDeadline <= now { machine.tick(now: now) }
    machine.finishDrain(now: now)
    carryOut(now)
    for notice in machine.takeNotices() { log.debug("uplink: \(notice)") }
    let events = machine.takeEvents()
    for event in events { report(event) }
    return events
  }

  package func close(now: UInt64) {
    machine.bye(now: now)
    carryOut(now)
    HubRoute.finish()
  }

  // MARK: The link

  /// A connection that is lost on the way adds actions.
  private func carryOut(_ now: UInt64) {
    while case let actions = machine.takeActions(), !actions.isEmpty {
      for action in actions { carryOut(action, now) }
    }
  }

  private func carryOut(_ action: LinkAction, _ now: UInt64) {
    switch action {
    case .open(let pause):
      closeBoth()
      opensAt = now + pause
    case .send(let frame): if let request, (try? request.socket.send(frame)) != .sent { lose(now) }
    case .listen(let sessionTopic, let endpoints): listen(sessionTopic, endpoints)
    case .subscribe(let topic): try? publish?.socket.subscribe(Topics.bytes(topic))
    case .unsubscribe(let topic): try? publish?.socket.unsubscribe(Topics.bytes(topic))
    case .learn(let keys): route.learn(keys, over: address, log)
    case .remember(let hubs): route.remember(hubs, over: address, log)
    case .close:
      try? request?.socket.set([.linger(milliseconds: EdgeUplink.farewellMilliseconds)])
      closeBoth()
    }
  }

  private func listen(_ sessionTopic: [UInt8], _ endpoints: [HubEndpoint]) {
    guard let endpoint = address.publishEndpoint(among: endpoints) else {
      log.warning("the upstream hub names no endpoint to subscribe to", metadata: ["hub": "\(address)"])
      return
    }
    do throws(ZeroMQError) {
      publish = try PublishLink(to: endpoint, by: route, sessionTopic: sessionTopic, in: context)
    } catch {
      log.warning("cannot subscribe at \(endpoint)", metadata: ["error": "\(error)"])
    }
  }

  private func open(_ now: UInt64) {
    opensAt = nil
    address = machine.hub ?? address
    route.begin()
    connect(to: address, now)
  }

  private func connect(to address: HubAddress, _ now: UInt64) {
    do throws(ZeroMQError) {
      request = try RequestLink(to: address, by: route, in: context, now: now)
    } catch {
      log.debug("cannot connect to \(address)", metadata: ["error": "\(error)"])
      lose(now)
    }
  }

  private func followConnection(_ now: UInt64) {
    guard let request else { return }
    while let event = try? request.events.next() {
      switch event.change {
      case .handshakeSucceeded where !request.isOpen:
        request.isOpen = true
        machine.opened(now: now)
        carryOut(now)
      case .handshakeFailed(.broken) where route.tryOtherKey():
        closeBoth()
        return connect(to: address, now)
      case .handshakeFailed(let failure): return lose(now, route.words(failure, at: address))
      case .disconnected, .closed: return lose(now)
      default: break
      }
      guard self.request === request else { return }
    }
  }

  private func lose(_ now: UInt64, _ problem: String? = nil) {
    closeBoth()
    machine.lost(now: now, problem: problem)
  }

  private func closeBoth() {
    request = nil
    publish = nil
  }

  private func receive(from socket: borrowing Socket, _ now: UInt64) {
    for _ in 0..<EdgeUplink.drainFrames {
      guard (try? socket.receive(into: &message)) == true else { return }
      if message.hasMore {
        try? socket.discardRemainingFrames(after: &message)
        continue
      }
      machine.receive(message.unsafeBytes, now: now)
    }
    mayHaveMore = true
  }

  // MARK: The log

  private func report(_ event: UplinkEvent) {
    switch event {
    case .reached where isToSibling: log.info("follows a sibling", metadata: ["address": "\(address)"])
    case .cut(let reason) where isToSibling:
      log.info(
        "a sibling does not answer: its peers are shown as long as their leases last",
        metadata: ["address": "\(address)", "reason": "\(PrintedText.escaped(reason ?? "no answer"))"])
    case .reached(let hub):
      log.notice(
        "reached the upstream hub",
        metadata: ["hub": "\(PrintedText.escaped(hub.name))", "address": "\(address)"])
    case .cut(let reason):
      log.warning(
        "waiting(upstream): reads go on, writes wait",
        metadata: [
          "address": "\(address)", "reason": "\(PrintedText.escaped(reason ?? "it does not answer"))",
        ])
    default: break
    }
  }
}
