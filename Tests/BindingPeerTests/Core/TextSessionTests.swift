import BindingProtocol
import Testing

@testable import BindingPeer

@Suite("Concurrent edits of a text")
struct TextSessionTests {
  private let other = [Entry(name: "other", value: "1", version: 2)]

  /// Writes a text as an editor does that shows `shown`.
  private func edit(_ bench: inout PeerBench, _ shown: String, to text: String) throws -> (id: WriteID, drain: Drain) {
    var id: WriteID?
    let drain = try bench.act { session, now, output throws(WriteError) in
      id = try session.write(
        .set(["note": text]), rules: ["note": RuledWrite(.text, base: json(shown))], to: "lamp", now: now,
        into: &output)
    }
    return (try #require(id), drain)
  }

  private func quicker(_ text: String?, at version: Version) -> WireOutcome.Rest {
    .conflict(
      Conflict(field: "note", version: version, origin: PeerBench.other, ageMilliseconds: 0, value: text.map(json)))
  }

  @Test("an edit of the declared default of an unwritten field shows as typed (behave: policy-text-first)")
  func overDefault() throws {
    var bench = PeerBench()
    bench.live(version: 2, other)
    let (_, drain) = try edit(&bench, "\"hello\"", to: "\"hello!\"")
    #expect(drain.proposals.flatMap(\.conditions).map(\.version) == [2])
    #expect(drain.changes == ["note - \"hello!\""])
    #expect(bench.session.shownValues("lamp")["note"] == json("\"hello!\""))
    bench.hub(bench.outcomes((1, quicker("\"well, hello\"", at: 3))))
    let names = NamesRun(first: 1, names: ["note"])
    let again = bench.hub(bench.commits(after: 2, [[1: "\"well, hello\""]], names: names))
    #expect(again.proposals.flatMap(\.operations).map(\.value) == [json("\"well, hello!\"")])
    #expect(bench.shown("note") == "\"well, hello!\"")
  }

  @Test("an edit of the default stays whole where others wrote and deleted the text (behave: policy-text-deleted)")
  func overDeleted() throws {
    var bench = PeerBench()
    bench.live(version: 2, other)
    _ = try edit(&bench, "\"hello\"", to: "\"hello you\"")
    let names = NamesRun(first: 1, names: ["note"])
    bench.hub(bench.commits(after: 2, [[1: "\"bye\""], [1: nil]], names: names))
    #expect(bench.shown("note") == "\"hello you\"")
    let again = bench.hub(bench.outcomes((1, quicker(nil, at: 4))))
    #expect(again.proposals.flatMap(\.operations).map(\.value) == [json("\"hello you\"")])
    #expect(again.proposals.flatMap(\.conditions).map(\.version) == [4])
  }

  @Test("an edit that the hub may have applied before it forgot this peer is superseded by no later one")
  func maybeApplied() throws {
    var bench = PeerBench()
    bench.live(version: 5, [Entry(name: "note", value: "\"one\"", version: 5)])
    let (first, drain) = try edit(&bench, "\"one\"", to: "\"one two\"")
    #expect(drain.numbers == [1])
    bench.lose()
    bench.start += 1
    bench.now += 30_000
    bench.open()
    var limits = Limits()
    limits.identityMilliseconds = 60_000
    let request = bench.welcome(knew: false, limits: limits).request
    let (second, meanwhile) = try edit(&bench, "\"one two\"", to: "\"one two three\"")
    #expect(meanwhile.settled.isEmpty)
    // What takes back the later one says nothing of the first.
    let withdrawn = bench.act { session, now, output in _ = session.withdraw(second, now: now, into: &output) }
    #expect(withdrawn.settled.map(\.id) == [second])
    let sent = bench.catchUp(request, version: 5, [Entry(name: "note", value: "\"one\"", version: 5)]).proposals
    #expect(sent.flatMap(\.operations).map(\.value) == [json("\"one two\"")])
    #expect(bench.hub(bench.outcomes((2, .committed(count: 1, version: 6)))).settled.map(\.id) == [first])
  }

  @Test("an unsent edit of the default stays whole where others wrote and deleted the text")
  func overDeletedOffline() throws {
    var bench = PeerBench()
    bench.live(version: 2, other)
    bench.lose()
    _ = try edit(&bench, "\"hello\"", to: "\"hello you\"")
    bench.open()
    let request = bench.welcome(knew: true).request
    let deleted = Entry(name: "note", value: nil, version: 4)
    let drain = bench.catchUp(request, from: 2, version: 4, other + [deleted])
    #expect(drain.proposals.flatMap(\.operations).map(\.value) == [json("\"hello you\"")])
    #expect(bench.shown("note") == "\"hello you\"")
  }

  @Test("a text over a field deleted before the snapshot is compared with the snapshot's version")
  func overDeletedUnseen() throws {
    var bench = PeerBench()
    bench.live(version: 3, other + [Entry(name: "note", value: "\"old\"", version: 3)])
    bench.lose()
    bench.open()
    let request = bench.welcome(knew: true).request
    bench.catchUp(request, version: 9, other)
    #expect(bench.shown("note") == nil)
    let (_, drain) = try edit(&bench, "\"\"", to: "\"new\"")
    #expect(drain.proposals.flatMap(\.conditions).map(\.version) == [9])
  }

  @Test("a text in an absent field is compared too, as another peer may write there first")
  func overUnknown() throws {
    var bench = PeerBench()
    bench.live(version: 2, [Entry(name: "other", value: "1", version: 2)])
    let (_, drain) = try edit(&bench, "\"\"", to: "\"new\"")
    #expect(drain.proposals.flatMap(\.conditions).map(\.version) == [2])
  }

  @Test("a writer overtaken a hundred times loses none of its text")
  func overtaken() throws {
    var bench = PeerBench()
    bench.live(version: 2, [Entry(name: "note", value: "\"\"", version: 2)])
    let (id, _) = try edit(&bench, "\"\"", to: "\"mine\"")
    var sent: [NumberedProposal] = []
    for round in 0..<100 {
      let version = Version(3 + round)
      let theirs = "\"\(String(repeating: "x", count: round + 1)) \""
      let first = bench.hub(bench.outcomes((ProposalNumber(1 + round), quicker(theirs, at: version))))
      #expect(first.settled.isEmpty)
      sent = bench.hub(bench.commits(after: version - 1, [[0: theirs]], names: NamesRun(first: 1))).proposals
    }
    #expect(sent.map(\.number) == [101])
    let words = sent.flatMap(\.operations).compactMap { FieldValue.text($0.value)?.split(separator: " ") }
    #expect(words.map { $0.count { $0 == "mine" } } == [1] && words.map(\.count) == [2])
    let end = bench.hub(bench.outcomes((101, .committed(count: 1, version: 103))))
    #expect(end.settled.map(\.id) == [id])
  }
}
