import BindingHub
import BindingProtocol
import Foundation
import GRDB
import Testing

@testable import BindingStore

/// Damage to the files of an open store.
enum Harm: CaseIterable {
  case deleteAll, delete, rename, replace, replaceByDirectory, empty, halve

  func act(on path: String) throws {
    let files = FileManager.default
    switch self {
    case .deleteAll: for file in StoreFiles.all(of: path) { unlink(file) }
    case .delete: unlink(path)
    case .rename: #expect(Foundation.rename(path, path + ".moved") == 0)
    case .replace:
      try files.copyItem(atPath: path, toPath: path + ".other")
      #expect(Foundation.rename(path + ".other", path) == 0)
    case .replaceByDirectory:
      unlink(path)
      try files.createDirectory(atPath: path, withIntermediateDirectories: false)
    case .empty: #expect(truncate(path, 0) == 0)
    case .halve: #expect(truncate(path, off_t(StoreFiles.size(path) / 2)) == 0)
    }
  }
}

@Suite("Damage to the files of an open store")
struct LossTests {
  private let bench = StoreBench()

  private func failure(_ body: () throws -> Void) -> StoreError? {
    do {
      try body()
      return nil
    } catch {
      return error as? StoreError
    }
  }

  @Test("durability disk: after damage no batch is acknowledged, and the error says why", arguments: Harm.allCases)
  func append(_ harm: Harm) throws {
    let store = try bench.open(.disk)
    try store.appendAll(bench.batch())
    try harm.act(on: bench.path)
    let error = failure { _ = try store.append([bench.batch()]) }
    #expect(error?.kind == .gone)
    #expect(error?.description.contains("bindhub recover --store") == true)
    #expect(RememberedLog.read(at: bench.path)?.isTailLost == true)
  }

  @Test("upkeep finds damaged files at its next check without any write", arguments: Harm.allCases)
  func upkeep(_ harm: Harm) throws {
    let store = try bench.open()
    try store.appendAll(bench.batch())
    try harm.act(on: bench.path)
    usleep(useconds_t(FileWatch.interval / .microseconds(1)))
    #expect(failure { _ = try store.upkeep() }?.kind == .gone)
  }

  @Test(
    "removing or replacing a file beside the database loses nothing, and the epoch stays",
    arguments: ["-wal", "-shm"], [true, false])
  func beside(_ end: String, isReplaced: Bool) throws {
    let before: UInt64
    do {
      let store = try bench.open(.disk)
      before = store.epoch
      for _ in 0..<10 { try store.appendAll(bench.batch()) }
      unlink(bench.path + end)
      if isReplaced { try Data("other".utf8).write(to: URL(fileURLWithPath: bench.path + end)) }
      let error = failure { _ = try store.append([bench.batch()]) }
      #expect(error?.kind == .gone)
      #expect(error?.description.contains("The store contains all of it") == true)
    }
    let store = try bench.open(.disk)
    #expect(store.epoch == before)
    #expect(store.tail == .proven)
    #expect(try store.load("lamp").map { try ModelCompactor($0).record } == 11)
  }

  @Test("a truncated write-ahead log is a loss that the next start knows", arguments: [0, 2] as [UInt64])
  func logCut(_ divisor: UInt64) throws {
    let before: UInt64
    do {
      let store = try bench.open(.disk)
      before = store.epoch
      for _ in 0..<10 { try store.appendAll(bench.batch()) }
      let log = StoreFiles.log(of: bench.path)
      #expect(truncate(log, divisor == 0 ? 0 : off_t(StoreFiles.size(log) / divisor)) == 0)
      usleep(useconds_t(FileWatch.interval / .microseconds(1)))
      #expect(failure { _ = try store.upkeep() }?.kind == .gone)
      try bench.keepAsItIs()
    }
    try bench.putBack()
    let store = try bench.open(.disk)
    #expect(store.tail == .unproven)
    #expect(store.epoch > before)
  }

  @Test("compaction, checkpoints and freed pages are no loss")
  func ordinary() throws {
    bench.limits.compactionBytes = 20_000
    bench.limits.checkpointBytes = 8_192
    bench.limits.syncSeconds = 1
    do {
      let store = try bench.open()
      for number in 1...400 {
        bench.uptime += 50
        try store.appendAll(bench.batch("m\(number % 7)", to: "\"\(String(repeating: "x", count: number * 5))\""))
        _ = try store.upkeep()
        try store.database.look(atOnce: true)
        if number % 150 == 0 {
          store.requestCompaction()
          while try store.upkeep() {}
          store.database.checkpoints.settle()
          try store.database.look(atOnce: true)
        }
      }
      try store.close()
    }
    #expect(try bench.open().tail == .proven)
  }
}

@Suite("A second hub at a store")
struct LockTests {
  private let bench = StoreBench()

  private func refusal(_ path: String) -> StoreError? {
    #expect(throws: StoreError.self) { try SQLiteStore(path: path, durability: .process) }
  }

  @Test("a hard link to an open store is the same store")
  func hardLink() throws {
    let store = try bench.open()
    let other = bench.folder + "/other"
    #expect(link(bench.path, other) == 0)
    #expect(refusal(other)?.kind == .inUse)
    #expect(refusal(other)?.description.contains("process \(getpid())") == true)
    try store.appendAll(bench.batch())
    try store.close()
  }

  @Test("a removed lock file does not admit a second hub")
  func lockRemoved() throws {
    let store = try bench.open()
    #expect(unlink(bench.path + ".lock") == 0)
    #expect(refusal(bench.path)?.kind == .inUse)
    try store.appendAll(bench.batch())
    try store.close()
  }

  @Test("rows of another writer end in an error about that writer, not about the disk")
  func otherWriter() throws {
    let store = try bench.open()
    let db = try OpenedStore.connect(bench.path)
    try db.writeWithoutTransaction { db in
      try db.execute(sql: "INSERT INTO log (row, time, checksum, bytes) VALUES (1, 0, 0, x'00')")
    }
    let error = #expect(throws: StoreError.self) { try store.append([bench.batch()]) }
    #expect(error?.kind == .inUse)
    #expect(error?.description.contains("another hub writes to this store") == true)
  }
}
