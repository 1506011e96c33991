import BindingProtocol
import ZeroMQ

/// A peer without a replica: its messages, and its cost to a hub, are those of a peer that has joined one model.
final class ScalePeer {
  private let identity = Identity(
    secret: .random(), name: "crowd")
  private let model: String
  private let address: HubAddress
  private let endpoint: String
  private let context: Context
  private var request: SocketBox?
  private var subscription: SocketBox?
  private var session: SessionID = 0
  private var start: StartNumber = 0
  private var wasWelcome = false
  private var topic = Topics.none
  private var (epoch, version, names): (Epoch, Version, UInt32) = (0, 0, 0)
  /// Whether it has the whole model.
  private(set) var isCurrent = false
  /// When its connections were last opened.
  private(set) var openedAt: UInt64 = 0
  /// Changes that it has received.
  var changes = 0

  init(of model: String, at address: HubAddress, _ endpoint: String, in context: Context) throws {
    (self.model, self.address, self.endpoint, self.context) = (model, address, endpoint, context)
  }

  var isOpen: Bool { request != nil }
  var isWelcome: Bool { subscription != nil }

  func close() {
    (request, subscription) = (nil, nil)
    isCurrent = false
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
      case .topic(let assigned):
        topic = assigned.topic
        try subscription?.socket.subscribe(Topics.bytes(topic))
      case .joined(let joined):
        (epoch, version) = (joined.epoch, joined.version)
        isCurrent = joined.follows == .nothing
      case .catchup(let chunk):
        names = chunk.names.first + UInt32(chunk.names.names.count)
        if chunk.isLast { isCurrent = true }
      case .error(let error): throw ScaleTrouble("the hub told a peer: \(error.text)")
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
    try send(.join([Join(request: 1, model: model, epoch: epoch, version: version, namesKnown: names)]))
  }

  func receivePublished(into message: inout Message) throws {
    while try subscription?.socket.receive(into: &message) == true {
      let came = message.withBytes { Frames.changes(inCommits: $0) }
      changes += came
      guard came == 0, case (_, .heartbeat(let heartbeat)) = try HubMessage.decode(message.withBytes({ Array($0) }))
      else {
        continue
      }
      try send(.alive(Alive(heartbeat: heartbeat.number)))
    }
  }
}
