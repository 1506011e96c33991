import BindingWire
import ZeroMQ

/// The hub's two sockets, and who is behind them: connections by their routing ids, subscribers by their file
/// descriptors.
///
/// It turns what ZeroMQ says into the machine's inputs and the machine's frames into messages. Used on the hub's
/// thread only, so its properties are marked `@exclusivity(unchecked)`: checks at run time would cost a part of every
/// message.
final class ZeroMQGate {
  /// What became of a frame for a request connection.
  enum Sending: Equatable {
    case taken
    /// It waits until there is room.
    case kept
    /// It was news, and this connection is behind with it: it is to be told where things stand once it has room.
    case leftOut
    /// The connection is gone, or too far behind.
    case gone
  }
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
  @exclusivity(unchecked) var locks: [LockedPlace] = []
  @exclusivity(unchecked) var bound: [Way] = []
  @exclusivity(unchecked) var addresses: [HubAddress] = []

  @exclusivity(unchecked) private var routing = RoutingID.random()
  @exclusivity(unchecked) private var message = Message()
  @exclusivity(unchecked) private var connections: [RoutingID: ConnectionID] = [:]
  @exclusivity(unchecked) private var routes: [ConnectionID: RoutingID] = [:]
  /// Who spoke last.
  @exclusivity(unchecked) private var latest: (route: RoutingID, id: ConnectionID)?
  @exclusivity(unchecked) private var lastNumber: UInt64 = 0
  @exclusivity(unchecked) private var backlogs: [ConnectionID: Backlog] = [:]
  @exclusivity(unchecked) private var subscribers: [Int32: Subscriber] = [:]
  @exclusivity(unchecked) private var descriptors: [SubscriberID: Int32] = [:]
  @exclusivity(unchecked) private var bySessionTopic: [[UInt8]: Int32] = [:]
  private let limits: Limits
  @exclusivity(unchecked) private(set) var counters = GateCounters()

  /// Connections remembered before those without a session are forgotten.
  @exclusivity(unchecked) private var connectionQuota: Int
  /// Subscriptions that one connection may hold: its models, and room for session topics and the beat.
  private var subscriptionQuota: Int { limits.maxTopics + 256 }
  /// Messages taken from a socket in one drain.
  static let drainMessages = 4_096
  /// Models after which a drain ends: what it decides is stored and told while the processor still has it at hand.
  static let drainModels = 256
  /// Bytes after which a drain ends, so that what it decides fits into one message of a model.
  static let drainBytes = 65_536
  /// Group messages that wait for one subscriber before it loses some; a gap is cheaper than old news.
  static let publishHighWaterMark = 256

