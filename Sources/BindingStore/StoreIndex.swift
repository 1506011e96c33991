import BindingHub
import BindingProtocol
import GRDB

/// Where the store has what, in memory: each model's snapshot and batches, and the extent of the log.
final class StoreIndex {
  private(set) var locations: [String: ModelLocation] = [:]
  /// Snapshots of models that were removed since; upkeep drops them.
  private(set) var orphans: [Snapshot] = []
  /// The floor beyond all removed models.
  private(set) var floor = LogFloor.none
  /// The floor in its table.
  private(set) var storedFloor = LogFloor.none
  /// The rows in the log when the store was opened, and those since: none, if `lastRow` is before `firstRow`.
  private(set) var firstRow: Int64 = 1
  private(set) var lastRow: Int64 = 0
  /// The newest time in the log when the store was opened; nil: it was empty.
  private(set) var newestTime: UInt64?
  /// Bytes of batches in the log.
  private(set) var logBytes = 0
  private(set) var snapshotBytes = 0

  /// Reads the index of a store.
  /// - Parameter snapshots: the number of models with a snapshot, as the metadata has it.
  init(_ db: Database, snapshots: Int, path: String) throws {
    for (name, snapshot) in try Snapshot.readAll(db, path: path) {
      let location = ModelLocation(name)
      (location.snapshot, location.record) = (snapshot, snapshot.record)
      locations[name] = location
      snapshotBytes += snapshot.bytes
    }
    guard locations.count == snapshots else {
      throw StoreError.damaged(path, "table snapshot has \(locations.count) rows, not \(snapshots)")
    }
    storedFloor = try LogFloor.read(db, path: path)
    floor = storedFloor
    try LogRow.each(db, path: path) { row, time, bytes in
      if lastRow == 0 { firstRow = row }
      (lastRow, newestTime) = (row, max(newestTime ?? 0, time))
      logBytes += bytes.count
      try LogRow.batches(of: row, bytes, path: path) { batch, range in
        try enter(batch, BatchLocation(row, range, batch.record), path)
      }
    }
  }

  /// Enters a batch of the log.
  private func enter(_ batch: Batch, _ place: BatchLocation, _ path: String) throws {
    if batch.form == .removal { floor.raise(over: batch) }
    let location = location(of: batch.model)
    locations[batch.model] = location
    guard batch.record > location.snapshot?.record ?? 0 else { return }
    guard mayFollow(batch, location) else {
      throw StoreError.damaged(
        path,
        "row \(place.row) of table log has record \(batch.record) of \(batch.model) after record \(location.record)")
    }
    location.record = batch.record
    guard batch.form != .removal else { return remove(location) }
    location.uncompacted.append(place)
  }

  /// The location of a model; a new one, not yet in the index, for a model that the store does not have.
  func location(of model: String) -> ModelLocation { locations[model] ?? ModelLocation(model) }

  /// Whether a batch may be the next one of a model.
  func mayFollow(_ batch: Batch, _ location: ModelLocation) -> Bool {
    batch.record == location.record + 1 || location.record == 0 && floor.mayBegin(batch.record)
  }

  /// Whether a location is that of a model which was not removed since.
  func isCurrent(_ location: ModelLocation) -> Bool { locations[location.name] === location }

  /// Enters a new model.
  func add(_ location: ModelLocation) { locations[location.name] = location }

  /// Follows an append to the log.
  func appended(rows: Int, bytes: Int) {
    lastRow += Int64(rows)
    logBytes += bytes
  }

  /// Follows the appended batch that removes a model, unless the model was made again since.
  func remove(with batch: Batch) {
    guard let location = locations[batch.model], location.record == batch.record else { return }
    floor.raise(over: batch)
    remove(location)
  }

  /// Removes a model; nothing in the log or an older snapshot counts for it any more.
  private func remove(_ location: ModelLocation) {
    if let snapshot = location.snapshot { orphans.append(snapshot) }
    if isCurrent(location) { locations[location.name] = nil }
  }

  /// Follows a slice of upkeep, once the disk has it.
  func apply(_ slice: UpkeepSlice) {
    logBytes -= slice.logBytes
    for compaction in slice.compacted {
      snapshotBytes += compaction.next.bytes - (compaction.location.snapshot?.bytes ?? 0)
      compaction.enter()
      compaction.discard()
    }
    for snapshot in orphans.prefix(slice.dropped) { snapshotBytes -= snapshot.bytes }
    orphans.removeFirst(slice.dropped)
    if let floor = slice.floor { storedFloor = floor }
  }
}
