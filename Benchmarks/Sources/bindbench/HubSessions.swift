import BindingWire
import ZeroMQ

/// Brings sessions of one connection to where they may write by field id.
struct HubSessions: ~Copyable {
  private let sub: Socket
  private var message = Message()

  init(in context: Context) throws { sub = try Socket(.sub, in: context) }

  /// Says hello, joins and names the fields.
  /// - Returns: where the hub publishes, the model's topic, the hub's start number.
  mutating func join(
    _ ids: [SessionID], over dealer: borrowing Socket, request: String, fields: FieldID
  ) throws -> (publish: String, topic: Topic, start: StartNumber) {
    let address = try HubAddress(request)
    var (publish, start, topic) = ("", StartNumber(0), Topics.firstModel)
    for (index, id) in ids.enumerated() {
      let identity = Identity(
        tag: Tag(rawValue: .random(in: 1 ... .max)), secret: Secret(high: .random(in: 1 ... .max), low: 1),
        name: "bench")
      try send(.hello(Hello(identity: identity)), of: id, start: 0, over: dealer)
      guard case (let header, .welcome(let welcome)) = try next(dealer) else { throw Unexpected() }
      start = header.start
      try sub.subscribe(Topics.sessionTopic(id))
      if index == 0 {
        publish = address.publishEndpoint(among: welcome.ways) ?? ""
        try sub.subscribe(Topics.bytes(topic))
        try sub.connect(publish)
      }
      try send(.join([Join(request: 1, model: "bench")]), of: id, start: start, over: dealer)
      var isJoined = false
      while !isJoined {
        switch try next(dealer).message {
        case .topic(let assigned): topic = assigned.topic
        case .joined(let joined):
          guard joined.way == .published else { throw Unexpected() }
          isJoined = true
        default: break
        }
      }
    }
    try name(fields, topic, ids[0], start, over: dealer)
    // Who writes need not hear the commits; a forwarder's writer does not either.
    try sub.unsubscribe(Topics.bytes(topic))
    while try sub.wait(for: .readable, timeoutMilliseconds: 100) { _ = try sub.receive(into: &message) }
    return (publish, topic, start)
  }

  private mutating func name(
    _ fields: FieldID, _ topic: Topic, _ id: SessionID, _ start: StartNumber, over dealer: borrowing Socket
  ) throws {
    for field in 0..<fields {
      let named = WireOperation(verb: .set, field: .name("f\(field)"), value: FieldValue(bytes: Array("0".utf8)))
      let proposal = NumberedProposal(topic: topic, number: field + 1, confirmed: field, operations: [named])
      try send(.propose([proposal]), of: id, start: start, over: dealer)
      var isNamed = false
      while !isNamed { if case .outcomes = try next(dealer).message { isNamed = true } }
    }
  }

  private func send(
    _ message: PeerMessage, of id: SessionID, start: StartNumber, over dealer: borrowing Socket
  ) throws {
    _ = try dealer.send(message.encode(session: id, start: start))
  }

  private mutating func next(_ dealer: borrowing Socket) throws -> (header: HubHeader, message: HubMessage) {
    while true {
      _ = try dealer.wait(for: .readable, timeoutMilliseconds: 5_000)
      guard try dealer.receive(into: &message) else { throw Unexpected() }
      return try HubMessage.decode(message.withBytes { Array($0) })
    }
  }

  struct Unexpected: Error, CustomStringConvertible {
    var description: String { "the hub said something else than expected, or nothing in 5 s" }
  }
}
