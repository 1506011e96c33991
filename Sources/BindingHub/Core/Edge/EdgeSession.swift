import BindingProtocol

/// A session of an edge.
struct EdgeSession {
  enum UpstreamAnswer {
    case asked
    case answered(UpstreamJoin)
  }
  let hello: Hello
  /// Whether its identity may have decided proposals: it was welcomed before, or has proposed here. Its joins are
  /// asked upstream.
  var isWriter: Bool
  /// Joins that are asked upstream, by the model's index.
  var joins: [Int: UpstreamAnswer] = [:]

  /// Whether it wants to read nothing older than what the upstream hub has when it asks.
  var wantsLatest: Bool { hello.capabilities.contains(Capability.latest) }
}

extension HubMachine {
  // MARK: Joins

  /// A session has joined a model. The join is answered once `mayAnswer` says so.
  mutating func follow(_ index: Int, for session: SessionID, _ join: Join) {
    if edge?.models[index] == nil {
      edge?.models[index] = FollowedModel()
      edge?.requests.append(.follow(join.name))
    }
    edge?.models[index]?.unusedSince = nil
    guard let record = edge?.sessions[session] else { return }
    edge?.sessions[session]?.joins[index] = nil
    let isPresence = edge?.isPresence(index, session, hub) == true
    if record.isWriter || record.wantsLatest || isPresence { askUpstream(join, session, index) }
    if isPresence { edge?.attend(index, session, hub) }
  }

  private mutating func askUpstream(_ join: Join, _ session: SessionID, _ index: Int) {
    guard let hello = edge?.sessions[session]?.hello else { return }
    edge?.sessions[session]?.joins[index] = .asked
    edge?.sessions[session]?.isWriter = true
    edge?.requests.append(.greet(session, hello))
    edge?.requests.append(
      .join(
        session,
        EdgeJoin(
          model: join.name, epoch: join.epoch, version: join.version, unacknowledged: max(join.unacknowledged, 1))))
  }

  /// Whether a join may be answered now from what the edge has: its model is complete, and contains everything that
  /// the peer has or may have decided upstream.
  mutating func mayAnswer(_ join: Join, of session: SessionID, in index: Int) -> Bool {
    guard edge?.models[index]?.isComplete == true else { return false }
    let model = hub.models[index]
    let answer = edge?.sessions[session]?.joins[index]
    switch answer {
    case .asked: return false
    case .answered(let joined):
      guard let version = version(joined.version, of: joined.epoch, in: index), version <= model.version else {
        return false
      }
      edge?.sessions[session]?.joins[index] = nil
      if let origin = hub.sessions[session]?.identity, joined.lastDecided > 0 {
        model.writers.with(hub.writer(origin, in: index)) { $0.raise(to: joined.lastDecided) }
      }
      return true
    case nil where model.ephemeral != nil: return true
    case nil:
      let isAhead = join.epoch == hub.epoch ? join.version > model.version : join.epoch >> 32 > hub.epoch >> 32
      guard isAhead || join.unacknowledged > 1 else { return true }
      askUpstream(join, session, index)
      return false
    }
  }

  /// A version upstream as it is here; nil: it is of another epoch.
  private func version(_ upstream: Version, of epoch: Epoch, in index: Int) -> Version? {
    guard hub.models[index].ephemeral != nil else { return epoch == hub.epoch ? upstream : nil }
    guard let versions = edge?.models[index]?.versions, versions.epoch == epoch else { return nil }
    return versions.here(upstream)
  }

  // MARK: Proposals

  /// Passes proposals on. Nothing of them is answered here but what names a model that is not joined.
  mutating func passOn(
    _ proposals: ProposalCursor, bytes: Int, _ session: SessionID, _ time: HubTime, _ output: inout HubOutput
  ) throws(WireError) {
    var (proposals, place) = (proposals, -1)
    guard let (connection, usage) = hub.sessions.with(session, { ($0.connection, $0.usage) }),
      let hello = edge?.sessions[session]?.hello
    else { return }
    let (admitted, pause) = hub.admit(proposals.remaining, bytes: bytes, usage, time, &output)
    var runs: [(model: String, proposals: [PassedProposal])] = []
    while try proposals.next() {
      place += 1
      hub.counters.proposals += 1
      guard let index = hub.models.index(of: proposals.topic),
        hub.sessions.join(of: session, in: proposals.topic)?.delivery != nil
      else {
        hub.error(
          .notJoined, "topic \(proposals.topic) has not been joined", session, connection, isFatal: false, &output)
        continue
      }
      if place >= admitted {
        hub.retryLater(proposals.topic, proposals.number, .rateLimited, pause: pause, session)
        continue
      }
      let fields = hub.models[index].fields
      let refusal = refusal(of: proposals, session, connection, index)
      let passed = try PassedProposal(proposals, refusal: refusal, versions: edge?.models[index]?.versions) {
        Int($0) < fields.count ? fields[$0].name : nil
      }
      let id = hub.models[index].id
      if runs.last?.model == id {
        runs[runs.count - 1].proposals.append(passed)
      } else {
        runs.append((id, [passed]))
      }
    }
    guard !runs.isEmpty else { return }
    edge?.sessions[session]?.isWriter = true
    edge?.requests.append(.greet(session, hello))
    for run in runs { edge?.requests.append(.propose(session, model: run.model, run.proposals)) }
  }

  /// Why this hub's own rights forbid a proposal that is passed on; nil: they do not. An upstream hub's are checked
  /// there.
  func refusal(
    of proposal: ProposalCursor, _ session: SessionID, _ connection: ConnectionID, _ index: Int
  ) -> Refusal? {
    let model = hub.models[index]
    guard let limitation = hub.access.limitation(in: session, on: connection, of: model.id) else { return nil }
    var operations = proposal.operations
    while (try? operations.next()) == true {
      let field =
        operations.name.map { String(decoding: $0, as: UTF8.self) }
        ?? operations.id.flatMap { Int($0) < model.fields.count ? model.fields[$0].name : nil } ?? ""
      if let refusal = limitation.refusal(of: operations.verb, field, in: model) { return refusal }
    }
    return nil
  }
}
