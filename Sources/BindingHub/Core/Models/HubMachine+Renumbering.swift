import BindingProtocol

/// Names of deleted fields stay in use until the hub gives them back: it then renumbers the remaining fields.
///
/// The new numbers are a record in the model's log, so every later batch means the same to every reader; an
/// ephemeral model, which has no log, keeps them in memory only. They come under a new topic. Each joined peer says
/// hello again, and joins the model without a known name.
extension HubMachine {
  /// Whether a model has enough names of deleted fields to give them back.
  func isWorn(_ model: ModelLog) -> Bool {
    let limit = hub.configuration.limits.maxModelFields
    if let most = hub.configuration.maxDeletedNames { return model.spareNames >= max(most, 1) }
    return model.fields.count >= limit * 3 / 4 && model.spareNames >= max(limit / 8, 1)
  }

  /// Whether the model may be renumbered now: every decision is stored and no recovery is under way or expected. A
  /// deletion must not be forgotten while a peer may still offer the field.
  func mayRenumber(_ index: Int, _ time: HubTime) -> Bool {
    let model = hub.models[index]
    let isLate = model.ephemeral != nil || time.monotonic >= renumbersFrom
    return isLate && isWorn(model) && model.removal == nil && model.isSettled && !model.isBusy && hub.models.hasTopics
  }

  /// Whether renumbering waits only for room in the store, or for the end of the time in which peers may offer
  /// fields.
  func waitsToRenumber(_ index: Int, _ time: HubTime) -> Bool {
    time.monotonic < renumbersFrom && hub.models[index].ephemeral == nil && isWorn(hub.models[index])
  }

  private var renumbersFrom: UInt64 {
    let isEarlyUntil = hub.configuration.recovery && !tailProven ? epochBegan + hub.configuration.earlyMilliseconds : 0
    return max(hub.storeFullUntil, isEarlyUntil)
  }

  /// Renumbers the remaining fields. A stored model does so by a batch that lists them. An ephemeral model needs
  /// none: it ends with the hub's process, as do all who know its numbers.
  mutating func renumber(_ index: Int, _ output: inout HubOutput) {
    let model = hub.models[index]
    guard model.ephemeral != nil else { return output.batches.append(renumbering(of: index)) }
    // Outcomes leave before their sessions end.
    hub.sendOutcomes(&output)
    model.renumber(model.idsToKeep)
    endRenumbering(of: index, &output)
  }

  /// The batch that lists the remaining fields.
  private func renumbering(of index: Int) -> Batch {
    let model = hub.models[index]
    model.isAppending = true
    return .renumbering(
      of: model.id, record: model.records + 1, epoch: hub.epoch, version: model.version, kept: model.idsToKeep)
  }

  /// The store has the renumbering batch.
  mutating func renumbered(_ batch: Batch, _ index: Int, _ output: inout HubOutput) {
    let model = hub.models[index]
    model.apply(batch, recentLimit: hub.configuration.recentCommits)
    model.isAppending = false
    model.forgetWriters()
    endRenumbering(of: index, &output)
  }

  private mutating func endRenumbering(of index: Int, _ output: inout HubOutput) {
    hub.counters.renumberedModels += 1
    endSessions(in: index, &output)
  }

  /// Makes every joined peer say hello again. Until then their sessions stay in the model but receive nothing.
  mutating func endSessions(in index: Int, _ output: inout HubOutput) {
    let model = hub.models[index]
    let old = model.topic
    hub.models.changeTopic(of: index)
    // A peer must not offer fields whose deletion is forgotten.
    model.storedFrom = RecoveryPoint(epoch: hub.epoch, version: model.version)
    for waiting in model.waiting {
      hub.sessions.with(waiting.session) { $0.unacknowledged = max($0.unacknowledged - 1, 0) }
    }
    model.waiting.removeAll()
    model.waitingJoins.removeAll()
    model.routed.removeAll()
    catchups.removeAll { $0.catchup.model === model }
    for tag in Array(hub.sessions.identities.keys) {
      guard let since = hub.sessions.identities[tag]?.presentSince.removeValue(forKey: old) else { continue }
      hub.sessions.identities[tag]?.presentSince[model.topic] = since
    }
    for id in model.sessions.sorted() {
      if !barriers.isEmpty { barriers.forget(id, in: index) }
      for position in verifications.indices { verifications[position].forget(id, in: index) }
      let connection = hub.sessions.with(id) { session in
        let record = session.joins.removeValue(forKey: old)
        session.joins[model.topic] = JoinRecord(
          open: nil, subscribeBy: 0, delivery: nil, applied: nil, healed: record?.healed ?? 0)
        session.isOver = true
        return session.connection
      }
      guard let connection else { continue }
      hub.error(
        .unknownSession,
        "the fields of \(model.id) have other numbers, since names of deleted ones were given back; "
          + "say hello", id, connection, &output)
    }
  }
}
