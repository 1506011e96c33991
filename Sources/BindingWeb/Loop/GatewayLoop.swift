import BindingProtocol
import Logging
import NIOCore

/// Drives the gateway's state machine: feeds it the input of hub and pages, and carries out its actions. Everything
/// here runs on one event loop.
final class GatewayLoop: @unchecked Sendable {  // SAFETY: all mutable state is accessed on `loop` only
  let loop: any EventLoop
  let configuration: WebGateway.Configuration
  var counters = WebCounters()
  var usedCodes = UsedCodes()
  private(set) var router: RequestRouter?
  /// How often the machine's actions have been carried out.
  private(set) var turns: UInt64 = 0
  let connections = OpenConnections()

  private let hub: HubConnector
  private let schedule: TurnSchedule
  private let log: Logger
  private var gateway: Gateway
  private var output = GatewayOutput()
  private var pages: [PageID: PageSocket] = [:]
  private var lastPage: UInt64 = 0
  private var hasEnded = false

  init(hub: any InProcessTransport, configuration: WebGateway.Configuration, log: Logger, on loop: any EventLoop) {
    self.loop = loop
    self.hub = HubConnector(to: hub, on: loop)
    self.configuration = configuration
    self.log = log
    schedule = TurnSchedule(on: loop)
    let identity = Identity(secret: .random(), name: configuration.name)
    gateway = Gateway(identity: identity, seed: .random(in: 1 ... .max), now: GatewayLoop.now)
  }

  /// Milliseconds of a monotonic clock.
  static var now: UInt64 { NIODeadline.now().uptimeNanoseconds / 1_000_000 }

  /// Whether the hub has welcomed the gateway.
  var isLive: Bool { gateway.isLive }

  /// WebSockets that are open now.
  var openPages: Int { pages.count }

  /// The machine's counters.
  var machineCounters: GatewayCounters { gateway.counters }

  // MARK: Begin and end

  /// Connects to the hub and starts accepting connections.
  func start(router: RequestRouter, listener: any Channel) {
    self.router = router
    schedule.begin { self.settle() }
    settle()
    router.access.members?.start { self.dismissMembers() }
    listener.setOption(.autoRead, value: true).whenSuccess { listener.read() }
  }

  /// Closes all pages and leaves the hub; the listener is already closed.
  func end() {
    gateway.bye(now: GatewayLoop.now, into: &output)
    carryOut()
    hasEnded = true
    schedule.end()
    router?.questions.end()
    router?.access.members?.end()
    hub.close()
    router = nil
  }

  // MARK: Connections

  /// Counts a connection while it is open; false if it exceeds the limit.
  func admitConnection(_ channel: any Channel) -> Bool {
    if let oldest = connections.removeOldestStranger(of: configuration.limits.strangers) {
      counters.count(.tooManyStrangers)
      ServerPair.cut(oldest)
    }
    counters.connections += 1
    connections.add(channel)
    guard connections.count > configuration.limits.connections else { return true }
    counters.count(.tooManyConnections)
    return false
  }

  func noteRefusal(_ refusal: WebRefusal, of client: NumericAddress?) {
    log.debug("refused a request", metadata: ["client": "\(client.map { "\($0)" } ?? "?")", "reason": "\(refusal)"])
  }

  // MARK: Pages

  /// Registers a page's WebSocket; nil if it exceeds the limit.
  func arrived(_ socket: PageSocket, _ visitor: AccessControl.Visitor) -> PageID? {
    guard !hasEnded, pages.count < configuration.limits.pages else { return nil }
    lastPage += 1
    let page = PageID(lastPage)
    pages[page] = socket
    let member: PageMember? = if case .member(let member) = visitor { member } else { nil }
    gateway.arrived(page, for: member, now: GatewayLoop.now, into: &output)
    schedule.takeTurnSoon()
    return page
  }

  /// Ends the pages of browsers that are let in no longer.
  private func dismissMembers() {
    guard let members = router?.access.members else { return }
    gateway.browsers = members.browsers
    for (page, member) in gateway.members.sorted(by: { $0.key < $1.key }) {
      guard let end = members.end(of: member.session) else { continue }
      gateway.dismiss(page, end.code, end.reason, now: GatewayLoop.now, into: &output)
      schedule.takeTurnSoon()
    }
  }

  func receive(_ text: UnsafeRawBufferPointer, from page: PageID) {
    gateway.receive(text, from: page, now: GatewayLoop.now, into: &output)
    schedule.takeTurnSoon()
  }

  func isFull(_ page: PageID) {
    counters.fullPages += 1
    gateway.isFull(page)
  }

  func hasRoom(_ page: PageID) {
    gateway.hasRoom(page, now: GatewayLoop.now, into: &output)
    schedule.takeTurnSoon()
  }

  func gone(_ page: PageID) {
    guard pages.removeValue(forKey: page) != nil else { return }
    gateway.gone(page, now: GatewayLoop.now, into: &output)
    schedule.takeTurnSoon()
  }

  // MARK: The hub

  private func open(after pause: UInt64) {
    hub.open(after: pause) {
      self.gateway.opened(now: GatewayLoop.now, into: &self.output)
      self.settle()
    } received: { frames, hasEnded in
      let now = GatewayLoop.now
      for frame in frames { frame.withUnsafeBytes { self.gateway.receive($0, now: now, into: &self.output) } }
      if hasEnded { self.gateway.lost(now: now, into: &self.output) }
      self.settle()
    }
  }

  // MARK: Turns

  private func settle() {
    guard !hasEnded else { return }
    let now = GatewayLoop.now
    gateway.tick(now: now, into: &output)
    gateway.finishDrain(now: now, into: &output)
    carryOut()
    schedule.takeTurn(at: gateway.nextDeadline)
  }

  private func carryOut() {
    turns += 1
    let actions = output.actions
    output.removeAll()
    var sent: Set<PageID> = []
    for action in actions {
      switch action {
      case .sendText(let page, let text):
        pages[page]?.send(text)
        sent.insert(page)
      case .end(let page, let code, let reason): pages.removeValue(forKey: page)?.end(code: code, reason: reason)
      case .send(let frame): hub.link?.send(frame)
      case .subscribe(let topic): hub.link?.subscribe(topic)
      case .unsubscribe(let topic): hub.link?.unsubscribe(topic)
      case .open(let pause): open(after: pause)
      case .endBrowser(let session):
        router?.access.members?.shutOut(session) { [weak self] in self?.dismissMembers() }
      case .log(let text): log.debug("\(text)")
      case .close: hub.close()
      }
    }
    for page in sent { pages[page]?.flush() }
  }
}
