import BindingHub
import BindingProtocol

/// The store of the hub: quick or slow, forgetful at a crash, sometimes unsure, and sometimes shared with another hub.
final class SimulatedStore: SimulationPart {
  let context: SimulationContext
  private let invariants: Invariants
  @exclusivity(unchecked) private(set) var log: [Batch] = []
  /// Batches that it has received and not yet answered.
  @exclusivity(unchecked) var underway: [Batch] = []
  /// Whether it lacks commits that it had acknowledged, and peers have not had the time to bring them back.
  var isTailLost: Bool { hasLostTail || now < recoversUntil }
  @exclusivity(unchecked) private var hasLostTail = false
  @exclusivity(unchecked) private var recoversUntil: UInt64 = 0

  init(_ context: SimulationContext, _ invariants: Invariants) {
    self.context = context
    self.invariants = invariants
  }

  /// The names of the models that it holds.
  var models: [String] { Swift.Set(log.map(\.model)).sorted().filter { lastRecord(of: $0) > 0 } }

  /// A hub starts with the log as it is; a store that is not durable has none.
  func restart() {
    if !profile.isDurable { log.removeAll() }
    hasLostTail = false
  }

  /// From now on peers may bring back what it lacks.
  func beginRecovery() { recoversUntil = now + profile.earlyMilliseconds }

  // MARK: Reading

  /// What the store has of a model, a random part of it compacted.
  func load(_ model: String) throws(Violation) -> StoredModel {
    let all = log.filter { $0.model == model }
    // A removal discards everything before it.
    let batches = Array(all[(all.lastIndex { $0.form == .removal }.map { $0 + 1 } ?? 0)...])
    // A store has no chunk of a removed model either.
    guard !batches.isEmpty, chance.perMille(500) else { return StoredModel(model: model, batches: batches) }
    counts[.loadedCompacted] += 1
    let count = chance.below(batches.count + 1)
    var chunks: [[UInt8]] = []
    do {
      var compactor = ModelCompactor(model)
      for batch in batches.prefix(count) { try compactor.apply(batch) }
      while let chunk = compactor.nextChunk(ofBytes: 512) { chunks.append(chunk) }
    } catch {
      throw Violation(.order, "\(error)")
    }
    // Some of the compacted batches may still be in the log.
    return StoredModel(model: model, chunks: chunks, batches: Array(batches.dropFirst(chance.below(count + 1))))
  }

  // MARK: Appending

  func append(_ batches: [Batch], for hub: SimulatedHub) throws(Violation) -> [Appended] {
    var results: [Appended] = []
    for batch in batches { results.append(try append(batch, for: hub)) }
    return results
  }

  private func append(_ batch: Batch, for hub: SimulatedHub) throws(Violation) -> Appended {
    if isChaos, !isQuiet, batch.model != ExpiryWorkload.model, chance.perMille(profile.movedAppends) {
      let other = batchOfAnotherHub(for: batch)
      record("another hub writes version \(other.version) of \(batch.model)")
      try add(other, for: hub)
      return .moved([other])
    }
    if isChaos, chance.perMille(profile.unknownAppends) {
      record("the store does not know what became of version \(batch.version) of \(batch.model)")
      if chance.perMille(500) { try add(batch, for: hub) }
      return .unknown
    }
    if isChaos, chance.perMille(profile.fullAppends) {
      record("the store has no room for version \(batch.version) of \(batch.model)")
      return .full
    }
    try add(batch, for: hub)
    return .stored
  }

  private func add(_ batch: Batch, for hub: SimulatedHub) throws(Violation) {
    let last = lastRecord(of: batch.model)
    guard batch.record == last + 1 || last == 0 && invariants.log.floor.mayBegin(batch.record) else {
      throw Violation(.order, "record \(batch.record) of \(batch.model) was decided, the log has \(last)")
    }
    try invariants.observe(.stored(batch, hub))
    log.append(batch)
  }

  /// A batch stands in the log that several hubs share.
  func enter(_ batch: Batch, by hub: SimulatedHub) throws(Violation) {
    try invariants.observe(.stored(batch, hub))
    log.append(batch)
  }

  /// One write by a peer of another hub in front of the same log.
  private func batchOfAnotherHub(for batch: Batch) -> Batch {
    context.writeCount += 1
    let field = chance.below(SimulatedField.plain)
    let names = modelNames.firstIndex(of: batch.model).map { invariants.log.names[$0] } ?? []
    var commits = CommitsWriter()
    commits.begin(epoch: batch.epoch, previous: batch.previous, time: context.wall, namesKnown: FieldID(names.count))
    let id = names.firstIndex(of: field).map { FieldID($0) } ?? commits.introduce(SimulatedField.names[field])
    let origin = Origin(tag: Tag(rawValue: chance.next() | 1), name: "other")
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
  func crash(with hub: SimulatedHub) throws(Violation) {
    for batch in underway where chance.perMille(500) {
      let last = lastRecord(of: batch.model)
      if last + 1 == batch.record || last == 0 && invariants.log.floor.mayBegin(batch.record) {
        try add(batch, for: hub)
      }
    }
    underway.removeAll()
    guard profile.losesTail, !log.isEmpty, chance.perMille(700) else { return }
    let lost = min(log.count, 1 + chance.below(8))
    record("the store loses its last \(lost) batches")
    counts[.lostBatch] += UInt64(lost)
    log.removeLast(lost)
    hasLostTail = true
    try invariants.observe(.logLost)
  }

  /// Drops the end of the log without the store noticing: the same epoch goes on. The visited model loses nothing:
  /// all peers may have left it, so none could prove the loss.
  /// - Returns: the models that lack commits.
  func loseUnnoticed() throws(Violation) -> Swift.Set<Int> {
    underway.removeAll()
    let provable = log.reversed().prefix { $0.model != context.visited }.count
    let lost = min(provable, 1 + chance.below(4))
    record("the store loses its last \(lost) batches and does not notice")
    counts[.lostBatch] += UInt64(lost)
    try invariants.observe(.logLost)
    defer { log.removeLast(lost) }
    return Swift.Set(log.suffix(lost).compactMap { modelNames.firstIndex(of: $0.model) })
  }
}
