import BindingHub
import BindingProtocol
import GRDB

/// The part of the log's floor that no row of the log shows any more. One row; none before a model was removed.
extension LogFloor {
  static func read(_ db: Database, path: String) throws -> LogFloor {
    // A copy made by an older version has no such table.
    guard try db.tableExists("floor") else { return .none }
    guard let row = try Row.fetchOne(db, sql: "SELECT epoch, version, record, checksum FROM floor WHERE id = 1") else {
      return .none
    }
    let numbers = (0..<3).map { Int64.fromDatabaseValue(row[$0]).map { UInt64(bitPattern: $0) } }
    guard let epoch = numbers[0], let version = numbers[1], let record = numbers[2] else {
      throw StoreError.damaged(path, "the row of table floor has a wrong checksum")
    }
    let floor = LogFloor(epoch: epoch, version: version, record: record)
    guard floor.checksum == UInt32.fromDatabaseValue(row[3]) else {
      throw StoreError.damaged(path, "the row of table floor has a wrong checksum")
    }
    return floor
  }

  func write(_ db: Database) throws {
    try db.execute(
      sql: "INSERT OR REPLACE INTO floor (id, epoch, version, record, checksum) VALUES (1, ?, ?, ?, ?)",
      arguments: [
        Int64(bitPattern: epoch), Int64(bitPattern: version), Int64(bitPattern: record), checksum,
      ])
  }

  private var checksum: UInt32 { Checksum.of(epoch, version, record) }
}
