import BindingProtocol

/// Models that are read from the store again because the result of their batch is unknown.
extension HubMachine {
  /// Replaces a model by what the store has, after an append with an unknown result. The stored state wins over
  /// every decision of this hub.
  package mutating func reloaded(_ stored: StoredModel, time: HubTime, into output: inout HubOutput) {
    guard let index = hub.models.index(named: stored.model) else { return }
    if hub.models[index].removal?.isUnderWay == true, stored.chunks.isEmpty, stored.batches.isEmpty {
      let model = hub.models[index]
      removed(
        .removal(of: model.id, record: model.records + 1, epoch: hub.epoch, version: model.version), index, time,
        &output)
      return finishDrain(time: time, into: &output)
    }
    putOff(index)
    keepRemoved(index, time, &output)
    do throws(StoreError) {
      try apply(stored, index, &output)
    } catch {
      output.failure = error
      return
    }
    goOn(index, time, &output)
    finishDrain(time: time, into: &output)
  }

  /// Applies what other hubs have stored meanwhile. Compacted commits can no longer be published: the joined peers
  /// get the head, and catch up.
  private mutating func apply(
    _ stored: StoredModel, _ index: Int, _ output: inout HubOutput
  ) throws(StoreError) {
    let model = hub.models[index]
    let compacted = try ModelCompactor(StoredModel(model: stored.model, chunks: stored.chunks, batches: []))
    guard compacted.record <= model.records else {
      if !compacted.names.starts(with: model.fields.slots.lazy.map(\.name)) {
        model.fields = FieldSlots()
        model.renumber([])
        endSessions(in: index, &output)
      }
      try model.restore(stored, recentLimit: hub.configuration.recentCommits)
      model.headsLeft = 3
      recentlyChanged.insert(index)
      announceFirstCommit(index, &output)
      return
    }
    for batch in stored.batches where batch.record > model.records { apply(batch, index, &output) }
  }

  /// Applies and publishes a batch that another hub stored, or that this hub did not know to be stored.
  mutating func apply(_ batch: Batch, _ index: Int, _ output: inout HubOutput) {
    guard batch.form == .ordinary else { return renumbered(batch, index, &output) }
    hub.models[index].apply(batch, recentLimit: hub.configuration.recentCommits)
    publish(batch, index, &output)
  }
}
