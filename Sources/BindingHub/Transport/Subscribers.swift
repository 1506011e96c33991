import BindingKeys
import BindingProtocol
import ZeroMQ

/// The subscribers of the publishing socket, by the file descriptors of their connections.
struct Subscribers {
  private struct Subscriber {
    let id: SubscriberID
    var sessionTopics: Set<[UInt8]> = []
    var subscriptions = 0
  }

  private var subscribers: [Int32: Subscriber] = [:]
  private var descriptors: [SubscriberID: Int32] = [:]
  private var bySessionTopic: [[UInt8]: Int32] = [:]
  private var lastID: SubscriberID = 0
  /// Who is at the other end, where the hub has keys, with the number of the connection: descriptors are reused.
  private var users: [Int32: (user: HubUser, connection: UInt64)] = [:]
  /// The most subscriptions of one connection: its models, and room for session topics and the heartbeat.
  private let quota: Int

  init(_ limits: Limits) { quota = limits.maxTopics + 256 }

  mutating func subscribed(
    _ topic: UnsafeRawBufferPointer, _ descriptor: Int32?, _ machine: inout HubMachine,
    _ counters: inout TransportCounters, time: HubTime, into output: inout HubOutput
  ) {
    guard let descriptor else { return }
    var subscriber = subscribers[descriptor] ?? fresh(descriptor)
    subscriber.subscriptions += 1
    if subscriber.subscriptions > quota {
      if subscriber.subscriptions == quota + 1 { Subscribers.cut(descriptor, &counters) }
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

  mutating func unsubscribed(
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

  /// Who sends a subscription.
  enum Identification {
    /// Nobody who may; its connection is ended.
    case refused
    case known
    /// The first one of this connection.
    case new(HubUser)
  }

  /// Records who subscribes.
  mutating func identify(
    _ message: borrowing Message, _ admissions: Admissions, _ quota: borrowing ConnectionQuota
  ) -> Identification {
    guard let user = ConnectionUser(of: message), let descriptor = user.descriptor else { return .refused }
    guard admissions.isEntitled(user.user, toPublished: true) else {
      user.cut()
      return .refused
    }
    if users.count > 2 * quota.openPublish.count + 64 {
      users = users.filter { quota.openPublish[$0.key] == $0.value.connection }
    }
    guard let connection = quota.openPublish[descriptor] else { return .known }
    let isKnown = users[descriptor]?.connection == connection
    users[descriptor] = (user.user, connection)
    return isKnown ? .known : .new(user.user)
  }

  /// The subscriber at the other end of a connection; nil: it has not subscribed to anything.
  func id(of descriptor: Int32) -> SubscriberID? { subscribers[descriptor]?.id }

  /// Whether the connection is known to be that of somebody who may still connect.
  func isEntitled(_ descriptor: Int32, _ admissions: Admissions, _ quota: borrowing ConnectionQuota) -> Bool {
    guard let known = users[descriptor], quota.openPublish[descriptor] == known.connection else { return false }
    return admissions.isEntitled(known.user, toPublished: true)
  }

  /// Ends a subscriber's connection.
  func cut(_ subscriber: SubscriberID, _ counters: inout TransportCounters) {
    if let descriptor = descriptors[subscriber] { Subscribers.cut(descriptor, &counters) }
  }

  private static func cut(_ descriptor: Int32, _ counters: inout TransportCounters) {
    counters.cutSubscribers += 1
    ConnectionCut.shutdownConnection(fileDescriptor: descriptor)
  }

  private mutating func fresh(_ descriptor: Int32) -> Subscriber {
    lastID += 1
    descriptors[lastID] = descriptor
    return Subscriber(id: lastID)
  }

  private mutating func forget(_ descriptor: Int32) {
    if let gone = subscribers.removeValue(forKey: descriptor) { descriptors[gone.id] = nil }
  }
}
