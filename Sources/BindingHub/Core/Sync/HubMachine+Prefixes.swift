import BindingProtocol

/// Models below a prefix: those that exist are announced to who joins it, later ones as they get their first commit.
extension HubMachine {
  mutating func joinPrefix(_ join: Join, _ session: SessionID, _ output: inout HubOutput) {
    guard let record = sessions[session] else { return }
    if record.prefixes[join.name] == nil, record.prefixes.count >= configuration.limits.maxTopics {
      sequencer.counters.topicsRefused += 1
      return error(
        .tooManyTopics, "\(record.prefixes.count) prefixes are joined; maxTopics is \(configuration.limits.maxTopics)",
        session, record.connection, isFatal: false, &output)
    }
    sessions.with(session) { $0.prefixes[join.name] = join.request }
    sessions.withPrefixes.insert(session)
    announcing.removeAll { $0.session == session && $0.prefix == join.name }
    announcing.append(
      Announcing(session: session, prefix: join.name, request: join.request, rest: models.indices))
  }

  /// Models that a turn looks at, and that it announces: a thousand of the longest ids fit into a frame.
  private static let modelsLookedAt = 4_096
  private static let modelsAnnounced = 512

  /// Announces what a turn may announce, to those who have waited longest first.
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

  /// - Returns: how many it announced.
  private func announce(_ share: inout Announcing, atMost most: Int, _ output: inout HubOutput) -> Int {
    var found: [ModelLog] = []
    for index in share.rest.prefix(HubMachine.modelsLookedAt) where found.count < most {
      share.rest = (index + 1)..<share.rest.upperBound
      let model = models[index]
      if model.hasCommits, model.ephemeral == nil, model.id.hasPrefix(share.prefix) { found.append(model) }
    }
    // The last message says that it is the last.
    if !found.isEmpty || share.rest.isEmpty {
      announce(found, to: share.session, share.request, isComplete: share.rest.isEmpty, &output)
    }
    return found.count
  }

  /// Models that are still to be looked at for who has joined a prefix.
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
    send(
      .announce(Announce(session: session, request: request, isComplete: isComplete, models: announced)), to: session,
      &output)
  }

  /// A model has its first commit: tells those who joined a prefix of its id.
  mutating func announceFirstCommit(_ index: Int, _ output: inout HubOutput) {
    let model = models[index]
    guard !model.wasAnnounced, model.hasCommits, model.ephemeral == nil else { return }
    model.wasAnnounced = true
    for session in sessions.withPrefixes.sorted().compactMap({ sessions[$0] }) {
      for (prefix, request) in session.prefixes.sorted(by: { $0.key < $1.key }) where model.id.hasPrefix(prefix) {
        announce([model], to: session.id, request, isComplete: false, &output)
      }
    }
  }
}
