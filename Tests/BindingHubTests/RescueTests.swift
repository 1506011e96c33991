import BindingHub
import BindingWire
import Testing

/// Bringing back what a hub lost (DESIGN, Rescue).
@Suite struct RescueTests {
  static let other = Origin(tag: Tag(rawValue: 0xBEEF), name: "gone")
  var bench = HubBench(tailProven: false)

  init() {
    bench.hello(.ann)
    bench.hello(.ben)
  }

  private mutating func joinAhead(_ peer: Speaker, _ version: Version, epoch: Epoch = HubBench.oldEpoch) -> Heard {
    bench.join(peer, Join(request: 1, model: "lamp", epoch: epoch, version: version))
  }

  private static func field(
    _ name: String, _ value: String?, version: Version, number: ProposalNumber = 1, origin: Origin = other
  ) -> OfferedField {
    OfferedField(
      name: name, version: version, origin: origin, number: number, time: 5, value: value.map(json))
  }

  private mutating func offer(
    _ peer: Speaker, _ version: Version, _ fields: OfferedField..., chunk: UInt32 = 0, isLast: Bool = true
  ) -> Heard {
    bench.say(
      peer,
      .offer(
        Offer(
          request: 1, topic: HubBench.lamp, epoch: HubBench.oldEpoch, version: version, chunk: chunk, isLast: isLast,
          fields: fields)))
  }

  @Test("a peer of the old epoch is asked, and its join waits")
  mutating func asked() {
    let heard = joinAhead(.ann, 7)
    #expect(heard.askedOffers(.ann).map(\.topic) == [HubBench.lamp])
    #expect(heard.joined(.ann).isEmpty)
    #expect(bench.counters.rescues == 1)
  }

  @Test("nobody is asked when the tail is proven, or rescue is off", arguments: [false, true])
  mutating func notAsked(_ isProven: Bool) {
    bench = HubBench(tailProven: isProven) { $0.rescue = isProven }
    bench.hello(.ann)
    let heard = joinAhead(.ann, 7)
    #expect(heard.askedOffers(.ann).isEmpty)
    #expect(heard.joined(.ann).count == 1)
  }

  @Test("a peer with more of an older life than a hub that asks for nothing is reported")
  mutating func ahead() {
    bench = HubBench(tailProven: true)
    bench.hello(.ann)
    bench.hello(.ben)
    _ = joinAhead(.ann, 7)
    #expect(bench.counters.peersAhead == 1)
    _ = joinAhead(.ben, 0)
    #expect(bench.counters.peersAhead == 1, "who has nothing is not ahead")
  }

  @Test("a peer whose old life the store holds as far is not reported")
  mutating func notAhead() throws {
    let store = LogStore()
    var before = HubBench(store: store)
    before.live(.ann)
    before.write(.ann, 1, .set("a", "1"))
    bench = HubBench(store: store, stored: try store.loadAll())
    bench.hello(.ann)
    _ = joinAhead(.ann, 7)
    #expect(bench.counters.peersAhead == 0, "what is stored here is of a later life")
  }

  @Test("proposals of that model are held meanwhile and use up no number")
  mutating func held() {
    _ = joinAhead(.ann, 7)
    #expect(bench.write(.ann, 1, .set("a", "1"))?.hold == .starting)
    bench.wait(2_000)
    #expect(bench.write(.ann, 1, .set("a", "1")) == .committed(1))
  }

  @Test("who has nothing is held too, for the first moments of a hub that has lost its memory: a replica may come yet")
  mutating func freshIsHeld() {
    bench.join(.ben, Join(request: 1, model: "lamp"))
    #expect(bench.write(.ben, 1, .set("a", "9"))?.hold == .starting)
    _ = joinAhead(.ann, 7)
    _ = offer(.ann, 7, Self.field("a", "1", version: 3, number: 2))
    bench.wait(400)
    #expect(bench.read().fields["a"]?.value == "1")
    #expect(bench.counters.rescues == 1)
  }

