import BindingProtocol
import ZeroMQ

/// Many sessions over one request connection, each with its own models or all with the same few, for a writer. A
/// forwarder has no sessions, and a model is the topic at the start of a message.
final class ScaleConnection {
  /// A session's membership of one model, with proposal numbers of its own.
  struct JoinedModel {
    let topic: Topic
    var sent: ProposalNumber = 0
    var acknowledged: ProposalNumber = 0
  }
  final class Session {
    let id = SessionID.random(in: 1 ... .max)
    var models: [JoinedModel] = []
    var indexByTopic: [Topic: Int] = [:]
    var next = 0
    var underWay = 0
  }
  /// Sessions of one connection: each joins no more models than a hub publishes to one session.
  static let sessionCount = 16

  let kind: Contender
  let dealer: Socket
  private(set) var sessions: [Session] = []
  private(set) var publish: String
  private(set) var start: StartNumber = 1
  private let context: Context
  private var subscriptions: [SocketBox] = []
  private var message = Message()

  /// Says hello and joins; of a forwarder it needs only the address.
  init(
    _ kind: Contender, request: String, publish: String, models: Int, named name: String = "scale/m",
    sessions count: Int = ScaleConnection.sessionCount
  ) throws {
    self.kind = kind
    self.publish = publish
    context = try Context()
    dealer = try Socket(.dealer, in: context)
    try dealer.set([.immediate(true), .sendHighWaterMark(messages: 100_000), .receiveHighWaterMark(messages: 0)])
    try dealer.connect(request)
    guard try dealer.wait(for: .writable, timeoutMilliseconds: 10_000) else {
      throw ScaleTrouble("nobody listens at \(request)")
    }
    for _ in 0..<count { sessions.append(Session()) }
    let shares = Self.shares(of: models, among: count)
    guard kind == .hub else {
      for (session, share) in zip(sessions, shares) {
        for model in share { add(Topics.firstModel + Topic(model), to: session) }
      }
      return
    }
    let address = try HubAddress(request)
    for (session, share) in zip(sessions, shares) { try join(share.map { "\(name)\($0)" }, in: session, at: address) }
  }

  /// Every topic that is written to.
  var topics: [Topic] { Set(sessions.flatMap { $0.models.map(\.topic) }).sorted() }

  /// The numbers of each session's models: shared evenly, or used by several sessions if there are fewer than
  /// sessions.
  private static func shares(of models: Int, among sessionCount: Int) -> [[Int]] {
    (0..<sessionCount).map { session in
      models < sessionCount ? [session % models] : Array(stride(from: session, to: models, by: sessionCount))
    }
  }

  private func add(_ topic: Topic, to session: Session) {
    session.indexByTopic[topic] = session.models.count
    session.models.append(JoinedModel(topic: topic))
  }

  private func join(_ models: [String], in session: Session, at address: HubAddress) throws {
    let identity = Identity(
      secret: .random(), name: "scale")
    try send(.hello(Hello(identity: identity, leaseMilliseconds: 60_000)), of: session)
    guard case (let header, .welcome(let welcome)) = try next() else { throw ScaleTrouble("no welcome") }
    start = header.start
    publish = address.publishEndpoint(among: welcome.endpoints) ?? ""
    let box = SocketBox(try Socket(.sub, in: context))
    subscriptions.append(box)
    try box.socket.subscribe(Topics.sessionTopic(session.id))
    try box.socket.connect(publish)
    try send(.join(models.enumerated().map { Join(request: UInt32($0 + 1), model: $1) }), of: session)
    var joined = 0
    while joined < models.count {
      switch try next().message {
      case .topic(let assigned):
        try box.socket.subscribe(Topics.bytes(assigned.topic))
        add(assigned.topic, to: session)
      case .joined(let answer):
        guard answer.delivery == .published else {
          throw ScaleTrouble("\(answer.model) is not published to its writer")
        }
        joined += 1
      default: break
      }
    }
    // The writer does not subscribe to commits; a forwarder's writer does not either.
    for model in session.models { try box.socket.unsubscribe(Topics.bytes(model.topic)) }
    while try box.socket.wait(for: .readable, timeoutMilliseconds: 1) { _ = try box.socket.receive(into: &message) }
  }

  func send(_ message: PeerMessage, of session: Session) throws {
    _ = try dealer.send(message.encode(session: session.id, start: start))
  }

  private func next() throws -> (header: HubHeader, message: HubMessage) {
    guard try dealer.wait(for: .readable, timeoutMilliseconds: 30_000), try dealer.receive(into: &message) else {
      throw ScaleTrouble("the hub said nothing for 30 s")
    }
    return try message.withBytes { bytes in try HubMessage.decode(Array(bytes)) }
  }

  /// Receives acknowledgements; waits at most `milliseconds` for the first.
  func receive(for milliseconds: Int) throws {
    if milliseconds > 0 { _ = try dealer.wait(for: .readable, timeoutMilliseconds: milliseconds) }
    while try dealer.receive(into: &message) {
      let frame = message.withBytes { Array($0) }
      guard kind == .hub else {
        share(frame.withUnsafeBytes { Int($0.loadUnaligned(as: UInt32.self)) })
        continue
      }
      guard case (_, .outcomes(let outcomes)) = try HubMessage.decode(frame) else { continue }
      guard let session = sessions.first(where: { $0.id == outcomes.session }) else { continue }
      for outcome in outcomes.outcomes {
        guard case .committed(let count, _) = outcome.rest, let index = session.indexByTopic[outcome.topic] else {
          throw ScaleTrouble("the hub did not commit: \(outcome)")
        }
        session.models[index].acknowledged = outcome.number + UInt32(count) - 1
        session.underWay -= Int(count)
      }
    }
  }

  /// A forwarder only counts; sessions are acknowledged in turn.
  private func share(_ count: Int) {
    var left = count
    for session in sessions {
      let part = min(left, session.underWay)
      session.underWay -= part
      left -= part
    }
  }

  var underWay: Int { sessions.reduce(0) { $0 + $1.underWay } }

  func waitForAll() throws {
    let deadline = now() + 60_000_000_000
    while underWay > 0 {
      guard now() < deadline else { throw ScaleTrouble("\(underWay) changes were not acknowledged in 60 s") }
      try receive(for: 100)
    }
  }
}

/// A box for a socket, which is not copyable and cannot be in an array.
final class SocketBox {
  let socket: Socket
  init(_ socket: consuming Socket) { self.socket = socket }
}
