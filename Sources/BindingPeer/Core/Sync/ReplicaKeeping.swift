import BindingProtocol

/// What the keep file has of a model.
struct ReplicaKeeping: Sendable {
  /// The state that the last record left.
  private struct Kept: Sendable, Equatable {
    var epoch: Epoch
    var version: Version
    var isComplete: Bool
    var ownMark: ProposalNumber
  }
  /// Whether the model's replica is kept.
  private(set) var isOn = false
  /// The replica is from the file, and was not current since.
  private(set) var isFromFile = false
  /// nil: the next record is whole.
  private var kept: Kept?
  private var keptAt: UInt64 = 0
  /// The file has a replica of the model in this log.
  private(set) var isInFile = false
  /// By identity of earlier runs: the highest number that the replica contains, or knows to be decided.
  private(set) var marks: [Tag: ProposalNumber] = [:]
  /// The lowest of this peer's numbers whose outcome has arrived and is not stored.
  private(set) var lowestUnstored: ProposalNumber?

  /// That the values are still complete is recorded again after this time.
  static let completeMilliseconds: UInt64 = 60_000

  mutating func begin() { isOn = true }

  /// The model is not kept: it is too large.
  mutating func stop() {
    isOn = false
    (kept, isInFile) = (nil, false)
  }

  /// The replica was read from the file.
  /// - Parameter runs: the identities of earlier runs with writes; the marks of others are no longer needed.
  mutating func restore(_ replica: KeptReplica, of runs: Swift.Set<Tag>) {
    (isFromFile, isInFile) = (true, true)
    (marks, keptAt) = (replica.marks.filter { runs.contains($0.key) }, replica.time)
    kept = Kept(epoch: replica.epoch, version: replica.version, isComplete: false, ownMark: 0)
  }

  /// The replica is that of another log, or could not be stored: the next record is whole.
  mutating func startOver(isInFile: Bool) {
    kept = nil
    self.isInFile = isInFile
  }

  /// Another log is followed.
  /// - Parameter isKnown: the model has a replica of that log, which may be from the file.
  mutating func changeLog(isKnown: Bool) {
    startOver(isInFile: isKnown)
    marks.removeAll()
    isFromFile = isOn && isKnown
  }

  mutating func becomeCurrent() { isFromFile = false }

  /// What the earlier epoch decided may be lost.
  mutating func forgetMarks() { marks.removeAll() }

  mutating func raise(_ tag: Tag, to number: ProposalNumber) {
    if isOn, number > marks[tag] ?? 0 { marks[tag] = number }
  }

  mutating func deferOutcome(of number: ProposalNumber) { lowestUnstored = min(lowestUnstored ?? number, number) }

  mutating func setLowestUnstored(_ number: ProposalNumber?) { lowestUnstored = number }

  /// Whether the file lacks something of this state.
  func lacks(_ replica: Replica, isComplete: Bool, ownMark: ProposalNumber, at wall: UInt64) -> Bool {
    guard isOn, !isFromFile else { return false }
    guard replica.version > 0 else { return isInFile }
    guard let kept else { return true }
    return replica.hasUnkept
      || kept != Kept(epoch: replica.epoch, version: replica.version, isComplete: isComplete, ownMark: ownMark)
      || isComplete && wall >= keptAt + ReplicaKeeping.completeMilliseconds
  }

  /// The version of the record before; nil: the next one is whole.
  var base: Version? { kept?.version }

  mutating func record(_ record: ReplicaRecord, ownMark: ProposalNumber) {
    kept = Kept(epoch: record.epoch, version: record.version, isComplete: record.isComplete, ownMark: ownMark)
    (keptAt, isInFile) = (record.time, true)
  }
}

