import BindingHub
import BindingProtocol
import Testing

/// Bringing back what a hub lost (protocol.md §7).
@Suite struct RecoveryTests {
  var bench = HubBench(tailProven: false)

  init() {
    bench.hello(.ann)
    bench.hello(.ben)
  }

  @Test("a peer of the old epoch is asked, and its join waits")
  mutating func asked() {
    let received = bench.joinAhead(.ann, 7)
    #expect(received.askedOffers(.ann).map(\.topic) == [HubBench.lamp])
    #expect(received.joined(.ann).isEmpty)
    #expect(bench.counters.recoveries == 1)
  }

  @Test("nobody is asked when the tail is proven, or recovery is off", arguments: [false, true])
  mutating func notAsked(_ isProven: Bool) {
    bench = HubBench(tailProven: isProven) { $0.recovery = isProven }
    bench.hello(.ann)
    let received = bench.joinAhead(.ann, 7)
    #expect(received.askedOffers(.ann).isEmpty)
    #expect(received.joined(.ann).count == 1)
  }

  @Test("a peer with more of an older epoch than a hub that asks for nothing is reported")
  mutating func ahead() {
    bench = HubBench(tailProven: true)
    bench.hello(.ann)
    bench.hello(.ben)
    _ = bench.joinAhead(.ann, 7)
    #expect(bench.counters.peersAhead == 1)
    _ = bench.joinAhead(.ben, 0)
    #expect(bench.counters.peersAhead == 1, "who has nothing is not ahead")
  }

  @Test("a peer whose old epoch the store holds as far is not reported")
  mutating func notAhead() throws {
    let store = LogStore()
    var before = HubBench(store: store)
    before.live(.ann)
    before.write(.ann, 1, .set("a", "1"))
    bench = HubBench(store: store, stored: try store.loadAll())
    bench.hello(.ann)
    _ = bench.joinAhead(.ann, 7)
    #expect(bench.counters.peersAhead == 0, "what is stored here is of a later epoch")
  }

  @Test("proposals of that model are held meanwhile and use up no number")
  mutating func held() {
    _ = bench.joinAhead(.ann, 7)
    #expect(bench.write(.ann, 1, .set("a", "1"))?.retryReason == .starting)
    bench.wait(2_000)
    #expect(bench.write(.ann, 1, .set("a", "1")) == .committed(1))
  }

  @Test("who has nothing is held too, for the first moments of a hub that has lost its memory: a replica may come yet")
  mutating func freshIsHeld() {
    bench.join(.ben, Join(request: 1, model: "lamp"))
    #expect(bench.write(.ben, 1, .set("a", "9"))?.retryReason == .starting)
    _ = bench.joinAhead(.ann, 7)
    _ = bench.offer(.ann, 7, .of("a", "1", version: 3, number: 2))
    bench.wait(400)
    #expect(bench.read().fields["a"]?.value == "1")
    #expect(bench.counters.recoveries == 1)
  }

  @Test("a hub that has been there for a while holds nobody who has nothing")
  mutating func freshIsNotHeldLater() {
    bench.wait(400)
    bench.join(.ben, Join(request: 1, model: "lamp"))
    #expect(bench.write(.ben, 1, .set("a", "9")) == .committed(1))
    #expect(bench.counters.recoveries == 0)
  }

  @Test("proposals of other models are decided meanwhile")
  mutating func othersGoOn() {
    _ = bench.joinAhead(.ann, 7)
    bench.join(.ann, Join(request: 2, model: "fan"), topic: HubBench.lamp + 1)
    bench.wait(400)
    let received = bench.send(.ann, .propose([.of(1, [.set("a", "1")], topic: HubBench.lamp + 1)]))
    #expect(received.outcomes(.ann, topic: HubBench.lamp + 1) == [1: .committed(1)])
  }

