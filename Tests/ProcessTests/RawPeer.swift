import BindingProtocol
import Foundation
import Testing
import ZeroMQ

/// Speaks the protocol frame by frame, so it can also send what no peer sends.
final class RawPeer {
  var identity: Identity
  let session = SessionID.random(in: 1 ... .max)
  private(set) var start: StartNumber = 0
  private(set) var topic: Topic = 0
  private let context: Context
  private let dealer: Socket
  private let sub: Socket
  private var message = Message()
  private let hub: HubAddress

  /// - Parameter options: how to reach a hub with keys.
  init(_ hub: String, identity: Identity? = nil, name: String = "raw", options: [SocketOption] = []) throws {
    self.hub = try HubAddress(hub)
    self.identity =
      identity
      ?? Identity(secret: .random(), name: name)
    context = try Context()
    dealer = try Socket(.dealer, in: context)
    sub = try Socket(.sub, in: context)
    try dealer.set(options)
    try sub.set(options)
    try dealer.connect(hub)
    try #require(try dealer.wait(for: .writable, timeoutMilliseconds: 10_000))
  }

  func send(_ message: PeerMessage, start: StartNumber? = nil) throws {
    try send(message.encode(session: session, start: start ?? self.start))
  }

  func send(_ frame: [UInt8]) throws { try dealer.send(frame) }

  /// Sends one message of several parts.
  func send(parts: [[UInt8]]) throws {
    for part in parts.dropLast() { try dealer.send(part, [.dontWait, .sendMore]) }
    if let last = parts.last { try dealer.send(last) }
  }

  /// Returns the next routed message that matches; waits up to 20 s.
  func next<Found>(_ find: (HubHeader, HubMessage) -> Found?) throws -> Found { try next(from: dealer, find) }

  /// Returns the next published message that matches; waits up to 20 s.
  func nextPublished<Found>(_ find: (HubHeader, HubMessage) -> Found?) throws -> Found { try next(from: sub, find) }

  private func next<Found>(from socket: borrowing Socket, _ find: (HubHeader, HubMessage) -> Found?) throws -> Found {
    let end = Date(timeIntervalSinceNow: 20)
    while Date() < end {
      guard try socket.wait(for: .readable, timeoutMilliseconds: 200) else { continue }
      while try socket.receive(into: &message) {
        let (header, content) = try HubMessage.decode(message.withBytes { Array($0) })
        if let found = find(header, content) { return found }
      }
    }
    throw Silence()
  }

  /// Sends a hello and receives the welcome.
  func hello(capabilities: [String] = [Capability.users]) throws {
    try send(.hello(Hello(identity: identity, capabilities: capabilities)), start: 0)
    let endpoints = try next { header, message -> [HubEndpoint]? in
      guard case .welcome(let welcome) = message else { return nil }
      start = header.start
      return welcome.endpoints
    }
    try sub.subscribe(Topics.sessionTopic(session))
    try sub.connect(try #require(hub.publishEndpoint(among: endpoints)))
  }

  /// Joins a model and receives its state; without a subscription the request connection delivers.
  func join(_ model: String, subscribes: Bool = true) throws {
    try send(.join([Join(request: 1, model: model)]))
    topic = try next { if case .topic(let assigned) = $1 { assigned.topic } else { nil } }
    if subscribes { try sub.subscribe(Topics.bytes(topic)) }
    _ = try next { if case .joined(let joined) = $1 { joined } else { nil } }
  }

  /// Subscribes to `count` topics that no model has.
  func floodSubscriptions(_ count: Int) throws {
    for topic in 0..<UInt32(count) { try sub.subscribe(Topics.bytes(0x7000_0000 + topic)) }
  }

  func propose(_ number: ProposalNumber, _ field: String, _ json: String) throws {
    try send(.propose([proposal(number, field, json)]))
  }

  func proposal(_ number: ProposalNumber, _ field: String, _ json: String) -> NumberedProposal {
    NumberedProposal(
      topic: topic, number: number,
      operations: [WireOperation(verb: .set, field: .name(field), value: FieldValue(bytes: Array(json.utf8)))])
  }

  func outcome() throws -> WireOutcome.Rest {
    try next { if case .outcomes(let outcomes) = $1 { outcomes.outcomes.first?.rest } else { nil } }
  }

  func error() throws -> ErrorMessage {
    try next { if case .error(let error) = $1 { error } else { nil } }
  }

  /// All frames of the request connection until the hub has answered a ping.
  func framesUntilPong(_ token: UInt64) throws -> [[UInt8]] {
    try send(.ping(Ping(token: token)))
    var frames: [[UInt8]] = []
    _ = try next { header, message -> Bool? in
      frames.append(self.message.withBytes { Array($0) })
      if case .pong(let pong) = message, pong.token == token { return true }
      return nil
    }
    return frames
  }

  struct Silence: Error {}
}

/// Silent connections to a Unix-domain socket.
final class SilentConnections {
  private var sockets: [Int32] = []

  init(to path: String, count: Int) {
    for _ in 0..<count { if let socket = Relay.connected(to: path) { sockets.append(socket) } }
  }

  deinit { for socket in sockets { close(socket) } }
}

extension Bench {
  /// Returns a counter of the running hub.
  func counter(_ name: String, of group: String = "counters") throws -> Int {
    let status = try RunningProcess(Bench.program("bindhub"), ["status", "--json", "--timeout", "20000"], hub: hub)
    try #require(status.end() == 0, "\(status.output)")
    let json = try JSONSerialization.jsonObject(with: Data(status.output.joined().utf8)) as? [String: Any]
    return try #require((json?[group] as? [String: Any])?[name] as? Int, "\(status.output)")
  }

  /// Waits until a counter has reached a number.
  func wait(_ name: String, of group: String = "counters", atLeast count: Int) throws {
    let end = Date(timeIntervalSinceNow: 20)
    var present = 0
    while Date() < end {
      present = (try? counter(name, of: group)) ?? 0
      if present >= count { return }
    }
    Issue.record("\(name) is \(present), \(count) were expected")
  }
}
