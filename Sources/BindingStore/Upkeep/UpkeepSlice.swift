import BindingHub
import BindingProtocol
import GRDB

/// The present task of upkeep; tasks follow each other.
enum UpkeepTask {
  /// No work is under way.
  case none
  /// Compact these models up to a row of the log, then remove the rows up to it.
  case compacting([ModelLocation], through: Int64)
  /// Compact one of them.
  case model(ModelCompaction, rest: [ModelLocation], through: Int64)
  /// A snapshot has become current; remove the chunks of its predecessor.
  case replaced(Snapshot, rest: [ModelLocation], through: Int64)
  /// Remove the chunks of a removed model.
  indirect case clearing(Snapshot, then: UpkeepTask)
  /// Remove the rows up to this one, which snapshots contain.
  case removing(through: Int64)
  /// Remove chunks that belong to no snapshot.
  case sweeping
  /// Make the file smaller.
  case shrinking
}

/// One slice of upkeep: the steps that one transaction makes, and their results for the index, which follows once
/// the disk has them.
struct UpkeepSlice {
  private let db: Database
  private let database: StoreDatabase
  private let index: StoreIndex
  private let limits: StoreLimits
  private let forgotten: Set<Tag>
  private let shrinksFully: Bool
  /// The task that is left.
  private(set) var task: UpkeepTask
  private(set) var compacted: [ModelCompaction] = []
  /// The number of dropped snapshots of removed models.
  private(set) var dropped = 0
  /// The floor that was recorded.
  private(set) var floor: LogFloor?
  private(set) var metadata: StoreMetadata?
  /// Bytes removed from the log.
  private(set) var logBytes = 0
  /// Bytes written to the write-ahead log, about.
  private(set) var written = 0

  /// - Parameters:
  ///   - forgotten: writers that no peer will ask about any more.
  ///   - shrinksFully: whether all free pages are given back, however few.
  init(
    of task: UpkeepTask, _ db: Database, _ database: StoreDatabase, _ index: StoreIndex, _ limits: StoreLimits,
    forgotten: Set<Tag>, shrinksFully: Bool
  ) {
    (self.task, self.db, self.database, self.index, self.limits) = (task, db, database, index, limits)
    (self.forgotten, self.shrinksFully) = (forgotten, shrinksFully)
  }

  /// Works until a time, or until nothing is left to do.
  mutating func run(until deadline: ContinuousClock.Instant) throws {
    repeat {
      try step()
      if case .none = task { break }
    } while ContinuousClock.now < deadline
  }

  private mutating func step() throws {
    switch task {
    case .none: return
    case .compacting(var models, let row):
      // Otherwise the list would be copied for each of its models.
      task = .none
      if try dropOrphan(then: .compacting(models, through: row)) { return }
      guard let location = models.popLast() else {
        try promise(after: row)
        task = .removing(through: row)
        return
      }
      guard index.isCurrent(location) else {
        task = .compacting(models, through: row)
        return
      }
      let model = try location.snapshot?.model ?? nextModel()
      task = .model(ModelCompaction(location, through: row, model: model, limits: limits), rest: models, through: row)
    case .model(let compaction, let rest, let row):
      task = .none
      try compact(compaction, rest: rest, through: row)
    case .replaced(let snapshot, let rest, let row):
      if try !snapshot.removeOlder(db) { task = .compacting(rest, through: row) }
    case .clearing(let snapshot, let next): if try !snapshot.removeChunks(db) { task = next }
    case .removing(let row): if try !dropOrphan(then: .removing(through: row)) { try removeRow(through: row) }
    case .sweeping: if try !Snapshot.removeStray(db) { task = .shrinking }
    case .shrinking: try shrink()
    }
  }

  // MARK: Snapshots

  private mutating func compact(
    _ compaction: consuming ModelCompaction, rest: [ModelLocation], through row: Int64
  ) throws {
    guard index.isCurrent(compaction.location) else {
      // The next model compacted for the first time gets its number. If it had a snapshot, that is an orphan, and
      // what was written goes with it.
      let next = UpkeepTask.compacting(rest, through: row)
      task = compaction.location.snapshot == nil ? .clearing(compaction.next, then: next) : next
      return
    }
    let now = database.clock.now
    let silent = now - min(now, UInt64(limits.silentSeconds) * 1_000)
    guard try compaction.step(db, path: database.path, forgotten: forgotten, silentSince: silent) else {
      written += compaction.lastWritten
      task = .model(compaction, rest: rest, through: row)
      return
    }
    try compaction.finish(db, time: now, limits: limits)
    if compaction.location.snapshot == nil { try countSnapshots(1) }
    task = .replaced(compaction.next, rest: rest, through: row)
    // The index follows once the disk has it.
    compacted.append(compaction)
  }

  private func nextModel() throws -> Int64 {
    (try Int64.fetchOne(db, sql: "SELECT max(model) FROM snapshot") ?? 0) + 1
  }

  /// Drops the snapshot of a removed model. None may be left when the first row of the log is removed: its model
  /// may have records there that no snapshot contains.
  /// - Returns: whether there was one.
  private mutating func dropOrphan(then next: UpkeepTask) throws -> Bool {
    guard dropped < index.orphans.count else { return false }
    let snapshot = index.orphans[dropped]
    try recordFloor()
    try snapshot.drop(db)
    try countSnapshots(-1)
    dropped += 1
    written += 8_192
    task = .clearing(snapshot, then: next)
    return true
  }

  /// Records that there are more current snapshots, or fewer.
  private mutating func countSnapshots(_ more: Int) throws {
    var next = metadata ?? database.metadata
    next.snapshots += more
    try next.write(db)
    metadata = next
  }

  // MARK: Rows and pages

  /// Records that rows up to this one may be gone from now on, and that all later ones are there.
  private mutating func promise(after row: Int64) throws {
    var next = metadata ?? database.metadata
    let sum = try LogExtent.checksum(db, index.lastRow) ?? 0
    next.extent = LogExtent(first: row + 1, last: index.lastRow, checksum: sum, time: database.clock.now)
    try next.write(db)
    metadata = next
    written += 4_096
  }

  /// Removes the first row of the log, if snapshots contain it.
  private mutating func removeRow(through row: Int64) throws {
    guard let first = try Int64.fetchOne(db.cachedStatement(sql: "SELECT min(row) FROM log")), first <= row else {
      task = .shrinking
      return
    }
    try recordFloor()
    let size = try db.cachedStatement(sql: "SELECT length(bytes) FROM log WHERE row = ?")
    let bytes = try Int.fetchOne(size, arguments: [first]) ?? 0
    try db.cachedStatement(sql: "DELETE FROM log WHERE row = ?").execute(arguments: [first])
    logBytes += bytes
    written += 4_096
  }

  /// Records the floor, before a row or a snapshot that shows it is removed.
  private mutating func recordFloor() throws {
    guard (floor ?? index.storedFloor) != index.floor else { return }
    try index.floor.write(db)
    floor = index.floor
  }

  /// Gives pages back to the disk, if many are free or a compaction was requested.
  private mutating func shrink() throws {
    let free = try Int.fetchOne(db, sql: "PRAGMA freelist_count") ?? 0
    let pages = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
    guard free > (shrinksFully ? 0 : max(4_096, pages / 2)) else {
      task = .none
      return
    }
    database.mayShrink()
    try db.execute(sql: "PRAGMA incremental_vacuum(32)")
    written += 32 * 4_096
  }
}
