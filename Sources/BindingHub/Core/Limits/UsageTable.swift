import BindingProtocol

/// What each name uses. Names without limits are not in it, so a hub without keys has none.
struct UsageTable {
  private var usages: [String: NameUsage] = [:]
  private var policy: AccessPolicy?
  /// The names remembered before idle ones are forgotten.
  private var quota = 1_024

  /// The number of names remembered.
  var count: Int { usages.count }

  /// Those that a limit has held back, in order.
  var limited: [NameUsage] { usages.values.filter { !$0.held.isEmpty }.sorted { $0.name < $1.name } }

  /// The usage of somebody whom the hub has let in; nil: it has no limits.
  mutating func usage(of principal: HubPrincipal?, at now: UInt64) -> NameUsage? {
    guard let principal, let name = principal.name, let limits = AccessPolicy.limits(of: principal, by: policy) else {
      return nil
    }
    if let known = usages[name] {
      known.change(to: limits, of: principal, at: now)
      return known
    }
    if usages.count >= quota {
      usages = usages.filter { !$0.value.isIdle(at: now) }
      quota = 2 * usages.count + 1_024
    }
    let usage = NameUsage(of: principal, name, limits, at: now)
    usages[name] = usage
    return usage
  }

  /// Another policy gives other limits from now on. Who has none now connects again, as its rights have changed too.
  mutating func apply(_ policy: AccessPolicy?, at now: UInt64) {
    self.policy = policy
    for usage in usages.values {
      guard let limits = AccessPolicy.limits(of: usage.principal, by: policy) else { continue }
      usage.change(to: limits, of: usage.principal, at: now)
    }
  }
}

extension HubContext {
  /// What limits a session: the limits of the member for whom it speaks, else of whose its connection is; nil: nothing.
  mutating func usage(
    of connection: ConnectionID, for represented: Representation?, _ time: HubTime
  ) -> NameUsage? {
    let member = represented.map { HubPrincipal.named($0.name, role: $0.role) }
    return usages.usage(of: member ?? access.principal(of: connection), at: time.monotonic)
  }

  /// Charges a message of proposals to the name that sent it.
  /// - Returns: how many of them are handled, and the pause after which the others are to be sent again.
  mutating func admit(
    _ count: Int, bytes size: Int, _ usage: NameUsage?, _ time: HubTime, _ output: inout HubOutput
  ) -> (admitted: Int, pause: UInt32) {
    guard let usage else { return (.max, 0) }
    let admitted = usage.admit(count, bytes: size, at: time.monotonic)
    let left = count - admitted
    guard left > 0 else { return (count, 0) }
    limited(usage, usage.rateReached, times: left, time, &output)
    return (admitted, usage.pause(of: left, bytes: size / count * left, at: time.monotonic))
  }

  /// Counts that a limit of a name has held, and tells the log now and then.
  mutating func limited(
    _ usage: NameUsage, _ kind: NameLimits.Kind, times: Int = 1, _ time: HubTime, _ output: inout HubOutput
  ) {
    counters.limited(kind, UInt64(times))
    guard usage.count(kind, times, at: time.monotonic) else { return }
    output.notices.append(
      .limited(name: usage.name, kind: kind, limit: usage.limits[kind], times: usage.held[kind] ?? 0))
  }
}

extension HubCounters {
  fileprivate mutating func limited(_ kind: NameLimits.Kind, _ times: UInt64) {
    switch kind {
    case .connections: limitedConnections += times
    case .sessions: limitedSessions += times
    case .models: limitedModels += times
    case .bytesPerSecond: limitedBytes += times
    case .writesPerSecond: limitedWrites += times
    case .subscriptions: limitedSubscriptions += times
    }
  }
}

