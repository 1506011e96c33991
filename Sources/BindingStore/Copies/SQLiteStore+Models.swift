package import BindingHub
package import BindingProtocol
import Foundation
import GRDB

/// The models of a store and of its copies, one by one: how a log goes to another kind of store and back.
extension SQLiteStore {
  /// Passes every model of a store or backup to `each`, in the order of their ids. A hub may have the store open.
  /// - Throws: `StoreError`, which names the file and the place of the fault, and what `each` throws.
  package static func read(path: String, _ each: (StoredModel) throws -> Void) throws(StoreError) {
    do {
      try StoreCopy.reading(path) { db in
        try db.read { db in
          try StoreSchema.check(db, path: path)
          try eachModel(db, Snapshot.readAll(db, path: path), path: path) { model, _ in try each(model) }
        }
      }
    } catch {
      throw StoreError(error, in: path)
    }
  }

  /// Passes every model to `body`, with its snapshot.
  /// - Parameter snapshots: all of them.
  static func eachModel(
    _ db: Database, _ snapshots: [(name: String, snapshot: Snapshot)], path: String,
    _ body: (StoredModel, Snapshot?) throws -> Void
  ) throws {
    var known = Dictionary(uniqueKeysWithValues: snapshots.map { ($0.name, $0.snapshot) })
    var batches: [String: [Batch]] = [:]
    try LogRow.each(db, path: path) { row, _, bytes in
      try LogRow.batches(of: row, bytes, path: path) { batch, _ in
        if batch.form != .removal {
          batches[batch.model, default: []].append(batch)
        } else if batch.record > known[batch.model]?.record ?? 0 {
          // Earlier batches of a removed model no longer count.
          (batches[batch.model], known[batch.model]) = (nil, nil)
        }
      }
    }
    for name in Set(known.keys).union(batches.keys).sorted() {
      let chunks = try known[name]?.allChunks(db, path: path) ?? []
      try body(StoredModel(model: name, chunks: chunks, batches: batches[name] ?? []), known[name])
    }
  }

  /// Makes a backup of a log that is not in a file.
  /// - Parameters:
  ///   - target: the backup's path; nothing may exist there.
  ///   - models: passes every model to its argument.
  /// - Throws: `StoreError`, which names the file and the remedy, and what `models` throws.
  package static func makeBackup(
    at target: String, logID: LogID, epoch: Epoch,
    of models: ((StoredModel) throws(StoreError) -> Void) throws(StoreError) -> Void
  ) throws(StoreError) {
    try newBackup(at: target, readingFrom: target) { new in
      var metadata = StoreMetadata(logID: logID, epoch: epoch, grade: .disk, boot: "")
      try OpenedStore.makeEmpty(new, metadata)
      let db = try OpenedStore.connect(new)
      // Also where it fails: the files are removed then.
      defer { try? db.close() }
      try models { model throws(StoreError) in
        do {
          try db.write { db in try write(model, db, as: metadata.snapshots + 1) }
        } catch {
          throw StoreError(error, in: new)
        }
        metadata.snapshots += 1
      }
      try db.close()
      try StoreCopy.finish(new) { $0.snapshots = metadata.snapshots }
    }
  }

  private static func write(_ model: StoredModel, _ db: Database, as number: Int) throws {
    var compactor = try ModelCompactor(model)
    var snapshot = Snapshot(
      model: Int64(number), generation: 1, chunks: 0, bytes: 0, record: compactor.record, version: compactor.version)
    while let chunk = compactor.nextChunk() { try snapshot.add(db, chunk) }
    try snapshot.write(db, name: model.model)
  }
}
