import BindingHub
import BindingProtocol
import GRDB

/// The location of one model in the store.
final class ModelLocation {
  let name: String
  /// The last stored record.
  var record: UInt64 = 0
  /// The snapshot of its older batches.
  var snapshot: Snapshot?
  /// The number of fields at the snapshot; 0: the model was not compacted in this run of the process.
  var fieldCount = 0
  /// Its batches after the snapshot, by rising record.
  var uncompacted: [BatchLocation] = []

  init(_ name: String) { self.name = name }

  /// The model as stored: its snapshot and the batches after it.
  func load(_ db: Database, path: String) throws -> StoredModel {
    var batches: [Batch] = []
    try eachUncompacted(db, path: path, after: 0) { batch in
      batches.append(batch)
      return true
    }
    return StoredModel(model: name, chunks: try snapshot?.allChunks(db, path: path) ?? [], batches: batches)
  }

  /// Passes the batches after a record to `body`, in order, as far back as they are kept.
  /// - Parameter body: returns whether to continue.
  func each(_ db: Database, path: String, after record: UInt64, _ body: (Batch) throws -> Bool) throws {
    var goesOn = true
    if let snapshot, snapshot.record > record {
      try HistoryPage.read(db, snapshot.model, after: record, path: path) { batch in
        goesOn = try body(batch)
        return goesOn
      }
    }
    if goesOn { try eachUncompacted(db, path: path, after: record, body) }
  }

  private func eachUncompacted(
    _ db: Database, path: String, after record: UInt64, _ body: (Batch) throws -> Bool
  ) throws {
    var row: (number: Int64, bytes: [UInt8]) = (0, [])
    for entry in uncompacted where entry.record > record {
      if entry.row != row.number { row = (entry.row, try LogRow.read(db, entry.row, path: path).bytes) }
      var goesOn = true
      try LogRow.batches(of: entry.row, Array(entry.slice(of: row.bytes)), path: path) { batch, _ in
        goesOn = try body(batch)
      }
      if !goesOn { return }
    }
  }
}

/// The location of a batch in the log.
struct BatchLocation {
  let row: Int64
  let start: UInt32
  let length: UInt32
  let record: UInt64

  /// - Parameter range: the bytes in the row.
  init(_ row: Int64, _ range: Range<Int>, _ record: UInt64) {
    (self.row, start, length, self.record) = (row, UInt32(range.lowerBound), UInt32(range.count), record)
  }

  func slice(of bytes: [UInt8]) -> ArraySlice<UInt8> { bytes[Int(start)..<Int(start) + Int(length)] }
}
