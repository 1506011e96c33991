import BindingProtocol

/// What hubs that share a log tell each other of its writers. A hub that does not speak to a writer cannot know what it
/// has confirmed, or whether it is gone: only records of the log say so, and each hub does what they say.
enum SharedWriters {
  /// Adds to the batch what its writers have confirmed since the last record that told it.
  static func tellConfirmed(in model: ModelLog) {
    var told: Set<Int> = []
    for writer in model.batch.pending.touchedWriters where told.insert(writer).inserted {
      let number = model.writers.with(writer) { $0.tellConfirmed() }
      guard let number else { continue }
      model.batch.pending.decisions.append(
        Decision(number, of: model.origin(ofWriter: writer), form: .confirmed))
    }
  }

  /// Decides that every hub forgets a writer in these models, if nobody has written as it meanwhile.
  static func forget(_ tag: Tag, in indices: some Sequence<Int>, _ hub: inout HubContext) {
    for index in indices {
      let model = hub.models[index]
      guard !hub.models.isRemoved(index), model.ephemeral == nil, !model.batch.isAppending,
        let writer = model.writers.index(of: tag)
      else { continue }
      let record = model.writers.with(writer) { $0 }
      guard record.lastDecided == record.lastStored else { continue }
      model.batch.borrow()
      model.batch.pending.decisions.append(Decision(record.lastStored, of: record.origin, form: .forgotten))
      hub.models.touch(index)
    }
  }

  /// Decides to forget writers without a session here that have written nothing for as long as identities are
  /// remembered, by the time of the log.
  static func forgetSilent(wall: UInt64, _ hub: inout HubContext) {
    let limit = hub.configuration.identityMilliseconds
    for index in hub.models.indices where hub.models[index].ephemeral == nil {
      let silent = hub.models[index].writers.records.filter { record in
        record.origin.tag != .none && record.decidedAt > 0 && record.decidedAt + limit < wall
          && hub.sessions.identities[record.origin.tag]?.session == nil
      }
      for record in silent { forget(record.origin.tag, in: CollectionOfOne(index), &hub) }
    }
  }

  /// A record has forgotten writers. What a writer that has a session here had is raised again.
  static func recall(_ decisions: [Decision], in index: Int, before: [Tag: ProposalNumber], _ hub: inout HubContext) {
    let model = hub.models[index]
    for decision in decisions where decision.form == .forgotten {
      let tag = decision.origin.tag
      guard model.writers.index(of: tag) == nil, let number = before[tag] else { continue }
      guard hub.sessions.identities[tag]?.session != nil else {
        hub.sessions.writersBefore.remove(tag)
        continue
      }
      let writer = hub.writer(decision.origin, in: index)
      model.writers.with(writer) { $0.lastDecided = number }
      model.batch.borrow()
      model.batch.pending.touchedWriters.append(writer)
      model.batch.pending.decisions.append(Decision(origin: decision.origin, number: number, outcome: nil))
      hub.models.touch(index)
    }
  }
}
