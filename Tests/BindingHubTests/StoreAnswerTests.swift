import BindingHub
import BindingProtocol
import Testing

/// How the machine handles a store that answers `moved` or `unknown`.
@Suite struct StoreAnswerTests {
  /// Two hubs over one store. The first decides, and the second writes before that is stored.
  let store = LogStore()
  var bench: HubBench
  var second: HubBench

  init() {
    bench = HubBench(store: store)
    second = HubBench(store: store)
    bench.live(.ann)
    second.live(.ben)
  }

  // MARK: Moved

  @Test("after moved the machine applies and publishes what it missed, and makes the proposer retry later")
  mutating func moved() throws {
    bench.settling = .later
    bench.send(.ann, .propose([.of(1, [.set("a", "1")])]))
    second.write(.ben, 1, .set("b", "2"))
    let received = try bench.settleWithStore()
    #expect(received.commits().flatMap(\.origins) == [Speaker.ben.origin])
    #expect(received.outcomes(.ann).mapValues(\.retryReason) == [1: .busy])
    #expect(bench.counters.movedBatches == 1)
    #expect(bench.read().values == ["b": "2"])
  }

  @Test("a deferred proposal is decided afresh on the new head when it is resent")
  mutating func decidedAfresh() throws {
    bench.settling = .later
    bench.send(.ann, .propose([.of(1, [.of(.add, "n", "1")])]))
    second.write(.ben, 1, .set("n", "10"))
    try bench.settleWithStore()
    bench.settling = .atOnce
    #expect(bench.write(.ann, 1, .of(.add, "n", "1")) == .committed(2))
    #expect(bench.read().values == ["n": "11"])
  }

  @Test("after moved a proposal that the other hub has already decided is not decided again")
  mutating func lastDecidedFirst() throws {
    bench.settling = .later
    bench.send(.ann, .propose([.of(1, [.of(.add, "n", "1")])]))
    second.live(Speaker.ann)
    second.write(.ann, 1, .of(.add, "n", "1"))
    try bench.settleWithStore()
    bench.settling = .atOnce
    #expect(bench.write(.ann, 1, .of(.add, "n", "1")) == .committed(1))
    #expect(bench.read().values == ["n": "1"])
  }

  @Test("proposals that waited are decided on the missed batches")
  mutating func waiting() throws {
    bench.live(.cat)
    bench.settling = .later
    bench.send(.ann, .propose([.of(1, [.set("a", "1")])]))
    bench.send(.cat, .propose([.of(1, [.of(.add, "n", "1")])]))
    second.write(.ben, 1, .set("n", "10"))
    try bench.settleWithStore()
    #expect(try bench.settleWithStore().outcomes(.cat) == [1: .committed(2)])
    #expect(bench.read().values == ["n": "11"])
  }

  @Test("field ids after moved are those of the log")
  mutating func ids() throws {
    bench.settling = .later
    bench.send(.ann, .propose([.of(1, [.set("mine", "1")])]))
    second.write(.ben, 1, .set("theirs", "2"))
    try bench.settleWithStore()
    bench.settling = .atOnce
    let received = bench.send(.ann, .propose([.of(1, [.set("mine", "1")])]))
    #expect(received.commits().map(\.names) == [NamesRun(first: 1, names: ["mine"])])
  }

  @Test("a join raises the last decided number although the batch with it was moved")
  mutating func raisedLastDecided() throws {
    bench.hello(.cat)
    bench.settling = .later
    var received = bench.join(.cat, Join(request: 1, model: "lamp", unacknowledged: 5))
    second.write(.ben, 1, .set("b", "2"))
    while !bench.waiting.isEmpty { received = received + (try bench.settleWithStore()) }
    #expect(received.joined(.cat).map(\.lastDecided) == [4])
  }

  @Test("a retryLater after moved is counted")
  mutating func countedHold() throws {
    bench.settling = .later
    bench.send(.ann, .propose([.of(1, [.set("a", "1")])]))
    second.write(.ben, 1, .set("b", "2"))
    try bench.settleWithStore()
    #expect(bench.counters.retries == 1)
  }

  // MARK: Unknown

  @Test("after unknown the machine asks for a reload and answers no proposal")
  mutating func unknown() {
    bench.settling = .later
    bench.send(.ann, .propose([.of(1, [.set("a", "1")])]))
    let received = bench.settle(.unknown)
    #expect(received.reload == ["lamp"])
    #expect(received.frames.isEmpty)
    #expect(bench.counters.unknownBatches == 1)
  }

  @Test("until the reload nothing of that model is decided, and no join is answered")
  mutating func untilReload() {
    bench.settling = .later
    bench.send(.ann, .propose([.of(1, [.set("a", "1")])]))
    bench.settle(.unknown)
    bench.send(.ann, .propose([.of(2, [.set("a", "2")])]))
    #expect(bench.waiting.isEmpty)
    #expect(bench.live(.cat).joined(.cat).isEmpty)
  }

  @Test("a batch that was stored after all is published after the reload, and its repeat gets its outcome")
  mutating func storedAfterAll() throws {
    bench.settling = .later
    bench.send(.ann, .propose([.of(1, [.of(.add, "n", "1")])]))
    _ = try store.append(bench.waiting)
    bench.settle(.unknown)
    let received = bench.reload(try #require(try store.load("lamp")))
    #expect(received.commits().map(\.version) == [1])
    bench.settling = .atOnce
    #expect(bench.write(.ann, 1, .of(.add, "n", "1")) == .committed(1))
    #expect(bench.read().values == ["n": "1"])
  }

  @Test("a model whose first commit is reloaded compacted is announced to peers that joined its prefix")
  mutating func compactedFirst() throws {
    bench.hello(.cat)
    bench.send(.cat, .join([Join(request: 9, prefix: "")]))
    bench.settling = .later
    bench.send(.ann, .propose([.of(1, [.set("a", "1")])]))
    var compactor = ModelCompactor("lamp")
    for batch in bench.waiting { try compactor.apply(batch) }
    let chunks = Array(sequence(state: compactor) { $0.nextChunk(ofBytes: 1_000) })
    bench.settle(.unknown)
    let received = bench.reload(StoredModel(model: "lamp", chunks: chunks, batches: []))
    #expect(received.announces(.cat).flatMap(\.models).map(\.model) == ["lamp"])
  }

  @Test("a batch that was not stored is decided afresh after the reload")
  mutating func notStored() {
    bench.settling = .later
    bench.send(.ann, .propose([.of(1, [.of(.add, "n", "1")])]))
    bench.settle(.unknown)
    bench.reload(StoredModel(model: "lamp", batches: []))
    bench.settling = .atOnce
    #expect(bench.write(.ann, 1, .of(.add, "n", "1")) == .committed(1))
    #expect(bench.read().values == ["n": "1"])
  }

  @Test("outcomes that a reload returns again do not count twice as unconfirmed")
  mutating func noDuplicates() throws {
    bench = HubBench(store: store) { $0.maxUnconfirmedOutcomes = 3 }
    bench.live(.ann)
    bench.write(.ann, 1, .set("a", "{"))
    bench.settling = .later
    bench.send(.ann, .propose([.of(2, [.set("a", "1")])]))
    bench.settle(.unknown)
    bench.reload(try #require(try store.load("lamp")))
    bench.settling = .atOnce
    bench.write(.ann, 2, .set("a", "1"))
    #expect(bench.write(.ann, 3, .set("a", "2")) == .committed(2))
  }
}
