import BindingHub
import GRDB

/// What upkeep does for models that were removed, and says of a compaction.
extension SQLiteStore {
  /// Whether a model was not removed since it was to be folded.
  func isThere(_ location: ModelLocation) -> Bool { locations[location.name] === location }

  /// Takes out the snapshot of a model that was removed. None may be left when the first row of the log goes: its model
  /// may have records there that no snapshot has.
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

  /// Notes the floor, before a row or a snapshot goes that shows it.
  func recordFloor(_ db: Database, _ done: inout UpkeepWork.Done) throws {
    guard (done.floor ?? storedFloor) != floor else { return }
    try floor.write(db)
    done.floor = floor
  }

  /// Says once a second how far a compaction is, for who waits for it.
  func reportProgress(_ now: ContinuousClock.Instant) {
    guard upkeepWork.compaction == .underWay, now >= upkeepWork.reportsAt else { return }
    upkeepWork.reportsAt = now + .seconds(1)
    guard AdminRequest.find(at: path) == .compact else { return }
    AdminRequest.report("\(upkeepWork.compactedModels) models folded", at: path)
  }

  /// Notes so many more snapshots in force.
  func count(_ db: Database, _ snapshots: Int, _ done: inout UpkeepWork.Done) throws {
    var next = done.metadata ?? metadata
    next.snapshots += snapshots
    try next.write(db)
    done.metadata = next
  }
}
