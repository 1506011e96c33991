import BindingHub
import BindingProtocol
import Foundation
import GRDB
import Testing

@testable import BindingStore

/// A store that a release with format 1 made and closed: lamp with level and on, partly compacted, and door with
/// open.
@Suite("A store of format 1")
struct FirstFormatTests {
  private let bench = StoreBench()

  init() throws {
    try FileManager.default.createDirectory(atPath: bench.folder, withIntermediateDirectories: true)
    let db = try DatabaseQueue(path: bench.path)
    try db.writeWithoutTransaction { db in
      try db.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL")
      try db.execute(sql: Self.sql)
      try db.execute(sql: "PRAGMA application_id = 1111651188")
      try db.execute(sql: "PRAGMA user_version = 1")
      try db.execute(sql: "PRAGMA journal_mode = WAL")
    }
    try db.close()
  }

  private static func values(_ store: SQLiteStore) throws -> [String: [String]] {
    try Dictionary(
      uniqueKeysWithValues: store.loadAll().map { ($0.model, try ModelCompactor($0).names) })
  }

  @Test("a store of format 1 opens complete, in the same log and epoch, and gets the present format")
  func opens() throws {
    let old = try SQLiteStore.check(path: bench.path)
    #expect(old.format == 1)
    do {
      let store = try bench.open()
      #expect(store.tail == .proven)
      #expect(store.logID == 0x2a26_6496_9c3e_b403)
      #expect(store.epoch == 0x1_1ac0_be2b)
      #expect(try Self.values(store) == ["lamp": ["level", "on"], "door": ["open"]])
      try store.close()
    }
    let new = try SQLiteStore.check(path: bench.path)
    #expect(new.format == StoreSchema.version)
    #expect(new.records == old.records)
  }

  @Test("a backup of a format 1 store keeps its format, and can be restored")
  func backup() throws {
    let copy = bench.folder + "/copy"
    try SQLiteStore.backup(of: bench.path, to: copy)
    #expect(try SQLiteStore.check(path: copy).format == 1)
    try SQLiteStore.restore(backup: copy, to: bench.path)
    let store = try bench.open()
    #expect(store.tail == .restored)
    #expect(try Self.values(store) == ["lamp": ["level", "on"], "door": ["open"]])
  }

  private static let sql = """
    CREATE TABLE chunk (
    model INTEGER NOT NULL, generation INTEGER NOT NULL, number INTEGER NOT NULL, checksum INTEGER NOT NULL,
    bytes BLOB NOT NULL);
    INSERT INTO "chunk" VALUES(1,1,0,1410177899,X'0100030000000000000003000000000000002BBEC01A0100000050E50B04A20100\
    00');
    INSERT INTO "chunk" VALUES(1,1,1,2602944054,X'010103000000BF0CCB41578BA898057368656C6C01000000000000001CE50B04A2\
    01000001000100000101000000010100010000000000000042D35F8B8B79D2F7057368656C6C010000000000000036E50B04A20100000100\
    01000001010000000101000200000000000000057946D194AB5582057368656C6C010000000000000050E50B04A201000001000100000101\
    0000000101000300000000000000');
    INSERT INTO "chunk" VALUES(1,1,2,2527001543,X'01020100057946D194AB5582057368656C6C01000000056C6576656C0103000000\
    0000000050E50B04A201000001000000000003000000302E33');
    CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
    INSERT INTO "grdb_migrations" VALUES('1');
    CREATE TABLE history (
    row INTEGER PRIMARY KEY, model INTEGER NOT NULL, first INTEGER NOT NULL, record INTEGER NOT NULL,
    previous INTEGER NOT NULL, version INTEGER NOT NULL, time INTEGER NOT NULL, size INTEGER NOT NULL,
    checksum INTEGER NOT NULL, bytes BLOB NOT NULL);
    INSERT INTO "history" VALUES(1,1,1,3,0,3,1795364219201,351,1098446612,X'046C616D7001000000000000002BBEC01A010000\
    00000000000000000001000000000000004C0000002BBEC01A0100000000000000000000001CE50B04A20100000100BF0CCB41578BA89805\
    7368656C6C0000000001000000056C6576656C01000000010000000001000000000003000000302E3100000000046C616D70020000000000\
    00002BBEC01A0100000001000000000000000200000000000000460000002BBEC01A01000000010000000000000036E50B04A20100000100\
    42D35F8B8B79D2F7057368656C6C010000000000000001000000010000000001000000000003000000302E3200000000046C616D70030000\
    00000000002BBEC01A0100000002000000000000000300000000000000460000002BBEC01A01000000020000000000000050E50B04A20100\
    000100057946D194AB5582057368656C6C010000000000000001000000010000000001000000000003000000302E3300000000');
    CREATE TABLE life (
    id INTEGER PRIMARY KEY CHECK (id = 1), log INTEGER NOT NULL, epoch INTEGER NOT NULL,
    grade INTEGER NOT NULL, boot TEXT NOT NULL, clean INTEGER NOT NULL, copy INTEGER NOT NULL,
    snapshots INTEGER NOT NULL, checksum INTEGER NOT NULL);
    INSERT INTO "life" VALUES(1,3037225596737205251,4743806507,1,'d2aea653-b9be-4b81-af5b-6c23473dbbea',1,0,1,296786\
    3857);
    CREATE TABLE log (
    row INTEGER PRIMARY KEY, time INTEGER NOT NULL, checksum INTEGER NOT NULL, bytes BLOB NOT NULL);
    INSERT INTO "log" VALUES(4,1795364219243,664109325,X'046C616D7004000000000000002BBEC01A0100000003000000000000000\
    4000000000000004A0000002BBEC01A0100000003000000000000006BE90B04A201000001008E84DA71E409A80F057368656C6C010000000\
    1000000026F6E010000000100000000010001000000040000007472756500000000');
    INSERT INTO "log" VALUES(5,1795364219246,296636740,X'04646F6F7201000000000000002BBEC01A0100000000000000000000000\
    1000000000000004D0000002BBEC01A0100000000000000000000006DE90B04A201000001008E84DA71E409A80F057368656C6C000000000\
    1000000046F70656E0100000001000000000100000000000500000066616C736500000000');
    CREATE TABLE snapshot (
    model INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, generation INTEGER NOT NULL,
    chunks INTEGER NOT NULL, bytes INTEGER NOT NULL, record INTEGER NOT NULL, version INTEGER NOT NULL,
    checksum INTEGER NOT NULL);
    INSERT INTO "snapshot" VALUES(1,'lamp',1,3,251,3,3,1701871712);
    CREATE UNIQUE INDEX chunk_place ON chunk (model, generation, number);
    CREATE UNIQUE INDEX history_place ON history (model, record);
    """
}