  @Test("a hub that has been there for a while holds nobody who has nothing")
  mutating func freshIsNotHeldLater() {
    bench.wait(400)
    bench.join(.ben, Join(request: 1, model: "lamp"))
    #expect(bench.write(.ben, 1, .set("a", "9")) == .committed(1))
    #expect(bench.counters.rescues == 0)
  }

  @Test("proposals of other models are decided meanwhile")
  mutating func othersGoOn() {
    _ = joinAhead(.ann, 7)
    bench.join(.ann, Join(request: 2, model: "fan"), topic: HubBench.lamp + 1)
    bench.wait(400)
    let heard = bench.say(.ann, .propose([.of(1, [.set("a", "1")], topic: HubBench.lamp + 1)]))
    #expect(heard.outcomes(.ann, topic: HubBench.lamp + 1) == [1: .committed(1)])
  }

  @Test("what is offered comes back in its old order under its old origins and numbers, deletions as deletions")
  mutating func comesBack() {
    _ = joinAhead(.ann, 7)
    _ = offer(
      .ann, 7, Self.field("b", "2", version: 6, number: 4), Self.field("a", "1", version: 3, number: 2),
      Self.field("c", nil, version: 7, number: 5))
    let heard = bench.wait(400)
    #expect(heard.commits().flatMap(\.commits).map(\.number) == [2, 4, 5])
    #expect(
      bench.read().fields == [
        "a": .init(value: "1", version: 1, origin: Self.other, number: 2),
        "b": .init(value: "2", version: 2, origin: Self.other, number: 4),
      ])
    #expect(bench.counters.rescuedFields == 3)
  }

  @Test("the joins are answered after it, with a snapshot")
  mutating func joinsAnswered() {
    _ = joinAhead(.ann, 7)
    _ = offer(.ann, 7, Self.field("a", "1", version: 7))
    let joined = bench.wait(400).joined(.ann)
    #expect(joined.map(\.follows) == [.snapshot])
    #expect(joined.map(\.version) == [1])
  }

  @Test("of several offers that of the peer that was furthest ahead counts")
  mutating func furthest() {
    _ = joinAhead(.ann, 7)
    _ = joinAhead(.ben, 9)
    _ = offer(.ben, 9, Self.field("a", "9", version: 9))
    _ = offer(.ann, 7, Self.field("a", "7", version: 7), Self.field("deleted", "7", version: 6))
    bench.wait(400)
    #expect(bench.read().values == ["a": "9"])
  }

  @Test("a peer that is no further than the best offer is not asked")
  mutating func notFurther() {
    _ = joinAhead(.ben, 9)
    _ = offer(.ben, 9, Self.field("a", "9", version: 9))
    #expect(joinAhead(.ann, 9).askedOffers(.ann).isEmpty)
  }

  @Test("an offer in several messages counts when its last has come")
  mutating func inParts() {
    _ = joinAhead(.ann, 7)
    _ = offer(.ann, 7, Self.field("a", "1", version: 3), isLast: false)
    #expect(bench.wait(400).commits().isEmpty)
    _ = offer(.ann, 7, Self.field("b", "2", version: 7), chunk: 1)
    bench.wait(1)
    #expect(bench.read().values == ["a": "1", "b": "2"])
  }

  @Test("an offer that nobody asked for changes nothing")
  mutating func unasked() {
    bench.live(.ann)
    _ = offer(.ann, 7, Self.field("a", "1", version: 7))
    bench.wait(2_000)
    #expect(bench.read().version == 0)
  }

  @Test("it does not touch a field that was written in the new epoch")
  mutating func writtenAnew() {
    bench.wait(400)
    bench.live(.cat)
    bench.write(.cat, 1, .set("a", "\"new\""))
    _ = joinAhead(.ann, 7)
    _ = offer(.ann, 7, Self.field("a", "1", version: 3), Self.field("b", "2", version: 3))
    bench.wait(400)
    #expect(bench.read().values == ["a": "\"new\"", "b": "2"])
  }

  @Test("it replaces a default of the new epoch")
  mutating func replacesDefault() {
    bench.wait(400)
    bench.live(.cat)
    bench.write(.cat, 1, .of(.whenUnset, "a", "0"))
    _ = joinAhead(.ann, 7)
    _ = offer(.ann, 7, Self.field("a", "1", version: 7))
    bench.wait(400)
    #expect(bench.read().values == ["a": "1"])
  }

  @Test("it does not replace what was set right after a default, in the same batch")
  mutating func defaultAndSet() {
    bench.wait(400)
    bench.live(.cat)
    bench.propose(.cat, .of(1, [.of(.whenUnset, "a", "0")]), .of(2, [.set("a", "5")]))
    _ = joinAhead(.ann, 7)
    _ = offer(.ann, 7, Self.field("a", "1", version: 7))
    bench.wait(400)
    #expect(bench.read().values == ["a": "5"])
  }

  @Test("it moves the marks of the origins: a write that came back is not carried out again")
  mutating func marks() {
    _ = joinAhead(.ann, 7)
    _ = offer(.ann, 7, Self.field("n", "5", version: 7, number: 3, origin: Speaker.ann.origin))
    #expect(bench.wait(400).joined(.ann).map(\.mark) == [3])
    #expect(bench.write(.ann, 3, .of(.add, "n", "5")) == .committed(1))
    #expect(bench.read().values == ["n": "5"])
  }

  @Test("a write that ended as a conflict before its old commit was offered does not come back by it; others' do")
  mutating func decidedBefore() {
    bench.wait(2_000)
    bench.join(.ann, Join(request: 1, model: "lamp"))
    let lost = NumberedProposal.of(
      1, [.set("a", "9")], conditions: [.unchanged("a", since: 4, epoch: HubBench.oldEpoch)])
    #expect(bench.propose(.ann, lost)[1]?.conflict != nil)
    _ = joinAhead(.ben, 7)
    _ = offer(
      .ben, 7, Self.field("a", "9", version: 6, origin: Speaker.ann.origin), Self.field("b", "5", version: 7))
    bench.wait(400)
    #expect(bench.read().values == ["b": "5"])
  }

  @Test("a peer that does not answer is given up at the deadline")
  mutating func deadline() {
    _ = joinAhead(.ann, 7)
    #expect(bench.wait(1_999).joined(.ann).isEmpty)
    #expect(bench.wait(1).joined(.ann).count == 1)
  }

  @Test("a peer that goes away is not waited for")
  mutating func goesAway() {
    _ = joinAhead(.ann, 7)
    bench.say(.ann, .leave(Leave()))
    _ = joinAhead(.ben, 5)
    _ = offer(.ben, 5, Self.field("a", "5", version: 5))
    #expect(bench.wait(400).joined(.ben).map(\.version) == [1])
  }

  @Test("today's limits hold for what comes back: a value past maxValueBytes does not")
  mutating func limits() {
    _ = joinAhead(.ann, 7)
    _ = offer(
      .ann, 7, Self.field("a", text(ofBytes: 65_537), version: 3), Self.field("b", text(ofBytes: 65_536), version: 4))
    bench.wait(400)
    #expect(bench.read().values.keys.sorted() == ["b"])
  }

  @Test("what was rescued and not stored, because another hub was first, comes back after all")
  mutating func moved() throws {
    _ = joinAhead(.ann, 7)
    _ = offer(.ann, 7, Self.field("a", "1", version: 7))
    bench.settling = .later
    bench.wait(400)
    bench.settle(.moved([]))
    bench.settling = .atOnce
    while !bench.waiting.isEmpty { try bench.settleWithStore() }
    bench.wait(2_000)
    #expect(bench.read().values == ["a": "1"])
  }
}
