import BindingProtocol

/// Names of deleted fields are used up until they are given back: then the fields that are left are numbered anew.
///
/// The new numbers are a record of the model's log, so that every batch after it means the same to everyone; of an
/// ephemeral line, which has no log, they are in memory only. They come under a new topic, and who has joined the model
/// says hello again, and joins it knowing no number.
extension HubMachine {
  /// Whether so many names of a model are of deleted fields that they are worth giving back.
  func isWorn(_ model: ModelLog) -> Bool {
    let limit = configuration.limits.maxModelFields
    if let most = configuration.maxDeletedNames { return model.spareNames >= max(most, 1) }
    return model.fields.count >= limit * 3 / 4 && model.spareNames >= max(limit / 8, 1)
  }

  /// Whether that may be done now: nothing is decided that is not stored, and nobody is asked for anything, nor will be
  /// soon: what was deleted is not forgotten while somebody may bring it back.
  func mayRenumber(_ index: Int, _ time: HubTime) -> Bool {
    let model = models[index]
    let isLate = model.ephemeral != nil || time.monotonic >= renumbersFrom
    return isLate && isWorn(model) && model.removal == nil && model.isSettled && !model.isBusy && topics.hasRoom
  }

  /// Whether it only waits for the store to have room, or for those to come who may bring something back.
  func waitsToRenumber(_ index: Int, _ time: HubTime) -> Bool {
    time.monotonic < renumbersFrom && models[index].ephemeral == nil && isWorn(models[index])
  }

  private var renumbersFrom: UInt64 {
    let isEarlyUntil = configuration.recovery && !tailProven ? epochBegan + configuration.earlyMilliseconds : 0
    return max(sequencer.storeFullUntil, isEarlyUntil)
  }

  /// Numbers the fields that are left of a model anew: one that is stored, by a batch that says which they are. An
  /// ephemeral line ends with the hub's process, and with it all who know its numbers: it needs none.
  mutating func renumber(_ index: Int, _ output: inout HubOutput) {
    let model = models[index]
    guard model.ephemeral != nil else { return output.batches.append(renumbering(of: index)) }
    // What was decided is told while it is heard.
    sendOutcomes(&output)
    model.renumber(model.idsToKeep)
    endRenumbering(of: index, &output)
  }

  /// The batch that says which fields are left.
  private func renumbering(of index: Int) -> Batch {
    let model = models[index]
    model.isAppending = true
    return .renumbering(
      of: model.id, record: model.records + 1, epoch: epoch, version: model.version, kept: model.idsToKeep)
  }

  /// The store has it.
  mutating func renumbered(_ batch: Batch, _ index: Int, _ output: inout HubOutput) {
    let model = models[index]
    model.apply(batch, recentLimit: configuration.recentCommits)
    model.isAppending = false
    model.forgetWriters()
    endRenumbering(of: index, &output)
  }

  private mutating func endRenumbering(of index: Int, _ output: inout HubOutput) {
    sequencer.counters.renumberedModels += 1
    endSessions(in: index, &output)
  }

  /// Has all who joined a model say hello again; until then they are in it, without being told anything.
  mutating func endSessions(in index: Int, _ output: inout HubOutput) {
    let model = models[index]
    let old = model.topic
    topics.release(old)
    model.topic = topics.assign(index)
    // Of what was deleted and forgotten nobody may bring back what it has.
    model.storedFrom = RecoveryPoint(epoch: epoch, version: model.version)
    for waiting in model.waiting {
      sessions.with(waiting.session) { $0.unacknowledged = max($0.unacknowledged - 1, 0) }
    }
    model.waiting.removeAll()
    model.waitingJoins.removeAll()
    model.routed.removeAll()
    catchups.removeAll { $0.catchup.model === model }
    for tag in Array(sessions.identities.keys) {
      guard let since = sessions.identities[tag]?.presentSince.removeValue(forKey: old) else { continue }
      sessions.identities[tag]?.presentSince[model.topic] = since
    }
    for id in model.sessions.sorted() {
      if !barriers.isEmpty { barriers.forget(id, in: index) }
      for position in verifications.indices { verifications[position].forget(id, in: index) }
      let connection = sessions.with(id) { session in
        let record = session.joins.removeValue(forKey: old)
        session.joins[model.topic] = JoinRecord(
          open: nil, subscribeBy: 0, delivery: nil, applied: nil, healed: record?.healed ?? 0)
        session.isOver = true
        return session.connection
      }
      guard let connection else { continue }
      error(
        .unknownSession,
        "the fields of \(model.id) have other numbers, since names of deleted ones were given back; "
          + "say hello", id, connection, &output)
    }
  }
}
