import BindingProtocol

/// Applied versions: barriers, and what peers report of their replicas.
extension HubMachine {
  /// Handles a session's request to be notified when other peers have applied a version.
  mutating func awaitApplied(
    _ wanted: AwaitApplied, _ session: SessionID, _ time: HubTime, _ output: inout HubOutput
  ) {
    func refuse(_ end: Awaited.End) {
      hub.send(.awaited(Awaited(session: session, request: wanted.request, end: end)), to: session, &output)
    }
    guard let index = hub.models.index(of: wanted.topic), hub.models[index].sessions.contains(session) else {
      return refuse(.notJoined)
    }
    guard wanted.epoch == hub.models[index].epoch(ifStored: hub.epoch) else { return refuse(.otherEpoch) }
    guard barriers.count < hub.configuration.maxBarriers,
      barriers.count(of: session) < hub.configuration.maxBarriersPerSession
    else {
      hub.counters.barriersRefused += 1
      return refuse(.tooMany)
    }
    hub.counters.barriers += 1
    let topic = hub.models[index].topic
    let timeout = min(UInt64(wanted.timeoutMilliseconds), hub.configuration.maxBarrierMilliseconds)
    barriers.add(
      Barrier(
        session: session, request: wanted.request, version: wanted.version,
        count: wanted.count == 0 ? nil : Int(wanted.count), deadline: time.monotonic + timeout,
        waiting: hub.models[index].sessions), to: index)
    for id in hub.models[index].sessions {
      guard let session = hub.sessions[id], !session.reports, let applied = session.joins[topic]?.applied else {
        continue
      }
      barriers.reached(applied, of: index, by: id)
    }
    ask(index, version: wanted.version, &output)
  }

  /// Handles a peer's report of its replicas.
  mutating func handle(_ entries: [AppliedEntry], _ id: SessionID, _ output: inout HubOutput) {
    guard let session = hub.sessions[id] else { return }
    for entry in entries {
      guard let index = hub.models.index(of: entry.topic), let record = session.joins[entry.topic] else { continue }
      if entry.healed > record.healed {
        hub.counters.healedDivergences += UInt64(entry.healed - record.healed)
        hub.sessions.with(id) { $0.joins[entry.topic]?.healed = entry.healed }
        output.notices.append(
          .healed(peer: session.identity.fullName, model: hub.models[index].id, version: entry.version))
      }
      if !barriers.isEmpty, entry.epoch == hub.models[index].epoch(ifStored: hub.epoch) {
        barriers.reached(entry.version, of: index, by: id)
      }
      if !verifications.isEmpty { compare(entry, of: session, index, &output) }
    }
  }

  /// Records the version in an `alive`: all that is known of sessions that cannot be asked.
  mutating func recordApplied(_ entry: AliveEntry, _ index: Int, _ session: SessionID) {
    // It names no epoch: once this start has begun another one, an old report cannot be told from a new one.
    guard !believedPeerAhead, hub.sessions[session]?.joins[entry.topic] != nil else { return }
    hub.sessions.with(session) { $0.joins[entry.topic]?.applied = entry.applied }
    if !barriers.isEmpty { barriers.reached(entry.applied, of: index, by: session) }
  }

  /// Asks all joined sessions to report when they have a version. The question is published if all of them know it,
  /// else sent to each that does (a session is never sent a kind that it did not name).
  func ask(_ index: Int, version: Version, _ output: inout HubOutput) {
    let model = hub.models[index]
    let question = HubMessage.ask(AskApplied(epoch: model.epoch(ifStored: hub.epoch), version: version))
    let joined = model.sessions.sorted().compactMap { hub.sessions[$0] }
    let isPublished = joined.allSatisfy(\.reports) && joined.count > model.routed.count
    if isPublished { output.send(question, to: .publish, topic: model.topic, start: hub.start) }
    for session in joined where session.reports && (!isPublished || model.routed.contains(session.id)) {
      hub.send(question, to: session.id, &output, topic: model.topic)
    }
  }

  /// Repeats the open questions with each heartbeat: a question or its answer may have been lost.
  func askAgain(_ output: inout HubOutput) {
    for (model, version) in barriers.asked { ask(model, version: version, &output) }
    for verification in verifications {
      for examined in verification.models where !examined.waiting.isEmpty { ask(examined.model, version: 0, &output) }
    }
  }

  /// Answers the barriers that are complete or have timed out.
  mutating func endBarriers(_ time: HubTime, _ output: inout HubOutput) {
    guard !barriers.isEmpty else { return }
    for barrier in barriers.takeEnded(now: time.monotonic) {
      sendEnd(of: barrier, barrier.isComplete ? .complete : .incomplete, &output)
    }
  }

  /// Answers all barriers when another epoch begins: versions of the old one have no meaning any more.
  mutating func endBarriersOfOldEpoch(_ output: inout HubOutput) {
    for barrier in barriers.takeAll() { sendEnd(of: barrier, .otherEpoch, &output) }
  }

  private mutating func sendEnd(of barrier: Barrier, _ end: Awaited.End, _ output: inout HubOutput) {
    if end == .incomplete { hub.counters.barriersMissed += 1 }
    let missing = barrier.waiting.sorted().compactMap { hub.sessions[$0]?.identity.name }
    hub.send(
      .awaited(
        Awaited(
          session: barrier.session, request: barrier.request, applied: UInt32(clamping: barrier.applied.count),
          of: UInt32(clamping: barrier.wanted), end: end, missing: Array(missing.prefix(255)))),
      to: barrier.session, &output)
  }
}