extension Replica {
  /// A replica as a keep file holds it.
  init(_ kept: KeptReplica) {
    self.init()
    reserve(names: kept.fields.count)
    for field in kept.fields.values.sorted(by: { $0.name < $1.name }) {
      commit(
        field.value, at: findOrInsert(field.name), version: field.version, origin: field.origin, number: field.number,
        time: field.time)
      seen.record(field.origin.tag, field.number)
    }
    for (tag, number) in kept.seen { seen.record(tag, number) }
    reach(kept.version, epoch: kept.epoch)
  }
}

extension ModelSync {
  /// Whether the keep file lacks something of the replica. A replica that does not fit the hub's state is not kept.
  func lacksKeeping(at wall: UInt64, isLive: Bool) -> Bool {
    guard keeping.isOn, !join.startsOver else { return false }
    return keeping.lacks(
      replica, isComplete: isLive && join.isCurrent, ownMark: writes.lastDecided, at: wall)
  }

  /// What the keep file lacks of the replica.
  /// - Parameter wall: the wall time now, milliseconds since 1970; `now` by the session's clock.
  mutating func takeRecord(
    in log: LogID, at wall: UInt64, now: UInt64, isLive: Bool, by tag: Tag
  ) -> ReplicaRecord? {
    guard replica.version > 0, lacksKeeping(at: wall, isLive: isLive) else { return nil }
    let isComplete = isLive && join.isCurrent
    let age = max(Int64(clamping: now) - join.staleSince, 0)
    var marks = keeping.marks.map { SeenNumber(tag: $0.key, number: $0.value) }
    if writes.lastDecided > 0 { marks.append(SeenNumber(tag: tag, number: writes.lastDecided)) }
    let record = ReplicaRecord(
      log: log, model: id, epoch: replica.epoch, version: replica.version, base: keeping.base ?? 0,
      isWhole: keeping.base == nil, isComplete: isComplete,
      time: isComplete ? wall : UInt64(max(Int64(clamping: wall) - age, 0)),
      marks: marks.sorted { $0.tag.rawValue < $1.tag.rawValue },
      seen: replica.takeUnkeptSeen(all: keeping.base == nil),
      fields: replica.takeUnkept(all: keeping.base == nil))
    keeping.record(record, ownMark: writes.lastDecided)
    return record
  }

  /// Shows what the keep file has of the model.
  /// - Parameter staleSince: since when the values may be stale, by the session's clock.
  mutating func restore(
    _ kept: KeptReplica, others: [LogID: KeptReplica], runs: Swift.Set<Tag>, staleSince: Int64
  ) {
    replica = Replica(kept)
    replica.keepsChanges = true
    keeping.restore(kept, of: runs)
    restore(others)
    join.restore(staleSince: staleSince)
    update.record(.snapshot)
  }

  /// Hides what earlier runs wrote and the replica contains.
  mutating func hideContained() {
    for (tag, number) in keeping.marks { touch(writes.hide(carriedBy: tag, upTo: number)) }
  }

  /// Decides whether the replica from the file counts for the hub: it must have been current in the hub's present
  /// epoch or in the one before, unless the hub looks for replicas of any epoch. Otherwise all is asked for anew; until
  /// that arrives, the replica shows.
  mutating func decideWhetherWitness(of epoch: Epoch, isRecovering: Bool) {
    guard keeping.isFromFile else { return }
    let isOfLastEpoch = replica.epoch == epoch || replica.epoch >> 32 + 1 == epoch >> 32
    join.startsOver = !isOfLastEpoch && !isRecovering
  }

  /// Whether the replica may be offered: an old one from the file may not, even to a hub that asks although the join
  /// has named nothing.
  var mayOffer: Bool { !(keeping.isFromFile && join.startsOver) }

  /// The lowest number whose outcome the hub must keep: it has not arrived, or is not stored.
  var lowestUnconfirmed: ProposalNumber {
    min(writes.lowestUnacknowledged, keeping.lowestUnstored ?? .max)
  }

  /// Whether no write of this run, and no outcome, remains to be dealt with.
  var isSettled: Bool { writes.unacknowledged == 0 && keeping.lowestUnstored == nil }
}
