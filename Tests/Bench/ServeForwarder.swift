import ArgumentParser
import ZeroMQ

/// What libzmq alone can do in the hub's place: every incoming message goes out to the subscribers untouched, and
/// after each drain its writer receives the number of changes, as from an acknowledging hub. It orders, checks,
/// stores and remembers nothing.
struct ServeForwarder: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "serve-forwarder", shouldDisplay: false)
  @Option var request: String
  @Option var publish: String
  /// Messages that may wait for one subscriber; further ones are dropped.
  @Option var waiting = 256
  @OptionGroup var keys: BenchKeys

  func run() throws {
    let context = try Context(ioThreads: 1, maximumSockets: 8)
    let router = try Socket(.router, in: context)
    let xpub = try Socket(.xpub, in: context)
    let common: [SocketOption] =
      [
        .backlog(connections: 1_024), .heartbeat(intervalMilliseconds: 1_000, timeoutMilliseconds: 3_000),
      ] + (try keys.server())
    try router.set(
      common + [.sendHighWaterMark(messages: 1_000), .receiveHighWaterMark(messages: 10_000)])
    try xpub.set(common + [.sendHighWaterMark(messages: waiting), .receiveHighWaterMark(messages: 0)])
    try router.bind(request)
    try xpub.bind(publish)
    report("\(try router.lastEndpoint()) \(try xpub.lastEndpoint())")
    try forward(router, xpub)
  }

  private func forward(_ router: borrowing Socket, _ xpub: borrowing Socket) throws {
    var message = Message()
    var routing = RoutingID.random()
    var accepted: [RoutingID: UInt32] = [:]
    while true {
      var poller = Poller()
      _ = poller.add(router)
      _ = poller.add(xpub)
      _ = try poller.wait(timeoutMilliseconds: -1)
      while try xpub.receive(into: &message) {}
      drain: for _ in 0..<4_096 {
        switch try router.receive(from: &routing, into: &message) {
        case .received:
          accepted[routing, default: 0] += message.withBytes { UInt32(Frames.changes(inProposal: $0)) }
          try xpub.send(&message)
        case .nothing: break drain
        case .rejected: continue
        }
      }
      for (route, count) in accepted { try router.send(Frames.acknowledgement(count), to: route) }
      accepted.removeAll(keepingCapacity: true)
    }
  }
}
