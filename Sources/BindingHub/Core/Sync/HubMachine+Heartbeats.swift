package import BindingProtocol

extension HubMachine {
  /// Does everything that depends on time: heartbeats and heads, leases, joins without a subscription, recoveries
  /// and silent owners.
  package mutating func tick(time: HubTime, into output: inout HubOutput) {
    let heartbeat = UInt64(hub.configuration.heartbeatMilliseconds)
    // R16: after a long pause of this hub, a peer's silence does not count.
    if time.monotonic > hub.lastTick + 3 * heartbeat { hub.sessions.renewAll(now: time.monotonic) }
    hub.lastTick = time.monotonic
    if time.monotonic >= nextHeartbeat {
      nextHeartbeat = max(nextHeartbeat + heartbeat, time.monotonic + 1)
      self.heartbeat(time, &output)
      publishPresences(time)
      if !returning.isEmpty { endReturns(time) }
      if heartbeatNumber % 3_600 == 0 { forgetOldIdentities(now: time.monotonic) }
    }
    if time.monotonic >= nextHeads { publishHeads(time, &output) }
    for id in hub.sessions.expired(now: time.monotonic) {
      hub.counters.expiredLeases += 1
      end(id, time, forgetting: false, &output)
    }
    endSilence(time, &output)
    finishDrain(time: time, into: &output)
  }

  private mutating func heartbeat(_ time: HubTime, _ output: inout HubOutput) {
    heartbeatNumber += 1
    output.send(
      .heartbeat(Heartbeat(epoch: hub.epoch, number: heartbeatNumber, now: time.wall)), to: .publish,
      topic: Topics.heartbeat, start: hub.start)
    headsDue = recentlyChanged.sorted()[...]
    hub.models.reuseFreed()
    headsAtOnce = max(HubMachine.fewHeads, (headsDue.count + 31) / 32)
    publishHeads(time, &output)
    askAgain(&output)
    // Sessions without a publish connection get the heartbeat on their request connection.
    var served: Set<ConnectionID> = []
    for session in hub.sessions.inOrder where session.subscriber == nil && !session.joins.isEmpty {
      guard served.insert(session.connection).inserted else { continue }
      output.send(
        .heartbeat(Heartbeat(epoch: hub.epoch, number: heartbeatNumber, now: time.wall)),
        to: .connection(session.connection),
        topic: Topics.heartbeat, start: hub.start)
    }
  }

  /// Heads that are published in one go however many wait: fewer than the messages that may wait for a subscriber.
  static let fewHeads = 128

  /// Publishes the next heads of this heartbeat. Thousands of heads do not leave together, because a peer that
  /// follows all models would lose some, and commits with them. All leave within half a heartbeat.
  private mutating func publishHeads(_ time: HubTime, _ output: inout HubOutput) {
    for index in headsDue.prefix(headsAtOnce) where !hub.models.isRemoved(index) {
      publishHead(index, &output)
      hub.models[index].headsLeft -= 1
      if hub.models[index].headsLeft <= 0 { recentlyChanged.remove(index) }
    }
    headsDue = headsDue.dropFirst(headsAtOnce)
    nextHeads = headsDue.isEmpty ? .max : time.monotonic + UInt64(hub.configuration.heartbeatMilliseconds) / 64
  }

  /// The status that `bindhub status` shows. A test pins the names.
  package func statusJSON(time: HubTime) -> JSON {
    let sessionList = hub.sessions.inOrder.map { session in
      JSON.object([
        .init("name", .string(session.identity.name)), .init("tag", .string(session.identity.tag.short)),
        .init("models", .integer(Int64(session.joins.count))),
        .init("lag", .integer(Int64(clamping: lag(of: session)))),
        .init("leaseLeftMilliseconds", .integer(Int64(clamping: session.expiresAt) - Int64(clamping: time.monotonic))),
      ])
    }
    let modelList = hub.models.filter { $0.hasCommits && $0.ephemeral == nil }.prefix(1_000).map { model in
      JSON.object([
        .init("model", .string(model.id)), .init("version", .integer(Int64(clamping: model.version))),
        .init("fields", .integer(Int64(model.fields.countedValues))),
        .init("sessions", .integer(Int64(model.sessions.count))),
      ])
    }
    return .object([
      .init("name", .string(hub.configuration.name)), .init("protocol", .integer(0)),
      .init("logID", .string(String(hub.logID, radix: 16))), .init("epoch", .string(String(hub.epoch, radix: 16))),
      .init("start", .string(String(hub.start, radix: 16))),
      .init("durability", .string("\(hub.configuration.durability)")),
      .init("heartbeat", .integer(Int64(clamping: heartbeatNumber))), .init("sessions", .array(sessionList)),
      .init("models", .array(Array(modelList))), .init("counters", counters.json),
      .init("gate", transportCounters.json),
      .init("store", store.json), .init("disagreements", disagreementsJSON),
    ])
  }

  /// How far the session lags in the model where it lags most, by its last report, in versions.
  private func lag(of session: SessionRecord) -> UInt64 {
    session.joins.reduce(0) { most, join in
      guard let applied = join.value.applied, let index = hub.models.index(of: join.key),
        hub.models[index].version > applied
      else {
        return most
      }
      return max(most, hub.models[index].version - applied)
    }
  }
}
