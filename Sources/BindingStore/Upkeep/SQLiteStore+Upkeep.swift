package import BindingHub
import BindingProtocol
import GRDB

/// Background work, in slices: the log is compacted into snapshots, compacted rows are removed, and the write-ahead
/// log is checkpointed into the file.
extension SQLiteStore {
  /// Makes the next calls of `upkeep` compact everything and make the file as small as possible.
  package func requestCompaction() {
    if upkeepWork.compaction != .underWay { upkeepWork.compaction = .wanted }
  }

  /// Does one slice of background work.
  /// - Returns: whether more work is due immediately.
  package func upkeep() throws(StoreError) -> Bool {
    try look()
    let now = ContinuousClock.now
    if let paused = upkeepWork.pausedUntil {
      guard now >= paused else { return false }
      upkeepWork.pausedUntil = nil
    }
    try checkpoint()
    try makeSafe()
    if case .none = upkeepWork.task {
      if upkeepWork.compaction == .underWay { upkeepWork.compaction = .done }
      try lookForRequest(now)
      if upkeepWork.compaction == .wanted { upkeepWork.compaction = .underWay }
      begin()
    }
    if case .none = upkeepWork.task { return false }
    do {
      try db.writeWithoutTransaction { db in
        try db.write { try slice(db, until: now + .microseconds(limits.upkeepMicroseconds)) }
      }
      reportProgress(now)
      return true
    } catch is NoRoom {
      upkeepWork.pausedUntil = now + .seconds(2)
      return false
    } catch {
      throw StoreError(error, in: path)
    }
  }

  /// Begins a compaction if there is enough to compact.
  private func begin() {
    let bound = upkeepWork.compaction == .underWay ? -1 : max(limits.compactionBytes, snapshotBytes / 2)
    guard logBytes > bound else { return }
    upkeepWork.task = .compacting(locations.values.filter { !$0.uncompacted.isEmpty }, through: lastRow)
  }

  /// Works until a time, in one transaction.
  private func slice(_ db: Database, until deadline: ContinuousClock.Instant) throws {
    var task = upkeepWork.task
    // If this fails, the unfinished work is abandoned, and its chunks are swept.
    upkeepWork.task = .sweeping
    var done = UpkeepWork.Done()
    try db.transaction {
      repeat {
        try step(db, &task, &done)
        if case .none = task { break }
      } while ContinuousClock.now < deadline
    }
    upkeepWork.task = task
    logBytes -= done.logBytes
    if done.written > 0 { checkpoints.wrote(bytes: done.written, at: clock.uptime()) }
    upkeepWork.compactedModels += done.compacted.count
    for compaction in done.compacted {
      snapshotBytes += compaction.next.bytes - (compaction.location.snapshot?.bytes ?? 0)
      compaction.enter()
      compaction.discard()
    }
    for snapshot in orphans.prefix(done.dropped) { snapshotBytes -= snapshot.bytes }
    orphans.removeFirst(done.dropped)
    if let floor = done.floor { storedFloor = floor }
    if let metadata = done.metadata { self.metadata = metadata }
  }

  private func step(_ db: Database, _ task: inout UpkeepWork.Task, _ done: inout UpkeepWork.Done) throws {
    switch task {
    case .none: return
    case .compacting(var models, let row):
      // Otherwise the list would be copied for each of its models.
      task = .none
      if try dropOrphan(db, &done, then: .compacting(models, through: row), &task) { return }
      guard let location = models.popLast() else {
        try promise(db, after: row, &done)
        task = .removing(through: row)
        return
      }
      guard isThere(location) else {
        task = .compacting(models, through: row)
        return
      }
      let model = try location.snapshot?.model ?? nextModel(db)
      task = .model(ModelCompaction(location, through: row, model: model, limits: limits), rest: models, through: row)
    case .model(var compaction, let rest, let row):
      task = .none
      guard isThere(compaction.location) else {
        // The next model compacted for the first time gets its number. If it had a snapshot, that is an orphan, and
        // what was written goes with it.
        let next = UpkeepWork.Task.compacting(rest, through: row)
        task = compaction.location.snapshot == nil ? .clearing(compaction.next, then: next) : next
        return
      }
      let now = clock.now
      let silent = now - min(now, UInt64(limits.silentSeconds) * 1_000)
      let isWhole = try compaction.step(db, path: path, forgotten: upkeepWork.forgotten, silentSince: silent)
      done.written += isWhole ? 0 : compaction.lastWritten
      guard isWhole else {
        task = .model(compaction, rest: rest, through: row)
        return
      }
      try putInForce(db, compaction, at: now, &done)
      task = .replaced(compaction.next, rest: rest, through: row)
    case .replaced(let snapshot, let rest, let row):
      if try !snapshot.removeOlder(db) { task = .compacting(rest, through: row) }
    case .clearing(let snapshot, let next): if try !snapshot.removeChunks(db) { task = next }
    case .removing(let row):
      if try !dropOrphan(db, &done, then: .removing(through: row), &task) {
        try removeRow(db, through: row, &task, &done)
      }
    case .sweeping: if try !Snapshot.removeStray(db) { task = .shrinking }
    case .shrinking: try shrink(db, &task, &done)
    }
  }

