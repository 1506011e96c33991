import BindingHub
import BindingProtocol
import Foundation
import GRDB
import Testing

@testable import BindingStore

@Suite("History is read from the log and what was compacted")
struct StoredPastTests {
  private static func query(_ bench: StoreBench, _ model: String = "lamp", head: Version) -> HistoryQuery {
    HistoryQuery(model: model, record: .max, head: head)
  }

  private static func versions(_ store: SQLiteStore, _ query: HistoryQuery) throws -> [Version] {
    try store.history(query).result.get().commits.map(\.version)
  }

  @Test("each commit is read once, wherever a compaction has got to", arguments: [1, 40, 100_000])
  func whileCompacting(_ slice: Int) throws {
    let bench = StoreBench()
    (bench.limits.compactionBytes, bench.limits.upkeepMicroseconds) = (0, slice)
    var head: Version = 0
    do {
      let store = try bench.open()
      for round in 0..<60 {
        for _ in 0..<5 {
          try store.appendAll(bench.batch("lamp", "f\(round % 7)", to: "\(head)"), bench.batch("door"))
          head += 1
        }
        _ = try store.upkeep()
        var query = Self.query(bench, head: head)
        #expect(try Self.versions(store, query) == Array((1...head).reversed()))
        query.isOldestFirst = true
        #expect(try Self.versions(store, query) == Array(1...head))
      }
      while try store.upkeep() {}
      #expect(try Self.versions(store, Self.query(bench, head: head)).count == Int(head))
      try store.close()
    }
    let again = try bench.open()
    #expect(try Self.versions(again, Self.query(bench, head: head)) == Array((1...head).reversed()))
  }

  @Test("a reading that was prepared before a compaction finds all its commits after it")
  func prepared() throws {
    let bench = StoreBench()
    bench.limits.compactionBytes = 0
    let store = try bench.open()
    for _ in 0..<20 { try store.appendAll(bench.batch()) }
    let reading = store.history(Self.query(bench, head: 20))
    while try store.upkeep() {}
    for _ in 0..<5 { try store.appendAll(bench.batch()) }
    #expect(try reading.result.get().commits.map(\.version) == Array((1...20).reversed()))
  }

  @Test("a reading beside appends and compactions on another thread sees no commit twice and misses none")
  func concurrent() throws {
    let bench = StoreBench()
    bench.limits.compactionBytes = 4_000
    let store = try bench.open()
    let queue = DispatchQueue(label: "reader")
    let failures = Failures()
    for round in 1...200 {
      for _ in 0..<3 { try store.appendAll(bench.batch()) }
      let (reading, head) = (store.history(Self.query(bench, head: Version(round * 3))), Version(round * 3))
      queue.async {
        let found = (try? reading.result.get())?.commits.map(\.version) ?? []
        let oldest = found.last ?? 0
        if found != Array((oldest...head).reversed()) || found.count < min(Int(head), 500) { failures.add("\(round)") }
      }
      _ = try store.upkeep()
    }
    queue.sync {}
    #expect(failures.all.isEmpty)
    try store.close()
  }

  @Test("past its limits the history ends later, and says where")
  func limits() throws {
    let bench = StoreBench()
    (bench.limits.compactionBytes, bench.limits.historyCommits) = (0, 10)
    let store = try bench.open()
    for _ in 0..<30 { try store.appendAll(bench.batch()) }
    while try store.upkeep() {}
    let answer = try store.history(Self.query(bench, head: 30)).result.get()
    #expect(answer.commits.map(\.version) == Array((21...30).reversed()))
    #expect(answer.oldest == 20 && answer.oldestRecord == 21)
  }

  @Test("a damaged row of history is an error for who asks, and the store goes on")
  func damaged() throws {
    let bench = StoreBench()
    bench.limits.compactionBytes = 0
    let store = try bench.open()
    for _ in 0..<10 { try store.appendAll(bench.batch()) }
    while try store.upkeep() {}
    try store.database.access { db in try db.execute(sql: "UPDATE history SET bytes = x'00'") }
    guard case .failure(let error) = store.history(Self.query(bench, head: 10)).result else {
      return #expect(Bool(false), "the damaged row was read")
    }
    #expect(error.kind == .damaged)
    try store.appendAll(bench.batch())
  }

