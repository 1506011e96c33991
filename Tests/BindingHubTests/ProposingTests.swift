import BindingHub
import BindingProtocol
import Testing

/// Numbers, last decided numbers, and when answers are sent (R1, R2, R3).
@Suite struct ProposingTests {
  var bench = HubBench()

  init() { bench.live(.ann) }

  // MARK: Dense numbers

  @Test("proposals with the numbers 1, 2, 3 become the versions 1, 2, 3")
  mutating func dense() {
    let outcomes = bench.propose(
      .ann, .of(1, [.set("a", "1")]), .of(2, [.set("a", "2")]), .of(3, [.set("b", "3")]))
    #expect(outcomes == [1: .committed(1), 2: .committed(2), 3: .committed(3)])
    #expect(bench.read().values == ["a": "2", "b": "3"])
  }

  @Test("a repeat is answered with its stored outcome and changes nothing")
  mutating func repeated() {
    bench.write(.ann, 1, .set("a", "1"))
    bench.write(.ann, 2, .set("a", "2"))
    #expect(bench.write(.ann, 1, .set("a", "1")) == .committed(1))
    #expect(bench.read().values == ["a": "2"])
    #expect(bench.counters.repeats == 1)
  }

  @Test("a repeat of a refused proposal gets the same refusal, although it would now be accepted")
  mutating func repeatedRefusal() {
    let before = bench.write(.ann, 1, .of(.add, "a", "\"no number\""))
    let after = bench.write(.ann, 1, .of(.add, "a", "1"))
    #expect(after == before)
    #expect(after?.refusal == .notANumber)
  }

  @Test("a number that skips one is answered with the expected number, and decides nothing")
  mutating func jump() {
    bench.write(.ann, 1, .set("a", "1"))
    #expect(bench.write(.ann, 3, .set("a", "3")) == .expected(next: 2))
    #expect(bench.read().version == 1)
    #expect(bench.counters.jumps == 1)
  }

  @Test("after a jump the expected number is accepted, and then the early one")
  mutating func afterJump() {
    bench.write(.ann, 2, .set("a", "2"))
    #expect(bench.write(.ann, 1, .set("a", "1")) == .committed(1))
    #expect(bench.write(.ann, 2, .set("a", "2")) == .committed(2))
  }

  @Test("numbers are counted per identity")
  mutating func perIdentity() {
    bench.live(.ben)
    bench.write(.ann, 1, .set("a", "1"))
    #expect(bench.write(.ben, 1, .set("a", "2")) == .committed(2))
  }

  @Test("numbers are counted per model")
  mutating func perModel() {
    bench.write(.ann, 1, .set("a", "1"))
    bench.join(.ann, Join(request: 2, model: "fan"), topic: HubBench.lamp + 1)
    let received = bench.send(.ann, .propose([.of(1, [.set("a", "1")], topic: HubBench.lamp + 1)]))
    #expect(received.outcomes(.ann, topic: HubBench.lamp + 1) == [1: .committed(1)])
  }

  @Test("a refusal raises the last decided number: its number is used, and the next is accepted")
  mutating func refusalRaisesLastDecided() {
    #expect(bench.write(.ann, 1, .set("a", "{"))?.refusal == .malformedValue)
    #expect(bench.write(.ann, 2, .set("a", "2")) == .committed(1))
  }

  @Test("a refusal is in the stored batch")
  mutating func refusalIsStored() throws {
    bench.settling = .later
    bench.send(.ann, .propose([.of(1, [.set("a", "{")])]))
    let batch = try #require(bench.waiting.first)
    #expect(batch.decisions.map(\.number) == [1])
    #expect(batch.body.isEmpty)
    #expect(batch.version == batch.previous)
  }

