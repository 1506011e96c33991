import BindingProtocol

/// What sessions receive of the models that they have joined: commits, heads, catch-ups and announcements, and what
/// follows from the versions that they report.
struct ModelPublisher {
  var heads: HeadPublisher
  var catchups: CatchupStreamer
  var congested = CongestedConnections()
  var announcer = PrefixAnnouncer()
  var barriers = BarrierTable()
  var verifications = VerificationTable()

  init(_ configuration: HubMachineConfiguration, time: HubTime) {
    heads = HeadPublisher(nextHeartbeat: time.monotonic + UInt64(configuration.heartbeatMilliseconds))
    catchups = CatchupStreamer(configuration.limits)
  }

  /// Whether the end of another drain would send more.
  func isStreaming(_ sessions: SessionTable) -> Bool {
    catchups.isStreaming(congested, sessions) || announcer.isStreaming(congested, sessions)
  }

  var nextDeadline: UInt64 { min(heads.nextDeadline, barriers.nextDeadline, verifications.nextDeadline) }

  // MARK: Sending

  /// Sends a stored batch to all joined sessions: published, or to each on its request connection.
  mutating func publish(_ batch: Batch, _ index: Int, _ hub: inout HubContext, _ output: inout HubOutput) {
    guard !batch.body.isEmpty else { return }
    let model = hub.models[index]
    if !verifications.isEmpty {
      verifications.rememberDigest(of: model, index, limit: hub.configuration.verifiedVersions)
    }
    heads.add(index)
    announcer.announceFirstCommit(of: model, &hub, &output)
    let header = HubHeader(topic: model.topic, kind: .commits, start: hub.start)
    let isBig = ModelPublisher.isBig(batch.body, hub.configuration)
    let receivers = isBig ? model.members.sessions : model.routed
    var hasFrame = false
    if !isBig, let permit = model.permit {
      output.frame(to: .subscribers(permit)) { writer in
        header.write(to: &writer)
        writer.raw(batch.body)
      }
      hasFrame = true
    }
    var served: Set<ConnectionID> = []
    for id in receivers.sorted() {
      // An unanswered join gets these commits with its answer.
      guard let session = hub.sessions[id], session.joins[model.topic]?.delivery != nil,
        served.insert(session.connection).inserted
      else { continue }
      hub.counters.routedCommits += 1
      if hasFrame {
        output.repeatLastFrame(to: session.connection)
      } else {
        output.frame(to: .connection(session.connection)) { writer in
          header.write(to: &writer)
          writer.raw(batch.body)
        }
        hasFrame = true
      }
    }
  }

  /// Whether a body is too big for the publish connection, where it would wait for slow subscribers: as a whole, or
  /// because of one commit in it. Many small commits decided together are not too big.
  private static func isBig(_ body: [UInt8], _ configuration: HubMachineConfiguration) -> Bool {
    let limit = configuration.limits.maxPublishedBytes
    guard body.count > limit else { return false }
    guard body.count <= configuration.maxGroupBytes else { return true }
    return body.withUnsafeBytes { bytes in
      guard var cursor = try? CommitCursor(WireReader(bytes, message: "commits")), cursor.remaining > 1 else {
        return true
      }
      while (try? cursor.next()) == true { if cursor.byteCount + 64 > limit { return true } }
      return false
    }
  }

  /// Publishes a heartbeat if one is due, with the first heads, and repeats open questions to peers.
  /// - Returns: whether one was due.
  mutating func beat(_ hub: inout HubContext, _ time: HubTime, _ output: inout HubOutput) -> Bool {
    guard heads.isDue(&hub, time) else { return false }
    heads.beat(&hub, time, &output)
    barriers.askAgain(&hub, time, &output)
    verifications.askAgain(&hub, &output)
    heads.beatOnRequestConnections(&hub, time, &output)
    return true
  }

  /// Sends one turn's share of catch-ups and announcements.
  mutating func sendShares(_ hub: inout HubContext, _ output: inout HubOutput) {
    if !catchups.isEmpty { catchups.sendShare(congested, &hub, &output) }
    if !announcer.isEmpty { announcer.announceShare(congested, &hub, &output) }
  }

  // MARK: Reports

  /// Handles a peer's report of its replicas.
  mutating func receive(
    _ entries: [AppliedEntry], of id: SessionID, _ hub: inout HubContext, _ output: inout HubOutput
  ) {
    guard let session = hub.sessions[id] else { return }
    for entry in entries {
      guard let index = hub.models.index(of: entry.topic), let record = session.joins[entry.topic] else { continue }
      let model = hub.models[index]
      if entry.healed > record.healed {
        hub.counters.healedDivergences += UInt64(entry.healed - record.healed)
        hub.sessions.with(id) { $0.joins[entry.topic]?.healed = entry.healed }
        output.notices.append(.healed(peer: session.identity.fullName, model: model.id, version: entry.version))
      }
      if !barriers.isEmpty, entry.epoch == model.epoch(ifStored: hub.epoch) {
        barriers.reached(entry.version, of: index, by: id)
      }
      if !verifications.isEmpty { verifications.compare(entry, of: session, index, &hub, &output) }
    }
  }

  /// Records the version in an `alive`: all that is known of sessions that cannot be asked.
  mutating func recordApplied(_ entry: AliveEntry, _ index: Int, _ session: SessionID, _ hub: inout HubContext) {
    guard hub.sessions[session]?.joins[entry.topic] != nil else { return }
    hub.sessions.with(session) { $0.joins[entry.topic]?.applied = entry.applied }
    if !barriers.isEmpty, !hub.isCountedByEdge(session) { barriers.reached(entry.applied, of: index, by: session) }
  }

  /// Answers the barriers and comparisons that are complete or have timed out.
  /// - Parameter reached: the number of siblings that this hub reaches.
  mutating func endWaits(
    siblings reached: Int, _ hub: inout HubContext, _ time: HubTime, _ output: inout HubOutput
  ) {
    barriers.endDue(siblings: reached, &hub, time, &output)
    if !verifications.isEmpty { verifications.endDue(&hub, time, &output) }
  }

  // MARK: Sessions

  /// A session joins a model, perhaps once more.
  mutating func begin(
    _ session: SessionID, in index: Int, _ hub: HubContext, _ time: HubTime, _ output: inout HubOutput
  ) {
    catchups.end(in: hub.models[index], of: session)
    if hub.counts(session) { barriers.meet(edge: session, in: index, hub, time, &output) }
  }

  /// A session leaves a model.
  mutating func forget(_ session: SessionID, in index: Int, _ model: ModelLog) {
    catchups.end(in: model, of: session)
    barriers.forget(session, in: index)
    verifications.forget(session, in: index)
  }

  /// A model is removed.
  mutating func forget(_ index: Int) {
    heads.forget(index)
    barriers.forget(index)
    verifications.forget(index)
  }

  /// A request connection is gone.
  mutating func forget(_ connection: ConnectionID, _ sessions: SessionTable) {
    congested.forget(connection)
    catchups.end(on: connection, sessions)
    verifications.end(on: connection)
  }
}