  @Test("a closed store reads nothing, and closing waits for a reading")
  func closed() throws {
    let bench = StoreBench()
    let store = try bench.open()
    try store.appendAll(bench.batch())
    let reading = store.history(Self.query(bench, head: 1))
    #expect(try reading.result.get().commits.count == 1)
    try store.close()
    guard case .failure = reading.result else { return #expect(Bool(false), "a closed store was read") }
    // Nothing of the reading connection keeps the file.
    #expect(!FileManager.default.fileExists(atPath: bench.path + "-wal"))
  }

  // MARK: Dropping

  /// A store with six commits of `lamp`, all compacted.
  private static func six(_ bench: StoreBench) throws -> SQLiteStore {
    bench.limits.compactionBytes = 0
    let store = try bench.open()
    for number in 1...6 {
      try store.appendAll(bench.batch("lamp", number == 4 ? "pin" : "level", to: "\"secret\(number)\""))
    }
    try store.appendAll(bench.batch("door"))
    return store
  }

  private static func drop(
    _ drop: HistoryDrop, _ bench: StoreBench, _ store: SQLiteStore
  ) throws -> AdminRequest.Result {
    try AdminRequest.drop(drop).leave(at: bench.path)
    let end = Date(timeIntervalSinceNow: 20)
    while AdminRequest.result(at: bench.path).isOpen, Date() < end { _ = try store.upkeep() }
    return AdminRequest.result(at: bench.path)
  }

  @Test("an administrator drops a model's history, and the value is no more in the file")
  func dropAll() throws {
    let bench = StoreBench()
    let store = try Self.six(bench)
    #expect(try Self.drop(HistoryDrop(model: "lamp"), bench, store).isOpen == false)
    #expect(try Self.versions(store, Self.query(bench, head: 6)).isEmpty)
    #expect(try Self.versions(store, Self.query(bench, "door", head: 1)) == [1])
    // The present values stay.
    #expect(try store.load("lamp") != nil)
    for file in [bench.path, bench.path + "-wal"] {
      let bytes = FileManager.default.contents(atPath: file) ?? Data()
      #expect(bytes.range(of: Data("secret3".utf8)) == nil, "\(file)")
    }
    #expect(store.status.drops.map(\.words) == ["the history of lamp"])
  }

  @Test("only commits before a version are dropped, also in the middle of a batch")
  func dropBefore() throws {
    let bench = StoreBench()
    let store = try Self.six(bench)
    _ = try Self.drop(HistoryDrop(model: "lamp", part: .before(4)), bench, store)
    let answer = try store.history(Self.query(bench, head: 6)).result.get()
    #expect(answer.commits.map(\.version) == [6, 5, 4] && answer.oldest == 3)
  }

  @Test("the values of a field are replaced by a mark; its commits and other fields stay")
  func dropField() throws {
    let bench = StoreBench()
    let store = try Self.six(bench)
    _ = try Self.drop(HistoryDrop(model: "lamp", part: .field("level")), bench, store)
    let commits = try store.history(Self.query(bench, head: 6)).result.get().commits
    #expect(commits.map(\.version) == [6, 5, 4, 3, 2, 1])
    for commit in commits {
      let value = commit.changes.first?.value
      #expect(commit.version == 4 ? value?.description == "\"secret4\"" : value?.bytes == RemovedValue.bytes)
    }
    try store.close()
    _ = try SQLiteStore.check(path: bench.path)
  }

  @Test("a drop of a model or field that is not there, and an unreadable request, are refused")
  func refused() throws {
    let bench = StoreBench()
    let store = try Self.six(bench)
    for drop in [HistoryDrop(model: "none"), HistoryDrop(model: "lamp", part: .field("none"))] {
      guard case .refused = try Self.drop(drop, bench, store) else {
        #expect(Bool(false), "\(drop)")
        continue
      }
    }
    for line in ["a.b", "lamp before", "lamp before x", "lamp field a.b", "lamp for ever", ""] {
      #expect(HistoryDrop(line: line[...]) == nil, "\(line)")
    }
    #expect(HistoryDrop(line: "shop/lamp before 7") == HistoryDrop(model: "shop/lamp", part: .before(7)))
  }

  @Test("the sizes of histories are listed by model")
  func sizes() throws {
    let bench = StoreBench()
    let store = try Self.six(bench)
    while try store.upkeep() {}
    let sizes = try SQLiteStore.histories(path: bench.path)
    #expect(sizes.map(\.model) == ["door", "lamp"])
    #expect(sizes.last?.commits == 6 && sizes.last?.oldest == 1)
    try store.close()
  }
}

/// What went wrong on another thread.
private final class Failures: @unchecked Sendable {  // SAFETY: `found` is touched only while `lock` is held
  private let lock = NSLock()
  private var found: [String] = []

  func add(_ text: String) { lock.withLock { found.append(text) } }

  var all: [String] { lock.withLock { found } }
}
