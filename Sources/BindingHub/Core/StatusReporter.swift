import BindingProtocol

/// Status reports; asking needs no session. A report costs as much as hundreds of proposals, so a connection has at
/// most one question open, and the text is made at most once every `reportMilliseconds`. Later questions get the
/// next text.
struct StatusReporter {
  /// In order of arrival; one per connection.
  private var waiting: [(connection: ConnectionID, session: SessionID)] = []
  private var sessions: [ConnectionID: SessionID] = [:]
  /// The report being sent; it goes to the first `receivers` of `waiting`.
  private var text: FieldValue?
  private var receivers = 0
  private var nextAt: UInt64 = 0
  /// The state of transport and store, which the caller keeps up to date.
  var transport = TransportCounters()
  var store = StoreStatus()
  /// The hub's key, and the next one; nil: it has none.
  var keys: JSON?
  var disagreements = Disagreements()

  var nextDeadline: UInt64 { text != nil ? 0 : waiting.isEmpty ? .max : nextAt }

  mutating func ask(
    _ session: SessionID, _ connection: ConnectionID, _ hub: inout HubContext, _ output: inout HubOutput
  ) {
    guard let earlier = sessions[connection] else {
      sessions[connection] = session
      waiting.append((connection, session))
      return
    }
    // A repeated question of the same session counts once.
    guard earlier != session else { return }
    hub.error(
      .overLimit, "another session of this connection waits for a report", session, connection,
      isFatal: false, &output)
  }

  mutating func forget(_ connection: ConnectionID) {
    guard sessions.removeValue(forKey: connection) != nil,
      let index = waiting.firstIndex(where: { $0.connection == connection })
    else { return }
    waiting.remove(at: index)
    if index < receivers { receivers -= 1 }
  }

  /// Sends the report to waiting connections, as many as fit into one turn's bytes.
  mutating func send(
    heartbeat: UInt64, _ hub: inout HubContext, _ edge: EdgeState?, _ others: OtherHubsState, _ time: HubTime,
    _ output: inout HubOutput
  ) {
    guard nextDeadline <= time.monotonic else { return }
    let report = text ?? FieldValue(json: json(heartbeat: heartbeat, hub, edge, others, time))
    if text == nil {
      receivers = waiting.count
      nextAt = time.monotonic + hub.configuration.reportMilliseconds
    }
    let enough = output.byteCount + hub.configuration.limits.chunkBytes
    var served = 0
    while served < receivers, output.byteCount < enough {
      let (connection, session) = waiting[served]
      output.send(
        .statusReport(StatusReport(session: session, json: report)), to: .connection(connection), start: hub.start)
      sessions[connection] = nil
      served += 1
    }
    waiting.removeFirst(served)
    receivers -= served
    text = receivers > 0 ? report : nil
  }

  /// The status that `bindhub status` shows. A test pins the names.
  func json(
    heartbeat: UInt64, _ hub: HubContext, _ edge: EdgeState?, _ others: OtherHubsState, _ time: HubTime
  ) -> JSON {
    let sessionList = hub.sessions.inOrder.map { session in
      let user = hub.access.user(of: session).map { user in
        [
          JSON.Member("user", .string(user.name)),
          JSON.Member("roles", .array(user.roles.sorted().map { .string($0) })),
        ]
      }
      return JSON.object(
        [
          .init("name", .string(session.identity.name)), .init("tag", .string(session.identity.tag.short)),
          .init("models", .integer(Int64(session.joins.count))),
          .init("lag", .integer(Int64(clamping: lag(of: session, hub.models)))),
          .init(
            "leaseLeftMilliseconds", .integer(Int64(clamping: session.expiresAt) - Int64(clamping: time.monotonic))),
        ] + (user ?? []))
    }
    let modelList = hub.models.filter { $0.position.hasCommits && $0.ephemeral == nil }.prefix(1_000).map { model in
      JSON.object([
        .init("model", .string(model.id)), .init("version", .integer(Int64(clamping: model.version))),
        .init("fields", .integer(Int64(model.fields.countedValues))),
        .init("sessions", .integer(Int64(model.members.sessions.count))),
      ])
    }
    let configuration = hub.configuration
    let keys = keys.map { [JSON.Member("keys", $0)] } ?? []
    let upstream = edge.map { [JSON.Member("upstream", $0.json)] } ?? []
    return .object(
      [
        .init("name", .string(configuration.name)), .init("protocol", .integer(0)),
        .init("logID", .string(String(hub.logID, radix: 16))), .init("epoch", .string(String(hub.epoch, radix: 16))),
        .init("start", .string(String(hub.start, radix: 16))),
        .init("durability", .string("\(edge?.upstream?.durability ?? hub.durability)")),
        .init("insecure", .bool(configuration.isInsecure)),
        .init("heartbeat", .integer(Int64(clamping: heartbeat))), .init("sessions", .array(sessionList)),
        .init("models", .array(Array(modelList))), .init("counters", hub.counters.json),
        .init("gate", transport.json), .init("store", store.json), .init("disagreements", disagreements.json(hub)),
        .init("limited", .array(hub.usages.limited.prefix(1_000).map(\.json))),
      ] + keys + upstream + others.json)
  }

  /// How far the session lags in the model where it lags most, by its last report, in versions.
  private func lag(of session: SessionRecord, _ models: ModelTable) -> UInt64 {
    session.joins.reduce(0) { most, join in
      guard let applied = join.value.applied, let index = models.index(of: join.key), models[index].version > applied
      else { return most }
      return max(most, models[index].version - applied)
    }
  }
}
