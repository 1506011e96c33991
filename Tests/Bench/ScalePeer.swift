import BindingProtocol
import ZeroMQ

/// A peer without a replica: its messages, and its cost to a hub, are those of a peer that has joined one model.
final class ScalePeer {
  private let identity = Identity(secret: .random(), name: "crowd")
  private let address: HubAddress
  private let endpoint: String
  private let context: Context
  private var request: SocketBox?
  private var subscription: SocketBox?
  private var session: SessionID = 0
  private var start: StartNumber = 0
  private var wasWelcome = false
  private var model: ScaleModel
  /// When its connections were last opened.
  private(set) var openedAt: UInt64 = 0
  /// Changes that it has received.
  var changes = 0

  init(of model: String, at address: HubAddress, _ endpoint: String, in context: Context) throws {
    (self.address, self.endpoint, self.context) = (address, endpoint, context)
    self.model = ScaleModel(name: model)
  }

  var isOpen: Bool { request != nil }
  var isWelcome: Bool { subscription != nil }
  /// Whether it has the whole model.
  var isCurrent: Bool { model.isCurrent }

  func close() {
    (request, subscription) = (nil, nil)
    model.isCurrent = false
  }

  func open() throws {
    session = .random(in: 1 ... .max)
    openedAt = now()
    let socket = try Socket(.dealer, in: context)
    try socket.set([
      .heartbeat(intervalMilliseconds: 1_000, timeoutMilliseconds: 3_000), .sendHighWaterMark(messages: 100_000),
      .receiveHighWaterMark(messages: 0),
    ])
    try socket.connect(endpoint)
    request = SocketBox(socket)
    try send(.hello(Hello(identity: identity, isResuming: wasWelcome, capabilities: [Capability.applied])))
  }

  func add(to poller: inout Poller) -> (request: Poller.Slot, subscription: Poller.Slot?) {
    // Only open peers are polled.
    guard let request else { return (poller.add(fileDescriptor: -1), nil) }
    return (poller.add(request.socket), subscription.map { poller.add($0.socket) })
  }

  private func send(_ message: PeerMessage) throws {
    _ = try request?.socket.send(message.encode(session: session, start: start))
  }

  func receiveAnswers(into message: inout Message) throws {
    while try request?.socket.receive(into: &message) == true {
      let (header, content) = try HubMessage.decode(message.withBytes { Array($0) })
      switch content {
      case .welcome(let welcome): try handle(welcome, header.start)
      case .topic(let assigned): try subscription?.socket.subscribe(Topics.bytes(assigned.topic))
      case .joined(let joined): model.receive(joined)
      case .catchup(let chunk): model.receive(chunk)
      case .error(let error): throw ScaleTrouble("the hub sent an error: \(error.text)")
      default: break
      }
    }
  }

  private func handle(_ welcome: Welcome, _ start: StartNumber) throws {
    (self.start, wasWelcome) = (start, true)
    let socket = try Socket(.sub, in: context)
    try socket.set([
      .heartbeat(intervalMilliseconds: 1_000, timeoutMilliseconds: 3_000), .receiveHighWaterMark(messages: 0),
    ])
    try socket.subscribe(Topics.sessionTopic(session))
    try socket.subscribe(Topics.bytes(Topics.heartbeat))
    try socket.connect(address.publishEndpoint(among: welcome.endpoints) ?? "")
    subscription = SocketBox(socket)
    try send(.join([model.join]))
  }

  func receivePublished(into message: inout Message) throws {
    while try subscription?.socket.receive(into: &message) == true {
      let came = message.withBytes { Frames.changes(inCommits: $0) }
      changes += came
      guard came == 0 else { continue }
      guard case (_, .heartbeat(let heartbeat)) = try HubMessage.decode(message.withBytes({ Array($0) })) else {
        continue
      }
      try send(.alive(Alive(heartbeat: heartbeat.number)))
    }
  }
}

/// What the peer has of its model: not the values, but what it tells the hub of them when it joins again.
private struct ScaleModel {
  let name: String
  private var (epoch, version, names): (Epoch, Version, UInt32) = (0, 0, 0)
  /// Whether the peer has received the whole model over its present connections.
  var isCurrent = false

  init(name: String) { self.name = name }

  var join: Join { Join(request: 1, model: name, epoch: epoch, version: version, namesKnown: names) }

  mutating func receive(_ joined: Joined) {
    (epoch, version) = (joined.epoch, joined.version)
    isCurrent = joined.follows == .nothing
  }

  mutating func receive(_ chunk: CatchupChunk) {
    names = chunk.names.first + UInt32(chunk.names.names.count)
    if chunk.isLast { isCurrent = true }
  }
}
