import BindingHub
import BindingProtocol
import Foundation
import GRDB
import Testing

@testable import BindingStore

@Suite("Missing rows at the ends of the log")
struct TailTests {
  private let bench = StoreBench()

  private func sql(_ text: String) throws {
    let db = try OpenedStore.connect(bench.path)
    try db.writeWithoutTransaction { try $0.execute(sql: text) }
    try db.close()
  }

  private func expectDamaged(_ words: String) {
    for error in [
      #expect(throws: StoreError.self) { try SQLiteStore.check(path: bench.path) },
      #expect(throws: StoreError.self) { try bench.open() },
    ] {
      #expect(error?.kind == .damaged)
      #expect(error?.description.contains(words) == true, "\(error?.description ?? "")")
    }
  }

  @Test(
    "a closed store with missing rows is damaged",
    arguments: [
      ("DELETE FROM log WHERE row = 20", "rows 20 to 20"), ("DELETE FROM log WHERE row > 12", "rows 13 to 20"),
      ("DELETE FROM log", "rows 1 to 20"), ("DELETE FROM log WHERE row < 3", "rows 1 to 2"),
    ])
  func closed(_ text: String, _ words: String) throws {
    do {
      let store = try bench.open()
      for number in 1...20 { try store.appendAll(bench.batch("m\(number)")) }
      try store.close()
    }
    try sql(text)
    expectDamaged(words)
  }

  @Test("a store of a killed hub is damaged when rows that the disk had confirmed are missing")
  func killed() throws {
    do {
      let store = try bench.open()
      for number in 1...10 { try store.appendAll(bench.batch("m\(number)")) }
      bench.uptime += 10_000
      _ = try store.upkeep()
      store.database.checkpoints.settle()
      for number in 11...20 { try store.appendAll(bench.batch("m\(number)")) }
      try bench.keepAsItIs()
    }
    try bench.putBack()
    try sql("DELETE FROM log WHERE row > 9")
    expectDamaged("rows 10 to 10")
  }

  @Test("compacted rows are not missed, whether the hub was closed or killed", arguments: [true, false])
  func compacted(isClosed: Bool) throws {
    bench.limits.compactionBytes = 0
    do {
      let store = try bench.open()
      for number in 1...20 { try store.appendAll(bench.batch("m\(number % 3)")) }
      while try store.upkeep() {}
      try store.appendAll(bench.batch("m1"))
      if isClosed { try store.close() } else { try bench.keepAsItIs() }
    }
    if !isClosed { try bench.putBack() }
    for _ in 0..<2 {
      let store = try bench.open()
      #expect(try store.load("m1").map { try ModelCompactor($0).record } == 8)
      #expect(store.tail == .proven)
      while try store.upkeep() {}
      try store.close()
    }
  }

  @Test("a backup whose last rows are missing is damaged")
  func backup() throws {
    let store = try bench.open()
    for number in 1...20 { try store.appendAll(bench.batch("m\(number)")) }
    let copy = bench.folder + "/copy"
    try SQLiteStore.backup(of: bench.path, to: copy)
    let db = try DatabaseQueue(path: copy)
    try db.write { try $0.execute(sql: "DELETE FROM log WHERE row > 15") }
    try db.close()
    #expect(#expect(throws: StoreError.self) { try SQLiteStore.check(path: copy) }?.kind == .damaged)
    try store.close()
  }
}

@Suite("The clock by which writers age")
struct LogClockTests {
  private static let day: UInt64 = 24 * 3_600 * 1_000
  private let bench = StoreBench()

  init() { bench.limits.compactionBytes = 0 }

  /// Opens the store, compacts what `body` adds, and returns the first writer's last stored number.
  private func compact(_ body: (SQLiteStore) throws -> Void = { _ in }) throws -> ProposalNumber {
    let store = try bench.open()
    try body(store)
    store.requestCompaction()
    while try store.upkeep() {}
    let lastStored = try ModelCompactor(try #require(try store.load("lamp"))).lastStored(of: Tag(rawValue: 0xA1))
    try store.close()
    return lastStored
  }

  @Test("a wall clock that jumps ahead at a start makes no writer old", arguments: [8, 30, 7_300] as [UInt64])
  func ahead(days: UInt64) throws {
    #expect(try compact { try $0.appendAll(bench.batch()) } == 1)
    bench.wall += days * Self.day
    #expect(try compact { try $0.appendAll(bench.batch("lamp", by: 0xB2)) } == 1)
  }

  @Test("a machine that starts in 1970 each time forgets no writer")
  func beginning() throws {
    #expect(try compact { try $0.appendAll(bench.batch()) } == 1)
    bench.wall = 0
    #expect(try compact { try $0.appendAll(bench.batch("lamp", by: 0xB2)) } == 1)
    #expect(try compact { try $0.appendAll(bench.batch()) } == 3)
  }

  @Test("a writer silent for longer than allowed while hubs ran is forgotten")
  func silent() throws {
    let lastStored = try compact { store in
      try store.appendAll(bench.batch())
      bench.uptime += 8 * Self.day
      try store.appendAll(bench.batch("lamp", by: 0xB2))
    }
    #expect(lastStored == 0)
  }

  @Test("a start advances the clock by at most a day, so a writer that returns rarely is forgotten too")
  func seldom() throws {
    #expect(try compact { try $0.appendAll(bench.batch()) } == 1)
    for _ in 0..<8 {
      bench.wall += 2 * Self.day
      _ = try compact { try $0.appendAll(bench.batch("lamp", by: 0xB2)) }
    }
    #expect(try compact() == 0)
  }
}