  @Test("what is offered comes back in its old order, in the name of who offered it and without numbers")
  mutating func comesBack() {
    _ = bench.joinAhead(.ann, 7)
    _ = bench.offer(
      .ann, 7, .of("b", "2", version: 6, number: 4), .of("a", "1", version: 3, number: 2),
      .of("c", nil, version: 7, number: 5))
    let received = bench.wait(400)
    #expect(received.commits().flatMap(\.commits).map(\.number) == [0, 0, 0])
    #expect(
      bench.read().fields == [
        "a": .init(value: "1", version: 1, origin: Speaker.ann.origin, number: 0),
        "b": .init(value: "2", version: 2, origin: Speaker.ann.origin, number: 0),
      ])
    #expect(bench.counters.recoveredFields == 3)
  }

  @Test("the joins are answered after it, with a snapshot")
  mutating func joinsAnswered() {
    _ = bench.joinAhead(.ann, 7)
    _ = bench.offer(.ann, 7, .of("a", "1", version: 7))
    let joined = bench.wait(400).joined(.ann)
    #expect(joined.map(\.follows) == [.snapshot])
    #expect(joined.map(\.version) == [1])
  }

  @Test("of several offers each field's latest version counts, deletions too, whoever offers it")
  mutating func latestOfEach() {
    _ = bench.joinAhead(.ann, 7)
    _ = bench.joinAhead(.ben, 9)
    _ = bench.offer(.ben, 9, .of("a", "9", version: 9), .of("gone", nil, version: 8))
    _ = bench.offer(
      .ann, 7, .of("a", "7", version: 7), .of("gone", "7", version: 6), .of("b", "5", version: 5))
    bench.wait(400)
    #expect(
      bench.read().fields == [
        "b": .init(value: "5", version: 1, origin: Speaker.ann.origin, number: 0),
        "a": .init(value: "9", version: 3, origin: Speaker.ben.origin, number: 0),
      ])
  }

  @Test("what the store kept and the furthest replica does not name had been deleted by then")
  mutating func staleInStore() throws {
    let store = LogStore()
    var before = HubBench(store: store)
    before.live(.ann)
    before.write(.ann, 1, .set("kept", "1"))
    before.write(.ann, 2, .set("gone", "1"))
    let later = HubBench.epoch + 1 << 32
    bench = HubBench(tailProven: false, store: store, stored: try store.loadAll(), epoch: later)
    bench.hello(.ben)
    _ = bench.joinAhead(.ben, 3, epoch: HubBench.epoch)
    _ = bench.offer(.ben, 3, .of("kept", "1", version: 1), epoch: HubBench.epoch)
    bench.wait(400)
    #expect(bench.read().values == ["kept": "1"])
    #expect(bench.counters.recoveredFields == 1, "the deletion; what stayed as it was is not written again")
  }

  @Test("an offer in several messages counts when its last has come")
  mutating func inParts() {
    _ = bench.joinAhead(.ann, 7)
    _ = bench.offer(.ann, 7, .of("a", "1", version: 3), isLast: false)
    #expect(bench.wait(400).commits().isEmpty)
    _ = bench.offer(.ann, 7, .of("b", "2", version: 7), chunk: 1)
    bench.wait(1)
    #expect(bench.read().values == ["a": "1", "b": "2"])
  }

  @Test("an offer that nobody asked for changes nothing")
  mutating func unasked() {
    bench.live(.ann)
    _ = bench.offer(.ann, 7, .of("a", "1", version: 7))
    bench.wait(2_000)
    #expect(bench.read().version == 0)
  }

  @Test("it does not touch a field that was written in the new epoch")
  mutating func writtenAnew() {
    bench.wait(400)
    bench.live(.cat)
    bench.write(.cat, 1, .set("a", "\"new\""))
    _ = bench.joinAhead(.ann, 7)
    _ = bench.offer(.ann, 7, .of("a", "1", version: 3), .of("b", "2", version: 3))
    bench.wait(400)
    #expect(bench.read().values == ["a": "\"new\"", "b": "2"])
  }

  @Test("it replaces a default of the new epoch")
  mutating func replacesDefault() {
    bench.wait(400)
    bench.live(.cat)
    bench.write(.cat, 1, .of(.setIfAbsent, "a", "0"))
    _ = bench.joinAhead(.ann, 7)
    _ = bench.offer(.ann, 7, .of("a", "1", version: 7))
    bench.wait(400)
    #expect(bench.read().values == ["a": "1"])
  }

  @Test("it does not replace what was set right after a default, in the same batch")
  mutating func defaultAndSet() {
    bench.wait(400)
    bench.live(.cat)
    bench.propose(.cat, .of(1, [.of(.setIfAbsent, "a", "0")]), .of(2, [.set("a", "5")]))
    _ = bench.joinAhead(.ann, 7)
    _ = bench.offer(.ann, 7, .of("a", "1", version: 7))
    bench.wait(400)
    #expect(bench.read().values == ["a": "5"])
  }

  @Test("a write that ended as a conflict before its old commit was offered does not come back by it; others' do")
  mutating func decidedBefore() {
    bench.wait(2_000)
    bench.join(.ann, Join(request: 1, model: "lamp"))
    let lost = NumberedProposal.of(
      1, [.set("a", "9")], conditions: [.unchanged("a", since: 4, epoch: HubBench.oldEpoch)])
    #expect(bench.propose(.ann, lost)[1]?.conflict != nil)
    _ = bench.joinAhead(.ben, 7)
    _ = bench.offer(
      .ben, 7, .of("a", "9", version: 6, origin: Speaker.ann.origin), .of("b", "5", version: 7))
    bench.wait(400)
    #expect(bench.read().values == ["b": "5"])
  }

  @Test("a peer that does not answer is given up at the deadline")
  mutating func deadline() {
    _ = bench.joinAhead(.ann, 7)
    #expect(bench.wait(1_999).joined(.ann).isEmpty)
    #expect(bench.wait(1).joined(.ann).count == 1)
  }

  @Test("a peer that goes away is not waited for")
  mutating func goesAway() {
    _ = bench.joinAhead(.ann, 7)
    bench.send(.ann, .leave(Leave()))
    _ = bench.joinAhead(.ben, 5)
    _ = bench.offer(.ben, 5, .of("a", "5", version: 5))
    #expect(bench.wait(400).joined(.ben).map(\.version) == [1])
  }

  @Test("today's limits hold for what comes back: a value past maxValueBytes does not")
  mutating func limits() {
    _ = bench.joinAhead(.ann, 7)
    _ = bench.offer(
      .ann, 7, .of("a", text(ofBytes: 65_537), version: 3), .of("b", text(ofBytes: 65_536), version: 4))
    bench.wait(400)
    #expect(bench.read().values.keys.sorted() == ["b"])
  }

  @Test("what was recovered and not stored, because another hub was first, comes back after all")
  mutating func moved() throws {
    _ = bench.joinAhead(.ann, 7)
    _ = bench.offer(.ann, 7, .of("a", "1", version: 7))
    bench.settling = .later
    bench.wait(400)
    bench.settle(.moved([]))
    bench.settling = .atOnce
    while !bench.waiting.isEmpty { try bench.settleWithStore() }
    bench.wait(2_000)
    #expect(bench.read().values == ["a": "1"])
  }
}
