import BindingProtocol

extension HubMachine {
  /// The protocol numbers that this hub speaks.
  static let protocolNumbers: ClosedRange<UInt8> = 0...0
  /// Connections from this number on belong to the hub's own process.
  static let firstInProcessConnection: ConnectionID = 1 << 63

  /// - Parameter upstreamKnew: whether an edge's upstream hub knew the identity; nil: it was not asked.
  mutating func hello(
    _ hello: Hello, _ id: SessionID, _ connection: ConnectionID, _ time: HubTime, isSynced: Bool = false,
    upstreamKnew: Bool? = nil, _ output: inout HubOutput
  ) {
    let represented: Representation?
    do throws(Refusal) {
      represented = try hub.access.representation(in: hello.capabilities, on: connection)
    } catch {
      hub.access.deny(error.text)
      hub.error(.notPermitted, error.text, id, connection, &output)
      return
    }
    let carrier = hub.access.rights(of: connection)
    let user = represented.map { hub.access.rights(of: $0, through: connection) } ?? carrier
    let name = represented?.name ?? hub.access.user(of: connection)?.name
    if let (code, text) = refusal(of: hello, id, namesUser: name != nil || edge?.namesUsers == true) {
      hub.error(code, text, id, connection, &output)
      return
    }
    let knowsHubs = hello.capabilities.contains(Capability.hubs)
    if others.drain != nil { return turnAway(id, connection, knowsHubs: knowsHubs, &output) }
    if edge != nil, !mayBegin(hello, id, connection, upstreamKnew: upstreamKnew, &output) { return }
    let tag = hello.identity.tag
    let known = hub.sessions.identities[tag]
    let isSibling = hello.capabilities.contains(Capability.sibling)
    if shared != nil, known == nil, !isSynced, !isSibling, holds(hello, id, connection, &output) { return }
    let counting = known?.session.map { publisher.barriers.numbers(countedBy: $0) } ?? []
    if let earlier = known?.session { fence(earlier, of: tag, by: id, time, &output) }
    let usage = hub.usage(of: connection, for: represented, time)
    let onlyWrites = hello.capabilities.contains(Capability.writes)
    if let limit = sessionLimit(reachedOn: connection, user, usage, onlyWrites: onlyWrites, time, &output) {
      presence.release(tag, &hub, time)
      hub.error(.tooManySessions, limit, id, connection, &output)
      return
    }
    if Capability.otherDraft(in: hello.capabilities) != nil { hub.counters.otherDrafts += 1 }
    let lease = hub.configuration.lease(asked: hello.leaseMilliseconds)
    let subscriber = hub.sessions.earlySubscribers.removeValue(forKey: id)
    hub.sessions.add(
      SessionRecord(
        id: id, identity: Origin(tag: tag, name: hello.identity.name, user: name), connection: connection,
        subscriber: subscriber,
        leaseMilliseconds: UInt64(lease), welcomedAt: time.monotonic, expiresAt: time.monotonic + UInt64(lease),
        capabilities: SessionCapabilities(hello.capabilities, mayCount: hub.mayCount(connection)), usage: usage))
    if let represented { hub.access.represent(represented, in: id, through: connection) }
    if let subscriber { hub.sessions.identify(subscriber, as: usage) }
    hub.sessions.identities[tag, default: IdentityRecord(lastSeen: 0)].begin(
      id, hello, keepsSecret: !siblings.isEmpty, at: time.monotonic)
    hub.forgetIdentitiesPastLimit()
    if edge != nil { edge?.sessions[id] = EdgeSession(hello: hello, isWriter: upstreamKnew != nil) }
    let durability = edge?.upstream?.durability ?? hub.durability
    let welcome = Welcome(
      session: id, protocolNumber: 0, logID: hub.logID, epoch: hub.epoch,
      knewIdentity: edge == nil ? known?.hasReceivedWelcome == true || hub.hasNumbers(of: tag) : upstreamKnew ?? false,
      mayAskOffers: recovery.mayAsk(hub.configuration),
      durability: durability, heartbeatMilliseconds: hub.configuration.heartbeatMilliseconds, leaseMilliseconds: lease,
      now: time.wall, hub: hub.configuration.name, limits: limits(now: time.monotonic),
      endpoints: carrier.hasFanout ? hub.configuration.endpoints : [],
      capabilities: capabilities(on: connection, representing: represented.map { _ in user })
        + (recovery.isRecreated(hub, at: time.monotonic) ? [Capability.recovering] : [])
        + (durability == .replicated ? [Capability.replicated] : [])
        + (shared == nil ? [] : [Capability.forward, Capability.owners]))
    hub.send(.welcome(welcome), to: id, &output)
    hub.sendKeys(to: id, &output)
    sendOthers(id, connection, knowsHubs: knowsHubs, &output)
    if !isUpToDate { tellUpstream(id, &output) }
    if hub.trusts(sibling: id) { publisher.barriers.meet(id, hub, time, &output) }
    if hub.counts(id) { publisher.barriers.goOn(counting, with: id, hub, time, &output) }
  }

