import BindingProtocol

/// Models below a prefix. A peer that joins the prefix is told the existing models, and later ones with their first
/// commit.
extension HubMachine {
  mutating func joinPrefix(_ join: Join, _ session: SessionID, _ output: inout HubOutput) {
    guard let record = hub.sessions[session] else { return }
    if record.prefixes[join.name] == nil, record.prefixes.count >= hub.configuration.limits.maxTopics {
      hub.counters.topicsRefused += 1
      return hub.error(
        .tooManyTopics,
        "\(record.prefixes.count) prefixes are joined; maxTopics is \(hub.configuration.limits.maxTopics)",
        session, record.connection, isFatal: false, &output)
    }
    hub.sessions.with(session) { $0.prefixes[join.name] = join.request }
    hub.sessions.withPrefixes.insert(session)
    announcing.removeAll { $0.session == session && $0.prefix == join.name }
    announcing.append(
      Announcing(session: session, prefix: join.name, request: join.request, rest: hub.models.indices))
  }

  /// The most models that a turn checks, and that it announces: a thousand of the longest ids fit into a frame.
  private static let modelsLookedAt = 4_096
  private static let modelsAnnounced = 512

  /// Announces one turn's share, beginning with the sessions that have waited longest.
  mutating func announceShares(_ output: inout HubOutput) {
    var left = HubMachine.modelsAnnounced
    for _ in announcing.indices where left > 0 {
      var share = announcing.removeFirst()
      guard !isCongested(share.session) else {
        announcing.append(share)
        continue
      }
      left -= announce(&share, atMost: left, &output)
      if !share.rest.isEmpty { announcing.append(share) }
    }
  }

  /// - Returns: the number of announced models.
  private func announce(_ share: inout Announcing, atMost most: Int, _ output: inout HubOutput) -> Int {
    var found: [ModelLog] = []
    for index in share.rest.prefix(HubMachine.modelsLookedAt) where found.count < most {
      share.rest = (index + 1)..<share.rest.upperBound
      let model = hub.models[index]
      if model.hasCommits, model.ephemeral == nil, model.id.hasPrefix(share.prefix) { found.append(model) }
    }
    // The last message is marked as the last.
    if !found.isEmpty || share.rest.isEmpty {
      announce(found, to: share.session, share.request, isComplete: share.rest.isEmpty, &output)
    }
    return found.count
  }

  /// The models still to be checked for a session that joined a prefix.
  struct Announcing {
    let session: SessionID
    let prefix: String
    let request: UInt32
    var rest: Range<Int>
  }

  private func announce(
    _ models: [ModelLog], to session: SessionID, _ request: UInt32, isComplete: Bool, _ output: inout HubOutput
  ) {
    let announced = models.map {
      AnnouncedModel(model: $0.id, topic: $0.topic, version: $0.version, fields: UInt32($0.fields.countedValues))
    }
    hub.send(
      .announce(Announce(session: session, request: request, isComplete: isComplete, models: announced)), to: session,
      &output)
  }

  /// Announces a model's first commit to the sessions that joined a prefix of its id.
  mutating func announceFirstCommit(_ index: Int, _ output: inout HubOutput) {
    let model = hub.models[index]
    guard !model.wasAnnounced, model.hasCommits, model.ephemeral == nil else { return }
    model.wasAnnounced = true
    for session in hub.sessions.withPrefixes.sorted().compactMap({ hub.sessions[$0] }) {
      for (prefix, request) in session.prefixes.sorted(by: { $0.key < $1.key }) where model.id.hasPrefix(prefix) {
        announce([model], to: session.id, request, isComplete: false, &output)
      }
    }
  }
}
