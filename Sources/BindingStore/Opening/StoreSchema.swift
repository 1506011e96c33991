import BindingHub
import GRDB

/// The tables, and the migration of older stores to the present format.
///
/// Every row carries a checksum of all its contents, so that no flipped bit passes for a value.
enum StoreSchema {
  /// `BBst`: distinguishes a store from another program's database.
  static let applicationID: Int32 = 0x4242_7374
  /// The newest format that this version writes. It is raised with every migration.
  static let version = 5
  /// From this version on the row of `life` records the log's extent (`LogExtent`).
  static let versionWithExtent = 2

  static func migrate(_ db: DatabaseQueue) throws {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("1") { db in
      try db.execute(
        sql: """
          CREATE TABLE life (
            id INTEGER PRIMARY KEY CHECK (id = 1), log INTEGER NOT NULL, epoch INTEGER NOT NULL,
            grade INTEGER NOT NULL, boot TEXT NOT NULL, clean INTEGER NOT NULL, copy INTEGER NOT NULL,
            snapshots INTEGER NOT NULL, checksum INTEGER NOT NULL);
          CREATE TABLE log (
            row INTEGER PRIMARY KEY, time INTEGER NOT NULL, checksum INTEGER NOT NULL, bytes BLOB NOT NULL);
          CREATE TABLE snapshot (
            model INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, generation INTEGER NOT NULL,
            chunks INTEGER NOT NULL, bytes INTEGER NOT NULL, record INTEGER NOT NULL, version INTEGER NOT NULL,
            checksum INTEGER NOT NULL);
          CREATE TABLE chunk (
            model INTEGER NOT NULL, generation INTEGER NOT NULL, number INTEGER NOT NULL, checksum INTEGER NOT NULL,
            bytes BLOB NOT NULL);
          CREATE UNIQUE INDEX chunk_place ON chunk (model, generation, number);
          CREATE TABLE history (
            row INTEGER PRIMARY KEY, model INTEGER NOT NULL, first INTEGER NOT NULL, record INTEGER NOT NULL,
            previous INTEGER NOT NULL, version INTEGER NOT NULL, time INTEGER NOT NULL, size INTEGER NOT NULL,
            checksum INTEGER NOT NULL, bytes BLOB NOT NULL);
          CREATE UNIQUE INDEX history_place ON history (model, record);
          """)
    }
    migrator.registerMigration("2") { db in
      for column in ["first", "last", "sum", "time"] {
        try db.execute(sql: "ALTER TABLE life ADD COLUMN \(column) INTEGER")
      }
    }
    migrator.registerMigration("3") { db in
      try db.execute(
        sql: """
          CREATE TABLE floor (
            id INTEGER PRIMARY KEY CHECK (id = 1), epoch INTEGER NOT NULL, version INTEGER NOT NULL,
            record INTEGER NOT NULL, checksum INTEGER NOT NULL);
          """)
    }
    // Writers in rows may name their user (docs/reference/protocol.md §5.2), which versions before cannot read. What
    // they wrote is as it was.
    migrator.registerMigration("4") { _ in }
    // Fields may be elements of lists (§6.5), whose names versions before cannot read: they would skip the batch.
    migrator.registerMigration("5") { _ in }
    try migrator.migrate(db)
    try db.writeWithoutTransaction { db in
      try db.execute(sql: "PRAGMA application_id = \(applicationID)")
      try db.execute(sql: "PRAGMA user_version = \(version)")
    }
  }

  /// Refuses databases of other programs and of later versions.
  static func check(_ db: Database, path: String) throws {
    try check(
      application: Int32.fetchOne(db, sql: "PRAGMA application_id") ?? 0,
      version: Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0, path: path)
  }

  static func check(application: Int32, version found: Int, path: String) throws(StoreError) {
    guard application == applicationID else {
      throw StoreError(
        "\(path) is a database of another program, not a store. Choose another path, or move the file.", .cannotOpen)
    }
    guard found <= version else {
      throw StoreError(
        "\(path) was written by a later version (format \(found); this version reads up to \(version)). "
          + "Use that version, or choose another path.", .newer)
    }
  }
}
