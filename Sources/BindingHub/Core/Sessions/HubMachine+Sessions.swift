import BindingProtocol

extension HubMachine {
  /// The protocol numbers that this hub speaks.
  static let protocolNumbers: ClosedRange<UInt8> = 0...0
  /// Connections from this number on belong to the hub's own process.
  static let firstInProcessConnection: ConnectionID = 1 << 63

  mutating func hello(
    _ hello: Hello, _ id: SessionID, _ connection: ConnectionID, _ time: HubTime, _ output: inout HubOutput
  ) {
    guard hello.lowest <= HubMachine.protocolNumbers.upperBound, hello.highest >= HubMachine.protocolNumbers.lowerBound
    else {
      sequencer.counters.otherProtocols += 1
      let ours = HubMachine.protocolNumbers
      error(
        .otherProtocol, "this hub speaks protocol \(ours.lowerBound) to \(ours.upperBound)", id, connection, &output)
      return
    }
    let tag = hello.identity.tag
    let known = sessions.identities[tag]
    guard hello.identity.isProven else {
      sequencer.counters.wrongSecrets += 1
      error(
        .notYours, "this tag is not that of its secret, the first 8 bytes of SHA-256(\"bindbus tag 1\", 0, secret)", id,
        connection, &output)
      return
    }
    if let other = sessions[id], other.identity.tag != tag {
      error(.notYours, "this session number is another identity's", id, connection, &output)
      return
    }
    if let earlier = known?.session {
      if earlier != id {
        sequencer.counters.fencedSessions += 1
        if let old = sessions[earlier]?.connection {
          error(.fenced, "a later session of this identity has begun", earlier, old, &output)
        }
      }
      // Its fields in ephemeral models stay: the same identity continues.
      awaitReturn(of: tag, after: earlier)
      end(earlier, time: time, forgetting: false, releasing: false)
    }
    if let limit = sessionLimit(reachedOn: connection) {
      sequencer.counters.sessionsRefused += 1
      release(tag, time)
      error(.tooManySessions, limit, id, connection, &output)
      return
    }
    let asked = hello.leaseMilliseconds == 0 ? configuration.leaseMilliseconds : hello.leaseMilliseconds
    let lease = min(max(asked, configuration.leaseRange.lowerBound), configuration.leaseRange.upperBound)
    let subscriber = sessions.earlySubscribers.removeValue(forKey: id)
    sessions.add(
      SessionRecord(
        id: id, identity: hello.identity.origin, connection: connection, subscriber: subscriber,
        leaseMilliseconds: UInt64(lease), welcomedAt: time.monotonic, expiresAt: time.monotonic + UInt64(lease),
        reports: hello.capabilities.contains(Capability.applied),
        reportsEarlier: hello.capabilities.contains(Capability.recovery)))
    sessions.identities[tag, default: IdentityRecord(lastSeen: 0)].session = id
    sessions.identities[tag]?.lastSeen = time.monotonic
    forgetIdentities(now: time.monotonic)
    let wasKnown = known?.hasReceivedWelcome ?? false
    let welcome = Welcome(
      session: id, protocolNumber: 0, logID: logID, epoch: epoch,
      knewIdentity: wasKnown || writersBefore.contains(tag), mayAskOffers: configuration.recovery && !tailProven,
      durability: configuration.durability, heartbeatMilliseconds: configuration.heartbeatMilliseconds,
      leaseMilliseconds: lease,
      now: time.wall, hub: configuration.name, limits: limits(now: time.monotonic), endpoints: configuration.endpoints,
      capabilities: Capability.all)
    send(.welcome(welcome), to: id, &output)
  }

  /// The limits as a welcome reports them now.
  private func limits(now: UInt64) -> Limits {
    var limits = configuration.limits
    // A peer assumes 0 of a hub that does not report it.
    let since = sessions.evictedLastSeen.map { max(now - min($0, now), 1) } ?? .max
    limits.identityMilliseconds = Int(clamping: min(configuration.identityMilliseconds, since))
    return limits
  }

