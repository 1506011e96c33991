import BindingHub
import BindingProtocol
import Foundation
import GRDB
import Testing

@testable import BindingStore

@Suite("Backup, check and restore")
struct CopyTests {
  private static func records(_ store: SQLiteStore) throws -> [String: UInt64] {
    try Dictionary(uniqueKeysWithValues: store.loadAll().map { ($0.model, try ModelCompactor($0).record) })
  }

  @Test("a backup of an open store has the state of its moment, and the store goes on")
  func live() throws {
    let bench = StoreBench()
    bench.limits.compactionBytes = 2_000
    let store = try bench.open()
    for number in 1...100 {
      try store.appendAll(bench.batch("lamp", "f\(number)"), bench.batch("door"))
      _ = try store.upkeep()
    }
    try SQLiteStore.backup(of: bench.path, to: bench.folder + "/copy")
    try store.appendAll(bench.batch("lamp"))
    let check = try SQLiteStore.check(path: bench.folder + "/copy")
    #expect(check.isCopy)
    #expect(check.records == 200)
    #expect(check.models == 2)
    #expect(check.fields == 101)
    #expect(try Self.records(store) == ["lamp": 101, "door": 100])
    try store.close()
  }

  @Test("a restored backup starts another epoch without a recovery, and the previous store is kept")
  func restored() throws {
    let bench = StoreBench()
    let (epoch, logID): (Epoch, LogID)
    do {
      let store = try bench.open()
      try store.appendAll(bench.batch("lamp"))
      try SQLiteStore.backup(of: bench.path, to: bench.folder + "/copy")
      try store.appendAll(bench.batch("lamp"))
      try store.start(7 << 32 | 1)
      (epoch, logID) = (store.epoch, store.logID)
      try store.close()
    }
    let aside = try #require(try SQLiteStore.restore(backup: bench.folder + "/copy", to: bench.path))
    #expect(try SQLiteStore.check(path: aside).records == 2)
    do {
      let store = try bench.open()
      #expect(store.tail == .restored)
      #expect(store.logID == logID)
      #expect(store.epoch > epoch)
      #expect(try Self.records(store) == ["lamp": 1])
      try store.close()
    }
    #expect(try bench.open().tail == .proven)
  }

  @Test("a backup copied back by hand starts another epoch too")
  func byHand() throws {
    let bench = StoreBench()
    let before: Epoch
    do {
      let store = try bench.open(.disk)
      try store.appendAll(bench.batch("lamp"))
      try SQLiteStore.backup(of: bench.path, to: bench.folder + "/copy")
      before = store.epoch
      try store.close()
    }
    unlink(bench.path)
    try FileManager.default.copyItem(atPath: bench.folder + "/copy", toPath: bench.path)
    let store = try bench.open(.disk)
    #expect(store.epoch > before)
    #expect(store.tail == .restored)
  }

  @Test("a restore over an open store, or from a damaged backup, is refused")
  func refused() throws {
    let bench = StoreBench()
    let copy = bench.folder + "/copy"
    let store = try bench.open()
    for number in 1...50 { try store.appendAll(bench.batch("lamp", "f\(number)", to: "\"\(UUID())\"")) }
    try SQLiteStore.backup(of: bench.path, to: copy)
    #expect(#expect(throws: StoreError.self) { try SQLiteStore.restore(backup: copy, to: bench.path) }?.kind == .inUse)
    try store.close()
    #expect(truncate(copy, 8_192) == 0)
    let other = bench.folder + "/other/store"
    #expect(#expect(throws: StoreError.self) { try SQLiteStore.restore(backup: copy, to: other) }?.kind == .damaged)
    #expect(!StoreFiles.exists(other))
  }

  @Test("a store on a read-only disk is read with its log, and leaves no file", arguments: [true, false])
  func readOnly(isClosed: Bool) throws {
    let bench = StoreBench()
    do {
      let store = try bench.open(.disk)
      for _ in 0..<7 { try store.appendAll(bench.batch("lamp")) }
      if isClosed { try store.close() } else { try bench.keepAsItIs() }
    }
    if !isClosed { try bench.putBack() }
    func left() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: bench.folder).sorted() }
    let before = try left()
    let rows = try StoreCopy.reading(bench.path, isReadOnly: true) { db in
      try db.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM log") }
    }
    #expect(rows == 7)
    #expect(try left() == before)
  }

  @Test("a backup replaces no file, and a missing file cannot be backed up")
  func names() throws {
    let bench = StoreBench()
    let store = try bench.open()
    let kinds = [(bench.path, bench.path), (bench.folder + "/none", bench.folder + "/copy")].map { from, to in
      #expect(throws: StoreError.self) { try SQLiteStore.backup(of: from, to: to) }?.kind
    }
    #expect(kinds == [.cannotOpen, .cannotOpen])
    try store.close()
  }

  @Test("a flipped bit in the write-ahead log that hides later commits is a known loss")
  func brokenLog() throws {
    let bench = StoreBench()
    do {
      let store = try bench.open(.disk)
      for number in 1...20 { try store.appendAll(bench.batch("lamp", to: "\(number)")) }
      try bench.keepAsItIs()
    }
    var log = try Data(contentsOf: URL(fileURLWithPath: bench.folder + "/kept-wal"))
    log[32 + 5 * 4_120 + 200] ^= 1
    try log.write(to: URL(fileURLWithPath: bench.folder + "/kept-wal"))
    try bench.putBack()
    let store = try bench.open(.disk)
    #expect(store.tail == .unproven)
    #expect(try Self.records(store)["lamp"] ?? 0 < 20)
  }
}
