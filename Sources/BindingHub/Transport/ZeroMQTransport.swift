import BindingKeys
import BindingProtocol
import ZeroMQ

/// Turns ZeroMQ's messages into the machine's inputs, and the machine's frames into messages. Used on the hub's
/// thread only, so its properties are `@exclusivity(unchecked)`: run-time checks would cost a part of every
/// message.
final class ZeroMQTransport {
  @exclusivity(unchecked) var quota: ConnectionQuota
  @exclusivity(unchecked) private(set) var sockets: HubSockets
  @exclusivity(unchecked) var connections: RequestConnections
  @exclusivity(unchecked) var subscribers: Subscribers
  /// Who may connect; nil: everybody who reaches the sockets.
  let admissions: Admissions?
  @exclusivity(unchecked) private var revocations: UInt64 = 0
  /// nil: the hub has no keys.
  @exclusivity(unchecked) private var keyChange: HubKeyChange?
  /// When the members are looked at again, on the monotonic clock.
  @exclusivity(unchecked) private var membersDueAt: UInt64 = 0
  @exclusivity(unchecked) private var membersView: MembersView?
  @exclusivity(unchecked) private var routing = RoutingID.random()
  @exclusivity(unchecked) private(set) var message = Message()
  @exclusivity(unchecked) private(set) var counters = TransportCounters()
  /// Whether the last drain stopped at a limit, so that messages may be left in the sockets.
  @exclusivity(unchecked) private(set) var mayHaveMore = false

  /// The most messages read from a socket in one drain.
  static let drainMessages = 4_096
  /// The most subscriptions read in one drain: a join may wait for each.
  private static let drainSubscriptions = 256
  /// The number of touched models that ends a drain: its decisions are then stored and sent while still in the
  /// processor's cache.
  private static let drainModels = 256
  /// The bytes that end a drain, so that its decisions fit into one message of a model.
  private static let drainBytes = 65_536

  /// The time between two looks at the file of members; a revocation takes effect within a heartbeat.
  private static let membersMilliseconds: UInt64 = 250

  /// - Parameter security: what tcp is protected with; nil: everybody may connect.
  init(_ limits: Limits, _ security: HubSecurity?) throws(ZeroMQError) {
    admissions = security?.admissions
    keyChange = security.map { HubKeyChange($0) }
    connections = RequestConnections(limits)
    subscribers = Subscribers(limits)
    sockets = try HubSockets(limits, security)
    // A session has two connections; some more come and go, or ask for the status.
    quota = try ConnectionQuota(
      request: sockets.router, publish: sockets.xpub, wanted: 2 * limits.maxSessions + 256, admissions)
  }

  /// The most connections kept.
  var maxConnections: Int { quota.limit }

  /// Binds both sockets for an address.
  func listen(_ address: HubAddress) throws(HubError) { try sockets.listen(address) }

  func add(to poller: inout Poller) {
    _ = poller.add(sockets.router)
    _ = poller.add(sockets.xpub)
    quota.add(to: &poller)
  }

  // MARK: Receiving

  /// Passes the messages waiting in both sockets to the machine. Subscriptions come first, so that a join sent with
  /// one is answered in the same drain.
  func drain(_ machine: inout HubMachine, after poller: borrowing Poller, time: HubTime, into output: inout HubOutput) {
    mayHaveMore = false
    quota.look(after: poller, at: time.monotonic)
    counters.refusedConnections = quota.refused + sockets.refusedConnections
    counters.limitedAddresses = quota.limitedAddresses
    counters.cutMessages = sockets.cutConnections
    if let admissions { counters.refusedKeys = admissions.refused }
    drainSubscriptions(&machine, time: time, into: &output)
    var bytes = 0
    let lastModels = machine.hub.models.touched.count + ZeroMQTransport.drainModels
    for _ in 0..<ZeroMQTransport.drainMessages
    where bytes < ZeroMQTransport.drainBytes && machine.hub.models.touched.count < lastModels {
      switch try? sockets.router.receive(from: &routing, into: &message) {
      case .received:
        bytes += message.byteCount
        if connections.areMany { connections.forgetSilent(machine) }
        let connection = connections.number(of: routing)
        if let admissions, !mayPass(connection, admissions, &machine, time, &output) { continue }
        machine.receive(message.unsafeBytes, on: connection, time: time, into: &output)
      case .rejected(.severalFrames):
        counters.rejectedMessages += 1
        let connection = connections.number(of: routing)
        if let admissions, !mayPass(connection, admissions, &machine, time, &output) { continue }
        machine.refuseFrames(beginningWith: message.unsafeBytes, on: connection, time: time, into: &output)
      case .rejected(.routingIDTooLong): counters.rejectedMessages += 1
      case .nothing, nil: return
      }
    }
    mayHaveMore = true
  }

