package import BindingHub
package import BindingProtocol
import GRDB

/// How much history a store keeps of a model, beside what is not compacted yet.
package struct HistorySize: Sendable, Hashable {
  package var model: String
  package var commits: Int
  package var bytes: Int
  /// The oldest version that is kept.
  package var oldest: Version
}

extension SQLiteStore {
  /// The history that a store keeps of each model, by name. A hub may have the store open.
  /// - Throws: `StoreError`, which names the file.
  package static func histories(path: String) throws(StoreError) -> [HistorySize] {
    do {
      return try StoreCopy.reading(path) { db in try db.read { db in try histories(db, path: path) } }
    } catch {
      throw StoreError(error, in: path)
    }
  }

  private static func histories(_ db: Database, path: String) throws -> [HistorySize] {
    try StoreSchema.check(db, path: path)
    let rows = try Row.fetchAll(
      db,
      sql: "SELECT snapshot.name, sum(history.version - history.previous), sum(history.size), min(history.previous) "
        + "FROM history JOIN snapshot ON snapshot.model = history.model GROUP BY history.model ORDER BY snapshot.name")
    return rows.compactMap { row in
      guard let name = String.fromDatabaseValue(row[0]), let commits = Int.fromDatabaseValue(row[1]),
        let bytes = Int.fromDatabaseValue(row[2]), let previous = Int64.fromDatabaseValue(row[3])
      else { return nil }
      return HistorySize(model: name, commits: commits, bytes: bytes, oldest: UInt64(bitPattern: previous) + 1)
    }
  }
}
