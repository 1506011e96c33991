import BindingPeer
import BindingProtocol
import Testing

@Suite("Pending operations on a list, in a session")
struct ListSessionTests {
  private let fields = [
    Entry(name: "cues", value: "{\"$list\":3}", version: 5),
    Entry(name: "cues@a", value: "{\"at\":1000,\"is\":1}", version: 3),
    Entry(name: "cues@b", value: "{\"at\":2000,\"is\":2}", version: 4),
    Entry(name: "cues@c", value: "{\"at\":3000,\"is\":3}", version: 5),
  ]

  private func bench() -> PeerBench {
    var bench = PeerBench()
    bench.capabilities = [Capability.lists]
    bench.live(version: 5, fields)
    return bench
  }

  private func shown(_ bench: PeerBench) -> String {
    let list = bench.session.shownList("lamp", "cues")
    return zip(list?.ids ?? [], list?.values ?? []).map { "\($0)\($1)" }.joined(separator: " ")
  }

  private func insert(_ id: String, after: String?, _ element: String) -> Proposal {
    let operand = ListOperand(after: after, element: json(element))
    return Proposal(operations: [FieldOperation(.insert, "cues@\(id)", operand.value)])
  }

  @Test("an insertion shows at once, keeps its place when it is committed, and ends with its outcome")
  func insertion() throws {
    var bench = bench()
    #expect(shown(bench) == "a1 b2 c3")
    let (id, drain) = try bench.write(insert("x", after: "a", "9"))
    #expect(shown(bench) == "a1 x9 b2 c3")
    #expect(drain.updates.map { $0.lists.map(\.ids) } == [[["a", "x", "b", "c"]]])
    #expect(drain.proposals.first?.operations.first?.verb == .insert)
    let commits = bench.commits(
      after: 5, [[0: "{\"$list\":4}", 4: "{\"at\":1500,\"is\":9}"]], own: [0: 1],
      names: NamesRun(first: 4, names: ["cues@x"]))
    let arrived = bench.hub(commits)
    #expect(arrived.updates.last?.lists.first?.isOurs == false)
    #expect(shown(bench) == "a1 x9 b2 c3")
    #expect(arrived.settled.map(\.id) == [id])
  }

  @Test("a refused operation leaves the list as the others made it")
  func refusal() throws {
    var bench = bench()
    try bench.write(insert("x", after: "c", "9"))
    try bench.write(.one(.replace, "cues@x", "10"))
    try bench.write(.one(.delete, "cues@a"))
    #expect(shown(bench) == "b2 c3 x10")
    bench.hub(
      bench.commits(
        after: 5, [[0: "{\"$list\":4}", 4: "{\"at\":500,\"is\":7}"]],
        names: NamesRun(first: 4, names: ["cues@x"])))
    #expect(shown(bench) == "x10 b2 c3")
    let conflict = Conflict(
      field: "cues@x", version: 6, origin: PeerBench.other, ageMilliseconds: 0,
      value: json("{\"at\":500,\"is\":7}"))
    bench.hub(bench.outcomes((1, .conflict(conflict))))
    #expect(shown(bench) == "x10 b2 c3")
  }

  @Test("the deletion of the head, or of the model, shows no elements")
  func deletions() throws {
    var bench = bench()
    try bench.write(.one(.delete, "cues"))
    #expect(shown(bench) == "" && bench.session.shownList("lamp", "cues")?.isWritten == false)
    var other = self.bench()
    try other.write(Proposal(operations: [FieldOperation(.clear, "")]))
    #expect(shown(other) == "")
  }

  @Test("of several replacements of one element that wait for a hub the last alone is sent")
  func superseded() throws {
    var bench = bench()
    bench.lose()
    try bench.write(.one(.replace, "cues@a", "7"))
    let (_, drain) = try bench.write(.one(.replace, "cues@a", "8"))
    #expect(drain.outcomes == [.superseded])
    #expect(shown(bench) == "a8 b2 c3")
  }

  @Test("a hub that knows no lists is sent none: a write throws, and one that waited is refused with the cure")
  func olderHub() throws {
    var bench = PeerBench()
    bench.join()
    try bench.write(insert("x", after: nil, "9"))
    #expect(shown(bench) == "x9")
    bench.capabilities = ["applied"]
    let drain = bench.live(version: 1, [Entry(name: "level", value: "1", version: 1)])
    guard case .refused(let refusal)? = drain.outcomes.first else {
      Issue.record("\(drain.outcomes)")
      return
    }
    #expect(refusal.code == .unknownVerb && refusal.text.contains("knows no lists"))
    #expect(drain.proposals.isEmpty && shown(bench) == "")
    #expect(throws: WriteError.hubWithoutLists(field: "cues@y")) { try bench.write(insert("y", after: nil, "1")) }
  }

  @Test("one edit of 10,000 elements sends less than 200 bytes")
  func bytes() throws {
    var bench = PeerBench()
    bench.capabilities = [Capability.lists]
    bench.live(
      version: 5,
      (1...10_000).map { Entry(name: "cues@\($0)", value: "{\"at\":\($0),\"is\":{\"id\":\($0)}}", version: 5) })
    var effects = PeerEffects()
    let element = json("{\"id\":7000,\"name\":\"Storm\",\"seconds\":12.5}")
    let operation = FieldOperation(.replace, "cues@7000", element)
    _ = try bench.session.write(
      Proposal(operations: [operation]), to: "lamp", now: bench.now, into: &effects)
    bench.session.finishDrain(now: bench.now, into: &effects)
    let frames = effects.link.compactMap { if case .send(let frame) = $0 { frame } else { nil } }
    #expect(!frames.isEmpty && frames.reduce(0) { $0 + $1.count } < 200)
    #expect(bench.session.shownList("lamp", "cues")?.values[6_999] == element)
  }

  @Test("operations on lists are kept in an outbox as they are, and resumed")
  func outbox() throws {
    var bench = PeerBench(keepsOutbox: true)
    bench.join()
    let operand = ListOperand(after: "a", before: "b").value
    let (_, drain) = try bench.write(
      Proposal(operations: [
        FieldOperation(.move, "cues@c", operand), FieldOperation(.replace, "cues@a", json("8")),
        FieldOperation(.insert, "cues@x", ListOperand(element: json("9")).value), FieldOperation(.delete, "cues@b"),
      ]))
    let written = drain.entries.first { if case .written = $0 { true } else { false } }
    guard case .written(let kept)? = written else {
      Issue.record("\(drain.entries)")
      return
    }
    var writer = WireWriter()
    kept.write(to: &writer)
    let read = try writer.bytes.withUnsafeBytes { bytes in
      var reader = WireReader(bytes)
      return try KeptWrite(from: &reader)
    }
    #expect(read.proposal.operations == kept.proposal.operations)
    #expect(read.proposal.operations.map(\.verb) == [.move, .replace, .insert, .delete])
  }
}