  private func drainSubscriptions(_ machine: inout HubMachine, time: HubTime, into output: inout HubOutput) {
    for _ in 0..<ZeroMQTransport.drainSubscriptions {
      guard (try? sockets.xpub.receive(into: &message)) == true else { return }
      let bytes = message.unsafeBytes
      guard let verb = bytes.first, verb <= 1, !message.hasMore else {
        // A SUB socket cannot send data; an unknown client's PUB-like socket can.
        try? sockets.xpub.discardRemainingFrames(after: &message)
        counters.rejectedMessages += 1
        continue
      }
      let topic = UnsafeRawBufferPointer(rebasing: bytes.dropFirst())
      let descriptor = message.sourceFileDescriptor
      if let admissions, verb == 1 {
        // Its connection is among those that have opened by now.
        quota.drain(at: time.monotonic)
        switch subscribers.identify(message, admissions, quota) {
        case .refused:
          counters.rejectedMessages += 1
          continue
        case .known: break
        case .new(let user):
          if let descriptor { makeRoom(forSubscriber: user, descriptor, admissions, &machine, time, &output) }
        }
      }
      if verb == 1 {
        subscribers.subscribed(topic, descriptor, &machine, &counters, time: time, into: &output)
      } else {
        subscribers.unsubscribed(topic, descriptor, &machine, time: time, into: &output)
      }
    }
    mayHaveMore = true
  }

  // MARK: Users

  /// Whether the message that has just been received is for the machine. The holder of an invitation may enrol, and
  /// nothing else; who has been revoked meanwhile, nothing at all.
  private func mayPass(
    _ connection: ConnectionID, _ admissions: Admissions, _ machine: inout HubMachine, _ time: HubTime,
    _ output: inout HubOutput
  ) -> Bool {
    guard let user = user(of: connection, admissions, &machine, time, &output) else {
      counters.rejectedMessages += 1
      return false
    }
    if case .member(let key) = user.user, let answer = answer(to: message, of: key, admissions) {
      answer.frame.withUnsafeBytes { _ = send($0, to: connection) }
      return false
    }
    guard case .invited(let id) = user.user else {
      if !machine.isIdentified(connection), let principal = admissions.principal(of: user.user) {
        machine.identify(connection, as: principal)
      }
      return true
    }
    let answer: Enrolment.Answer
    do throws(WireError) {
      answer = admissions.enrol(try Enrolment(frame: message.unsafeBytes), by: id)
    } catch {
      counters.rejectedMessages += 1
      answer = .refused(error.description)
    }
    answer.frame.withUnsafeBytes { _ = send($0, to: connection) }
    return false
  }

  /// The answer to a member's message about its keys; nil: the message is another one, for the machine.
  private func answer(
    to message: borrowing Message, of key: PublicKey, _ admissions: Admissions
  ) -> Enrolment.Answer? {
    let bytes = message.unsafeBytes
    do throws(WireError) {
      switch bytes.first {
      case Enrolment.kind: return admissions.renew(try Enrolment(frame: bytes), by: key)
      case Retirement.kind: return admissions.retire(try Retirement(frame: bytes), by: key)
      default: return nil
      }
    } catch {
      counters.rejectedMessages += 1
      return .refused(error.description)
    }
  }

