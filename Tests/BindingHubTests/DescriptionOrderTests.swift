import BindingHub
import BindingProtocol
import Testing

/// A description applies from the moment it is decided: in a batch, in a proposal, after a refusal, a repeat, a
/// restart.
@Suite struct DescriptionOrderTests {
  static let narrow = WireOperation.set("@description", "{\"fields\":{\"level\":{\"type\":\"number\",\"max\":1}}}")
  static let wide = WireOperation.set("@description", "{\"fields\":{\"level\":{\"type\":\"number\",\"max\":9}}}")
  var bench = HubBench()

  init() { bench.live(.ann) }

  @Test("a description decided earlier in a batch binds later proposals of the batch")
  mutating func sameBatch() {
    let outcomes = bench.propose(
      .ann, .of(1, [.set("level", "7")]), .of(2, [Self.narrow]), .of(3, [.set("level", "7")]), .of(4, [Self.wide]),
      .of(5, [.set("level", "7")]))
    #expect(outcomes[1] == .committed(1))
    #expect(outcomes[2] == .committed(2))
    #expect(outcomes[3]?.refusal == .doesNotFit)
    #expect(outcomes[4] == .committed(3))
    #expect(outcomes[5] == .committed(4))
    #expect(bench.write(.ann, 6, .set("level", "10"))?.refusal == .doesNotFit, "the last one is the stored one")
  }

  @Test("a proposal must fit the description that it leaves, in whatever order it writes them")
  mutating func sameProposal() {
    bench.write(.ann, 1, Self.wide)
    #expect(bench.write(.ann, 2, .set("level", "7"), Self.narrow)?.refusal == .doesNotFit)
    #expect(bench.write(.ann, 3, Self.narrow, .set("level", "7"))?.refusal == .doesNotFit)
    #expect(bench.write(.ann, 4, Self.narrow, .set("level", "1")) == .committed(2))
    #expect(bench.write(.ann, 5, .set("level", "7"), Self.wide) == .committed(3))
    #expect(bench.write(.ann, 6, .of(.add, "level", "3"), Self.wide)?.refusal == .doesNotFit)
    #expect(bench.write(.ann, 7, .set("level", "\"x\""), .delete("@description")) == .committed(4))
  }

  @Test("the description of a failed proposal binds nothing, and the previous one applies again")
  mutating func failedProposal() {
    let first = bench.propose(
      .ann, .of(1, [Self.narrow, .set("z", "{")]), .of(2, [.set("level", "7")]), .of(3, [Self.narrow]),
      .of(4, [Self.wide, .set("z", "{")]), .of(5, [.set("level", "7")]))
    #expect(first[1]?.refusal == .malformedValue)
    #expect(first[2] == .committed(1))
    #expect(first[5]?.refusal == .doesNotFit)
  }

  @Test("a default description changes nothing where a description exists")
  mutating func defaultYields() {
    bench.write(.ann, 1, Self.narrow)
    let weak = WireOperation(verb: .setIfAbsent, field: .name("@description"), value: Self.wide.value)
    #expect(bench.write(.ann, 2, weak) == .unchanged)
    #expect(bench.write(.ann, 3, .set("level", "7"))?.refusal == .doesNotFit)
  }

  @Test("a proposal may contain a description and defaults")
  mutating func firstToShare() {
    let weak = WireOperation(verb: .setIfAbsent, field: .name("@description"), value: Self.narrow.value)
    #expect(bench.write(.ann, 1, weak, .of(.setIfAbsent, "level", "0.5")) == .committed(1))
    #expect(bench.write(.ann, 2, .set("level", "7"))?.refusal == .doesNotFit)
  }

  @Test("a refusal is repeated as decided, whatever the description says by then")
  mutating func repeated() {
    bench.write(.ann, 1, Self.narrow)
    let refused = bench.write(.ann, 2, .set("level", "7"))
    #expect(refused?.refusal == .doesNotFit)
    bench.write(.ann, 3, Self.wide)
    #expect(bench.write(.ann, 2, .set("level", "7")) == refused)
    #expect(bench.read().values["level"] == nil)
    #expect(bench.write(.ann, 4, .set("level", "7")) == .committed(3))
    bench.write(.ann, 5, Self.narrow)
    #expect(bench.write(.ann, 4, .set("level", "7")) == .committed(3), "and so is a commit")
  }

  @Test("a restarted hub knows rules, refusals and last decided numbers from its log")
  mutating func restarted() throws {
    bench.write(.ann, 1, Self.wide)
    bench.write(.ann, 2, Self.narrow)
    let refused = bench.write(.ann, 3, .set("level", "7"))
    var later = HubBench(store: bench.store, stored: try bench.store.loadAll())
    let ann = Speaker.ann.again(9)
    later.live(ann)
    #expect(later.write(ann, 3, .set("level", "7")) == refused)
    #expect(later.write(ann, 4, .set("level", "7"))?.refusal == .doesNotFit)
    #expect(later.write(ann, 5, .set("level", "1")) == .committed(3))
  }

  @Test("a description in a batch that was not stored binds nothing; the other hub's does")
  mutating func moved() throws {
    bench.write(.ann, 1, Self.wide)
    var other = HubBench(store: bench.store, stored: try bench.store.loadAll())
    other.live(.ben)
    other.write(.ben, 1, Self.narrow)
    let free = WireOperation.set("@description", "{}")
    #expect(bench.write(.ann, 2, free)?.retryReason == .busy, "the other was first")
    #expect(bench.write(.ann, 2, .set("level", "7"))?.refusal == .doesNotFit)
    #expect(bench.read().version == 2)
  }

  @Test("recovery accepts values older than the description, and new writes must fit it")
  mutating func recovered() throws {
    bench = HubBench(tailProven: false)
    let ann = Speaker.ann
    bench.hello(ann)
    let ask = bench.join(ann, Join(request: 1, model: "lamp", epoch: HubBench.oldEpoch, version: 2)).askedOffers(ann)
    let topic = try #require(ask.first?.topic)
    let fields: [OfferedField] = [
      OfferedField(name: "level", version: 1, origin: Speaker.ben.origin, number: 1, time: 1, value: json("7")),
      OfferedField(
        name: "@description", version: 2, origin: Speaker.ben.origin, number: 2, time: 2, value: Self.narrow.value),
    ]
    bench.send(
      ann,
      .offer(
        Offer(
          request: ask[0].request, topic: topic, epoch: HubBench.oldEpoch, version: 2, chunk: 0, isLast: true,
          fields: fields)))
    bench.wait(3_000)
    #expect(bench.read().values["level"] == "7")
    #expect(bench.write(ann, 1, .set("level", "7"))?.refusal == .doesNotFit)
    #expect(bench.write(ann, 2, .set("level", "1")) == .committed(3))
  }
}
