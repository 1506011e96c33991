import BindingProtocol
import ZeroMQ

/// The hub's two sockets, with their connections by routing id and their subscribers by file descriptor.
///
/// It turns ZeroMQ's messages into the machine's inputs, and the machine's frames into messages. Used on the hub's
/// thread only, so its properties are `@exclusivity(unchecked)`: run-time checks would cost a part of every
/// message.
final class ZeroMQTransport {
  private struct Subscriber {
    let id: SubscriberID
    let fileDescriptor: Int32
    var sessionTopics: Set<[UInt8]> = []
    var subscriptions = 0
  }

  private let context: Context
  @exclusivity(unchecked) private var quota: ConnectionQuota
  let router: Socket
  let xpub: Socket
  let requestGuard: MessageGuard
  let publishGuard: MessageGuard
  /// Whether every incoming message is bounded before libzmq has collected it.
  @exclusivity(unchecked) var isGuarded = true
  @exclusivity(unchecked) var locks: [LockedSocketPath] = []
  @exclusivity(unchecked) var bound: [HubEndpoint] = []
  @exclusivity(unchecked) var addresses: [HubAddress] = []

  @exclusivity(unchecked) private var routing = RoutingID.random()
  @exclusivity(unchecked) private var message = Message()
  @exclusivity(unchecked) var connections: [RoutingID: ConnectionID] = [:]
  @exclusivity(unchecked) var routes: [ConnectionID: RoutingID] = [:]
  /// The connection of the last message.
  @exclusivity(unchecked) var latest: (route: RoutingID, id: ConnectionID)?
  @exclusivity(unchecked) private var lastNumber: UInt64 = 0
  @exclusivity(unchecked) var backlogs: [ConnectionID: Backlog] = [:]
  @exclusivity(unchecked) private var subscribers: [Int32: Subscriber] = [:]
  @exclusivity(unchecked) private var descriptors: [SubscriberID: Int32] = [:]
  @exclusivity(unchecked) private var bySessionTopic: [[UInt8]: Int32] = [:]
  let limits: Limits
  @exclusivity(unchecked) var counters = TransportCounters()

  /// The connections remembered before those without a session are forgotten.
  @exclusivity(unchecked) private var connectionQuota: Int
  /// The most subscriptions of one connection: its models, and room for session topics and the heartbeat.
  private var subscriptionQuota: Int { limits.maxTopics + 256 }
  /// The most messages read from a socket in one drain.
  static let drainMessages = 4_096
  /// The most subscriptions read in one drain: a join may wait for each.
  static let drainSubscriptions = 256
  /// The number of touched models that ends a drain: its decisions are then stored and sent while still in the
  /// processor's cache.
  static let drainModels = 256
  /// The bytes that end a drain, so that its decisions fit into one message of a model.
  static let drainBytes = 65_536
  /// The most frames of a message that is still read, and then refused: a valid message has one.
  static let maxParts = 16
  /// The most bytes of a message to the publish port, which gets subscriptions of a few bytes.
  static let maxSubscriptionBytes = 512
  /// The published messages that may wait for one subscriber before it loses some; a gap is cheaper than stale
  /// updates.
  static let publishHighWaterMark = 256

  init(limits: Limits) throws(ZeroMQError) {
    self.limits = limits
    connectionQuota = 2 * limits.maxSessions
    requestGuard = MessageGuard(maximumParts: ZeroMQTransport.maxParts, maximumBytes: limits.maxFrameBytes)
    publishGuard = MessageGuard(
      maximumParts: ZeroMQTransport.maxParts, maximumBytes: ZeroMQTransport.maxSubscriptionBytes)
    // One I/O thread: the guards require it.
    context = try Context(ioThreads: 1, maximumSockets: 16)
    router = try Socket(.router, in: context)
    xpub = try Socket(.xpub, in: context)
    // Peers detect a dead hub by heartbeats, and the hub a dead peer by its lease. ZeroMQ's heartbeats only free
    // what is left of such a connection, and must stay cheap for thousands.
    let common: [SocketOption] = [
      .backlog(connections: 1_024), .heartbeat(intervalMilliseconds: 5_000, timeoutMilliseconds: 10_000),
    ]
    try router.set(
      common + [
        .maximumMessageSize(bytes: limits.maxFrameBytes), .sendHighWaterMark(messages: 1_000),
        .receiveHighWaterMark(messages: 10_000),
      ])
    try xpub.set(
      common + [
        .maximumMessageSize(bytes: ZeroMQTransport.maxSubscriptionBytes),
        .sendHighWaterMark(messages: ZeroMQTransport.publishHighWaterMark),
        .receiveHighWaterMark(messages: 0),
      ])
    // A session has two connections; some more come and go, or ask for the status.
    quota = try ConnectionQuota(request: router, publish: xpub, wanted: 2 * limits.maxSessions + 256)
  }

  /// The most connections kept.
  var maxConnections: Int { quota.limit }

  func add(to poller: inout Poller) {
    _ = poller.add(router)
    _ = poller.add(xpub)
    quota.add(to: &poller)
  }

  /// Whether the last drain stopped at a limit, so that messages may be left in the sockets.
  @exclusivity(unchecked) private(set) var mayHaveMore = false

