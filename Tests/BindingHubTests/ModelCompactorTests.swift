import BindingProtocol
import Testing

@testable import BindingHub

/// Batches compacted into chunks, and loaded again by a starting hub.
@Suite struct ModelCompactorTests {
  /// Commits, deletions, refusals and a conflict of two peers, one batch each.
  private static func story() -> HubBench {
    var bench = HubBench(store: LogStore())
    bench.live(.ann)
    bench.live(.ben)
    bench.write(.ann, 1, .set("a", "1"), .set("b", "\"two\""))
    bench.write(.ben, 1, .set("c", "[3]"))
    bench.write(.ann, 2, .delete("b"))
    bench.write(.ann, 3, .set("a", "{"))
    bench.write(.ben, 2, .of(.setIfAbsent, "a", "9"))
    bench.write(.ann, 4, .set("a", "4"))
    bench.write(.ann, 5, .set("a", "5"))
    return bench
  }

  private static func stored(in store: any Store) throws -> StoredModel {
    try #require(try store.load("lamp"))
  }

  /// The model with its first batches compacted, into chunks of about N bytes.
  private static func compacted(_ stored: StoredModel, first count: Int, chunk limit: Int) throws -> StoredModel {
    var compactor = ModelCompactor(stored.model)
    for batch in stored.batches.prefix(count) { try compactor.apply(batch) }
    var chunks: [[UInt8]] = []
    while let chunk = compactor.nextChunk(ofBytes: limit) { chunks.append(chunk) }
    return StoredModel(model: stored.model, chunks: chunks, batches: stored.batches)
  }

  @Test(
    "a hub that starts with chunks equals the hub that starts with the batches",
    arguments: Array(0...7), [1, 60, 65_536])
  func sameHub(_ count: Int, _ limit: Int) throws {
    var before = Self.story()
    let read = before.read()
    let compacted = try Self.compacted(Self.stored(in: before.store), first: count, chunk: limit)
    var later = HubBench(store: before.store, stored: [compacted])
    #expect(later.read().version == read.version)
    #expect(later.read().fields == read.fields)
    #expect(later.live(.ann).joined(.ann).map(\.lastDecided) == [5])
    #expect(later.live(.ben).joined(.ben).map(\.lastDecided) == [2])
    #expect(later.write(.ann, 3, .set("a", "3"))?.refusal == .malformedValue)
    #expect(later.write(.ann, 4, .set("a", "4")) == .committed(4))
    #expect(later.write(.ben, 2, .set("a", "9")) == .unchanged)
    #expect(later.write(.ben, 3, .of(.setIfAbsent, "b", "1")) == .unchanged)
    #expect(later.write(.ann, 6, .set("a", "6")) == .committed(6))
  }

  @Test("compacting chunks again with later batches gives the chunks of all batches", arguments: Array(0...7))
  func compactedTwice(_ count: Int) throws {
    let bench = Self.story()
    let stored = try Self.stored(in: bench.store)
    let once = try Self.compacted(stored, first: 7, chunk: 65_536).chunks
    var compactor = try ModelCompactor(Self.compacted(stored, first: count, chunk: 40))
    var twice: [[UInt8]] = []
    while let chunk = compactor.nextChunk() { twice.append(chunk) }
    #expect(twice == once)
  }

  @Test("a compactor ignores a batch that it already contains, and throws on a gap")
  func order() throws {
    let bench = Self.story()
    let batches = try Self.stored(in: bench.store).batches
    var compactor = ModelCompactor("lamp")
    try compactor.apply(batches[0])
    try compactor.apply(batches[0])
    #expect(compactor.record == 1)
    #expect(throws: StoreError.self) { try compactor.apply(batches[2]) }
    #expect(compactor.record == 1)
  }

  @Test("a truncated chunk is an error that names the model")
  func cutShort() throws {
    let bench = Self.story()
    for chunk in try Self.compacted(Self.stored(in: bench.store), first: 7, chunk: 65_536).chunks {
      for length in 0..<chunk.count {
        var compactor = ModelCompactor("lamp")
        let error = #expect(throws: StoreError.self) { try compactor.load(Array(chunk.prefix(length))) }
        #expect(error?.description.contains("lamp") == true)
      }
    }
  }

  @Test("a chunk of a later format is an error")
  func laterFormat() throws {
    var compactor = ModelCompactor("lamp")
    let error = #expect(throws: StoreError.self) { try compactor.load([3, 0]) }
    #expect(error?.description.contains("is 3; this build reads up to 2") == true)
  }

