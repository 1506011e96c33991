import BindingHub
import BindingProtocol
import Foundation
import GRDB

/// Compacted batches of one model, kept as history. Each row of the table is dropped as a whole.
struct HistoryPage {
  private let limits: StoreLimits
  private var batches: [(bytes: [UInt8], record: UInt64, previous: Version, version: Version)] = []
  private var first = 0
  private var bytes = 0

  init(_ limits: StoreLimits) { self.limits = limits }

  /// Adds the next batch; past the limits the oldest are dropped.
  mutating func add(_ batch: Batch, _ bytes: [UInt8]) {
    batches.append((bytes, batch.record, batch.previous, batch.version))
    self.bytes += bytes.count
    while first < batches.count, self.bytes > limits.historyBytes || commits > limits.historyCommits {
      self.bytes -= batches[first].bytes.count
      batches[first].bytes = []
      first += 1
    }
  }

  private var commits: Int { Int(clamping: (batches.last?.version ?? 0) - (batches[first].previous)) }

  /// Writes the added batches in rows of about 64 KiB, and drops history past the limits of age and size.
  func write(_ db: Database, model: Int64, time: UInt64, limits: StoreLimits) throws {
    if first > 0 { try db.execute(sql: "DELETE FROM history WHERE model = ?", arguments: [model]) }
    var page = WireWriter(reserving: 65_536)
    var start = first
    for index in first..<batches.count {
      page.raw(batches[index].bytes)
      guard page.count >= 65_536 || index - start >= 99 || index == batches.count - 1 else { continue }
      let (begin, end) = (batches[start], batches[index])
      try page.withUnsafeBytes { bytes in
        let sum = HistoryPage.checksum(
          model, first: begin.record, record: end.record, previous: begin.previous, version: end.version, bytes)
        try db.cachedStatement(
          sql: "INSERT OR REPLACE INTO history "
            + "(model, first, record, previous, version, time, size, checksum, bytes) "
            + "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
        ).execute(arguments: [
          model, Int64(bitPattern: begin.record), Int64(bitPattern: end.record), Int64(bitPattern: begin.previous),
          Int64(bitPattern: end.version), Int64(bitPattern: time), bytes.count, sum, Data(borrowing: bytes),
        ])
      }
      page.removeAll()
      start = index + 1
    }
    try HistoryPage.drop(db, model, time: time, limits)
  }

  private static func drop(_ db: Database, _ model: Int64, time: UInt64, _ limits: StoreLimits) throws {
    let rows = try Row.fetchAll(
      db, sql: "SELECT row, previous, version, time, size FROM history WHERE model = ? ORDER BY record DESC",
      arguments: [model])
    var (commits, bytes) = (0, 0)
    for row in rows {
      let previous = Int64.fromDatabaseValue(row[1]) ?? 0
      commits += Int((Int64.fromDatabaseValue(row[2]) ?? previous) - previous)
      bytes += Int.fromDatabaseValue(row[4]) ?? 0
      let age = Int64(bitPattern: time) - (Int64.fromDatabaseValue(row[3]) ?? 0)
      guard commits > limits.historyCommits || bytes > limits.historyBytes || age > limits.historySeconds * 1_000
      else { continue }
      try db.execute(sql: "DELETE FROM history WHERE row = ?", arguments: [row[0] as Int64])
    }
  }

  /// Passes the compacted batches of a model after a record to `body`, checked and in order.
  static func read(
    _ db: Database, _ model: Int64, after record: UInt64, path: String, _ body: (Batch) throws -> Bool
  ) throws {
    let rows = try Row.fetchCursor(
      db,
      sql: "SELECT row, first, record, previous, version, checksum, bytes FROM history "
        + "WHERE model = ? AND record > ? ORDER BY record", arguments: [model, Int64(bitPattern: record)])
    while let row = try rows.next() {
      let bytes = try checkedBytes(of: row, model, path)
      var goesOn = true
      try LogRow.batches(of: row[0], bytes, path: path) { batch, _ in
        if goesOn, batch.record > record { goesOn = try body(batch) }
      }
      if !goesOn { return }
    }
  }

  /// Passes the compacted batches with versions in a range to `body`, checked, row by row in either order.
  static func read(
    _ db: Database, _ model: Int64, after: Version, through: Version, isOldestFirst: Bool, path: String,
    _ body: (Batch) throws -> Bool
  ) throws {
    let rows = try Row.fetchCursor(
      db,
      sql: "SELECT row, first, record, previous, version, checksum, bytes FROM history "
        + "WHERE model = ? AND version > ? AND previous < ? ORDER BY record \(isOldestFirst ? "ASC" : "DESC")",
      arguments: [model, Int64(clamping: after), Int64(clamping: through)])
    while let row = try rows.next() {
      var batches: [Batch] = []
      try LogRow.batches(of: row[0], try checkedBytes(of: row, model, path), path: path) { batch, _ in
        batches.append(batch)
      }
      for batch in isOldestFirst ? batches : batches.reversed() where try !body(batch) { return }
    }
  }

  /// The version before the oldest compacted commit of a model, and its record; nil: none is kept.
  static func oldest(_ db: Database, _ model: Int64) throws -> (version: Version, record: UInt64)? {
    guard
      let row = try Row.fetchOne(
        db, sql: "SELECT previous, first FROM history WHERE model = ? ORDER BY record LIMIT 1", arguments: [model]),
      let previous = Int64.fromDatabaseValue(row[0]), let first = Int64.fromDatabaseValue(row[1])
    else { return nil }
    return (UInt64(bitPattern: previous), UInt64(bitPattern: first))
  }

  static func checkedBytes(of row: Row, _ model: Int64, _ path: String) throws -> [UInt8] {
    let bytes = try row.bytes(at: 6)
    let numbers = (1...4).map { Int64.fromDatabaseValue(row[$0]).map { UInt64(bitPattern: $0) } ?? 0 }
    let sum = bytes.withUnsafeBytes {
      checksum(model, first: numbers[0], record: numbers[1], previous: numbers[2], version: numbers[3], $0)
    }
    guard sum == UInt32.fromDatabaseValue(row[5]) else {
      throw StoreError.damaged(path, "row \(row[0] as Int64) of table history has a wrong checksum")
    }
    return bytes
  }

  static func checksum(
    _ model: Int64, first: UInt64, record: UInt64, previous: Version, version: Version, _ bytes: UnsafeRawBufferPointer
  ) -> UInt32 {
    Checksum.crc32c(bytes, after: Checksum.of(UInt64(bitPattern: model), first, record, previous, version))
  }
}