  @Test("the highest possible number does not crash the hub")
  func lastNumber() async {
    await #expect(processExitsWith: .success) {
      var bench = HubBench()
      bench.hello(.ann)
      bench.join(.ann, Join(request: 1, model: "lamp", unacknowledged: .max))
      bench.write(.ann, .max, .set("a", "1"))
      bench.write(.ann, 1, .set("a", "2"))
    }
  }

  // MARK: Void

  @Test("a void proposal that was never committed is expired, and stays so")
  mutating func expired() {
    #expect(bench.propose(.ann, .of(1, [.set("a", "1")], isVoid: true)) == [1: .expired])
    #expect(bench.write(.ann, 1, .set("a", "1")) == .expired)
    #expect(bench.read().version == 0)
    #expect(bench.counters.expired == 1)
  }

  @Test("a void proposal that was committed keeps its outcome")
  mutating func voidOfCommitted() {
    bench.write(.ann, 1, .set("a", "1"))
    #expect(bench.propose(.ann, .of(1, [.set("a", "1")], isVoid: true)) == [1: .committed(1)])
    #expect(bench.read().values == ["a": "1"])
  }

  // MARK: Nothing before it is stored (R1)

  @Test("a commit is neither published nor answered before it is stored")
  mutating func notBeforeStored() throws {
    bench.settling = .later
    let before = bench.send(.ann, .propose([.of(1, [.set("a", "1")])]))
    #expect(before.frames.isEmpty)
    let after = try bench.settleWithStore()
    #expect(after.commits().map(\.version) == [1])
    #expect(after.outcomes(.ann) == [1: .committed(1)])
  }

  @Test("a refusal is not answered before it is stored")
  mutating func refusalNotBeforeStored() throws {
    bench.settling = .later
    #expect(bench.send(.ann, .propose([.of(1, [.set("a", "{")])])).frames.isEmpty)
    #expect(try bench.settleWithStore().outcomes(.ann)[1]?.refusal == .malformedValue)
  }

  @Test("a join is not answered while decisions are not stored")
  mutating func joinWaitsForStore() throws {
    bench.settling = .later
    bench.send(.ann, .propose([.of(1, [.set("a", "1")])]))
    #expect(bench.live(.ben).joined(.ben).isEmpty)
    #expect(try bench.settleWithStore().joined(.ben).map(\.version) == [1])
  }

  @Test("requested heads are those of the store")
  mutating func headsAreStored() {
    bench.settling = .later
    bench.send(.ann, .propose([.of(1, [.set("a", "1")])]))
    let received = bench.send(.ann, .askHeads)
    let expected = HeadsAnswer(
      session: Speaker.ann.session, epoch: HubBench.epoch,
      heads: [ModelHead(topic: HubBench.lamp, version: 0, digest: 0)]
    )
    #expect(received.messages(to: .ann) == [.heads(expected)])
  }

  @Test("a repeat of a decided but unstored proposal is answered once, when it is stored")
  mutating func repeatWhileStoring() throws {
    bench.settling = .later
    bench.send(.ann, .propose([.of(1, [.set("a", "1")])]))
    #expect(bench.send(.ann, .propose([.of(1, [.set("a", "1")])])).frames.isEmpty)
    #expect(try bench.settleWithStore().outcomes(.ann) == [1: .committed(1)])
    #expect(bench.waiting.isEmpty)
  }

  @Test("a repeat of a stored proposal is answered immediately, also during another append")
  mutating func repeatOfStoredWhileStoring() throws {
    bench.write(.ann, 1, .set("a", "1"))
    bench.settling = .later
    bench.send(.ann, .propose([.of(2, [.set("a", "2")])]))
    #expect(bench.send(.ann, .propose([.of(1, [.set("a", "1")])])).outcomes(.ann) == [1: .committed(1)])
    #expect(try bench.settleWithStore().outcomes(.ann) == [2: .committed(2)])
  }

  @Test("proposals that arrive during an append are decided on its result")
  mutating func decidedAfterwards() throws {
    bench.settling = .later
    bench.send(.ann, .propose([.of(1, [.of(.add, "n", "1")])]))
    bench.send(.ann, .propose([.of(2, [.of(.add, "n", "1")]), .of(3, [.of(.add, "n", "1")])]))
    #expect(bench.waiting.count == 1)
    try bench.settleWithStore()
    #expect(bench.waiting.map(\.previous) == [1])
    try bench.settleWithStore()
    #expect(bench.read().values == ["n": "3"])
  }

  @Test("proposals for a model not joined get `notJoined`, and the others of the frame are decided")
  mutating func notJoined() {
    let received = bench.send(
      .ann, .propose([.of(1, [.set("a", "1")], topic: HubBench.lamp + 9), .of(1, [.set("a", "1")])]))
    #expect(received.errors(.ann).map(\.code) == [.notJoined])
    #expect(received.errors(.ann).map(\.isFatal) == [false])
    #expect(received.outcomes(.ann) == [1: .committed(1)])
  }

  @Test("commits carry their origin, number, hops and names")
  mutating func whatACommitCarries() throws {
    let received = bench.send(.ann, .propose([.of(1, [.set("a", "1")], hops: 3)]))
    let group = try #require(received.commits().first)
    #expect(group.epoch == HubBench.epoch)
    #expect(group.previous == 0)
    #expect(group.time == bench.time.wall)
    #expect(group.origins == [Speaker.ann.origin])
    #expect(group.names == NamesRun(first: 0, names: ["a"]))
    #expect(
      group.commits
        == [Commit(origin: 0, number: 1, hops: 3, changes: [CommitChange(field: 0, value: json("1"))])])
  }
}
