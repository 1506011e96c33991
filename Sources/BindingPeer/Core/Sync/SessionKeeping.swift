package import BindingProtocol

/// Which replicas a session has stored in a keep file (docs/reference/outbox-format.md).
package struct KeepChoice: Sendable, Hashable {
  /// Models below one of these are kept: `""` for all, else each ends in `/`, or is the id of one model.
  package var prefixes: [String]
  /// Whether an outcome is recorded only once the replica that contains it is stored.
  package var defersOutcomes: Bool

  /// Keeps models below these prefixes.
  package init(prefixes: [String] = [""], defersOutcomes: Bool = false) {
    self.prefixes = prefixes
    self.defersOutcomes = defersOutcomes
  }

  func keeps(_ model: String) -> Bool {
    !Names.isEphemeral(model)
      && prefixes.contains { $0 == model || $0.isEmpty || $0.hasSuffix("/") && model.hasPrefix($0) }
  }
}

/// What a keep file lacks, to be stored together.
package struct KeepBatch: Sendable {
  /// The changes of replicas.
  package var records: [ReplicaRecord] = []
  /// The replicas that are no longer kept.
  package var dropped: [(log: LogID, model: String)] = []
  /// The outcomes of writes to record.
  package var entries: [JournalEntry] = []

  /// Makes a batch, by default with nothing to store.
  package init(
    records: [ReplicaRecord] = [], dropped: [(log: LogID, model: String)] = [], entries: [JournalEntry] = []
  ) {
    (self.records, self.dropped, self.entries) = (records, dropped, entries)
  }

  /// Whether there is nothing to store.
  package var isEmpty: Bool { records.isEmpty && dropped.isEmpty && entries.isEmpty }
}

/// The replicas of a session on disk.
struct SessionKeeping: Sendable {
  let choice: KeepChoice?
  /// What the file held when the session began, but for models that were left since.
  private(set) var stored: KeptReplicas
  /// The wall time when the session began, by its own clock.
  private let began: (wall: UInt64, now: UInt64)
  /// Whether the file may lack something.
  var isDue = false
  /// Records of models that were left.
  var left: [ReplicaRecord] = []

  init(_ choice: KeepChoice?, _ stored: KeptReplicas, wall: UInt64, now: UInt64) {
    (self.choice, self.stored, began) = (choice, stored, (wall, now))
  }

  /// The model was left: it begins anew.
  mutating func forget(_ model: String, in log: LogID) { stored.drop(model, of: log) }

  /// The wall time at a time of the session's clock.
  func wall(at now: UInt64) -> UInt64 { began.wall + (now - min(now, began.now)) }

  /// Prepares a model for being kept, with what the file has of it.
  func prepare(_ model: inout ModelSync, following log: LogID?, after runs: Swift.Set<Tag>) {
    guard let choice, choice.keeps(model.id) else { return }
    model.keeping.begin()
    model.replica.keepsChanges = true
    var replicas = stored.replicas(of: model.id)
    guard let log, let kept = replicas.removeValue(forKey: log) else { return model.restore(replicas) }
    // The file's time is compared with the same machine's; if the clock went back, the values are new.
    let age = Int64(clamping: began.wall - min(kept.time, began.wall))
    model.restore(kept, others: replicas, runs: runs, staleSince: Int64(clamping: began.now) - age)
  }
}

extension Session {
  /// Whether the keep file may lack something: then `takeKeeping` should be called soon.
  package var isKeepingDue: Bool { keeping.isDue }

  /// Whether a model shows values from the keep file, and was not current since.
  package func isFromFile(_ model: String) -> Bool { models[model]?.keeping.isFromFile ?? false }