/// Sessions and connections past a limit.
extension HubMachine {
  /// Why there is no room for another session of somebody on this connection; nil: there is.
  mutating func sessionLimit(
    reachedOn connection: ConnectionID, _ user: UserRights, _ usage: NameUsage?, onlyWrites: Bool, _ time: HubTime,
    _ output: inout HubOutput
  ) -> String? {
    if let limit = sessionLimit(reachedOn: connection, onlyWrites: onlyWrites) {
      hub.counters.sessionsRefused += 1
      // How many others there are is not for everybody.
      return user.isUnlimited ? limit : "the hub has no room for another session"
    }
    guard let usage, let limit = usage.refusal(.sessions, present: usage.sessions) else { return nil }
    hub.counters.sessionsRefused += 1
    hub.limited(usage, .sessions, time, &output)
    return limit + ". Close some, or raise sessions in access.json"
  }

  /// Why this connection has no room for another session; nil: it has room.
  /// - Parameter onlyWrites: it would only write, for a peer of an edge.
  private func sessionLimit(reachedOn connection: ConnectionID, onlyWrites: Bool) -> String? {
    let all = hub.configuration.limits.maxSessions
    if hub.sessions.count >= all {
      return "\(hub.sessions.count) sessions are open; maxSessions is \(all). Close some"
    }
    let isGateway = hub.access.isGateway(connection) || onlyWrites && hub.access.policy == nil
    let most = isGateway ? hub.configuration.maxInProcessSessions : hub.configuration.maxConnectionSessions
    let here = hub.sessions.byConnection[connection]?.count ?? 0
    guard here >= most else { return nil }
    let name = isGateway ? "maxInProcessSessions" : "maxConnectionSessions"
    return "\(here) sessions are open on this connection; \(name) is \(most). Open another connection"
  }

  /// When a request connection was heard last, on the monotonic clock; nil: it has no session.
  package func lastHeard(on connection: ConnectionID) -> UInt64? {
    hub.sessions.byConnection[connection]?.compactMap { hub.sessions[$0]?.lastHeard }.max()
  }

  /// When a session of a publish connection was heard last; nil: none is open.
  package func lastHeard(by subscriber: SubscriberID) -> UInt64? {
    hub.sessions.subscribers[subscriber]?.sessions.compactMap { hub.sessions[$0]?.lastHeard }.max()
  }

  /// The connection whose session this frame ends, because it is a hello of the same identity.
  package func connection(fencedBy frame: UnsafeRawBufferPointer) -> ConnectionID? {
    var reader = WireReader(frame)
    guard let header = try? PeerHeader(from: &reader), header.kind == .hello,
      let hello = try? Hello(from: &reader), hello.identity.isProven,
      let known = hub.sessions.identities[hello.identity.tag], let session = known.session,
      known.refusal(of: hello) == nil
    else { return nil }
    return hub.sessions[session]?.connection
  }

  /// A connection of somebody was ended, or is refused, because its name has too many.
  package mutating func limitedConnections(of user: HubPrincipal, time: HubTime, into output: inout HubOutput) {
    guard let usage = hub.usages.usage(of: user, at: time.monotonic) else { return }
    hub.limited(usage, .connections, time, &output)
  }

  /// Refuses a connection past its name's limit, of which all others are alive.
  package mutating func refuseConnection(
    _ frame: UnsafeRawBufferPointer, on connection: ConnectionID, of user: HubPrincipal, time: HubTime,
    into output: inout HubOutput
  ) {
    limitedConnections(of: user, time: time, into: &output)
    let name = PrintedText.escaped(user.name ?? "")
    let limit = hub.usages.usage(of: user, at: time.monotonic)?.limits[.connections] ?? 0
    hub.error(
      .tooManySessions,
      "\(name) has \(limit) connections, all of them alive, and its limit is \(limit). Close some, or raise "
        + "connections in access.json", PeerHeader.session(ofFrame: frame), connection, &output)
  }
}

extension SessionRecord {
  /// Each frame renews the lease.
  fileprivate var lastHeard: UInt64 { expiresAt - min(leaseMilliseconds, expiresAt) }
}