  /// Ends the session that an identity had before another one.
  private mutating func fence(
    _ earlier: SessionID, of tag: Tag, by id: SessionID, _ time: HubTime, _ output: inout HubOutput
  ) {
    if earlier != id {
      hub.counters.fencedSessions += 1
      if let old = hub.sessions[earlier]?.connection {
        hub.error(.fenced, "a later session of this identity has begun", earlier, old, &output)
      }
    }
    // Its fields in ephemeral models stay: the same identity continues.
    presence.awaitReturn(of: tag, after: earlier, &hub)
    end(earlier, time, forgetting: false, releasing: false, &output)
  }

  /// Why a hello begins no session and ends none; nil: it may.
  private mutating func refusal(
    of hello: Hello, _ id: SessionID, namesUser: Bool
  ) -> (code: ErrorCode, text: String)? {
    let ours = HubMachine.protocolNumbers
    guard hello.lowest <= ours.upperBound, hello.highest >= ours.lowerBound else {
      hub.counters.otherProtocols += 1
      return (.otherProtocol, "this hub speaks protocol \(ours.lowerBound) to \(ours.upperBound)")
    }
    guard hello.identity.isProven else {
      hub.counters.wrongSecrets += 1
      return (
        .notYours,
        "the tag does not match its secret; it must be the first 8 bytes of SHA-256(\"bindbus tag 1\", 0, secret)"
      )
    }
    if let refusal = hub.sessions.identities[hello.identity.tag]?.refusal(of: hello) {
      if refusal.code == .fenced { hub.counters.fencedSessions += 1 }
      return refusal
    }
    if let other = hub.sessions[id], other.identity.tag != hello.identity.tag {
      return (.notYours, "this session number belongs to another identity")
    }
    if namesUser, !hello.capabilities.contains(Capability.users) {
      hub.counters.otherProtocols += 1
      return (.otherProtocol, HubMachine.usersNeeded)
    }
    return nil
  }

  /// The limits as a welcome reports them now.
  private func limits(now: UInt64) -> Limits {
    var limits = edgeLimits(hub.configuration.limits)
    if edge != nil { return limits }
    // A peer assumes 0 of a hub that does not report it.
    let since = hub.sessions.evictedLastSeen.map { max(now - min($0, now), 1) } ?? .max
    limits.identityMilliseconds = Int(clamping: min(hub.configuration.identityMilliseconds, since))
    return limits
  }

  /// Ends a session with its joins and its part in recoveries. With `forgetting`, an identity that has confirmed
  /// all its outcomes is forgotten too.
  mutating func end(
    _ id: SessionID, _ time: HubTime, forgetting: Bool = true, releasing: Bool = true, _ output: inout HubOutput
  ) {
    guard let session = hub.sessions.remove(id) else { return }
    if let record = edge?.sessions.removeValue(forKey: id), record.isWriter || record.wantsLatest {
      edge?.requests.append(.end(id, forgetting ? .left : releasing ? .lost : .replaced))
    }
    hub.access.forget(id)
    joins.forget(id)
    publisher.announcer.forget(id)
    if session.capabilities.isSibling || session.capabilities.counts { publisher.barriers.part(from: id) }
    history.forget(id)
    if releasing { presence.release(session.identity.tag, &hub, time) }
    if !hasSession(on: session.connection) { publisher.congested.forget(session.connection) }
    for topic in session.joins.keys { forget(id, in: topic) }
    if let subscriber = session.subscriber { hub.sessions.subscribers[subscriber]?.sessions.remove(id) }
    let tag = session.identity.tag
    hub.sessions.identities[tag]?.end(at: time.monotonic)
    if releasing {
      hub.sessions.identities[tag]?.presentSince.removeAll()
      for topic in session.joins.keys.sorted() {
        if let index = hub.models.index(of: topic) { presence.publishChange(in: index, &hub, time) }
      }
    }
    // A peer that left does not return; the store keeps all other last decided numbers and ages them itself.
    if forgetting || edge != nil, hub.forgetIfConfirmed(tag) { output.forgotten.insert(tag) }
  }

  private mutating func forget(_ session: SessionID, in topic: Topic) {
    guard let index = hub.models.index(of: topic) else { return }
    let model = hub.models[index]
    model.members.sessions.remove(session)
    model.members.routed.remove(session)
    model.members.unable.remove(session)
    model.members.waitingJoins.removeAll { $0 == session }
    model.giveUpOffer(of: session)
    publisher.forget(session, in: index, model)
    if edge != nil { stopWaiting(session, in: index) }
    hub.models.touchIfLeft(index)
  }

  /// Whether a session is open and need not say hello again.
  package func hasOpenSession(_ session: UInt64) -> Bool { hub.sessions[session]?.isOver == false }

  /// Whether any session is open on this request connection.
  package func hasSession(on connection: ConnectionID) -> Bool { hub.sessions.byConnection[connection] != nil }