  /// Why this connection has no room for another session; nil: it has room.
  private func sessionLimit(reachedOn connection: ConnectionID) -> String? {
    let all = configuration.limits.maxSessions
    if sessions.count >= all { return "\(sessions.count) sessions are open; maxSessions is \(all). End some" }
    let isInProcess = connection >= HubMachine.firstInProcessConnection
    let most = isInProcess ? configuration.maxInProcessSessions : configuration.maxConnectionSessions
    let here = sessions.byConnection[connection]?.count ?? 0
    guard here >= most else { return nil }
    let name = isInProcess ? "maxInProcessSessions" : "maxConnectionSessions"
    return "\(here) sessions are open on this connection; \(name) is \(most). Open another connection"
  }

  /// Ends a session with its joins and its part in recoveries. With `forgetting`, an identity that has confirmed
  /// all its outcomes is forgotten too.
  mutating func end(_ id: SessionID, time: HubTime, forgetting: Bool = true, releasing: Bool = true) {
    guard let session = sessions.remove(id) else { return }
    forgetWaiting(id)
    if releasing { release(session.identity.tag, time) }
    if !hasSession(on: session.connection) { congestedConnections[session.connection] = nil }
    for topic in session.joins.keys { forget(id, in: topic) }
    if let subscriber = session.subscriber { sessions.subscribers[subscriber]?.sessions.remove(id) }
    let tag = session.identity.tag
    sessions.identities[tag]?.session = nil
    sessions.identities[tag]?.lastSeen = time.monotonic
    if releasing {
      sessions.identities[tag]?.presentSince.removeAll()
      for topic in session.joins.keys.sorted() { publishDeparture(from: topic, time) }
    }
    guard forgetting, let identity = sessions.identities[tag] else { return }
    guard identity.models.allSatisfy({ isConfirmed(tag, in: $0) }) else { return }
    // A peer that left does not return; the store keeps all other last decided numbers and ages them itself.
    forgotten.insert(tag)
    forget(tag)
  }

  /// Whether an identity has confirmed all its outcomes in a model.
  private func isConfirmed(_ tag: Tag, in index: Int) -> Bool {
    models[index].knownWriter(tag).map { writer in models[index].withWriter(writer) { $0.isConfirmed } } ?? true
  }

  /// Forgets an identity and its last decided numbers. A later hello of it is welcomed as unknown.
  private mutating func forget(_ tag: Tag) {
    guard let identity = sessions.identities.removeValue(forKey: tag) else { return }
    writersBefore.remove(tag)
    sequencer.counters.forgottenIdentities += 1
    for index in identity.models {
      models[index].forget([tag])
      touchIfLeft(index)
    }
  }

  /// R11: identities without a session are forgotten after a week, or, past `maxIdentities`, the oldest first.
  private mutating func forgetIdentities(now: UInt64) {
    guard sessions.identities.count > configuration.maxIdentities else { return }
    let idle = sessions.identities.filter { $0.value.session == nil }.sorted { $0.value.lastSeen < $1.value.lastSeen }
    for (tag, identity) in idle.prefix(sessions.identities.count - configuration.maxIdentities) {
      // An identity without a last decided number cannot have had a decision.
      if !identity.models.isEmpty || writersBefore.contains(tag) {
        sessions.evictedLastSeen = max(sessions.evictedLastSeen ?? 0, identity.lastSeen)
      }
      // The store keeps these numbers, and the next start of the hub knows the identity by them; until then the
      // model stays.
      for index in identity.models where !isConfirmed(tag, in: index) { models[index].hasForgottenWriter = true }
      forget(tag)
    }
  }

  mutating func forgetOldIdentities(now: UInt64) {
    let old = sessions.identities.filter {
      $0.value.session == nil && now > $0.value.lastSeen + configuration.identityMilliseconds
    }
    for tag in old.keys { forget(tag) }
  }

  mutating func forget(_ session: SessionID, in topic: Topic) {
    guard let index = index(of: topic) else { return }
    models[index].sessions.remove(session)
    models[index].routed.remove(session)
    models[index].waitingJoins.removeAll { $0 == session }
    endCatchup(of: session, in: models[index])
    giveUpOffer(of: session, models[index])
    if !barriers.isEmpty { barriers.forget(session, in: index) }
    for position in verifications.indices { verifications[position].forget(session, in: index) }
    touchIfLeft(index)
  }

