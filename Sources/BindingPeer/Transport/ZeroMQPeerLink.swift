import BindingModel
import BindingProtocol
import Dispatch
import Logging
import ZeroMQ

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The link over ZeroMQ: one thread that owns both sockets and nothing else of the peer.
final class ZeroMQPeerLink: PeerLink {
  private let route: HubRoute
  private let wakeup: Protected<Wakeup?> = Protected(nil)
  private let thread: Protected<SocketThread?> = Protected(nil)

  var pool: HubPool { route.pool }

  init(route: HubRoute) { self.route = route }

  func start(_ runtime: PeerRuntime) {
    do throws(ZeroMQError) {
      let wakeup = try Wakeup()
      self.wakeup.withLock { $0 = wakeup }
      let route = route
      let thread = try SocketThread(name: "bindpeer") {
        do throws(ZeroMQError) {
          let loop = try PeerSocketLoop(runtime: runtime, route: route, wakeup: wakeup)
          try PeerRuntime.onLink.occupy(by: runtime) { () throws(ZeroMQError) in try loop.run() }
        } catch {
          runtime.log.critical("the link has ended", metadata: ["error": "\(error)"])
          runtime.end()
        }
      }
      self.thread.withLock { $0 = thread }
    } catch {
      runtime.log.critical("the link cannot start", metadata: ["error": "\(error)"])
    }
  }

  func wake() { wakeup.withLock { $0 }?.signal() }

  func join(milliseconds: UInt64) {
    _ = thread.withLock({ $0 })?.join(timeoutMilliseconds: Int(clamping: milliseconds))
  }
}

/// The loop on the link's thread. Not `Sendable`: created, used and released there.
private final class PeerSocketLoop {
  /// How long the last frames of a session may take to leave. Without them the hub would wait for its lease.
  private static let farewellMilliseconds = 500

  private let runtime: PeerRuntime
  private var route: HubRoute
  /// The address in use, or being tried.
  private var address: HubAddress
  private let wakeup: Wakeup
  private let context: Context
  private var incoming = Incoming()
  private var request: RequestLink? { didSet { isPollerStale = true } }
  private var publish: PublishLink? { didSet { isPollerStale = true } }
  private var poller = Poller()
  private var isPollerStale = true
  private var wakeups: Poller.Slot?
  private var events: Poller.Slot?
  private var opensAt: UInt64?
  private let mailbox = LinkMailbox()
  private var isEnded = false

  init(runtime: PeerRuntime, route: HubRoute, wakeup: Wakeup) throws(ZeroMQError) {
    self.runtime = runtime
    self.route = route
    address = route.addresses.first ?? .userDefault
    self.wakeup = wakeup
    context = try Context()
  }

  func run() throws(ZeroMQError) {
    runtime.perform(as: .link(mailbox)) { state, now in state.session.tick(now: now, into: &state.effects) }
    var rests = false
    while !isEnded {
      runtime.tidyUp()
      carryOutAll()
      if isEnded { break }
      // What the last drain caused is sent. Meanwhile nobody wakes this thread for what is written.
      if rests { usleep(DrainPace.restMicroseconds) }
      try wait()
      if let wakeups, poller.isReadable(wakeups) { wakeup.clear() }
      openIfDue()
      followConnection()
      rests = drain()
    }
    HubRoute.finish()
  }

  private func wait() throws(ZeroMQError) {
    if isPollerStale { fillPoller() }
    guard var deadline = runtime.restLink() else {
      _ = try poller.wait(timeoutMilliseconds: 0)
      return
    }
    let now = PeerRuntime.now
    if let opensAt { deadline = min(deadline, opensAt) }
    if let request, !request.isOpen { deadline = min(deadline, request.givesUpAt) }
    _ = try poller.wait(timeoutMilliseconds: deadline <= now ? 0 : Int(min(deadline - now, 60_000)))
  }

  private func fillPoller() {
    poller = Poller()
    isPollerStale = false
    wakeups = poller.add(wakeup)
    events = nil
    if let request {
      _ = poller.add(request.socket)
      events = poller.add(request.events)
    }
    if let publish { _ = poller.add(publish.socket) }
  }

  /// Performs the actions in the mailbox. A connection that is lost on the way adds more.
  private func carryOutAll() {
    while !mailbox.actions.isEmpty {
      var actions: [LinkAction] = []
      swap(&actions, &mailbox.actions)
      carryOut(actions)
    }
  }