  private func nextModel(_ db: Database) throws -> Int64 {
    (try Int64.fetchOne(db, sql: "SELECT max(model) FROM snapshot") ?? 0) + 1
  }

  private func putInForce(
    _ db: Database, _ compaction: ModelCompaction, at now: UInt64, _ done: inout UpkeepWork.Done
  ) throws {
    try compaction.finish(db, time: now, limits: limits)
    if compaction.location.snapshot == nil { try count(db, 1, &done) }
    // The index follows once the disk has it.
    done.compacted.append(compaction)
  }

  /// Records that rows up to this one may be gone from now on, and that all later ones are there.
  private func promise(_ db: Database, after row: Int64, _ done: inout UpkeepWork.Done) throws {
    var next = done.metadata ?? metadata
    let sum = try LogExtent.checksum(db, lastRow) ?? 0
    next.extent = LogExtent(first: row + 1, last: lastRow, checksum: sum, time: clock.now)
    try next.write(db)
    done.metadata = next
    done.written += 4_096
  }

  /// Bounds the loss by a power failure in time: now and then the disk confirms the log, and the metadata records
  /// its extent.
  private func makeSafe() throws(StoreError) {
    // It is checked at least once a second.
    let limit = UInt64(max(limits.syncSeconds - 1, 0)) * 1_000
    guard checkpoints.needsSync(at: clock.uptime(), after: limit) else { return }
    var next = metadata
    do {
      try db.writeWithoutTransaction { db in
        let sum = try LogExtent.checksum(db, lastRow) ?? 0
        let first = metadata.extent?.first ?? firstRow
        next.extent = LogExtent(first: first, last: lastRow, checksum: sum, time: clock.now)
        try db.write { try next.write(db) }
      }
      metadata = next
    } catch is NoRoom {
      // The existing log can be synced all the same.
    } catch {
      throw StoreError(error, in: path)
    }
    checkpoints.sync()
  }

  /// Removes the first row of the log, if snapshots contain it.
  private func removeRow(
    _ db: Database, through row: Int64, _ task: inout UpkeepWork.Task, _ done: inout UpkeepWork.Done
  ) throws {
    guard let first = try Int64.fetchOne(db.cachedStatement(sql: "SELECT min(row) FROM log")), first <= row else {
      task = .shrinking
      return
    }
    try recordFloor(db, &done)
    let size = try db.cachedStatement(sql: "SELECT length(bytes) FROM log WHERE row = ?")
    let bytes = try Int.fetchOne(size, arguments: [first]) ?? 0
    try db.cachedStatement(sql: "DELETE FROM log WHERE row = ?").execute(arguments: [first])
    done.logBytes += bytes
    done.written += 4_096
  }

  /// Gives pages back to the disk, if many are free or a compaction was requested.
  private func shrink(_ db: Database, _ task: inout UpkeepWork.Task, _ done: inout UpkeepWork.Done) throws {
    let free = try Int.fetchOne(db, sql: "PRAGMA freelist_count") ?? 0
    let pages = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
    guard free > (upkeepWork.compaction == .underWay ? 0 : max(4_096, pages / 2)) else {
      task = .none
      return
    }
    watch.mayShrink = true
    try db.execute(sql: "PRAGMA incremental_vacuum(32)")
    done.written += 32 * 4_096
  }

  private func checkpoint() throws(StoreError) {
    if let failure = checkpoints.takeFailure() { throw StoreError(failure, in: path) }
    // Another checkpoint covers what was written while one ran. The last few frames are checkpointed here, where
    // nothing is written meanwhile, so that the log can start over; a reader can prevent that, so they must be few.
    // No other begins before that: while one runs, none is possible here, and the log would only grow.
    guard let left = checkpoints.takeLeft(), left > 0 else { return checkpoints.start(after: limits.checkpointBytes) }
    upkeepWork.checkpoints += 1
    // Each covers what was written during the one before, and so leaves less.
    if left >= 64, upkeepWork.checkpoints < 4 { return checkpoints.start(after: 0) }
    upkeepWork.checkpoints = 0
    // A disk slower than the writers must slow them down in the end.
    let log = StoreFiles.size(StoreFiles.log(of: path))
    guard left < 512 || log > limits.checkpointBytes * 16 else { return }
    try access { db in
      do { try db.checkpoint(.passive) } catch  where Checkpoints.mayFail(error) {}
    }
    checkpoints.recordEnded()
  }
}
