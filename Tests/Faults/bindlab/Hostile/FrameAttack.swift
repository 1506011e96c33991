import BindingProtocol
import Simulation
import ZeroMQ

/// Who sends hostile frames, over a connection that is made anew whenever the hub has ended it.
final class HostileSpeaker {
  let session = SessionID.random(in: 1 ... .max)
  let identity = Identity(secret: .random(), name: "mallory")
  private(set) var start: StartNumber = 0
  let dealer: Socket
  private let context: Context
  private var message = Message()

  /// - Parameter isWelcomed: whether it begins as a peer does.
  init(_ endpoint: String, _ options: [SocketOption], isWelcomed: Bool) throws {
    context = try Context(maximumSockets: 4)
    dealer = try Socket(.dealer, in: context)
    try dealer.set(options + [.reconnectInterval(milliseconds: nil), .immediate(true), .linger(milliseconds: 0)])
    try dealer.connect(endpoint)
    guard try dealer.wait(for: .writable, timeoutMilliseconds: 5_000) else { throw AttackError.notConnected }
    guard isWelcomed else { return }
    try greet()
    guard try dealer.wait(for: .readable, timeoutMilliseconds: 5_000), try dealer.receive(into: &message) else {
      throw AttackError.notWelcomed
    }
    start = message.withBytes { bytes in (try? HubMessage.decode(bytes))?.header.start ?? 0 }
  }

  func encode(_ message: PeerMessage) -> [UInt8] { message.encode(session: session, start: start) }

  /// Begins the session, or begins it anew: whoever is malformed loses it with the first frame.
  func greet() throws {
    try dealer.send(
      PeerMessage.hello(Hello(identity: identity, capabilities: Capability.all)).encode(session: session, start: 0))
  }

  /// Reads and forgets what the hub has answered.
  func drain() throws { while try dealer.receive(into: &message) {} }
}

enum AttackError: Error {
  case notConnected, notWelcomed
  case otherEnd(String)
  case refused(errno: Int32)
}

/// Frames of one kind.
final class FrameAttack: Attack {
  let name: String
  let share = 30
  private let endpoint: String
  private let options: [SocketOption]
  private let kind: HostileFrames.Kind
  private var speaker: HostileSpeaker?
  private var sent = 0
  /// Frames sent at once, before answers are read.
  private static let volley = 32

  init(_ kind: HostileFrames.Kind, over transport: String, _ endpoint: String, _ options: [SocketOption]) {
    name = "\(kind.name), \(transport)"
    (self.kind, self.endpoint, self.options) = (kind, endpoint, options)
  }

  func strike(_ chance: inout Chance) throws -> Int {
    if sent >= kind.perConnection { speaker = nil }
    let speaker = try speaker ?? HostileSpeaker(endpoint, options, isWelcomed: kind.isWelcomed)
    if self.speaker == nil { (self.speaker, sent) = (speaker, 0) }
    if kind.isWelcomed, sent > 0 { try speaker.greet() }
    for number in 0..<FrameAttack.volley {
      let frame = kind.frame(&chance, speaker)
      guard try speaker.dealer.send(frame) == .sent else {
        // The hub has ended the connection, or its queue is full.
        self.speaker = nil
        return max(number, 1)
      }
    }
    sent += FrameAttack.volley
    try speaker.drain()
    return FrameAttack.volley
  }
}

/// Subscriptions without end, each a frame.
final class SubscriptionAttack: Attack {
  let name: String
  let share = 30
  private let endpoint: String
  private let options: [SocketOption]
  private var subscriber: Subscriber?
  /// The hub ends a connection that has more.
  private static let perConnection = 1_300
  private var sent = 0

  private final class Subscriber {
    let sub: Socket
    private var message = Message()

    init(_ endpoint: String, _ options: [SocketOption]) throws {
      sub = try Socket(.sub, in: try Context(maximumSockets: 4))
      try sub.set(options + [.reconnectInterval(milliseconds: nil), .linger(milliseconds: 0)])
      try sub.connect(endpoint)
    }

    func drain() throws { while try sub.receive(into: &message) {} }
  }

  init(over transport: String, _ endpoint: String, _ options: [SocketOption]) {
    name = "subscriptions, \(transport)"
    (self.endpoint, self.options) = (endpoint, options)
  }

  func strike(_ chance: inout Chance) throws -> Int {
    if sent >= SubscriptionAttack.perConnection { subscriber = nil }
    let subscriber = try subscriber ?? Subscriber(endpoint, options)
    if self.subscriber == nil { (self.subscriber, sent) = (subscriber, 0) }
    for _ in 0..<64 {
      let topic = withUnsafeBytes(of: chance.next()) { Array($0) }
      try subscriber.sub.subscribe(chance.below(8) == 0 ? Array(topic.prefix(chance.below(5))) : topic)
    }
    sent += 64
    try subscriber.drain()
    return 64
  }
}

/// A member's message of very many parts, which encryption hides from the guard of the hub's sockets.
final class ManyPartsAttack: Attack {
  let name = "messages of 2,000 parts, as a member over tcp"
  let share = 1
  private let endpoint: String
  private let options: [SocketOption]

  init(_ endpoint: String, _ options: [SocketOption]) { (self.endpoint, self.options) = (endpoint, options) }

  func strike(_ chance: inout Chance) throws -> Int {
    let speaker = try HostileSpeaker(endpoint, options, isWelcomed: false)
    let part = [UInt8](repeating: 7, count: 1_000)
    for _ in 0..<2_000 {
      guard try speaker.dealer.send(part, [.dontWait, .sendMore]) == .sent else { break }
    }
    // Half of them end, the others are cut off with their connection.
    if chance.below(2) == 0 { try speaker.dealer.send(part) }
    return 1
  }
}
