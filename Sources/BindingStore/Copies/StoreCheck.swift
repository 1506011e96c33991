package import BindingHub
package import BindingProtocol
import GRDB

/// The result of checking a whole store in which everything is as it was written.
package struct StoreCheck: Sendable, Hashable {
  /// The id of the log.
  package var logID: LogID
  /// The current epoch of the log.
  package var epoch: Epoch
  /// The number of the file's format.
  package var format: Int
  /// The number of models.
  package var models: Int
  /// The number of fields of all models, deleted ones included.
  package var fields: Int
  /// Records in snapshots and in the log, of all models.
  package var records: UInt64
  /// Batches that are not compacted yet.
  package var uncompacted: Int
  /// Bytes of the file, without those in the write-ahead log only.
  package var bytes: UInt64
  /// Whether the file was made as a copy: a hub that opens it begins a new epoch.
  package var isCopy: Bool

  /// An epoch after that of the log, as a hub begins it which opens a copy.
  package var nextEpoch: Epoch { StoreMetadata.epoch(after: epoch, chance: .random(in: 1 ... .max)) }
}

extension SQLiteStore {
  /// Reads and checks the whole store: pages, checksums, records. A hub may have the store open; the check sees it
  /// as it is at one moment.
  /// - Throws: `StoreError`, which names the file and the place of the fault.
  package static func check(path: String) throws(StoreError) -> StoreCheck {
    do {
      return try StoreCopy.reading(path) { db in try db.read { db in try check(db, path: path) } }
    } catch {
      throw StoreError(error, in: path)
    }
  }

  private static func check(_ db: Database, path: String) throws -> StoreCheck {
    try StoreSchema.check(db, path: path)
    let pages = try String.fetchAll(db, sql: "PRAGMA integrity_check(3)")
    if pages != ["ok"] { throw StoreError.damaged(path, pages.joined(separator: "; ")) }
    let metadata = try StoreMetadata.read(db, path: path)
    try metadata.extent?.check(db, path: path)
    let snapshots = try Snapshot.readAll(db, path: path)
    guard snapshots.count == metadata.snapshots else {
      throw StoreError.damaged(path, "table snapshot has \(snapshots.count) rows, not \(metadata.snapshots)")
    }
    _ = try LogFloor.read(db, path: path)
    var found = StoreCheck(
      logID: metadata.logID, epoch: metadata.epoch, format: try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0,
      models: 0,
      fields: 0, records: 0, uncompacted: 0,
      bytes: StoreFiles.size(path), isCopy: metadata.isCopy)
    try eachModel(db, snapshots, path: path) { model, snapshot in
      // The compactor throws for what does not follow or cannot be read.
      let compactor = try ModelCompactor(model)
      found.models += 1
      found.fields += compactor.names.count
      found.records += compactor.record
      found.uncompacted += model.batches.count { $0.record > snapshot?.record ?? 0 }
      if let number = snapshot?.model { try HistoryPage.read(db, number, after: 0, path: path) { _ in true } }
    }
    return found
  }
}
