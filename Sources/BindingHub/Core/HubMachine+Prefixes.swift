import BindingWire

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
    let matching = models.filter { $0.version > 0 && $0.ephemeral == nil && $0.id.hasPrefix(join.name) }.sorted {
      $0.id < $1.id
    }
    // A thousand of the longest ids fit into a frame; the last message says that it is the last.
    var rest = matching[...]
    repeat {
      let part = rest.prefix(1_000)
      rest = rest.dropFirst(part.count)
      announce(Array(part), to: session, join.request, isComplete: rest.isEmpty, &output)
    } while !rest.isEmpty
  }

  private func announce(
    _ models: [ModelLog], to session: SessionID, _ request: UInt32, isComplete: Bool, _ output: inout HubOutput
  ) {
    let announced = models.map {
      AnnouncedModel(model: $0.id, topic: $0.topic, version: $0.version, fields: UInt32($0.fields.valueCount))
    }
    send(
      .announce(Announce(session: session, request: request, isComplete: isComplete, models: announced)), to: session,
      &output)
  }

  /// A model has its first commit: tells those who joined a prefix of its id.
  mutating func announceFirstCommit(_ index: Int, _ output: inout HubOutput) {
    let model = models[index]
    guard !model.wasAnnounced, model.version > 0, model.ephemeral == nil else { return }
    model.wasAnnounced = true
    for session in sessions.withPrefixes.sorted().compactMap({ sessions[$0] }) {
      for (prefix, request) in session.prefixes.sorted(by: { $0.key < $1.key }) where model.id.hasPrefix(prefix) {
        announce([model], to: session.id, request, isComplete: false, &output)
      }
    }
  }
}
