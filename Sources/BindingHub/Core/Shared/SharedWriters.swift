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
  /// remembered, by the time of the log, and that have confirmed every outcome: what others have may be sent again.
  static func forgetSilent(wall: UInt64, _ hub: inout HubContext) {
    let limit = hub.configuration.identityMilliseconds
    for index in hub.models.indices where hub.models[index].ephemeral == nil {
      let silent = hub.models[index].writers.records.filter { record in
        record.origin.tag != .none && record.decidedAt > 0 && record.decidedAt + limit < wall && record.isConfirmed
          && hub.sessions.identities[record.origin.tag]?.session == nil
      }
      for record in silent { forget(record.origin.tag, in: CollectionOfOne(index), &hub) }
    }
  }

  /// A record has forgotten writers. One that has a session here wrote at another hub meanwhile, and what it had sent
  /// here before may still wait, or be on its way.
  static func end(_ decisions: [Decision], in index: Int, _ hub: inout HubContext) {
    for decision in decisions where decision.form == .forgotten {
      guard let session = hub.sessions.identities[decision.origin.tag]?.session else { continue }
      mustGreet(session, in: index, &hub)
    }
  }

  /// Records were folded or removed before this hub has seen them, so any writer that the model does not have now may
  /// have been decided and forgotten in them.
  static func endUnknown(in index: Int, _ hub: inout HubContext) {
    let model = hub.models[index]
    for session in model.members.sessions {
      guard let tag = hub.sessions.with(session, { $0.identity.tag }), model.writers.index(of: tag) == nil
      else { continue }
      mustGreet(session, in: index, &hub)
    }
  }

  private static func mustGreet(_ session: SessionID, in index: Int, _ hub: inout HubContext) {
    let topic = hub.models[index].topic
    hub.sessions.with(session) { $0.joins[topic]?.mustGreet = true }
  }

  /// Ends a session whose writer may have been decided and forgotten, instead of deciding for it: its peer, if it is
  /// still there, says hello and joins again with the number that it has come to.
  /// - Returns: whether it is ended.
  static func refuse(
    _ session: SessionID, _ writer: Int, in model: ModelLog, _ hub: inout HubContext, _ output: inout HubOutput
  ) -> Bool {
    guard model.writers.with(writer, { $0.lastDecided }) == 0,
      let record = hub.sessions[session], record.joins[model.topic]?.mustGreet == true
    else { return false }
    hub.sessions.with(session) { $0.isOver = true }
    hub.error(
      .unknownSession, "what this session wrote to \(model.id) may have been decided at another hub; send hello",
      session, record.connection, &output)
    return true
  }
}