  private func carryOut(_ actions: [LinkAction]) {
    for action in actions {
      switch action {
      case .open(let pause):
        closeBoth()
        opensAt = PeerRuntime.now + pause
      case .send(let frame): send(frame)
      case .listen(let sessionTopic, let endpoints): listen(sessionTopic, endpoints)
      case .subscribe(let topic): try? publish?.socket.subscribe(Topics.bytes(topic))
      case .learn(let keys): route.learn(keys, over: address, runtime.log)
      case .remember(let hubs): route.remember(hubs, over: address, runtime.log)
      case .unsubscribe(let topic): try? publish?.socket.unsubscribe(Topics.bytes(topic))
      case .close:
        try? request?.socket.set([.linger(milliseconds: PeerSocketLoop.farewellMilliseconds)])
        closeBoth()
        isEnded = true
      }
    }
  }

  private func send(_ frame: [UInt8]) {
    guard let request else { return }
    let outcome = try? request.socket.send(frame)
    if outcome != .sent { lose() }
  }

  private func listen(_ sessionTopic: [UInt8], _ endpoints: [HubEndpoint]) {
    guard let endpoint = address.publishEndpoint(among: endpoints) else {
      // Without a publish connection the hub serves the session on the request connection, after its timeout.
      runtime.log.warning("the hub names no endpoint to subscribe to", metadata: ["hub": "\(address)"])
      return
    }
    do throws(ZeroMQError) {
      publish = try PublishLink(to: endpoint, by: route, sessionTopic: sessionTopic, in: context)
    } catch {
      runtime.log.warning("cannot subscribe at \(endpoint)", metadata: ["error": "\(error)"])
    }
  }

  private func openIfDue() {
    let now = PeerRuntime.now
    guard let due = opensAt, due <= now else { return }
    opensAt = nil
    address = runtime.state.withLock { [address] state in
      let chosen = state.session.hubs.current ?? address
      state.link.hub = chosen.description
      return chosen
    }
    route.begin()
    open(address, now)
  }

  private func open(_ address: HubAddress, _ now: UInt64) {
    do throws(ZeroMQError) {
      request = try RequestLink(to: address, by: route, in: context, now: now)
    } catch {
      runtime.log.debug("cannot connect to \(address)", metadata: ["error": "\(error)"])
      lose()
    }
  }

  /// Reports what became of the connection: `opened` once the handshake is done, `lost` when it fails or ends.
  private func followConnection() {
    guard let request else { return }
    while let events, poller.isReadable(events), let event = try? request.events.next() {
      switch event.change {
      case .handshakeSucceeded where !request.isOpen:
        request.isOpen = true
        runtime.perform(as: .link(mailbox)) { state, now in state.session.opened(now: now, into: &state.effects) }
        carryOutAll()
      case .handshakeFailed(.broken) where route.tryOtherKey():
        closeBoth()
        return open(address, PeerRuntime.now)
      case .handshakeFailed(let failure): return lose(route.words(failure, at: address))
      case .disconnected, .closed: return lose()
      default: break
      }
      guard self.request === request else { return }
    }
    if !request.isOpen, request.givesUpAt <= PeerRuntime.now { lose() }
  }

  /// - Parameter problem: why it can be for good, in words for a person.
  private func lose(_ problem: String? = nil) {
    closeBoth()
    runtime.perform(as: .link(mailbox)) { state, now in
      state.session.lost(now: now, refused: problem, into: &state.effects)
    }
  }

  private func closeBoth() {
    request = nil
    publish = nil
  }

  /// Feeds the session all waiting frames, as one drain: one update per model. They are read before the lock is taken,
  /// for which the program's threads wait.
  /// - Returns: whether to rest before the next one.
  private func drain() -> Bool {
    if let request { receive(from: request.socket) }
    if let publish { receive(from: publish.socket) }
    let isBusy = !incoming.frames.isEmpty
    let commits = runtime.perform(as: .link(mailbox)) { state, now in
      incoming.frames.drain { state.session.receive($0, now: now, into: &state.effects) }
      state.session.tick(now: now, into: &state.effects)
      return state.session.counters.commitsApplied
    }
    return isBusy && incoming.pace.drained(at: DispatchTime.now().uptimeNanoseconds, commits: commits)
  }

  private func receive(from socket: borrowing Socket) {
    // More may wait: come back immediately.
    if !incoming.read(from: socket) { wakeup.signal() }
  }
}

/// What comes from the sockets.
private struct Incoming: ~Copyable {
  private var message = Message()
  var frames = ReadFrames()
  var pace = DrainPace()

  /// Frames read from a socket before the other socket, and writers, get their turn.
  private static let most = 1_024

  /// - Returns: whether nothing more waits.
  mutating func read(from socket: borrowing Socket) -> Bool {
    for _ in 0..<Incoming.most {
      guard (try? socket.receive(into: &message)) == true else { return true }
      if message.hasMore {
        try? socket.discardRemainingFrames(after: &message)
        continue
      }
      frames.append(message.unsafeBytes)
    }
    return false
  }
}
