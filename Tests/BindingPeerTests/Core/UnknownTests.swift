import Testing

@testable import BindingPeer

@Suite("Writes that an ended epoch of the log may have applied")
struct UnknownTests {
  /// A peer whose first write, to `level`, is in flight while the hub loses its log; the next epoch has recovered
  /// `level` with the given value.
  private func afterLoss(
    _ proposal: Proposal = .set(["level": "7"]), level: String? = "0.3"
  ) throws -> (bench: PeerBench, id: WriteID, sent: [NumberedProposal]) {
    var bench = PeerBench()
    bench.capabilities = [Capability.recovery]
    bench.live(version: 5, [Entry(name: "level", value: "0.3", version: 4)])
    let id = try bench.write(proposal).id
    bench.lose()
    (bench.epoch, bench.start) = (200, 8)
    let fields = level.map { [Entry(name: "level", value: $0, version: 1, number: 0)] } ?? []
    let sent = bench.live(version: 1, fields).proposals
    return (bench, id, sent)
  }

  @Test("only a write first sent in an earlier epoch is marked as earlier when it is resent")
  func earlier() throws {
    var (bench, _, sent) = try afterLoss()
    #expect(sent.map(\.number) == [1] && sent.map(\.isEarlier) == [true])
    let (_, drain) = try bench.write(.set(["level": "8"]))
    #expect(drain.proposals.map(\.isEarlier) == [false])
    bench.lose()
    #expect(
      bench.live(version: 1, knew: true).proposals.map(\.isEarlier) == [true, false], "the same epoch of the log")
  }

  @Test("a hub without the recovery capability gets no earlier mark")
  func olderHub() throws {
    var bench = PeerBench()
    bench.live(version: 5)
    try bench.set(["level": "7"])
    bench.lose()
    bench.epoch = 200
    #expect(bench.live(version: 1).proposals.map(\.isEarlier) == [false])
  }

  @Test("a plain set with an unknown outcome is sent again, as compare-and-set on what its writer saw")
  func again() throws {
    var (bench, id, _) = try afterLoss()
    let drain = bench.hub(bench.outcomes((1, .unknown)))
    let proposal = try #require(drain.proposals.first)
    #expect(drain.settled.isEmpty && proposal.number == 2 && !proposal.isEarlier)
    #expect(proposal.conditions.map(\.epoch) == [200] && proposal.conditions.map(\.version) == [1])
    #expect(bench.shown("level") == "7")
    let end = bench.hub(bench.outcomes((2, .committed(count: 1, version: 2))))
    #expect(end.settled.map(\.id) == [id] && end.outcomes == [.committed(epoch: 200, version: 2)])
  }

  @Test("a resent write that conflicts keeps its outcome: unknown")
  func againInVain() throws {
    var (bench, _, _) = try afterLoss()
    bench.hub(bench.outcomes((1, .unknown)))
    let conflict = Conflict(field: "level", version: 9, origin: PeerBench.other, ageMilliseconds: 1, value: json("2"))
    let drain = bench.hub(bench.outcomes((2, .conflict(conflict))))
    guard case .unknown? = drain.outcomes.first else { return #expect(Bool(false), "\(drain.outcomes)") }
    #expect(bench.shown("level") == "0.3")
  }

  @Test(
    "a merge, a deletion or a set of a changed field with an unknown outcome ends as unknown",
    arguments: [
      (.one(.add, "level", "1"), "0.3"), (.one(.delete, "level"), "0.3"), (.set(["level": "7"]), "7"),
      (.set(["level": "7"]), "0.9"), (.set(["level": "7"]), nil),
    ] as [(Proposal, String?)])
  func ends(_ proposal: Proposal, _ level: String?) throws {
    var (bench, id, _) = try afterLoss(proposal, level: level)
    let drain = bench.hub(bench.outcomes((1, .unknown)))
    #expect(drain.settled.map(\.id) == [id] && drain.proposals.isEmpty)
    guard case .unknown? = drain.outcomes.first else { return #expect(Bool(false), "\(drain.outcomes)") }
    #expect(bench.shown("level") == level)
  }

  @Test("an earlier set of a field is not resent over a later one")
  func earlierSet() throws {
    var (bench, _, _) = try afterLoss()
    try bench.set(["level": "8"])
    let drain = bench.hub(bench.outcomes((1, .unknown)))
    #expect(drain.settled.count == 1 && drain.proposals.isEmpty)
    #expect(bench.shown("level") == "8")
  }

  @Test("a recovered commit has no number and is the outcome of no write")
  func broughtBack() throws {
    var bench = PeerBench()
    bench.live(version: 5)
    try bench.set(["level": "7"])
    let names = NamesRun(first: 0, names: ["level"])
    let drain = bench.hub(bench.commits(after: 5, [[0: "9"]], own: [0: 0], names: names))
    #expect(drain.settled.isEmpty && bench.shown("level") == "7")
  }

  @Test("an offer names the highest seen number of each writer, from commits, catch-ups and earlier epochs")
  func numbers() throws {
    var bench = PeerBench()
    bench.capabilities = [Capability.recovery]
    bench.live(version: 5, [Entry(name: "level", value: "0.3", version: 4, number: 3)])
    try bench.set(["level": "7"])
    bench.hub(bench.commits(after: 5, [[0: "7"], [0: "8"]], own: [0: 1], names: NamesRun(first: 1)))
    (bench.epoch, bench.start) = (200, 8)
    bench.lose()
    bench.live(version: 1, [Entry(name: "level", value: "8", version: 1, number: 0)])
    let ask = AskOffer(session: bench.sessionID, request: 9, topic: PeerBench.lamp)
    let offer = try #require(bench.hub(.askOffer(ask)).offers.first)
    #expect(offer.fields.map(\.number) == [0])
    let numbers = Dictionary(uniqueKeysWithValues: (offer.numbers ?? []).map { ($0.tag, $0.number) })
    #expect(numbers == [PeerBench.own: 1, PeerBench.other.tag: 3])
  }

  @Test("past the limit the writers not seen for longest are forgotten")
  func bounded() {
    var seen = SeenNumbers()
    for writer in 0...SeenNumbers.mostKept { seen.record(Tag(rawValue: UInt64(writer) + 1), 5) }
    seen.record(Tag(rawValue: 1), 1)
    let numbers = seen.latest()
    #expect(numbers.count == SeenNumber.maxCount)
    #expect(numbers.first == SeenNumber(tag: Tag(rawValue: 1), number: 1), "it was forgotten, and heard of again")
    #expect(numbers.last == SeenNumber(tag: Tag(rawValue: UInt64(SeenNumbers.mostKept) + 1), number: 5))
  }
}
