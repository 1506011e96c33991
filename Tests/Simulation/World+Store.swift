import BindingHub
import BindingProtocol

/// The store of the world: quick or slow, forgetful at a crash, sometimes unsure, and sometimes shared with another
/// hub.
extension World {
  /// Takes what the hub wants stored or reloaded; answers immediately or later.
  /// - Returns: whether anything was answered immediately.
  func store() throws(Violation) -> Bool {
    let (batches, models) = (hubOutput.batches, hubOutput.reload)
    if !batches.isEmpty { try checkApproval(batches) }
    hubOutput.batches.removeAll()
    hubOutput.reload.removeAll()
    if context.profile.storeDelay > 0 {
      if !batches.isEmpty {
        underway += batches
        context.agenda.add(
          .append(hubRun: hubRun, batches), at: context.now + context.chance.within(1...context.profile.storeDelay))
      }
      for model in models {
        context.agenda.add(
          .reload(hubRun: hubRun, model: model), at: context.now + context.chance.within(1...context.profile.storeDelay)
        )
      }
      return false
    }
    if !batches.isEmpty { try answer(batches) }
    for model in models { hub?.reloaded(try stored(model), time: hubTime, into: &hubOutput) }
    return !batches.isEmpty || !models.isEmpty
  }

  func finishAppend(_ batches: [Batch]) throws(Violation) {
    underway.removeAll { batches.contains($0) }
    try answer(batches)
    try settleHub()
  }

  func reload(_ model: String) throws(Violation) {
    hub?.reloaded(try stored(model), time: hubTime, into: &hubOutput)
    try settleHub()
  }

  /// What the store has of a model, a random part of it compacted.
  func stored(_ model: String) throws(Violation) -> StoredModel {
    let all = log.filter { $0.model == model }
    // A removal discards everything before it.
    let batches = Array(all[(all.lastIndex { $0.form == .removal }.map { $0 + 1 } ?? 0)...])
    // A store has no chunk of a removed model either.
    guard !batches.isEmpty, context.chance.perMille(500) else { return StoredModel(model: model, batches: batches) }
    context.counts[.loadedCompacted] += 1
    let count = context.chance.below(batches.count + 1)
    var chunks: [[UInt8]] = []
    do {
      var compactor = ModelCompactor(model)
      for batch in batches.prefix(count) { try compactor.apply(batch) }
      while let chunk = compactor.nextChunk(ofBytes: 512) { chunks.append(chunk) }
    } catch {
      throw Violation(.order, "\(error)")
    }
    // Some of the compacted batches may still be in the log.
    return StoredModel(model: model, chunks: chunks, batches: Array(batches.dropFirst(context.chance.below(count + 1))))
  }

  private func answer(_ batches: [Batch]) throws(Violation) {
    var results: [Appended] = []
    for batch in batches { results.append(try append(batch)) }
    hub?.appended(results, of: batches, time: hubTime, into: &hubOutput)
  }

  private func append(_ batch: Batch) throws(Violation) -> Appended {
    if context.isChaos, !context.isQuiet, context.chance.perMille(context.profile.movedAppends) {
      let other = batchOfAnotherHub(for: batch)
      context.record("another hub writes version \(other.version) of \(batch.model)")
      try addToLog(other)
      return .moved([other])
    }
    if context.isChaos, context.chance.perMille(context.profile.unknownAppends) {
      context.record("the store does not know what became of version \(batch.version) of \(batch.model)")
      if context.chance.perMille(500) { try addToLog(batch) }
      return .unknown
    }
    if context.isChaos, context.chance.perMille(context.profile.fullAppends) {
      context.record("the store has no room for version \(batch.version) of \(batch.model)")
      return .full
    }
    try addToLog(batch)
    return .stored
  }

  private func addToLog(_ batch: Batch) throws(Violation) {
    let last = lastRecord(of: batch.model)
    guard batch.record == last + 1 || last == 0 && oracle.floor.mayBegin(batch.record) else {
      throw Violation(.order, "record \(batch.record) of \(batch.model) was decided, the log has \(last)")
    }
    try oracle.enter(batch, epoch: epoch, run: hubRun)
    log.append(batch)
  }

  /// One write by a peer of another hub in front of the same log.
  private func batchOfAnotherHub(for batch: Batch) -> Batch {
    context.writeCount += 1
    let field = context.chance.below(SimulatedField.plain)
    let names = context.modelNames.firstIndex(of: batch.model).map { oracle.names[$0] } ?? []
    var commits = CommitsWriter()
    commits.begin(
      epoch: batch.epoch, previous: batch.previous, time: hubTime.wall, namesKnown: FieldID(names.count))
    let id = names.firstIndex(of: field).map { FieldID($0) } ?? commits.introduce(SimulatedField.names[field])
    let origin = Origin(tag: Tag(rawValue: context.chance.next() | 1), name: "other")
    commits.beginCommit(origin: commits.origin(origin), number: 1, hops: 0)
    _ = commits.change(id, FieldValue(bytes: Array("\"other.\(context.writeCount)\"".utf8)))
    commits.endCommit()
    return Batch(
      model: batch.model, record: batch.record, epoch: batch.epoch, previous: batch.previous,
      version: commits.version, body: commits.finish(), decisions: [])
  }

  /// 0: the store has nothing of the model.
  func lastRecord(of model: String) -> UInt64 {
    log.last { $0.model == model }.flatMap { $0.form == .removal ? nil : $0.record } ?? 0
  }

  /// At a crash the store has taken some of the batches in flight or, where it loses its tail, lacks some that it
  /// had acknowledged.
  func crashStore() throws(Violation) {
    for batch in underway where context.chance.perMille(500) {
      let last = lastRecord(of: batch.model)
      if last + 1 == batch.record || last == 0 && oracle.floor.mayBegin(batch.record) { try addToLog(batch) }
    }
    underway.removeAll()
    guard context.profile.losesTail, !log.isEmpty, context.chance.perMille(700) else { return }
    let lost = min(log.count, 1 + context.chance.below(8))
    context.record("the store loses its last \(lost) batches")
    context.counts[.lostBatch] += UInt64(lost)
    log.removeLast(lost)
    losses += 1
    isTailLost = true
  }

  /// Drops the end of the log without the store noticing: the same epoch goes on. The visited model loses nothing:
  /// all peers may have left it, so none could prove the loss.
  func loseUnnoticed() {
    underway.removeAll()
    let provable = log.reversed().prefix { $0.model != context.visited }.count
    let lost = min(provable, 1 + context.chance.below(4))
    context.record("the store loses its last \(lost) batches and does not notice")
    context.counts[.lostBatch] += UInt64(lost)
    losses += 1
    lostModels = Swift.Set(log.suffix(lost).compactMap { context.modelNames.firstIndex(of: $0.model) })
    log.removeLast(lost)
  }
}