  /// Passes the messages waiting in both sockets to the machine. Subscriptions come first, so that a join sent with
  /// one is answered in the same drain.
  func drain(_ machine: inout HubMachine, after poller: borrowing Poller, time: HubTime, into output: inout HubOutput) {
    mayHaveMore = false
    quota.look(after: poller)
    counters.refusedConnections = quota.refused + requestGuard.refusedConnections + publishGuard.refusedConnections
    counters.cutMessages = requestGuard.cutConnections + publishGuard.cutConnections
    drainSubscriptions(&machine, time: time, into: &output)
    var bytes = 0
    let lastModels = machine.hub.models.touched.count + ZeroMQTransport.drainModels
    for _ in 0..<ZeroMQTransport.drainMessages
    where bytes < ZeroMQTransport.drainBytes && machine.hub.models.touched.count < lastModels {
      switch try? router.receive(from: &routing, into: &message) {
      case .received:
        bytes += message.byteCount
        if connections.count > connectionQuota { forgetSilent(machine) }
        machine.receive(message.unsafeBytes, on: connection(), time: time, into: &output)
      case .rejected(.severalFrames):
        counters.rejectedMessages += 1
        machine.refuseFrames(beginningWith: message.unsafeBytes, on: connection(), time: time, into: &output)
      case .rejected(.routingIDTooLong): counters.rejectedMessages += 1
      case .nothing, nil: return
      }
    }
    mayHaveMore = true
  }

  private func connection() -> ConnectionID {
    // Messages of one connection come in runs.
    if let latest, latest.route == routing { return latest.id }
    if let known = connections[routing] {
      latest = (routing, known)
      return known
    }
    lastNumber += 1
    connections[routing] = lastNumber
    routes[lastNumber] = routing
    latest = (routing, lastNumber)
    return lastNumber
  }

  /// Forgets connections without a session: each attempt of a peer is a new one, and ZeroMQ does not report their
  /// end.
  private func forgetSilent(_ machine: HubMachine) {
    let silent = routes.keys.filter { !machine.hasSession(on: $0) }
    for connection in silent { drop(connection) }
    connectionQuota = connections.count + 2 * limits.maxSessions
  }

  // MARK: Subscribers

  private func drainSubscriptions(_ machine: inout HubMachine, time: HubTime, into output: inout HubOutput) {
    for _ in 0..<ZeroMQTransport.drainSubscriptions {
      guard (try? xpub.receive(into: &message)) == true else { return }
      let bytes = message.unsafeBytes
      guard let verb = bytes.first, verb <= 1, !message.hasMore else {
        // A SUB socket cannot send data; a stranger's PUB-like socket can.
        try? xpub.discardRemainingFrames(after: &message)
        counters.rejectedMessages += 1
        continue
      }
      let topic = UnsafeRawBufferPointer(rebasing: bytes.dropFirst())
      let descriptor = message.sourceFileDescriptor
      if verb == 1 {
        subscribed(topic, descriptor, &machine, time: time, into: &output)
      } else {
        unsubscribed(topic, descriptor, &machine, time: time, into: &output)
      }
    }
    mayHaveMore = true
  }

  private func subscribed(
    _ topic: UnsafeRawBufferPointer, _ descriptor: Int32?, _ machine: inout HubMachine, time: HubTime,
    into output: inout HubOutput
  ) {
    guard let descriptor else { return }
    var subscriber = subscribers[descriptor] ?? fresh(descriptor)
    subscriber.subscriptions += 1
    if subscriber.subscriptions > subscriptionQuota {
      if subscriber.subscriptions == subscriptionQuota + 1 { cut(descriptor) }
      subscribers[descriptor] = subscriber
      return
    }
    if case .session = Topics.subscription(topic) {
      let name = Array(topic)
      // The file descriptor of a closed connection may have been reused; a session topic is always a connection's
      // first.
      if let earlier = bySessionTopic[name], earlier != descriptor { subscribers[earlier]?.sessionTopics.remove(name) }
      if subscriber.sessionTopics.isEmpty, subscriber.subscriptions > 1 {
        forget(descriptor)
        subscriber = fresh(descriptor)
        subscriber.subscriptions = 1
      }
      subscriber.sessionTopics.insert(name)
      bySessionTopic[name] = descriptor
    }
    subscribers[descriptor] = subscriber
    machine.subscribed(topic, by: subscriber.id, time: time, into: &output)
  }

  private func unsubscribed(
    _ topic: UnsafeRawBufferPointer, _ descriptor: Int32?, _ machine: inout HubMachine, time: HubTime,
    into output: inout HubOutput
  ) {
    if case .session = Topics.subscription(topic) {
      let name = Array(topic)
      guard let owner = bySessionTopic.removeValue(forKey: name), var subscriber = subscribers[owner] else { return }
      machine.unsubscribed(topic, by: subscriber.id, time: time, into: &output)
      subscriber.sessionTopics.remove(name)
      subscribers[owner] = subscriber
      if subscriber.sessionTopics.isEmpty { forget(owner) }
    } else if let descriptor, let subscriber = subscribers[descriptor] {
      subscribers[descriptor]?.subscriptions -= 1
      machine.unsubscribed(topic, by: subscriber.id, time: time, into: &output)
    }
  }

  private func fresh(_ descriptor: Int32) -> Subscriber {
    lastNumber += 1
    descriptors[lastNumber] = descriptor
    return Subscriber(id: lastNumber, fileDescriptor: descriptor)
  }

  private func forget(_ descriptor: Int32) {
    if let gone = subscribers.removeValue(forKey: descriptor) { descriptors[gone.id] = nil }
  }

  private func cut(_ descriptor: Int32) {
    counters.cutSubscribers += 1
    _ = ConnectionCut.shutdownConnection(fileDescriptor: descriptor)
  }

  func cut(_ subscriber: SubscriberID) {
    if let descriptor = descriptors[subscriber] { cut(descriptor) }
  }
}
