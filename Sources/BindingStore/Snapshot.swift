import BindingHub
import BindingProtocol
import Foundation
import GRDB

/// A model's compacted older batches: the chunks of one generation. The next generation is written beside it and
/// supersedes it in one step.
struct Snapshot: Hashable {
  var model: Int64
  var generation: Int64
  var chunks: Int
  var bytes: Int
  /// The last record in it, and the model's version then.
  var record: UInt64
  var version: Version

  /// All current snapshots, checked, with the names of their models.
  static func readAll(_ db: Database, path: String) throws -> [(name: String, snapshot: Snapshot)] {
    let sql = "SELECT model, name, generation, chunks, bytes, record, version, checksum FROM snapshot ORDER BY name"
    let rows = try Row.fetchCursor(db, sql: sql)
    var found: [(String, Snapshot)] = []
    while let row = try rows.next() {
      let model: Int64 = row[0]
      guard let name = String.fromDatabaseValue(row[1]), let generation = Int64.fromDatabaseValue(row[2]),
        let chunks = Int.fromDatabaseValue(row[3]), let bytes = Int.fromDatabaseValue(row[4]),
        let record = Int64.fromDatabaseValue(row[5]), let version = Int64.fromDatabaseValue(row[6])
      else { throw StoreError.damaged(path, "row \(model) of table snapshot has a wrong checksum") }
      let snapshot = Snapshot(
        model: model, generation: generation, chunks: chunks, bytes: bytes, record: UInt64(bitPattern: record),
        version: UInt64(bitPattern: version))
      guard snapshot.checksum(name) == UInt32.fromDatabaseValue(row[7]) else {
        throw StoreError.damaged(path, "row \(model) of table snapshot has a wrong checksum")
      }
      found.append((name, snapshot))
    }
    return found
  }

  /// The number and the last record of a model's current snapshot; nil: it has none.
  static func find(_ db: Database, name: String) throws -> (model: Int64, record: UInt64)? {
    guard
      let row = try Row.fetchOne(
        db, sql: "SELECT model, record FROM snapshot WHERE name = ?", arguments: [name]),
      let model = Int64.fromDatabaseValue(row[0]), let record = Int64.fromDatabaseValue(row[1])
    else { return nil }
    return (model, UInt64(bitPattern: record))
  }

  /// Makes it the current snapshot.
  func write(_ db: Database, name: String) throws {
    try db.execute(
      sql: "INSERT OR REPLACE INTO snapshot (model, name, generation, chunks, bytes, record, version, checksum) "
        + "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
      arguments: [
        model, name, generation, chunks, bytes, Int64(bitPattern: record), Int64(bitPattern: version), checksum(name),
      ])
  }

  /// Adds the next chunk. The snapshot is not current before `write`.
  mutating func add(_ db: Database, _ chunk: [UInt8]) throws {
    try chunk.withUnsafeBytes { chunk in
      try db.cachedStatement(
        sql: "INSERT INTO chunk (model, generation, number, checksum, bytes) VALUES (?, ?, ?, ?, ?)"
      ).execute(arguments: [model, generation, chunks, checksum(chunks, chunk), Data(borrowing: chunk)])
    }
    chunks += 1
    bytes += chunk.count
  }

  /// One of its chunks, checked.
  func chunk(_ db: Database, _ number: Int, path: String) throws -> [UInt8] {
    let sql = "SELECT checksum, bytes FROM chunk WHERE model = ? AND generation = ? AND number = ?"
    let statement = try db.cachedStatement(sql: sql)
    // The row lives in the cursor's memory.
    let rows = try Row.fetchCursor(statement, arguments: [model, generation, number])
    defer { withExtendedLifetime(rows) {} }
    guard let row = try rows.next() else {
      throw StoreError.damaged(path, "chunk \(number) of model \(model) is missing")
    }
    let bytes = try row.bytes(at: 1)
    guard bytes.withUnsafeBytes({ checksum(number, $0) }) == UInt32.fromDatabaseValue(row[0]) else {
      throw StoreError.damaged(path, "chunk \(number) of model \(model) has a wrong checksum")
    }
    return bytes
  }

  func allChunks(_ db: Database, path: String) throws -> [[UInt8]] {
    try (0..<chunks).map { try chunk(db, $0, path: path) }
  }

  /// Removes a few chunks of earlier generations.
  /// - Returns: whether there may be more.
  func removeOlder(_ db: Database) throws -> Bool {
    let sql = "DELETE FROM chunk WHERE rowid IN (SELECT rowid FROM chunk WHERE model = ? AND generation < ? LIMIT 4)"
    try db.cachedStatement(sql: sql).execute(arguments: [model, generation])
    return db.changesCount > 0
  }

  /// Drops the snapshot of a removed model. Its chunks then belong to no snapshot.
  func drop(_ db: Database) throws {
    try db.cachedStatement(sql: "DELETE FROM snapshot WHERE model = ?").execute(arguments: [model])
    try db.cachedStatement(sql: "DELETE FROM history WHERE model = ?").execute(arguments: [model])
  }

  /// Removes a few of the chunks of a model without a snapshot.
  /// - Returns: whether there may be more.
  func removeChunks(_ db: Database) throws -> Bool {
    let sql = "DELETE FROM chunk WHERE rowid IN (SELECT rowid FROM chunk WHERE model = ? LIMIT 16)"
    try db.cachedStatement(sql: sql).execute(arguments: [model])
    return db.changesCount == 16
  }

  /// Removes a few chunks that belong to no current snapshot, left by an unfinished compaction.
  /// - Returns: whether there may be more.
  static func removeStray(_ db: Database) throws -> Bool {
    let sql = """
      DELETE FROM chunk WHERE rowid IN (
        SELECT chunk.rowid FROM chunk LEFT JOIN snapshot ON snapshot.model = chunk.model
        WHERE snapshot.generation IS NOT chunk.generation LIMIT 64)
      """
    try db.cachedStatement(sql: sql).execute()
    return db.changesCount > 0
  }

  private func checksum(_ number: Int, _ bytes: UnsafeRawBufferPointer) -> UInt32 {
    Checksum.crc32c(
      bytes,
      after: Checksum.of(UInt64(bitPattern: model), UInt64(bitPattern: generation), UInt64(bitPattern: Int64(number))))
  }

  private func checksum(_ name: String) -> UInt32 {
    let numbers = Checksum.of(
      UInt64(bitPattern: model), UInt64(bitPattern: generation), UInt64(bitPattern: Int64(chunks)),
      UInt64(bitPattern: Int64(bytes)), record, version)
    return Array(name.utf8).withUnsafeBytes { Checksum.crc32c($0, after: numbers) }
  }
}
