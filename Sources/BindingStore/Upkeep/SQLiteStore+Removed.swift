import BindingHub
import GRDB

/// Upkeep for removed models, and the progress report of a compaction.
extension SQLiteStore {
  /// Whether a model was not removed since its compaction was planned.
  func isThere(_ location: ModelLocation) -> Bool { locations[location.name] === location }

  /// Drops the snapshot of a removed model. None may be left when the first row of the log is removed: its model
  /// may have records there that no snapshot contains.
  /// - Returns: whether there was one.
  func dropOrphan(
    _ db: Database, _ done: inout UpkeepWork.Done, then next: UpkeepWork.Task, _ task: inout UpkeepWork.Task
  ) throws -> Bool {
    guard done.dropped < orphans.count else { return false }
    let snapshot = orphans[done.dropped]
    try recordFloor(db, &done)
    try snapshot.drop(db)
    try count(db, -1, &done)
    done.dropped += 1
    done.written += 8_192
    task = .clearing(snapshot, then: next)
    return true
  }

  /// Records the floor, before a row or a snapshot that shows it is removed.
  func recordFloor(_ db: Database, _ done: inout UpkeepWork.Done) throws {
    guard (done.floor ?? storedFloor) != floor else { return }
    try floor.write(db)
    done.floor = floor
  }

  /// Reports once a second how far a requested compaction is.
  func reportProgress(_ now: ContinuousClock.Instant) {
    guard upkeepWork.compaction == .underWay, now >= upkeepWork.reportsAt else { return }
    upkeepWork.reportsAt = now + .seconds(1)
    guard AdminRequest.find(at: path) == .compact else { return }
    AdminRequest.report("\(upkeepWork.compactedModels) models folded", at: path)
  }

  /// Records N more current snapshots.
  func count(_ db: Database, _ snapshots: Int, _ done: inout UpkeepWork.Done) throws {
    var next = done.metadata ?? metadata
    next.snapshots += snapshots
    try next.write(db)
    done.metadata = next
  }
}
