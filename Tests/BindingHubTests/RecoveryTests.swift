import BindingHub
import BindingProtocol
import Testing

/// Recovery of what a hub lost (protocol.md §7).
@Suite struct RecoveryTests {
  var bench = HubBench(tailProven: false)

  init() {
    bench.hello(.ann)
    bench.hello(.ben)
  }

  @Test("a peer of the old epoch is asked for its replica, and its join waits")
  mutating func asked() {
    let received = bench.joinAhead(.ann, 7)
    #expect(received.askedOffers(.ann).map(\.topic) == [HubBench.lamp])
    #expect(received.joined(.ann).isEmpty)
    #expect(bench.counters.recoveries == 1)
  }

  @Test("no peer is asked when the tail is proven, or recovery is off", arguments: [false, true])
  mutating func notAsked(_ isProven: Bool) {
    bench = HubBench(tailProven: isProven) { $0.recovery = isProven }
    bench.hello(.ann)
    let received = bench.joinAhead(.ann, 7)
    #expect(received.askedOffers(.ann).isEmpty)
    #expect(received.joined(.ann).count == 1)
  }

  @Test("a peer with more of an older epoch is reported by a hub that does not recover")
  mutating func ahead() {
    bench = HubBench(tailProven: true)
    bench.hello(.ann)
    bench.hello(.ben)
    _ = bench.joinAhead(.ann, 7)
    #expect(bench.counters.peersAhead == 1)
    _ = bench.joinAhead(.ben, 0)
    #expect(bench.counters.peersAhead == 1, "who has nothing is not ahead")
  }

  @Test("a peer is not reported when the store is of a later epoch than its replica")
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

  @Test("proposals for a recovering model get retryLater and use no number")
  mutating func held() {
    _ = bench.joinAhead(.ann, 7)
    #expect(bench.write(.ann, 1, .set("a", "1"))?.retryReason == .starting)
    bench.wait(2_000)
    #expect(bench.write(.ann, 1, .set("a", "1")) == .committed(1))
  }

  @Test("after a loss a hub makes empty peers retry for its first moments, as a replica may yet arrive")
  mutating func freshIsHeld() {
    bench.join(.ben, Join(request: 1, model: "lamp"))
    #expect(bench.write(.ben, 1, .set("a", "9"))?.retryReason == .starting)
    _ = bench.joinAhead(.ann, 7)
    _ = bench.offer(.ann, 7, .of("a", "1", version: 3, number: 2))
    bench.wait(400)
    #expect(bench.read().fields["a"]?.value == "1")
    #expect(bench.counters.recoveries == 1)
  }

  @Test("a hub past its first moments accepts writes of empty peers")
  mutating func freshIsNotHeldLater() {
    bench.wait(400)
    bench.join(.ben, Join(request: 1, model: "lamp"))
    #expect(bench.write(.ben, 1, .set("a", "9")) == .committed(1))
    #expect(bench.counters.recoveries == 0)
  }

  @Test("proposals for other models are decided during a recovery")
  mutating func othersGoOn() {
    _ = bench.joinAhead(.ann, 7)
    bench.join(.ann, Join(request: 2, model: "fan"), topic: HubBench.lamp + 1)
    bench.wait(400)
    let received = bench.send(.ann, .propose([.of(1, [.set("a", "1")], topic: HubBench.lamp + 1)]))
    #expect(received.outcomes(.ann, topic: HubBench.lamp + 1) == [1: .committed(1)])
  }

  @Test("offered fields are recovered in their old order, under the offerer's name and without numbers")
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

  @Test("joins are answered after the recovery, with a snapshot")
  mutating func joinsAnswered() {
    _ = bench.joinAhead(.ann, 7)
    _ = bench.offer(.ann, 7, .of("a", "1", version: 7))
    let joined = bench.wait(400).joined(.ann)
    #expect(joined.map(\.follows) == [.snapshot])
    #expect(joined.map(\.version) == [1])
  }

  @Test("of several offers each field's latest version counts, deletions too, whichever peer offers it")
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

  @Test("stored fields that the furthest replica lacks are deleted")
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

  @Test("an offer in several messages counts when its last has arrived")
  mutating func inParts() {
    _ = bench.joinAhead(.ann, 7)
    _ = bench.offer(.ann, 7, .of("a", "1", version: 3), isLast: false)
    #expect(bench.wait(400).commits().isEmpty)
    _ = bench.offer(.ann, 7, .of("b", "2", version: 7), chunk: 1)
    bench.wait(1)
    #expect(bench.read().values == ["a": "1", "b": "2"])
  }

  @Test("an unasked offer changes nothing")
  mutating func unasked() {
    bench.live(.ann)
    _ = bench.offer(.ann, 7, .of("a", "1", version: 7))
    bench.wait(2_000)
    #expect(bench.read().version == 0)
  }

  @Test("recovery does not touch a field written in the new epoch")
  mutating func writtenAnew() {
    bench.wait(400)
    bench.live(.cat)
    bench.write(.cat, 1, .set("a", "\"new\""))
    _ = bench.joinAhead(.ann, 7)
    _ = bench.offer(.ann, 7, .of("a", "1", version: 3), .of("b", "2", version: 3))
    bench.wait(400)
    #expect(bench.read().values == ["a": "\"new\"", "b": "2"])
  }

  @Test("recovery replaces a default of the new epoch")
  mutating func replacesDefault() {
    bench.wait(400)
    bench.live(.cat)
    bench.write(.cat, 1, .of(.setIfAbsent, "a", "0"))
    _ = bench.joinAhead(.ann, 7)
    _ = bench.offer(.ann, 7, .of("a", "1", version: 7))
    bench.wait(400)
    #expect(bench.read().values == ["a": "1"])
  }

  @Test("recovery does not replace a value set right after a default in the same batch")
  mutating func defaultAndSet() {
    bench.wait(400)
    bench.live(.cat)
    bench.propose(.cat, .of(1, [.of(.setIfAbsent, "a", "0")]), .of(2, [.set("a", "5")]))
    _ = bench.joinAhead(.ann, 7)
    _ = bench.offer(.ann, 7, .of("a", "1", version: 7))
    bench.wait(400)
    #expect(bench.read().values == ["a": "5"])
  }

  @Test("an offer does not recover a write that already ended as a conflict, but recovers those of others")
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

  @Test("recovery does not wait for a peer that leaves")
  mutating func goesAway() {
    _ = bench.joinAhead(.ann, 7)
    bench.send(.ann, .leave(Leave()))
    _ = bench.joinAhead(.ben, 5)
    _ = bench.offer(.ben, 5, .of("a", "5", version: 5))
    #expect(bench.wait(400).joined(.ben).map(\.version) == [1])
  }

  @Test("present limits apply to recovered fields: a value past maxValueBytes is left out")
  mutating func limits() {
    _ = bench.joinAhead(.ann, 7)
    _ = bench.offer(
      .ann, 7, .of("a", text(ofBytes: 65_537), version: 3), .of("b", text(ofBytes: 65_536), version: 4))
    bench.wait(400)
    #expect(bench.read().values.keys.sorted() == ["b"])
  }

  @Test("a recovery that was not stored because another hub was first succeeds later")
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
