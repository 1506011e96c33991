import BindingHub
import GRDB

/// What a store's log held when its life was written: what shows that rows are missing at an end of it, where no row
/// follows that would miss them.
///
/// After a close in order it is all of the log. While a hub runs it is written again whenever the log is made safe (see
/// `StoreLimits.syncSeconds`) and before folded rows are removed: then at least this must be there.
struct LogExtent: Hashable {
  /// Rows before it may be gone: snapshots have them.
  var first: Int64 = 1
  /// None were there, if it is before `first`.
  var last: Int64 = 0
  /// Of the last row.
  var checksum: UInt32 = 0
  /// The log's own time (`LogClock`), milliseconds.
  var time: UInt64

  var isEmpty: Bool { last < first }

  /// What is in the log.
  static func found(_ db: Database, time: UInt64) throws -> LogExtent {
    guard let first = try Int64.fetchOne(db, sql: "SELECT min(row) FROM log"),
      let last = try Int64.fetchOne(db, sql: "SELECT max(row) FROM log")
    else { return LogExtent(time: time) }
    return LogExtent(first: first, last: last, checksum: try checksum(db, last) ?? 0, time: time)
  }

  /// Of one row; nil: it is not there.
  static func checksum(_ db: Database, _ row: Int64) throws -> UInt32? {
    try UInt32.fetchOne(db, sql: "SELECT checksum FROM log WHERE row = ?", arguments: [row])
  }

  /// Sees that the log has what was promised of it. What lies between its first and its last row is looked at by who
  /// reads them.
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
      throw StoreError.damaged(path, "row \(last) of table log is not the one that was written")
    }
  }
}
