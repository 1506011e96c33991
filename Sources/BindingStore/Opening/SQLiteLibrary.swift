import GRDBSQLite

/// The SQLite that this process has loaded.
package enum SQLiteLibrary {
  /// As in `3.40.1`.
  package static var version: String { String(cString: sqlite3_libversion()) }
}