  /// Whether any session is open on this request connection.
  package func hasSession(on connection: ConnectionID) -> Bool { sessions.byConnection[connection] != nil }

  mutating func leave(_ topic: Topic, _ session: SessionID, _ time: HubTime) {
    forget(session, in: topic)
    let isJoined = sessions.with(session) { $0.joins.removeValue(forKey: topic) != nil }
    guard isJoined == true, let index = index(of: topic), let tag = sessions[session]?.identity.tag else { return }
    sessions.identities[tag]?.presentSince[topic] = nil
    release(tag, in: index, time)
    publishDeparture(from: topic, time)
  }

  /// A session has left a model, or no longer follows its presence.
  private mutating func publishDeparture(from topic: Topic, _ time: HubTime) {
    guard let index = index(of: topic) else { return }
    let stored = models[index].ephemeral == nil ? index : models[index].counterpart
    if let stored { publishPresence(ofModelAt: stored, time) }
  }

  mutating func confirm(_ alive: Alive, _ id: SessionID) {
    guard let tag = sessions[id]?.identity.tag else { return }
    for entry in alive.entries {
      guard let index = index(of: entry.topic) else { continue }
      recordApplied(entry, index, id)
      guard let writer = models[index].knownWriter(tag) else { continue }
      models[index].withWriter(writer) { $0.confirm(min(entry.confirmed, $0.lastStored)) }
      touchIfLeft(index)
    }
  }

  // MARK: Connections

  /// A request connection is gone. Its sessions remain until their leases end, so that their peers can say hello on
  /// another one.
  package mutating func closed(_ connection: ConnectionID, time: HubTime, into output: inout HubOutput) {
    congestedConnections[connection] = nil
    questions.forget(connection)
    catchups.removeAll { sessions[$0.catchup.session]?.connection == connection }
    verifications.removeAll { $0.connection == connection }
    for id in sessions.byConnection[connection] ?? [] {
      for topic in sessions[id].map({ Array($0.joins.keys) }) ?? [] {
        if let index = index(of: topic) { models[index].routed.remove(id) }
      }
    }
  }

  /// A publish connection has subscribed to a topic (R13).
  package mutating func subscribed(
    _ topic: UnsafeRawBufferPointer, by subscriber: SubscriberID, time: HubTime, into output: inout HubOutput
  ) {
    switch Topics.subscription(topic) {
    case .session(let id):
      sessions.subscribers[subscriber, default: SubscriberRecord()].sessions.insert(id)
      if sessions.with(id, { $0.subscriber = subscriber }) == nil {
        // The two connections race. Bounded, because anyone may subscribe to anything.
        if sessions.earlySubscribers.count >= configuration.limits.maxSessions { sessions.earlySubscribers.removeAll() }
        sessions.earlySubscribers[id] = subscriber
      } else {
        for topic in sessions[id].map({ Array($0.joins.keys) }) ?? [] { touchIfWaiting(topic) }
      }
    case .model(let model):
      guard sessions.subscribers[subscriber] != nil else { return }
      guard (sessions.subscribers[subscriber]?.topics.count ?? 0) < configuration.limits.maxTopics + 16 else {
        sequencer.counters.topicsRefused += 1
        output.cut.append(subscriber)
        return
      }
      sessions.subscribers[subscriber]?.topics.insert(model)
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
      sessions.earlySubscribers[id] = nil
      sessions.with(id) { if $0.subscriber == subscriber { $0.subscriber = nil } }
      sessions.subscribers[subscriber]?.sessions.remove(id)
      if sessions.subscribers[subscriber]?.sessions.isEmpty == true { sessions.subscribers[subscriber] = nil }
    case .model(let model): sessions.subscribers[subscriber]?.topics.remove(model)
    case .heartbeat, nil: break
    }
  }

  private mutating func touchIfWaiting(_ topic: Topic) {
    if let index = index(of: topic), !models[index].waitingJoins.isEmpty { touch(index) }
  }

  /// Tells every session that the hub is going down.
  package mutating func close(into output: inout HubOutput) {
    for session in sessions.inOrder {
      error(.closing, "the hub is going down", session.id, session.connection, &output)
    }
  }
}
