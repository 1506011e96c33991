import BindingHub
import BindingProtocol
import Testing

/// The outcome of a write that replicas prove to have been decided in an older epoch (protocol §7).
@Suite struct SeenNumberTests {
  var bench = HubBench(tailProven: false)

  init() {
    bench.hello(.ann, reportsEarlier: true)
    bench.hello(.ben, reportsEarlier: true)
  }

  /// Ben offers a counter that he wrote last, and reports up to which number he has seen Ann's.
  private mutating func recover(seen number: ProposalNumber?) {
    bench.join(.ben, Join(request: 1, model: "lamp", epoch: HubBench.oldEpoch, version: 9))
    bench.send(
      .ben,
      .offer(
        Offer(
          request: 1, topic: HubBench.lamp, epoch: HubBench.oldEpoch, version: 9, chunk: 0, isLast: true,
          fields: [
            OfferedField(name: "n", version: 9, origin: Speaker.ben.origin, number: 4, time: .max, value: json("108"))
          ], numbers: number.map { [SeenNumber(tag: Speaker.ann.identity.tag, number: $0)] })))
    bench.wait(400)
  }

  private static func add(_ number: ProposalNumber, isEarlier: Bool) -> NumberedProposal {
    NumberedProposal(
      topic: HubBench.lamp, number: number, isEarlier: isEarlier,
      operations: [WireOperation(verb: .add, field: .name("n"), value: json("7"))])
  }

  @Test("an addition that a replica contains is not added again: its outcome is unknown")
  mutating func addedOnce() {
    recover(seen: 1)
    bench.join(.ann, Join(request: 1, model: "lamp"))
    #expect(bench.propose(.ann, Self.add(1, isEarlier: true)) == [1: .unknown])
    #expect(bench.propose(.ann, Self.add(1, isEarlier: true)) == [1: .unknown], "and again, the same answer")
    #expect(bench.read().values == ["n": "108"])
  }

  @Test("proposals above the seen number are committed")
  mutating func aboveIsCarriedOut() {
    recover(seen: 1)
    bench.join(.ann, Join(request: 1, model: "lamp"))
    let outcomes = bench.propose(.ann, Self.add(1, isEarlier: true), Self.add(2, isEarlier: true))
    #expect(outcomes == [1: .unknown, 2: .committed(2)])
    #expect(bench.read().values == ["n": "115"])
  }

  @Test("a proposal first sent in this epoch is committed, whatever others report of its writer's numbers")
  mutating func liesDoNotRaiseLastDecided() {
    recover(seen: 3_000)
    let joined = bench.join(.ann, Join(request: 1, model: "lamp")).joined(.ann)
    #expect(joined.map(\.lastDecided) == [0])
    #expect(bench.propose(.ann, Self.add(1, isEarlier: false)) == [1: .committed(2)])
    #expect(bench.read().values == ["n": "115"])
  }

  @Test("for a peer that does not mark earlier proposals, every number up to the seen one ends as unknown")
  mutating func olderPeer() {
    recover(seen: 1)
    bench.live(.cat)
    bench.send(.cat, .propose([Self.add(1, isEarlier: false)]))
    #expect(bench.read().values == ["n": "115"], "nobody has seen a number of this one")
    bench.hello(.ann)
    bench.join(.ann, Join(request: 1, model: "lamp"))
    #expect(bench.propose(.ann, Self.add(1, isEarlier: false)) == [1: .unknown])
  }

  @Test("an offer without numbers counts the last writers of its fields as seen")
  mutating func lastWriters() {
    recover(seen: nil)
    bench.hello(.ben, reportsEarlier: true)
    bench.join(.ben, Join(request: 2, model: "lamp", unacknowledged: 4))
    #expect(bench.propose(.ben, Self.add(4, isEarlier: true)) == [4: .unknown])
  }

  @Test("a void proposal that a replica has seen applied does not end as expired")
  mutating func void() {
    recover(seen: 1)
    bench.join(.ann, Join(request: 1, model: "lamp"))
    var proposal = Self.add(1, isEarlier: true)
    proposal.isVoid = true
    #expect(bench.propose(.ann, proposal) == [1: .unknown])
  }

  @Test("seen numbers are stored with the recovered fields", arguments: [false, true])
  mutating func stored(_ isCompacted: Bool) throws {
    let store = LogStore()
    bench = HubBench(tailProven: false, store: store)
    bench.hello(.ben)
    recover(seen: 1)
    var model = try #require(try store.load("lamp"))
    if isCompacted {
      var compactor = try ModelCompactor(model)
      model.chunks = []
      while let chunk = compactor.nextChunk() { model.chunks.append(chunk) }
      model.batches = []
    } else {
      model.batches = try model.batches.map { batch in
        var writer = WireWriter()
        batch.write(to: &writer)
        return try writer.bytes.withUnsafeBytes { bytes in
          var reader = WireReader(bytes, message: "batch")
          return try Batch(from: &reader)
        }
      }
    }
    bench = HubBench(store: store, stored: [model])
    bench.hello(.ann, reportsEarlier: true)
    bench.join(.ann, Join(request: 1, model: "lamp"))
    #expect(bench.propose(.ann, Self.add(1, isEarlier: true)) == [1: .unknown])
  }
}
