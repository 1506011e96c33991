import BindingProtocol

/// Names of deleted fields stay in use until the hub gives them back: it then renumbers the remaining fields.
///
/// The new numbers are a record in the model's log, so every later batch means the same to every reader; an
/// ephemeral model, which has no log, keeps them in memory only. They come under a new topic. Each joined peer says
/// hello again, and joins the model without a known name.
extension ModelPublisher {
  /// Renumbers the remaining fields. A stored model does so by a batch that lists them. An ephemeral model needs
  /// none: it ends with the hub's process, as do all who know its numbers.
  mutating func renumber(_ index: Int, _ hub: inout HubContext, _ output: inout HubOutput) {
    let model = hub.models[index]
    guard model.ephemeral != nil else {
      model.batch.isAppending = true
      return output.batches.append(
        .renumbering(
          of: model.id, record: model.position.record + 1, epoch: hub.epoch, version: model.version,
          kept: model.idsToKeep))
    }
    // Outcomes leave before their sessions end.
    hub.sendOutcomes(&output)
    model.renumber(model.idsToKeep)
    endRenumbering(of: index, &hub, &output)
  }

  /// The store has the renumbering batch.
  mutating func renumbered(_ batch: Batch, _ index: Int, _ hub: inout HubContext, _ output: inout HubOutput) {
    let model = hub.models[index]
    model.apply(batch, recentLimit: hub.configuration.recentCommits)
    model.batch.isAppending = false
    model.forgetWriters()
    endRenumbering(of: index, &hub, &output)
  }

  private mutating func endRenumbering(of index: Int, _ hub: inout HubContext, _ output: inout HubOutput) {
    hub.counters.renumberedModels += 1
    endSessions(in: index, &hub, &output)
  }

  /// Makes every joined peer say hello again. Until then their sessions stay in the model but receive nothing.
  mutating func endSessions(in index: Int, _ hub: inout HubContext, _ output: inout HubOutput) {
    let model = hub.models[index]
    let old = model.topic
    hub.models.changeTopic(of: index)
    // A peer must not offer fields whose deletion is forgotten.
    model.recovery.storedFrom = RecoveryPoint(epoch: hub.epoch, version: model.version)
    let asked = model.approval.pending.map { [$0.proposal] } ?? []
    for waiting in model.batch.waiting + model.batch.shared.home.end(at: hub.lastTick) + asked {
      hub.sessions.endWait(waiting.session)
    }
    // They name fields by their former ids.
    model.batch.waiting.removeAll()
    model.approval.pending = nil
    model.members.waitingJoins.removeAll()
    model.members.routed.removeAll()
    catchups.end(in: model)
    hub.sessions.changeTopic(old, to: model.topic)
    for id in model.members.sessions.sorted() {
      barriers.forget(id, in: index)
      verifications.forget(id, in: index)
      let connection = hub.sessions.with(id) { session in
        let record = session.joins.removeValue(forKey: old)
        session.joins[model.topic] = JoinRecord(nil, subscribeBy: 0, delivery: nil, after: record)
        session.isOver = true
        return session.connection
      }
      guard let connection else { continue }
      hub.error(
        .unknownSession,
        "the fields of \(model.id) have new numbers, because names of deleted fields were released; "
          + "send hello", id, connection, &output)
    }
  }
}