  /// What the keep file lacks now. Call `finishKeeping` once it is stored, or could not be.
  /// - Parameters:
  ///   - wall: the wall time now, milliseconds since 1970.
  ///   - now: the time by the session's clock.
  package mutating func takeKeeping(wall: UInt64, now: UInt64) -> KeepBatch {
    var batch = KeepBatch()
    keeping.isDue = false
    guard keeping.choice != nil, let log = logID else { return batch }
    swap(&batch.records, &keeping.left)
    let isLive = phase == .live
    for index in models.sortedIndices(where: { $0.keeping.isOn }) {
      if models[at: index].replica.version == 0, models[at: index].lacksKeeping(at: wall, isLive: isLive) {
        models[at: index].keeping.startOver(isInFile: false)
        batch.dropped.append((log, models.keys[index]))
      } else if let record = models[at: index].takeRecord(
        in: log, at: wall, now: now, isLive: isLive, by: identity.tag)
      {
        batch.records.append(record)
      }
    }
    // The check reads the session: the outcomes are taken out meanwhile.
    var deferred = context.outcomes.deferred
    context.outcomes.deferred = DeferredOutcomes()
    batch.entries = deferred.take { contains($0, $1) }
    context.outcomes.deferred = deferred
    return batch
  }

  /// The deferred outcomes of an earlier run to record now (`DeferredOutcomes.take`).
  package mutating func takeDeferredOutcomes(
    _ isContained: (_ model: String, _ outcome: Outcome) -> Bool
  ) -> [JournalEntry] {
    context.outcomes.deferred.take(isContained)
  }

  /// What was taken last is stored, or could not be: then it is taken again, whole.
  package mutating func finishKeeping(_ batch: KeepBatch, isStored: Bool) {
    for model in context.outcomes.deferred.finish(isStored: isStored) {
      models[model]?.keeping.setLowestUnstored(context.outcomes.deferred.lowest(in: model))
    }
    if context.outcomes.deferred.isDue { keeping.isDue = true }
    guard !isStored else { return }
    for record in batch.records where record.log == logID { models[record.model]?.keeping.startOver(isInFile: true) }
    for (log, model) in batch.dropped where log == logID { models[model]?.keeping.startOver(isInFile: true) }
    keeping.isDue = true
  }

  /// The deferred outcomes are of another log than the models are now: they wait for no replica.
  mutating func releaseDeferredOutcomes() {
    context.outcomes.deferred.releaseAll()
    if keeping.choice != nil { keeping.isDue = true }
  }

  /// Takes what the file lacks of a model that is left, or is about to follow another log.
  mutating func keepLast(of id: String, now: UInt64) {
    guard let log = logID, let index = models.index(of: id), models[at: index].keeping.isOn else { return }
    let isLive = phase == .live
    let record = models[at: index].takeRecord(
      in: log, at: keeping.wall(at: now), now: now, isLive: isLive, by: identity.tag)
    keeping.forget(id, in: log)
    if let record {
      keeping.left.append(record)
      keeping.isDue = true
    }
  }

  /// Stops keeping a model: it is too large.
  package mutating func stopKeeping(_ model: String) { models[model]?.keeping.stop() }

  /// Whether commits of acknowledged writes are on their way to a replica that is kept.
  package var awaitsKeptCommits: Bool {
    phase == .live && models.indices.contains { models[at: $0].keeping.isOn && models[at: $0].writes.awaitsCommits }
  }

  /// Whether outcomes have arrived that the keep file lacks.
  package var hasDeferredOutcomes: Bool { !context.outcomes.deferred.isEmpty }

  /// Whether a model's replica is followed, or will be: it is joined, and the hub does not refuse that.
  package func follows(_ model: String) -> Bool { models[model].map { $0.join.refusal == nil } ?? false }

  /// The file's replica of a model was dropped: the next record of it is whole.
  package mutating func keepAnew(_ model: String) { models[model]?.keeping.startOver(isInFile: false) }

  /// Whether a model's replica contains what an outcome says, or will never: the model is not kept, the hub refuses the
  /// join, or the epoch is over.
  package func contains(_ model: String, _ outcome: Outcome) -> Bool {
    guard case .committed(let epoch, let version) = outcome, let index = models.index(of: model),
      models[at: index].keeping.isOn, models[at: index].join.refusal == nil
    else { return true }
    let replica = models[at: index].replica
    guard epoch == replica.epoch else { return epoch < replica.epoch }
    return version <= replica.version && !models[at: index].join.startsOver
  }
}
