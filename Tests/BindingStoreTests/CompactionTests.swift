import BindingHub
import BindingProtocol
import Testing

@testable import BindingStore

@Suite("Old batches are compacted into snapshots")
struct CompactionTests {
  /// A store that compacts its log as soon as it has anything.
  private static func eager() -> StoreBench {
    let bench = StoreBench()
    bench.limits.compactionBytes = 0
    return bench
  }

  private static func settle(_ store: SQLiteStore) throws {
    while try store.upkeep() {}
  }

  /// The model's content, as bytes.
  private static func compacted(_ stored: StoredModel?) throws -> [[UInt8]] {
    var compactor = try ModelCompactor(try #require(stored))
    var chunks: [[UInt8]] = []
    while let chunk = compactor.nextChunk() { chunks.append(chunk) }
    return chunks
  }

  @Test("a model is the same before and after compaction, and after reopening")
  func same() throws {
    let bench = Self.eager()
    let before: [[UInt8]]
    do {
      let store = try bench.open()
      for number in 1...200 { try store.appendAll(bench.batch("lamp", "f\(number)", to: "\(number)")) }
      before = try Self.compacted(try store.load("lamp"))
      try Self.settle(store)
      let after = try #require(try store.load("lamp"))
      #expect(after.batches.isEmpty)
      #expect(try Self.compacted(after) == before)
      try store.close()
    }
    #expect(try Self.compacted(try bench.open().load("lamp")) == before)
  }

  @Test("the log is empty after compaction, and records continue")
  func log() throws {
    let bench = Self.eager()
    let store = try bench.open()
    try store.appendAll(bench.batch("lamp"), bench.batch("door"))
    try Self.settle(store)
    #expect(store.status.logBytes == 0)
    try store.appendAll(bench.batch("lamp", to: "2"))
    #expect(try store.load("lamp")?.batches.map(\.record) == [2])
  }

  @Test("batches appended during the compaction of a model are not lost")
  func meanwhile() throws {
    let bench = Self.eager()
    bench.limits.upkeepMicroseconds = 1
    var last: [StoredModel] = []
    do {
      let store = try bench.open()
      for number in 1...50 {
        try store.appendAll(bench.batch("lamp", "f\(number)"), bench.batch("door", to: "\(number)"))
        _ = try store.upkeep()
      }
      last = try store.loadAll()
      try store.close()
    }
    let models = try bench.open().loadAll()
    #expect(models.map(\.model) == ["door", "lamp"])
    for (model, before) in zip(models, last) { #expect(try Self.compacted(model) == Self.compacted(before)) }
    let compactor = try ModelCompactor(try #require(models.last))
    #expect(compactor.record == 50)
  }

  @Test("a compaction interrupted by the end of its process starts again")
  func interrupted() throws {
    let bench = Self.eager()
    bench.limits.upkeepMicroseconds = 1
    do {
      let store = try bench.open()
      for number in 1...50 { try store.appendAll(bench.batch("lamp", "f\(number)")) }
      for _ in 0..<54 { _ = try store.upkeep() }
      try bench.keepAsItIs()
    }
    try bench.putBack()
    let store = try bench.open()
    try Self.settle(store)
    #expect(try ModelCompactor(try #require(try store.load("lamp"))).record == 50)
    #expect(store.status.logBytes == 0)
  }

  @Test("a writer that missed compacted batches gets them from the history")
  func moved() throws {
    let bench = Self.eager()
    let store = try bench.open()
    let batches = (1...5).map { bench.batch("lamp", to: "\($0)") }
    for batch in batches { try store.appendAll(batch) }
    try Self.settle(store)
    guard case .moved(let missed)? = try store.append([batches[2]]).first else {
      Issue.record("the batch was not moved")
      return
    }
    #expect(missed == Array(batches[2...]))
  }

  @Test("the history of a model continues from the snapshot into the log")
  func history() throws {
    let bench = Self.eager()
    let store = try bench.open()
    let batches = (1...8).map { bench.batch("lamp", to: "\($0)") }
    for batch in batches[..<5] { try store.appendAll(batch) }
    try Self.settle(store)
    for batch in batches[5...] { try store.appendAll(batch) }
    #expect(try store.history(of: "lamp", after: 3, limit: 100) == Array(batches[3...]))
    #expect(try store.history(of: "lamp", after: 3, limit: 2) == Array(batches[3..<5]))
    #expect(try store.history(of: "door", after: 0, limit: 2).isEmpty)
  }

  @Test("the history keeps at most historyCommits commits")
  func historyCommits() throws {
    let bench = Self.eager()
    bench.limits.historyCommits = 10
    let store = try bench.open()
    for number in 1...40 {
      try store.appendAll(bench.batch("lamp", to: "\(number)"))
      if number % 4 == 0 { try Self.settle(store) }
    }
    let kept = try store.history(of: "lamp", after: 0, limit: 1_000).map(\.version)
    #expect(kept.last == 40)
    #expect((7...10).contains(kept.count))
    #expect(kept == Array((40 - UInt64(kept.count) + 1)...40))
  }

  @Test("the history drops commits that are too old by the running time of hubs")
  func historyAge() throws {
    let bench = Self.eager()
    let store = try bench.open()
    try store.appendAll(bench.batch("lamp", to: "1"))
    try Self.settle(store)
    bench.uptime += 8 * 24 * 3_600 * 1_000
    try store.appendAll(bench.batch("lamp", to: "2"))
    try Self.settle(store)
    #expect(try store.history(of: "lamp", after: 0, limit: 10).map(\.version) == [2])
  }

  @Test("a requested compaction includes models below every bound, and frees the space")
  func compaction() throws {
    let bench = StoreBench()
    bench.limits.historyBytes = 0
    let store = try bench.open()
    for number in 1...300 {
      try store.appendAll(bench.batch("lamp", to: "\"\(String(repeating: "x", count: 4_000))\(number)\""))
    }
    store.requestCompaction()
    try Self.settle(store)
    try store.close()
    #expect(StoreFiles.size(bench.path) < 100_000)
  }
}
