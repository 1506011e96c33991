import BindingHub
import BindingProtocol

/// Rights: no frame about a model goes to a user who may not read it, and nobody changes a field without the right to
/// it, whatever changes meanwhile (protocol.md §15.4).
struct AccessOracle: Invariant, SimulationPart {
  let context: SimulationContext
  let log: LogOracle
  /// The user of each tag that was seen.
  var users: [Tag: Int] = [:]
  /// Batches that are not stored yet, and the rights in force when they were decided.
  var decided: [(batch: Batch, table: RightsTable)] = []
  /// The fields into which a stranger wrote when it might: honest replicas hold that, too.
  private var writtenByStranger: Swift.Set<WrittenField> = []
  private struct WrittenField: Hashable {
    let model: Int
    let field: Int
  }

  init(context: SimulationContext, log: LogOracle) { (self.context, self.log) = (context, log) }

  mutating func observe(_ event: Observation) throws(Violation) {
    guard let table = context.rights else { return }
    switch event {
    case .received(_, let peer, _): users[peer.tag] = peer.user
    case .sent(let frame, _, let destination, let hub): try check(frame, to: destination, hub, table)
    case .hubStarts: decided.removeAll()
    // A batch may be passed to the store again, with the decisions of before.
    case .decided(let batches):
      for batch in batches where !decided.contains(where: { $0.batch == batch }) { decided.append((batch, table)) }
    case .stored(let batch, _):
      guard let index = decided.firstIndex(where: { $0.batch == batch }) else { return }
      try check(batch, decided.remove(at: index).table)
    default: break
    }
  }

  // MARK: Reading

  private func check(
    _ bytes: UnsafeRawBufferPointer, to destination: HubOutput.Destination, _ hub: SimulatedHub, _ table: RightsTable
  ) throws(Violation) {
    guard let (header, message) = try? HubMessage.decode(bytes) else { return }
    let models = models(in: message, header.topic, hub)
    switch destination {
    case .publish:
      for model in models where !table.mayBePublished(model) {
        throw Violation(.readingRight, "the hub published \(message.kind) of \(modelNames[model])")
      }
    case .connection(let connection):
      let user = hub.user(on: connection)
      for model in models where user.map({ !table.mayRead($0, model) }) ?? true {
        throw Violation(
          .readingRight, "the hub sent \(message.kind) of \(modelNames[model]) to user \(user ?? -1)")
      }
      if case .rights(let rights) = message, let user, let model = models.first {
        try check(rights, table.users[user].models[model], "user \(user) in \(modelNames[model])")
      }
      if case .statusReport = message {
        throw Violation(.readingRight, "the hub sent its status to user \(user ?? -1), who is no administrator")
      }
      if case .welcome(let welcome) = message, !welcome.endpoints.isEmpty,
        user.map({ !table.users[$0].hasFanout }) ?? true
      {
        throw Violation(.readingRight, "the hub told user \(user ?? -1) where it publishes")
      }
    }
  }

  /// What a session is told of its rights is what they are.
  private func check(_ told: SessionRights, _ rights: RightsTable.Rights, _ whose: String) throws(Violation) {
    for (field, name) in SimulatedField.names.enumerated() {
      let isDeletion = field != SimulatedField.description && told.delete.contains { $0.matches(Names.whole(name)) }
      guard told.allowsWriting(name) == rights.mayWrite[field],
        field == SimulatedField.description || isDeletion == rights.mayDelete[field]
      else { throw Violation(.writingRight, "the hub told \(whose) something else about \(name)") }
    }
  }

  /// The models that a message concerns.
  private func models(in message: HubMessage, _ topic: Topic, _ hub: SimulatedHub) -> [Int] {
    let topics: [Topic]
    switch message {
    case .topic(let assigned): return index(of: assigned.model)
    case .joined(let joined): return index(of: joined.model)
    case .announce(let announce): return announce.models.flatMap { index(of: $0.model) }
    case .outcomes(let outcomes): topics = outcomes.outcomes.map(\.topic)
    case .heads(let heads): topics = heads.heads.map(\.topic)
    case .askOffer(let ask): topics = [ask.topic]
    case .approve(let request): topics = [request.topic]
    case .rights(let rights): topics = [rights.topic]
    case .commits, .catchup, .head, .ask: topics = [topic]
    // A refusal repeats the topic that was asked for and tells nothing.
    case .past(let page): topics = page.end == .more || page.end == .all ? [topic] : []
    case .welcome, .error, .pong, .statusReport, .awaited, .heartbeat, .keys, .upstream, .hubs, .count:
      topics = []
    }
    return topics.compactMap { topic in modelNames.indices.first { hub.topic(of: $0) == topic } }
  }

  private func index(of model: String) -> [Int] { modelNames.firstIndex(of: model).map { [$0] } ?? [] }

  // MARK: Writing

  /// What a batch changed, with the rights that were in force when it was decided.
  private mutating func check(_ batch: Batch, _ table: RightsTable) throws(Violation) {
    guard let model = modelNames.firstIndex(of: batch.model), let group = try? CommitGroup.decode(batch.body) else {
      return
    }
    for origin in group.origins {
      let user = "u\(users[origin.tag] ?? table.stranger)"
      guard origin.user != user else { continue }
      throw Violation(
        .writingRight, "\(batch.model) names \(origin.user ?? "nobody") where \(user) wrote as \(origin)")
    }
    for version in group.previous + 1...group.version {
      guard let entry = log.entry(.init(model: model, epoch: group.epoch, version: version)) else { continue }
      // A tag that no peer has is a stranger's.
      let user = users[entry.tag] ?? table.stranger
      for (field, value) in entry.changes {
        if value == LogOracle.forged, user == table.stranger || entry.isRecovered {
          let written = WrittenField(model: model, field: field)
          if table.isWritable(field, of: model, by: table.stranger) {
            writtenByStranger.insert(written)
          } else if !entry.isRecovered || !writtenByStranger.contains(written) {
            throw Violation(.writingRight, "version \(version) of \(batch.model) holds what a stranger made up")
          }
        }
        // What is recovered was written by others than its offerer.
        guard !entry.isRecovered, !table.users[user].models[model].allowsChange(of: field, to: value) else { continue }
        throw Violation(
          .writingRight,
          "version \(version) of \(batch.model) changed \(SimulatedField.names[field]) for user \(user), who may not")
      }
    }
  }
}
