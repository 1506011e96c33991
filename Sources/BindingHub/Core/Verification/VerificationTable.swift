import BindingProtocol

/// The comparisons of peers' replicas with the hub; requesting one needs no session.
struct VerificationTable {
  private var runs: [Verification] = []

  var isEmpty: Bool { runs.isEmpty }

  var nextDeadline: UInt64 { runs.reduce(.max) { min($0, $1.deadline) } }

  /// Begins a comparison, which replaces one of the same connection.
  mutating func begin(
    _ wanted: Verify, _ session: SessionID, _ connection: ConnectionID, _ hub: inout HubContext, _ time: HubTime,
    _ output: inout HubOutput
  ) {
    end(on: connection)
    guard runs.count < hub.configuration.maxVerifications else {
      return hub.error(
        .overLimit, "\(runs.count) verifications are running, the limit (maxVerifications)", session, connection,
        isFatal: false, &output)
    }
    hub.counters.verifications += 1
    var examined: [Verification.Examined] = []
    var (next, sessionCount) = (Topics.none, 0)
    var last = wanted.after
    for topic in hub.models.topics(after: wanted.after) {
      guard let index = hub.models.index(of: topic) else { continue }
      let model = hub.models[index]
      guard model.position.hasCommits, model.ephemeral == nil, wanted.covers(model.id) else { continue }
      if examined.count >= hub.configuration.maxVerifiedModels
        || sessionCount >= hub.configuration.maxVerifiedSessions
      {
        next = last
        break
      }
      last = topic
      let joined = model.members.sessions.compactMap { hub.sessions[$0] }.filter {
        $0.joins[model.topic]?.delivery != nil && !$0.capabilities.onlyWrites
      }
      sessionCount += joined.count
      examined.append(
        Verification.Examined(
          model: index, known: [(model.version, model.fields.digest())],
          waiting: Set(joined.lazy.filter(\.capabilities.reports).map(\.id)),
          unable: Set(joined.lazy.filter { !$0.capabilities.reports }.map(\.id))))
      if joined.contains(where: \.capabilities.reports) { hub.ask(index, version: 0, &output) }
    }
    let timeout = min(UInt64(wanted.timeoutMilliseconds), hub.configuration.maxVerifyMilliseconds)
    runs.append(
      Verification(
        connection: connection, session: session, deadline: time.monotonic + timeout, models: examined, next: next))
  }

  mutating func end(on connection: ConnectionID) { runs.removeAll { $0.connection == connection } }

  /// Compares a peer's report of a model with the hub's state at that version.
  mutating func compare(
    _ entry: AppliedEntry, of session: SessionRecord, _ index: Int, _ hub: inout HubContext, _ output: inout HubOutput
  ) {
    for position in runs.indices {
      guard let at = runs[position].models.firstIndex(where: { $0.model == index }),
        runs[position].models[at].apply(entry, of: session.id, isThisEpoch: entry.epoch == hub.epoch)
      else { continue }
      hub.counters.differences += 1
      output.notices.append(
        .differs(peer: session.identity.fullName, model: hub.models[index].id, version: entry.version))
    }
  }

  /// Records the digest of a new version of a model being compared: peers will soon report it.
  mutating func rememberDigest(of model: ModelLog, _ index: Int, limit: Int) {
    let (version, digest) = (model.version, model.fields.digest())
    for position in runs.indices {
      guard let at = runs[position].models.firstIndex(where: { $0.model == index }) else { continue }
      runs[position].models[at].record(version, digest, limit: limit)
    }
  }

  mutating func forget(_ session: SessionID, in index: Int) {
    for position in runs.indices { runs[position].forget(session, in: index) }
  }

  /// The model is removed.
  mutating func forget(_ index: Int) {
    for position in runs.indices { runs[position].models.removeAll { $0.model == index } }
  }

  /// Repeats the open questions: a question or its answer may have been lost.
  func askAgain(_ hub: inout HubContext, _ output: inout HubOutput) {
    for examined in runs.lazy.flatMap(\.models) where !examined.waiting.isEmpty {
      hub.ask(examined.model, version: 0, &output)
    }
  }

  /// Answers the comparisons that are complete or have timed out.
  mutating func endDue(_ hub: inout HubContext, _ time: HubTime, _ output: inout HubOutput) {
    guard runs.contains(where: { $0.isComplete || $0.deadline <= time.monotonic }) else { return }
    for ended in runs where ended.isComplete || ended.deadline <= time.monotonic {
      output.send(
        .statusReport(StatusReport(session: ended.session, json: FieldValue(json: json(of: ended, &hub)))),
        to: .connection(ended.connection), start: hub.start)
    }
    runs.removeAll { $0.isComplete || $0.deadline <= time.monotonic }
  }

  /// The report. A test pins the names.
  private func json(of verification: Verification, _ hub: inout HubContext) -> JSON {
    func names(_ ids: Set<SessionID>) -> JSON {
      .array(ids.compactMap { hub.sessions[$0]?.identity.fullName }.sorted().map(JSON.string))
    }
    let compared = verification.models.map { examined in
      let model = hub.models[examined.model]
      return JSON.object([
        .init("model", .string(model.id)), .init("version", .integer(Int64(clamping: model.version))),
        .init("digest", .string(String(model.fields.digest(), radix: 16))),
        .init("equal", .integer(Int64(examined.equal.count))), .init("different", names(examined.different)),
        .init("silent", names(examined.waiting)), .init("unable", names(examined.unable)),
      ])
    }
    return .object([
      .init("start", .string(String(hub.start, radix: 16))), .init("next", .integer(Int64(verification.next))),
      .init("models", .array(compared)),
    ])
  }
}
