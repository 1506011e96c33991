package import BindingHub
package import BindingProtocol
import GRDB

/// The last batches of a model.
extension SQLiteStore {
  /// The batches with commits of a model after a version, in order, at most `limit`.
  ///
  /// If they no longer reach back that far, the first one's `previous` is greater than `version`.
  package func history(of model: String, after version: Version, limit: Int) throws(StoreError) -> [Batch] {
    guard let location = locations[model], limit > 0 else { return [] }
    var batches: [Batch] = []
    try access { db in
      try each(db, of: location, after: 0) { batch in
        if batch.version > version, !batch.body.isEmpty { batches.append(batch) }
        return batches.count < limit
      }
    }
    return batches
  }

  /// The batches of a model after a record, as far back as they are kept.
  func recent(of location: ModelLocation, after record: UInt64) throws(StoreError) -> [Batch] {
    var batches: [Batch] = []
    try access { db in
      try each(db, of: location, after: record) { batch in
        batches.append(batch)
        return true
      }
    }
    return batches
  }

  /// The batches of a model after a record that no snapshot contains.
  func uncompacted(_ db: Database, of location: ModelLocation, after record: UInt64) throws -> [Batch] {
    var batches: [Batch] = []
    try eachUncompacted(db, of: location, after: record) { batch in
      batches.append(batch)
      return true
    }
    return batches
  }

  /// - Parameter body: returns whether to continue.
  private func each(
    _ db: Database, of location: ModelLocation, after record: UInt64, _ body: (Batch) throws -> Bool
  ) throws {
    var goesOn = true
    if let snapshot = location.snapshot, snapshot.record > record {
      try HistoryPage.read(db, snapshot.model, after: record, path: path) { batch in
        goesOn = try body(batch)
        return goesOn
      }
    }
    if goesOn { try eachUncompacted(db, of: location, after: record, body) }
  }

  private func eachUncompacted(
    _ db: Database, of location: ModelLocation, after record: UInt64, _ body: (Batch) throws -> Bool
  ) throws {
    var row: (number: Int64, bytes: [UInt8]) = (0, [])
    for entry in location.uncompacted where entry.record > record {
      if entry.row != row.number { row = (entry.row, try LogRow.read(db, entry.row, path: path).bytes) }
      var goesOn = true
      try LogRow.batches(of: entry.row, Array(entry.slice(of: row.bytes)), path: path) { batch, _ in
        goesOn = try body(batch)
      }
      if !goesOn { return }
    }
  }
}