  init(limits: Limits) throws(ZeroMQError) {
    self.limits = limits
    connectionQuota = 2 * limits.maxSessions
    context = try Context(ioThreads: 1, maximumSockets: 16)
    router = try Socket(.router, in: context)
    xpub = try Socket(.xpub, in: context)
    // Peers find out quickly that the hub is gone, by their own heartbeats and by its beats; that a peer is gone, its
    // lease says. These only free what is left of such a connection, and thousands of them are to cost little.
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
        .maximumMessageSize(bytes: 512), .sendHighWaterMark(messages: ZeroMQGate.publishHighWaterMark),
        .receiveHighWaterMark(messages: 0),
      ])
    // A session has two connections; some more come and go, or ask for the status.
    quota = try ConnectionQuota(request: router, publish: xpub, wanted: 2 * limits.maxSessions + 256)
  }

  func add(to poller: inout Poller) {
    _ = poller.add(router)
    _ = poller.add(xpub)
    quota.add(to: &poller)
  }

  /// Whether something may be left in the sockets after a drain that took all it was allowed to.
  @exclusivity(unchecked) private(set) var mayHaveMore = false

  /// Feeds the machine what waits in both sockets. Subscriptions first: a join that came with one is answered in the
  /// same drain.
  func drain(_ machine: inout HubMachine, after poller: borrowing Poller, time: HubTime, into output: inout HubOutput) {
    mayHaveMore = false
    quota.look(after: poller)
    counters.refusedConnections = quota.refused
    drainSubscriptions(&machine, time: time, into: &output)
    var bytes = 0
    let lastModels = machine.touched.count + ZeroMQGate.drainModels
    for _ in 0..<ZeroMQGate.drainMessages where bytes < ZeroMQGate.drainBytes && machine.touched.count < lastModels {
      switch try? router.receive(from: &routing, into: &message) {
      case .received:
        bytes += message.byteCount
        if connections.count > connectionQuota { forgetSilent(machine) }
        machine.receive(message.unsafeBytes, on: connection(), time: time, into: &output)
      case .rejected: counters.rejectedMessages += 1
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

  /// Connections without a session: each try of a peer is a new one, and ZeroMQ does not say that one has gone.
  private func forgetSilent(_ machine: HubMachine) {
    let silent = routes.keys.filter { !machine.hasSession(on: $0) }
    for connection in silent { drop(connection) }
    connectionQuota = connections.count + 2 * limits.maxSessions
  }

  // MARK: Subscribers

  private func drainSubscriptions(_ machine: inout HubMachine, time: HubTime, into output: inout HubOutput) {
    for _ in 0..<ZeroMQGate.drainMessages {
      guard (try? xpub.receive(into: &message)) == true else { return }
      let bytes = message.unsafeBytes
      guard let verb = bytes.first, verb <= 1, !message.hasMore else {
        // A SUB cannot send data; a stranger's PUB-like socket can.
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
      // The file descriptor of a connection that is gone may be another's by now; a session topic always comes first
      // on a connection.
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

  // MARK: Sending

  func publish(_ frame: UnsafeRawBufferPointer) {
    if (try? xpub.send(frame)) != .sent { counters.unpublished += 1 }
  }

  /// Sends, or keeps for when there is room.
  func send(_ frame: UnsafeRawBufferPointer, to connection: ConnectionID) -> Sending {
    guard let route = routes[connection] else { return .gone }
    if backlogs[connection] == nil {
      switch try? router.send(frame, to: route) {
      case .sent: return .taken
      case .wouldBlock: break
      case .hostUnreachable, nil: return .gone
      }
    }
    let isNews = HubHeader.isNews(frame)
    if isNews, backlogs[connection]?.isBehind == true { return .leftOut }
    let room = isNews ? limits.routedQueueBytes / 2 : limits.routedQueueBytes
    let waiting = backlogs[connection]?.bytes ?? 0
    guard waiting == 0 || waiting + frame.count <= room else {
      guard isNews else {
        counters.slowConnections += 1
        return .gone
      }
      counters.behindConnections += 1
      backlogs[connection]?.isBehind = true
      return .leftOut
    }
    backlogs[connection, default: Backlog()].frames.append(Array(frame))
    backlogs[connection]?.bytes += frame.count
    return .kept
  }

  /// Whether frames wait for room, so that the loop looks again soon.
  var hasBacklog: Bool { !backlogs.isEmpty }

  /// Sends what waited, as far as there is room now; returns the connections that are gone, and those that have room
  /// again.
  func sendBacklogs() -> (gone: [ConnectionID], roomy: [ConnectionID]) {
    var gone: [ConnectionID] = []
    var roomy: [ConnectionID] = []
    for (connection, backlog) in backlogs {
      guard let route = routes[connection] else {
        backlogs[connection] = nil
        continue
      }
      var sent = 0
      for frame in backlog.frames {
        let outcome = (try? router.send(frame, to: route)) ?? .hostUnreachable
        if outcome == .hostUnreachable { gone.append(connection) }
        guard outcome == .sent else { break }
        sent += 1
      }
      if sent == backlog.frames.count {
        backlogs[connection] = nil
        roomy.append(connection)
      } else if sent > 0 {
        let rest = Array(backlog.frames.dropFirst(sent))
        backlogs[connection] = Backlog(
          frames: rest, bytes: rest.reduce(0) { $0 + $1.count }, isBehind: backlog.isBehind)
      }
    }
    return (gone, roomy)
  }

  /// Forgets a connection; what it still sends comes from a new one.
  func drop(_ connection: ConnectionID) {
    backlogs[connection] = nil
    if latest?.id == connection { latest = nil }
    if let route = routes.removeValue(forKey: connection) { connections[route] = nil }
  }
}
