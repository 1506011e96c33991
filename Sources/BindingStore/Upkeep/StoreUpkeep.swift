import BindingHub
import BindingProtocol
import GRDB

/// Background work, in slices: the log is compacted into snapshots, compacted rows are removed, and the write-ahead
/// log is checkpointed into the file.
final class StoreUpkeep {
  private let database: StoreDatabase
  private let index: StoreIndex
  private let limits: StoreLimits
  /// Begins with sweeping: an earlier run may have left chunks.
  private var task = UpkeepTask.sweeping
  var requests = RequestedCompaction()
  /// Writers that no peer will ask about any more.
  private var forgotten: Set<Tag> = []
  private static let maxForgotten = 100_000
  /// Consecutive checkpoints that each left many pages.
  private var checkpointsInARow = 0
  /// When to try again after the disk was full.
  var pausedUntil: ContinuousClock.Instant?

  init(_ database: StoreDatabase, _ index: StoreIndex, _ limits: StoreLimits) {
    (self.database, self.index, self.limits) = (database, index, limits)
  }

  /// Lets the next compactions forget these identities.
  func forget(_ tags: Set<Tag>) {
    if forgotten.count + tags.count <= StoreUpkeep.maxForgotten { forgotten.formUnion(tags) }
  }

  /// Does one slice.
  /// - Returns: whether more work is due immediately.
  func run() throws(StoreError) -> Bool {
    try database.look()
    let now = ContinuousClock.now
    if let pausedUntil, now < pausedUntil { return false }
    pausedUntil = nil
    try checkpoint()
    try makeSafe()
    if case .none = task {
      try requests.look(at: database, now)
      begin()
    }
    if case .none = task { return false }
    guard try database.write({ db in try slice(db, until: now + .microseconds(limits.upkeepMicroseconds)) }) else {
      pausedUntil = now + .seconds(2)
      return false
    }
    requests.reportProgress(at: database.path, now)
    return true
  }

  /// Begins a compaction if there is enough to compact.
  private func begin() {
    let bound = requests.isUnderWay ? -1 : max(limits.compactionBytes, index.snapshotBytes / 2)
    guard index.logBytes > bound else { return }
    task = .compacting(index.locations.values.filter { !$0.uncompacted.isEmpty }, through: index.lastRow)
  }

  /// Works until a time, in one transaction.
  private func slice(_ db: Database, until deadline: ContinuousClock.Instant) throws {
    var slice = UpkeepSlice(
      of: task, db, database, index, limits, forgotten: forgotten, shrinksFully: requests.isUnderWay)
    // If this fails, the unfinished work is abandoned, and its chunks are swept.
    task = .sweeping
    try db.transaction { try slice.run(until: deadline) }
    task = slice.task
    if slice.written > 0 { database.wrote(bytes: slice.written) }
    requests.compactedModels += slice.compacted.count
    index.apply(slice)
    if let metadata = slice.metadata { database.metadata = metadata }
  }

  // MARK: The write-ahead log

  /// Bounds the loss by a power failure in time: now and then the disk confirms the log, and the metadata records
  /// its extent.
  private func makeSafe() throws(StoreError) {
    let (checkpoints, clock) = (database.checkpoints, database.clock)
    // It is checked at least once a second.
    let limit = UInt64(max(limits.syncSeconds - 1, 0)) * 1_000
    guard checkpoints.needsSync(at: clock.uptime(), after: limit) else { return }
    var next = database.metadata
    let hasRoom = try database.write { db in
      let sum = try LogExtent.checksum(db, index.lastRow) ?? 0
      let first = next.extent?.first ?? index.firstRow
      next.extent = LogExtent(first: first, last: index.lastRow, checksum: sum, time: clock.now)
      try next.write(db)
    }
    // Without room, the existing log can be synced all the same.
    if hasRoom { database.metadata = next }
    checkpoints.sync()
  }

  private func checkpoint() throws(StoreError) {
    let checkpoints = database.checkpoints
    if let failure = checkpoints.takeFailure() { throw StoreError(failure, in: database.path) }
    // Another checkpoint covers what was written while one ran. The last few frames are checkpointed here, where
    // nothing is written meanwhile, so that the log can start over; a reader can prevent that, so they must be few.
    // No other begins before that: while one runs, none is possible here, and the log would only grow.
    guard let left = checkpoints.takeLeft(), left > 0 else { return checkpoints.start(after: limits.checkpointBytes) }
    checkpointsInARow += 1
    // Each covers what was written during the one before, and so leaves less.
    if left >= 64, checkpointsInARow < 4 { return checkpoints.start(after: 0) }
    checkpointsInARow = 0
    // A disk slower than the writers must slow them down in the end.
    let log = StoreFiles.size(StoreFiles.log(of: database.path))
    guard left < 512 || log > limits.checkpointBytes * 16 else { return }
    try database.access { db in
      do { try db.checkpoint(.passive) } catch  where Checkpoints.mayFail(error) {}
    }
    checkpoints.recordEnded()
  }
}
