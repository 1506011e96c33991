import BindingHub
import BindingProtocol
import GRDB
import Testing

@testable import BindingStore

@Suite("Removed models leave nothing in the file")
struct RemovedModelTests {
  private static func eager() -> StoreBench {
    let bench = StoreBench()
    bench.limits.compactionBytes = 0
    return bench
  }

  private static func settle(_ store: SQLiteStore) throws { while try store.upkeep() {} }

  private static func rows(_ store: SQLiteStore) throws -> [Int] {
    try store.database.access { db in
      try ["snapshot", "chunk", "history", "log"].map {
        try Int.fetchOne(db, sql: "SELECT count(*) FROM \($0)") ?? -1
      }
    }
  }

  @Test("a removed model leaves no row, and the next start knows the floor")
  func gone() throws {
    let bench = Self.eager()
    do {
      let store = try bench.open()
      try store.appendAll(bench.batch("lamp"), bench.batch("door"))
      try Self.settle(store)
      try store.appendAll(bench.batch("lamp", to: "2"))
      try store.appendAll(bench.removal("lamp"), bench.removal("door"))
      try Self.settle(store)
      #expect(try Self.rows(store) == [0, 0, 0, 0])
      try store.close()
    }
    let check = try SQLiteStore.check(path: bench.path)
    #expect(check.models == 0)
    let store = try bench.open()
    #expect(store.floor == bench.floor)
    #expect(try store.loadAll().isEmpty)
    try store.appendAll(bench.batch("lamp", to: "3"))
    #expect(try ModelCompactor(try #require(try store.load("lamp"))).version == 3)
  }

  @Test("a model removed and recreated at any moment of its compaction has its latest content")
  func meanwhile() throws {
    let names = { (store: SQLiteStore) in try ModelCompactor(try #require(try store.load("lamp"))).names }
    for steps in 0..<40 {
      let bench = Self.eager()
      bench.limits.upkeepMicroseconds = 1
      do {
        let store = try bench.open()
        for number in 1...6 {
          try store.appendAll(bench.batch("lamp", "f\(number)"), bench.batch("door", to: "\(number)"))
        }
        try Self.settle(store)
        for number in 7...12 {
          try store.appendAll(bench.batch("lamp", "f\(number)"), bench.batch("door", to: "\(number)"))
        }
        for _ in 0..<steps { _ = try store.upkeep() }
        try store.appendAll(bench.removal("lamp"))
        _ = try store.upkeep()
        try store.appendAll(bench.batch("lamp", "new"))
        // As it is now, after a sudden end, and when all is compacted.
        try bench.keepAsItIs()
        #expect(try names(store) == ["new"])
        try Self.settle(store)
        #expect(try names(store) == ["new"])
        // A model this small has three chunks.
        let rows = try Self.rows(store)
        #expect(rows[0...1] == [2, 6] && rows[3] == 0, "\(rows) after \(steps) steps")
        try store.close()
        #expect(try SQLiteStore.check(path: bench.path).models == 2)
      }
      try bench.putBack()
      let later = try bench.open()
      #expect(later.floor == bench.floor)
      #expect(try names(later) == ["new"])
      try Self.settle(later)
      #expect(try names(later) == ["new"])
      #expect(try ModelCompactor(try #require(try later.load("door"))).record == 12)
    }
  }

  @Test("a model removed during its first compaction leaves its number to the next one")
  func firstCompaction() throws {
    // One of the two is compacted first.
    for removed in ["lamp", "door"] {
      for steps in 0..<12 {
        let bench = Self.eager()
        bench.limits.upkeepMicroseconds = 1
        let store = try bench.open()
        try store.appendAll(bench.batch("lamp"), bench.batch("door"))
        for _ in 0..<steps { _ = try store.upkeep() }
        try store.appendAll(bench.removal(removed))
        try Self.settle(store)
        #expect(try store.loadAll().map(\.model) == [removed == "lamp" ? "door" : "lamp"], "\(removed), \(steps) steps")
        #expect(try Self.rows(store)[0...1] == [1, 3], "\(removed), \(steps) steps")
        try store.close()
      }
    }
  }

  @Test("a compaction after removals compacts the rest, shrinks the file, and reports it")
  func compaction() throws {
    let bench = StoreBench()
    bench.limits.historyBytes = 0
    let store = try bench.open()
    for number in 0..<500 {
      let text = "\"\(String(repeating: "x", count: 2_000))\""
      try store.appendAll(bench.batch("m\(number)", to: text), bench.batch("kept"))
    }
    store.requestCompaction()
    try Self.settle(store)
    for number in 0..<500 { try store.appendAll(bench.removal("m\(number)")) }
    try AdminRequest.compact.leave(at: bench.path)
    while AdminRequest.result(at: bench.path).isOpen { _ = try store.upkeep() }
    // The report is delivered once.
    #expect(try Self.rows(store)[0...1] == [1, 3])
    #expect(StoreFiles.size(bench.path) < 200_000)
    #expect(StoreFiles.bytes(of: bench.path) < 300_000)
    try AdminRequest.compact.leave(at: bench.path)
    var result = AdminRequest.result(at: bench.path)
    while result.isOpen {
      _ = try store.upkeep()
      result = AdminRequest.result(at: bench.path)
    }
    guard case .fulfilled(let report) = result else {
      Issue.record("\(result)")
      return
    }
    #expect(report.hasPrefix("compacted 0 models, freed "), "\(report)")
  }

  @Test("a store of format 2 opens and gets the present format")
  func older() throws {
    let bench = StoreBench()
    do {
      let store = try bench.open()
      try store.appendAll(bench.batch("lamp"))
      try store.database.access { db in
        try db.execute(
          sql: "DROP TABLE floor; DELETE FROM grdb_migrations WHERE identifier > '2'; PRAGMA user_version = 2")
      }
      try store.close()
    }
    #expect(try SQLiteStore.check(path: bench.path).models == 1)
    let store = try bench.open()
    #expect(store.floor == .none)
    try store.appendAll(bench.removal("lamp"))
    #expect(store.floor == bench.floor)
  }
}
