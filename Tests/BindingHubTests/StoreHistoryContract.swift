import BindingProtocol
import Testing

@testable import BindingHub
@testable import BindingStore

/// What every store's history must be; a part of the contract.
@Suite("The history of every store")
struct StoreHistoryContract {
  /// A batch with one commit for each value of field 0.
  private static func batch(
    _ model: String = "lamp", record: UInt64, after previous: Version, set values: [String],
    epoch: Epoch = HubBench.epoch, by origin: Origin = Speaker.ann.origin
  ) -> Batch {
    var writer = CommitsWriter()
    writer.begin(epoch: epoch, previous: previous, time: 100 + previous, namesKnown: previous == 0 ? 0 : 1)
    if previous == 0 { _ = writer.introduce("a") }
    for (index, value) in values.enumerated() {
      let number = ProposalNumber(previous) + ProposalNumber(index) + 1
      writer.beginCommit(origin: writer.origin(origin), number: number, hops: 0)
      writer.change(0, json(value))
      writer.endCommit()
    }
    return Batch(
      model: model, record: record, epoch: epoch, previous: previous, version: previous + Version(values.count),
      body: writer.finish(), decisions: [])
  }

  private static func read(_ store: any Store, _ query: HistoryQuery) throws -> HistoryAnswer {
    try store.history(query).result.get()
  }

  private static var stores: [StoreCase] { StoreCase.all }

  @Test("a model without records has no history", arguments: stores)
  func empty(_ store: StoreCase) throws {
    let answer = try Self.read(store.make(), HistoryQuery(model: "lamp", record: 0, head: 0))
    #expect(answer.commits.isEmpty && answer.next == nil && answer.oldest == 0 && answer.oldestRecord == 0)
  }

  @Test("each commit up to the query's record is read once, in both orders, in pages of any size", arguments: stores)
  func pages(_ store: StoreCase) throws {
    let store = store.make()
    var version: Version = 0
    for record in 1...UInt64(20) {
      let values = (0..<(record % 3 + 1)).map { "\(record).\($0)" }
      let other = Self.batch("b\(record)", record: 1, after: 0, set: ["9"])
      _ = try store.append([Self.batch(record: record, after: version, set: values), other])
      version += Version(values.count)
    }
    let head = version
    _ = try store.append([Self.batch(record: 21, after: head, set: ["0"])])
    for count in [1, 2, 5, 1_000] {
      for isOldestFirst in [false, true] {
        var query = HistoryQuery(model: "lamp", record: 20, head: head)
        (query.count, query.isOldestFirst) = (count, isOldestFirst)
        var found: [StoredCommit] = []
        for _ in 0..<100 {
          let answer = try Self.read(store, query)
          #expect(answer.commits.count <= count && answer.oldest == 0 && answer.oldestRecord == 1)
          found += answer.commits
          guard let next = answer.next else { break }
          if isOldestFirst { query.after = next } else { query.through = next }
        }
        let versions = found.map(\.version)
        #expect(versions == (isOldestFirst ? Array(1...head) : Array((1...head).reversed())), "\(count)")
        #expect(Set(found.map { $0.changes.first?.value?.description }).count == Int(head))
      }
    }
  }

  @Test("versions, fields, writers, times and epochs are told apart", arguments: stores)
  func filters(_ store: StoreCase) throws {
    let store = store.make()
    _ = try store.append([Self.batch(record: 1, after: 0, set: ["1", "2"])])
    try store.start(HubBench.epoch + 1)
    let second = Self.batch(record: 2, after: 2, set: ["3"], epoch: HubBench.epoch + 1, by: Speaker.ben.origin)
    _ = try store.append([second])
    func versions(_ change: (inout HistoryQuery) -> Void) throws -> [Version] {
      var query = HistoryQuery(model: "lamp", record: 2, head: 3)
      change(&query)
      return try Self.read(store, query).commits.map(\.version)
    }
    #expect(try versions { $0.epoch = HubBench.epoch } == [2, 1])
    #expect(try versions { $0.epoch = HubBench.epoch + 1 } == [3])
    #expect(try versions { ($0.after, $0.through) = (1, 2) } == [2])
    #expect(try versions { $0.from = 2 } == [3])
    #expect(try versions { $0.writers = ["ben"] } == [3])
    #expect(try versions { $0.fields = [0] } == [3, 2, 1])
    #expect(try versions { $0.fields = [1] } == [])
    #expect(try versions { $0.since = 102 } == [3])
    #expect(try versions { $0.until = 102 } == [2, 1])
    #expect(try versions { $0.record = 1 } == [2, 1])
  }

  @Test("a removed model's history is gone, and one of the same name begins anew", arguments: stores)
  func removed(_ store: StoreCase) throws {
    let store = store.make()
    _ = try store.append([Self.batch(record: 1, after: 0, set: ["1"])])
    _ = try store.append([.removal(of: "lamp", record: 2, epoch: HubBench.epoch, version: 1)])
    #expect(try Self.read(store, HistoryQuery(model: "lamp", record: 2, head: 1)).commits.isEmpty)
    _ = try store.append([Self.batch(record: 3, after: 1, set: ["2"])])
    let answer = try Self.read(store, HistoryQuery(model: "lamp", record: 3, head: 2))
    #expect(answer.commits.map(\.version) == [2] && answer.oldest == 1)
  }

  @Test("a query on a reading that began before an append does not see it", arguments: stores)
  func early(_ store: StoreCase) throws {
    let store = store.make()
    _ = try store.append([Self.batch(record: 1, after: 0, set: ["1"])])
    let reading = store.history(HistoryQuery(model: "lamp", record: 1, head: 1))
    _ = try store.append([Self.batch(record: 2, after: 1, set: ["2"])])
    #expect(try reading.result.get().commits.map(\.version) == [1])
  }

  // MARK: Memory

  @Test("a store in memory keeps the last 1,000 commits of a model, at most 256 KiB, and says how far back")
  func memory() throws {
    let store = MemoryStore(logID: 3, epoch: HubBench.epoch)
    for record in 1...UInt64(1_500) {
      _ = try store.append([Self.batch(record: record, after: record - 1, set: ["1"])])
    }
    var query = HistoryQuery(model: "lamp", record: 1_500, head: 1_500)
    query.isOldestFirst = true
    let answer = try Self.read(store, query)
    #expect(answer.oldest >= 500 && answer.oldest < 510)
    #expect(answer.commits.first?.version == answer.oldest + 1)
    let big = "\"" + String(repeating: "x", count: 60_000) + "\""
    for record in 1...UInt64(10) {
      _ = try store.append([Self.batch("big", record: record, after: record - 1, set: [big])])
    }
    #expect(try Self.read(store, HistoryQuery(model: "big", record: 10, head: 10)).oldest == 6)
  }

  @Test("all models together keep at most 64 MiB in memory")
  func manyModels() throws {
    let store = MemoryStore(logID: 3, epoch: HubBench.epoch)
    let value = "\"" + String(repeating: "x", count: 120_000) + "\""
    for number in 0..<290 {
      for record in 1...UInt64(2) {
        _ = try store.append([Self.batch("m\(number)", record: record, after: record - 1, set: [value])])
      }
      #expect(store.historyBytes <= RecentBatches.maxTotalBytes)
    }
    // The newest are still there.
    #expect(try Self.read(store, HistoryQuery(model: "m289", record: 2, head: 2)).commits.count >= 1)
  }
}
