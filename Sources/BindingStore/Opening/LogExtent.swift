import BindingHub
import GRDB

/// What a store's log held when its metadata was written. It reveals rows missing at either end of the log, which
/// no following row would reveal.
///
/// After an orderly close it is the whole log. While a hub runs it is written whenever the log is synced (see
/// `StoreLimits.syncSeconds`) and before compacted rows are removed: at least this much must then be there.
struct LogExtent: Hashable {
  /// Rows before it may be gone: snapshots contain them.
  var first: Int64 = 1
  /// If it is before `first`, the log was empty.
  var last: Int64 = 0
  /// The checksum of the last row.
  var checksum: UInt32 = 0
  /// The log's own time (`LogClock`), milliseconds.
  var time: UInt64

  var isEmpty: Bool { last < first }

  /// The present extent of the log.
  static func found(_ db: Database, time: UInt64) throws -> LogExtent {
    guard let first = try Int64.fetchOne(db, sql: "SELECT min(row) FROM log"),
      let last = try Int64.fetchOne(db, sql: "SELECT max(row) FROM log")
    else { return LogExtent(time: time) }
    return LogExtent(first: first, last: last, checksum: try checksum(db, last) ?? 0, time: time)
  }

  /// The checksum of one row; nil: it is missing.
  static func checksum(_ db: Database, _ row: Int64) throws -> UInt32? {
    try UInt32.fetchOne(db, sql: "SELECT checksum FROM log WHERE row = ?", arguments: [row])
  }

  /// Checks that the log holds at least this extent. Its readers check the rows between the first and the last.
  func check(_ db: Database, path: String) throws {
    guard !isEmpty else { return }
    let found = try LogExtent.found(db, time: 0)
    let missing: (from: Int64, to: Int64)? =
      if found.isEmpty || found.last < first || found.first > last {
        (first, last)
      } else if found.first > first {
        (first, found.first - 1)
      } else if found.last < last {
        (found.last + 1, last)
      } else {
        nil
      }
    if let missing {
      throw StoreError.damaged(path, "rows \(missing.from) to \(missing.to) of table log are missing")
    }
    guard try LogExtent.checksum(db, last) == checksum else {
      throw StoreError.damaged(path, "row \(last) of table log is not the row that was written last")
    }
  }
}
