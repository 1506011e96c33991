import BindingProtocol
import Logging
import NIOCore

/// Drives the gateway's state machine: feeds it the input of hub and pages, and carries out its actions. Everything
/// here runs on one event loop.
final class GatewayLoop: @unchecked Sendable {  // SAFETY: all mutable state is accessed on `loop` only
  let loop: any EventLoop
  let configuration: WebGateway.Configuration
  let questions: HubQuestions
  var counters = WebCounters()
  var usedCodes = UsedCodes()
  private(set) var router: RequestRouter?
  /// How often the machine's actions have been carried out.
  private(set) var turns: UInt64 = 0
  /// Connections that are open now.
  private(set) var connections = 0
  /// Open connections without token or session, by their order of arrival.
  private var strangers: [UInt64: any Channel] = [:]
  private var lastStranger: UInt64 = 0

  private let hub: any InProcessTransport
  private let log: Logger
  private var gateway: Gateway
  private var output = GatewayOutput()
  private var pages: [PageID: PageSocket] = [:]
  private var lastPage: UInt64 = 0
  private var hubLink: HubLink?
  private var opening: Scheduled<Void>?
  private var alarm: (deadline: UInt64, task: Scheduled<Void>)?
  private var isSettlingSoon = false
  private var hasEnded = false

  init(hub: any InProcessTransport, configuration: WebGateway.Configuration, log: Logger, on loop: any EventLoop) {
    self.loop = loop
    self.hub = hub
    self.configuration = configuration
    self.log = log
    questions = HubQuestions(hub: hub, on: loop, timeout: configuration.limits.reportTimeout)
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
    settle()
    listener.setOption(.autoRead, value: true).whenSuccess { listener.read() }
  }

  /// Closes all pages and leaves the hub; the listener is already closed.
  func end() {
    gateway.bye(now: GatewayLoop.now, into: &output)
    carryOut()
    hasEnded = true
    alarm?.task.cancel()
    opening?.cancel()
    questions.end()
    hubLink?.close()
    hubLink = nil
    router = nil
  }

  // MARK: Connections

  /// Counts a connection while it is open; false if it exceeds the limit.
  func admitConnection(_ channel: any Channel) -> Bool {
    if strangers.count >= configuration.limits.strangers, let oldest = strangers.keys.min() {
      counters.count(.tooManyStrangers)
      strangers.removeValue(forKey: oldest)?.close(promise: nil)
    }
    connections += 1
    counters.connections += 1
    lastStranger += 1
    let number = lastStranger
    strangers[number] = channel
    channel.closeFuture.whenComplete { _ in
      self.connections -= 1
      self.strangers[number] = nil
    }
    guard connections > configuration.limits.connections else { return true }
    counters.count(.tooManyConnections)
    return false
  }

  /// Stops counting an authenticated connection among the unauthenticated ones.
  func letIn(_ channel: any Channel) {
    guard let number = strangers.first(where: { $0.value === channel })?.key else { return }
    strangers[number] = nil
  }

  // MARK: Pages

  /// Registers a page's WebSocket; nil if it exceeds the limit.
  func arrived(_ socket: PageSocket) -> PageID? {
    guard !hasEnded, pages.count < configuration.limits.pages else { return nil }
    lastPage += 1
    let page = PageID(lastPage)
    pages[page] = socket
    gateway.arrived(page, now: GatewayLoop.now, into: &output)
    settleSoon()
    return page
  }

  func receive(_ text: UnsafeRawBufferPointer, from page: PageID) {
    gateway.receive(text, from: page, now: GatewayLoop.now, into: &output)
    settleSoon()
  }

  func isFull(_ page: PageID) {
    counters.fullPages += 1
    gateway.isFull(page)
  }

  func hasRoom(_ page: PageID) {
    gateway.hasRoom(page, now: GatewayLoop.now, into: &output)
    settleSoon()
  }

  func gone(_ page: PageID) {
    guard pages.removeValue(forKey: page) != nil else { return }
    gateway.gone(page, now: GatewayLoop.now, into: &output)
    settleSoon()
  }

  // MARK: The hub

  private func connect() {
    guard !hasEnded else { return }
    hubLink = HubLink(to: hub, on: loop) { hubLink in self.receive(from: hubLink) }
    gateway.opened(now: GatewayLoop.now, into: &output)
    settle()
  }

  private func receive(from hubLink: HubLink) {
    guard hubLink === self.hubLink else { return }
    let (frames, hasEnded) = hubLink.take()
    let now = GatewayLoop.now
    for frame in frames { frame.withUnsafeBytes { gateway.receive($0, now: now, into: &output) } }
    if hasEnded {
      self.hubLink = nil
      gateway.lost(now: now, into: &output)
    }
    settle()
  }

  // MARK: Turns

  /// Settles after all ready input of the sockets has been read.
  private func settleSoon() {
    guard !isSettlingSoon, !hasEnded else { return }
    isSettlingSoon = true
    loop.execute {
      self.isSettlingSoon = false
      self.settle()
    }
  }

  private func settle() {
    guard !hasEnded else { return }
    let now = GatewayLoop.now
    gateway.tick(now: now, into: &output)
    gateway.finishDrain(now: now, into: &output)
    carryOut()
    setAlarm()
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
      case .send(let frame): hubLink?.send(frame)
      case .subscribe(let topic): hubLink?.subscribe(topic)
      case .unsubscribe(let topic): hubLink?.unsubscribe(topic)
      case .open(let pause): open(after: pause)
      case .log(let text): log.debug("\(text)")
      case .close: leaveHub()
      }
    }
    for page in sent { pages[page]?.flush() }
  }

  private func open(after pause: UInt64) {
    leaveHub()
    opening = loop.scheduleTask(in: .milliseconds(Int64(clamping: pause))) { self.connect() }
  }

  private func leaveHub() {
    opening?.cancel()
    hubLink?.close()
    hubLink = nil
  }

  /// Schedules the machine's next deadline.
  private func setAlarm() {
    let deadline = gateway.nextDeadline
    guard deadline != alarm?.deadline else { return }
    alarm?.task.cancel()
    alarm = nil
    guard deadline < .max else { return }
    let task = loop.scheduleTask(deadline: .uptimeNanoseconds(min(deadline, .max / 1_000_000) * 1_000_000)) {
      self.alarm = nil
      self.settle()
    }
    alarm = (deadline, task)
  }
}