  @Test("forgotten writers are in no chunk, and their fields stay")
  func forgotten() throws {
    let bench = Self.story()
    var compactor = try ModelCompactor(Self.stored(in: bench.store))
    compactor.forget([Speaker.ann.origin.tag], silentSince: 0)
    var chunks: [[UInt8]] = []
    while let chunk = compactor.nextChunk() { chunks.append(chunk) }
    let compacted = StoredModel(model: "lamp", chunks: chunks, batches: [])
    var later = HubBench(store: bench.store, stored: [compacted])
    #expect(later.read().values == ["a": "5", "c": "[3]"])
    #expect(later.live(.ann).joined(.ann).map(\.lastDecided) == [0])
    #expect(later.live(.ben).joined(.ben).map(\.lastDecided) == [2])
  }

  @Test("writers that have been silent for long are dropped from chunks")
  func silent() throws {
    let bench = Self.story()
    var compactor = try ModelCompactor(Self.stored(in: bench.store))
    compactor.forget([], silentSince: .max)
    #expect(compactor.nextChunk(ofBytes: 1) != nil)
    let second = compactor.nextChunk(ofBytes: 1)
    #expect(second?[1] == 2, "fields follow the head: there are no writers")
  }

  @Test("a batch survives encoding with every stored outcome")
  func bytes() throws {
    let bench = Self.story()
    var batches = try Self.stored(in: bench.store).batches
    let conflict = Conflict(
      field: "a", version: 3, origin: Speaker.ann.origin, ageMilliseconds: 7, value: FieldValue(bytes: Array("1".utf8)))
    let outcomes: [WireOutcome.Rest?] = [
      nil, .unchanged, .expired, .conflict(conflict), .refused(Refusal(.loop, "too deep")),
    ]
    batches.append(
      Batch(
        model: "lamp", record: 8, epoch: 4, previous: 9, version: 9, body: [],
        decisions: outcomes.enumerated().map {
          Decision(origin: Speaker.ben.origin, number: ProposalNumber($0 + 1), outcome: $1)
        }))
    for batch in batches {
      var writer = WireWriter()
      batch.write(to: &writer)
      let read = try writer.withUnsafeBytes { bytes in
        var reader = WireReader(bytes)
        let batch = try Batch(from: &reader)
        try reader.end()
        return batch
      }
      #expect(read == batch)
    }
  }
}

/// How the machine handles a full store.
@Suite struct FullStoreTests {
  var bench = HubBench()

  private mutating func fill() {
    bench.live(.ann)
    bench.write(.ann, 1, .set("a", "1"))
    bench.settling = .later
    bench.send(.ann, .propose([.of(2, [.set("a", "2")])]))
    bench.settle(.full)
    bench.settling = .atOnce
  }

  @Test("a full store makes the proposer retry later, and nothing is decided")
  mutating func held() {
    bench.live(.ann)
    bench.settling = .later
    bench.send(.ann, .propose([.of(1, [.set("a", "1")])]))
    #expect(bench.settle(.full).outcomes(.ann).mapValues(\.retryReason) == [1: .storeFull])
    #expect(bench.counters.fullAppends == 1)
    #expect(bench.read().values == [:])
  }

  @Test("after a full store the hub waits a while, then decides the same proposal")
  mutating func goesOn() {
    fill()
    #expect(bench.write(.ann, 2, .set("a", "2"))?.retryReason == .storeFull)
    bench.wait(1_000)
    #expect(bench.write(.ann, 2, .set("a", "2")) == .committed(2))
  }

  @Test("earlier decisions are answered although the store is full")
  mutating func repeats() {
    fill()
    #expect(bench.write(.ann, 1, .set("a", "1")) == .committed(1))
  }

  @Test("a reading peer is served although the store is full")
  mutating func reads() {
    fill()
    #expect(bench.read().values == ["a": "1"])
  }

  @Test("a join that raises a last decided number waits until the store has room")
  mutating func lastDecidedNumbers() {
    fill()
    bench.hello(.ben)
    let join = Join(request: 1, model: "lamp", unacknowledged: 8)
    #expect(bench.join(.ben, join).joined(.ben).isEmpty)
    #expect(bench.wait(1_000).joined(.ben).map(\.lastDecided) == [7])
  }
}