  mutating func leave(_ topic: Topic, _ session: SessionID, _ time: HubTime) {
    forget(session, in: topic)
    history.forget(session, in: topic)
    if edge?.sessions[session]?.isWriter == true, let index = hub.models.index(of: topic) {
      edge?.sessions[session]?.joins[index] = nil
      edge?.requests.append(.leave(session, model: hub.models[index].id))
    }
    let isJoined = hub.sessions.with(session) { $0.joins.removeValue(forKey: topic) != nil }
    guard isJoined == true, let index = hub.models.index(of: topic), let tag = hub.sessions[session]?.identity.tag
    else { return }
    hub.sessions.identities[tag]?.presentSince[topic] = nil
    presence.release(tag, in: index, &hub, time)
    presence.publishChange(in: index, &hub, time)
  }

  mutating func confirm(_ alive: Alive, _ id: SessionID) {
    guard let tag = hub.sessions[id]?.identity.tag else { return }
    if edge != nil { passOn(alive, of: id) }
    for entry in alive.entries {
      guard let index = hub.models.index(of: entry.topic) else { continue }
      // It names no epoch: once this start has begun another one, an old report cannot be told from a new one.
      if !recovery.hasBegunEpoch { publisher.recordApplied(entry, index, id, &hub) }
      guard let writer = hub.models[index].writers.index(of: tag) else { continue }
      hub.models[index].writers.with(writer) { $0.confirm(min(entry.confirmed, $0.lastStored)) }
      hub.models.touchIfLeft(index)
    }
  }

  // MARK: Connections

  /// A request connection is gone. Its sessions remain until their leases end, so that their peers can say hello on
  /// another one.
  package mutating func closed(_ connection: ConnectionID, time: HubTime, into output: inout HubOutput) {
    publisher.forget(connection, hub.sessions)
    reporter.forget(connection)
    shared?.forget(connection)
    for id in hub.sessions.byConnection[connection] ?? [] {
      for topic in hub.sessions[id].map({ Array($0.joins.keys) }) ?? [] {
        if let index = hub.models.index(of: topic) { hub.models[index].members.routed.remove(id) }
      }
    }
  }

  /// Ends the sessions of a connection whose user may no longer connect.
  package mutating func expel(_ connection: ConnectionID, time: HubTime, into output: inout HubOutput) {
    for id in hub.sessions.byConnection[connection] ?? [] { end(id, time, forgetting: false, &output) }
    closed(connection, time: time, into: &output)
  }

  /// A publish connection has subscribed to a topic (R13).
  package mutating func subscribed(
    _ topic: UnsafeRawBufferPointer, by subscriber: SubscriberID, time: HubTime, into output: inout HubOutput
  ) {
    switch Topics.subscription(topic) {
    case .session(let id):
      hub.sessions.subscribers[subscriber, default: SubscriberRecord()].sessions.insert(id)
      if hub.sessions.with(id, { $0.subscriber = subscriber }) == nil {
        // The two connections race. Bounded, because anyone may subscribe to anything.
        if hub.sessions.earlySubscribers.count >= hub.configuration.limits.maxSessions {
          hub.sessions.earlySubscribers.removeAll()
        }
        hub.sessions.earlySubscribers[id] = subscriber
      } else {
        hub.sessions.identify(subscriber, as: hub.sessions[id]?.usage)
        for topic in hub.sessions[id].map({ Array($0.joins.keys) }) ?? [] { touchIfWaiting(topic) }
      }
    case .model(let model):
      guard let record = hub.sessions.subscribers[subscriber] else { return }
      if let usage = record.usage, usage.refusal(.subscriptions, present: usage.subscriptions) != nil {
        hub.limited(usage, .subscriptions, time, &output)
        output.cut.append(subscriber)
        return
      }
      guard record.topics.count < hub.configuration.limits.maxTopics + 16 else {
        hub.counters.topicsRefused += 1
        output.cut.append(subscriber)
        return
      }
      hub.sessions.subscribe(subscriber, to: model)
      touchIfWaiting(model)
    case .heartbeat, nil: break
    }
  }

  /// A publish connection has unsubscribed. Unsubscribing from its session topic means that it is gone.
  package mutating func unsubscribed(
    _ topic: UnsafeRawBufferPointer, by subscriber: SubscriberID, time: HubTime, into output: inout HubOutput
  ) {
    switch Topics.subscription(topic) {
    case .session(let id):
      hub.sessions.earlySubscribers[id] = nil
      hub.sessions.with(id) { if $0.subscriber == subscriber { $0.subscriber = nil } }
      hub.sessions.subscribers[subscriber]?.sessions.remove(id)
      if hub.sessions.subscribers[subscriber]?.sessions.isEmpty == true { hub.sessions.forget(subscriber) }
    case .model(let model): hub.sessions.unsubscribe(subscriber, from: model)
    case .heartbeat, nil: break
    }
  }

  private mutating func touchIfWaiting(_ topic: Topic) {
    if let index = hub.models.index(of: topic), !hub.models[index].members.waitingJoins.isEmpty {
      hub.models.touch(index)
    }
  }
}
