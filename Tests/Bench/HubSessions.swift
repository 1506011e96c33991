import BindingProtocol
import ZeroMQ

/// Prepares the sessions of one connection to write by field id.
struct HubSessions: ~Copyable {
  /// The model of writers that are not told another.
  static let model = "bench"
  private let sub: Socket
  private var message = Message()

  init(_ options: [SocketOption] = [], in context: Context) throws {
    let socket = try Socket(.sub, in: context)
    try socket.set(options)
    sub = socket
  }

  /// Says hello and joins.
  /// - Returns: the hub's publish endpoint, the model's topic, the hub's start number.
  mutating func join(
    _ ids: [SessionID], over dealer: borrowing Socket, request: String, model: String = HubSessions.model
  ) throws -> (publish: String, topic: Topic, start: StartNumber) {
    let address = try HubAddress(request)
    var (publish, start, topic) = ("", StartNumber(0), Topics.firstModel)
    for (index, id) in ids.enumerated() {
      let endpoints: [HubEndpoint]
      (start, endpoints) = try greet(id, over: dealer)
      if index == 0 {
        publish = address.publishEndpoint(among: endpoints) ?? ""
        try sub.connect(publish)
      }
      try send(.join([Join(request: 1, model: model)]), of: id, start: start, over: dealer)
      var isJoined = false
      while !isJoined {
        switch try next(dealer).message {
        case .topic(let assigned):
          topic = assigned.topic
          if index == 0 { try sub.subscribe(Topics.bytes(topic)) }
        case .joined(let joined):
          guard joined.delivery == .published else { throw Unexpected() }
          isJoined = true
        default: break
        }
      }
    }
    // The writer does not subscribe to commits; a forwarder's writer does not either.
    try sub.unsubscribe(Topics.bytes(topic))
    while try sub.wait(for: .readable, timeoutMilliseconds: 100) { _ = try sub.receive(into: &message) }
    return (publish, topic, start)
  }

  /// Joins a model and receives its whole snapshot.
  mutating func snapshot(
    of model: String, over dealer: borrowing Socket, request: String
  ) throws -> [CatchupChunk] {
    let id = SessionID.random(in: 1 ... .max)
    let (start, endpoints) = try greet(id, over: dealer)
    try sub.connect(try HubAddress(request).publishEndpoint(among: endpoints) ?? "")
    try send(.join([Join(request: 1, model: model)]), of: id, start: start, over: dealer)
    var chunks: [CatchupChunk] = []
    while true {
      switch try next(dealer, timeoutMilliseconds: 60_000).message {
      case .topic(let assigned): try sub.subscribe(Topics.bytes(assigned.topic))
      case .catchup(let chunk):
        chunks.append(chunk)
        if chunk.isLast { return chunks }
      default: break
      }
    }
  }

  private mutating func greet(
    _ id: SessionID, over dealer: borrowing Socket
  ) throws -> (start: StartNumber, endpoints: [HubEndpoint]) {
    let identity = Identity(secret: .random(), name: "bench")
    let hello = Hello(identity: identity, capabilities: [Capability.users])
    try send(.hello(hello), of: id, start: 0, over: dealer)
    guard case (let header, .welcome(let welcome)) = try next(dealer) else { throw Unexpected() }
    try sub.subscribe(Topics.sessionTopic(id))
    return (header.start, welcome.endpoints)
  }

  /// Gives N fields, f0 and so on, their names and a first value, as many at once as a proposal may hold.
  /// - Returns: the number of the last proposal.
  mutating func name(
    _ fields: FieldID, of topic: Topic, session id: SessionID, _ start: StartNumber, over dealer: borrowing Socket,
    value: [UInt8] = Array("0".utf8)
  ) throws -> ProposalNumber {
    var number: ProposalNumber = 0
    for first in stride(from: 0, to: fields, by: 1_000) {
      let operations = (first..<min(first + 1_000, fields)).map {
        WireOperation(verb: .set, field: .name("f\($0)"), value: FieldValue(bytes: value))
      }
      number += 1
      let proposal = NumberedProposal(
        topic: topic, number: number, confirmed: number - 1, operations: operations)
      try send(.propose([proposal]), of: id, start: start, over: dealer)
      var isNamed = false
      while !isNamed {
        guard case .outcomes(let outcomes) = try next(dealer).message else { continue }
        for outcome in outcomes.outcomes {
          guard case .committed = outcome.rest else { throw Writer.RefusalError(outcome: outcome) }
        }
        isNamed = true
      }
    }
    return number
  }

  private func send(
    _ message: PeerMessage, of id: SessionID, start: StartNumber, over dealer: borrowing Socket
  ) throws {
    _ = try dealer.send(message.encode(session: id, start: start))
  }

  private mutating func next(
    _ dealer: borrowing Socket, timeoutMilliseconds: Int = 5_000
  ) throws -> (header: HubHeader, message: HubMessage) {
    _ = try dealer.wait(for: .readable, timeoutMilliseconds: timeoutMilliseconds)
    guard try dealer.receive(into: &message) else { throw Unexpected() }
    return try message.withBytes { try HubMessage.decode($0) }
  }

  struct Unexpected: Error, CustomStringConvertible {
    var description: String { "the hub said something else than expected, or nothing in time" }
  }
}