  /// Who sent the message that has just been received. libzmq gives the routing id of a connection that is gone to
  /// the next that asks for it, and the system its file descriptor; so each message is asked for its user, and another
  /// user's connection is ended.
  /// - Returns: nil: nobody who may.
  private func user(
    of connection: ConnectionID, _ admissions: Admissions, _ machine: inout HubMachine, _ time: HubTime,
    _ output: inout HubOutput
  ) -> ConnectionUser? {
    let known = connections.users[connection]
    if let known, known.sent(message) { return known }
    guard let user = ConnectionUser(of: message) else { return nil }
    guard admissions.isEntitled(user.user), known == nil || known?.user == user.user else {
      user.cut()
      return nil
    }
    guard makeRoom(for: user, connection, admissions, &machine, time, &output) else { return nil }
    connections.identify(connection, as: user)
    return user
  }

  /// Tells the machine for whom gateways may speak, as the file says now.
  func tellMembers(_ machine: inout HubMachine) {
    guard let admissions else { return }
    admissions.refresh()
    if let members = admissions.members(otherThan: &membersView) { machine.apply(members) }
  }

  /// Ends the connections of those who are members no longer, or whose rights have changed. In this order nothing
  /// that is decided from now on reaches them: the authenticator has the new members and rights, the machine has the
  /// rights, then every connection that was admitted before is known, and of those each must prove to be another
  /// one's. A subscriber that never subscribed proves nothing: what it asks for later would be sent before the hub has
  /// read who asks.
  func revoke(_ machine: inout HubMachine, time: HubTime, into output: inout HubOutput) {
    guard let admissions, time.monotonic >= membersDueAt else { return }
    membersDueAt = time.monotonic + ZeroMQTransport.membersMilliseconds
    let revocations = admissions.refresh()
    let areRightsChanged = admissions.reloadPolicy()
    if let members = admissions.members(otherThan: &membersView) { machine.apply(members) }
    var isFailed = false
    if case .selfTest? = keyChange?.look(at: Admissions.now, &sockets, &machine, into: &output) { isFailed = true }
    guard areRightsChanged || isFailed || revocations != self.revocations else { return }
    self.revocations = revocations
    var ended = Set(connections.users.lazy.filter { !admissions.isEntitled($0.value.user) }.map(\.key))
    if areRightsChanged { ended.formUnion(machine.apply(admissions.policy, time: time)) }
    quota.drain(at: time.monotonic)
    for connection in ended.sorted() {
      if let user = connections.users[connection] {
        admissions.recordEnd(of: user.user)
        user.cut()
      }
      connections.drop(connection)
      machine.expel(connection, time: time, into: &output)
    }
    for descriptor in quota.openPublish.keys where !subscribers.isEntitled(descriptor, admissions, quota) {
      ConnectionCut.shutdownConnection(fileDescriptor: descriptor)
    }
  }

  /// Has sessions told of the hub's key.
  func announceKeys(_ machine: inout HubMachine) {
    var output = HubOutput()
    keyChange?.begin(&machine, into: &output)
  }

  // MARK: Sending

  func publish(_ frame: UnsafeRawBufferPointer) {
    if (try? sockets.xpub.send(frame)) != .sent { counters.unpublished += 1 }
  }

  /// Sends a frame, or keeps it until there is room.
  func send(_ frame: UnsafeRawBufferPointer, to connection: ConnectionID) -> RequestConnections.Sending {
    connections.send(frame, to: connection, through: sockets.router, counting: &counters)
  }

  /// Whether frames wait for room, so that the loop retries soon.
  var hasBacklog: Bool { connections.hasBacklog }

  /// Sends as many of the waiting frames as there is room for. Returns the connections that are gone, and those
  /// that are writable again.
  func sendBacklogs() -> (gone: [ConnectionID], writable: [ConnectionID]) {
    connections.sendBacklogs(through: sockets.router)
  }

  /// Forgets a connection; its later messages count as those of a new one.
  func drop(_ connection: ConnectionID) { connections.drop(connection) }

  /// Ends a subscriber's connection.
  func cut(_ subscriber: SubscriberID) { subscribers.cut(subscriber, &counters) }
}
