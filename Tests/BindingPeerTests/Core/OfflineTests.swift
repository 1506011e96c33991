import BindingPeer
import BindingProtocol
import Testing

/// The rows of docs/guide/offline.md, one test each, named by row.
@Suite("Writes made without a hub")
struct OfflineTests {
  static let soon: UInt64 = 9_000
  static let late: UInt64 = 11_000

  let lit = [
    Entry(name: "level", value: "0.3", version: 4), Entry(name: "on", value: "true", version: 5),
    Entry(name: "note", value: "\"the cat\"", version: 5),
  ]

  /// A peer that followed `lit`, lost its hub, and wrote.
  private func offline(
    _ proposal: Proposal, rules: [String: RuledWrite] = [:], offline: [String: OfflineRule] = [:]
  ) throws -> (bench: PeerBench, write: WriteID) {
    var bench = PeerBench()
    bench.live(version: 5, lit)
    bench.lose()
    var write: WriteID?
    _ = try bench.act { session, now, output throws(WriteError) in
      write = try session.write(proposal, rules: rules, offline: offline, to: "lamp", now: now, into: &output)
    }
    return (bench, try #require(write))
  }

  /// Reconnects to a hub where others have written these fields meanwhile; returns what the session does.
  private func back(_ bench: inout PeerBench, after milliseconds: UInt64, _ changed: [Entry] = []) -> Drain {
    bench.now += milliseconds
    bench.open()
    let request = bench.welcome(knew: true).request
    guard !changed.isEmpty else {
      return bench.hub(bench.assigned(request), bench.joined(request, version: 5, follows: .nothing))
    }
    let fields = lit.map { entry in changed.first { $0.name == entry.name } ?? entry }
    return bench.catchUp(request, version: 6, fields)
  }

  /// `offline`, having put a word into the note.
  private func edited() throws -> (bench: PeerBench, write: WriteID) {
    try offline(.set(["note": "\"the cat sat\""]), rules: ["note": RuledWrite(.text, base: json("\"the cat\""))])
  }

  /// The hub's answer to that write where another edit was first.
  private let aCat = Conflict(
    field: "note", version: 6, origin: PeerBench.other, ageMilliseconds: 0, value: json("\"a cat\""))
  private let theirs = Entry(name: "level", value: "0.7", version: 6)
  private let deleted = Entry(name: "level", value: nil, version: 6)

  @Test(
    "row 1: a set of a field that no other peer touched is sent unchanged, at any time", arguments: [soon, late])
  func untouched(wait: UInt64) throws {
    var (bench, _) = try offline(.set(["level": "0.9"]))
    let drain = back(&bench, after: wait)
    #expect(drain.proposals.map(\.conditions) == [[]])
    #expect(bench.shown("level") == "0.9")
  }

  @Test("row 2: a set of a field that others changed wins if it waited less than 10 s")
  func changedSoon() throws {
    var (bench, _) = try offline(.set(["level": "0.9"]))
    let drain = back(&bench, after: Self.soon, [theirs])
    #expect(drain.proposals.map(\.conditions) == [[]])
    #expect(bench.shown("level") == "0.9")
  }

  @Test("row 3: after 10 s a set is sent on condition of what its writer saw, and its conflict has both values")
  func changedLate() throws {
    var (bench, write) = try offline(.set(["level": "0.9"]))
    let drain = back(&bench, after: Self.late, [theirs])
    #expect(drain.proposals.first?.conditions.map(\.version) == [4])
    let conflict = Conflict(field: "level", version: 6, origin: PeerBench.other, ageMilliseconds: 0, value: json("0.7"))
    let end = bench.hub(bench.outcomes((1, .conflict(conflict))))
    #expect(end.settled.map(\.id) == [write])
    #expect(end.outcomes == [.conflict(conflict)])
    #expect(end.changes == ["level 0.9 0.7"])
  }

  @Test("row 4: a field that was deleted meanwhile counts as changed")
  func deletedLate() throws {
    var (bench, _) = try offline(.set(["level": "0.9"]))
    #expect(back(&bench, after: Self.late, [deleted]).proposals.first?.conditions.map(\.version) == [4])
  }

  @Test("row 5: a field that says `wins` overwrites what others wrote, however late")
  func wins() throws {
    var (bench, _) = try offline(.set(["level": "0.9"]), offline: ["level": .wins])
    #expect(back(&bench, after: Self.late, [theirs]).proposals.map(\.conditions) == [[]])
  }

  @Test("row 6: a field that says `drops` gives up a late write and shows what others wrote")
  func drops() throws {
    var (bench, write) = try offline(.set(["level": "0.9"]), offline: ["level": .drops])
    let drain = back(&bench, after: Self.late, [theirs])
    #expect(drain.proposals.isEmpty)
    #expect(drain.settled.map(\.id) == [write] && drain.outcomes == [.expired])
    #expect(bench.shown("level") == "0.7")
  }

  @Test("row 7: several fields are one write: one of them that others changed decides for all")
  func severalFields() throws {
    var (bench, _) = try offline(.set(["level": "0.9", "on": "false"]))
    let drain = back(&bench, after: Self.late, [theirs])
    #expect(drain.proposals.count == 1)
    #expect(drain.proposals.first?.conditions.map(\.version) == [4])
    #expect(drain.proposals.first?.operations.count == 2)
  }

  @Test(
    "row 8: add, max, min and union are sent unchanged, as they lose nothing",
    arguments: [Verb.add, .max, .min, .union])
  func merges(verb: Verb) throws {
    var (bench, _) = try offline(.one(verb, "level", verb == .union ? "[2]" : "2"))
    let drain = back(&bench, after: Self.late, [theirs])
    #expect(drain.proposals.map(\.conditions) == [[]])
    #expect(drain.proposals.first?.operations.map(\.verb) == [verb])
  }

  @Test("row 9: a text is merged with others' changes and sent on condition of them", arguments: [soon, late])
  func text(wait: UInt64) throws {
    var (bench, _) = try edited()
    let drain = back(&bench, after: wait, [Entry(name: "note", value: "\"the black cat\"", version: 6)])
    #expect(drain.proposals.first?.operations.map(\.value) == [json("\"the black cat sat\"")])
    #expect(drain.proposals.first?.conditions.map(\.version) == [6])
    #expect(bench.shown("note") == "\"the black cat sat\"")
  }

  @Test("row 10: a compare-and-set of a field that others changed ends as a conflict without being sent")
  func compareAndSet() throws {
    var (bench, write) = try offline(
      .set(["level": "0.9"]), rules: ["level": RuledWrite(.compareAndSet, base: json("0.3"))])
    let drain = back(&bench, after: Self.soon, [theirs])
    #expect(drain.proposals.isEmpty)
    #expect(drain.settled.map(\.id) == [write])
    #expect(bench.shown("level") == "0.7")
  }

  @Test("row 11: a closure merges the two values, and its answer is sent on condition of theirs")
  func closures() throws {
    var (bench, write) = try offline(
      .set(["level": "0.9"]), rules: ["level": RuledWrite(.asked, base: json("0.3"))])
    let drain = back(&bench, after: Self.soon, [theirs])
    let question = MergeQuestion(field: "level", base: json("0.3"), mine: json("0.9"), theirs: json("0.7"))
    #expect(drain.questions.map(\.1) == [question])
    #expect(drain.proposals.isEmpty)
    #expect(bench.shown("level") == "0.9", "what was written shows while it is asked")
    let answered = bench.act { session, now, _ in session.merged(write, question, into: json("0.8"), now: now) }
    #expect(answered.proposals.first?.operations.map(\.value) == [json("0.8")])
    #expect(answered.proposals.first?.conditions.map(\.version) == [6])
  }

  @Test("row 12: a closure that gives up ends the write as a conflict")
  func closuresThatGiveUp() throws {
    var (bench, write) = try offline(
      .set(["level": "0.9"]), rules: ["level": RuledWrite(.asked, base: json("0.3"))])
    let question = try #require(back(&bench, after: Self.soon, [theirs]).questions.first?.1)
    let drain = bench.act { session, now, _ in session.merged(write, question, into: nil, now: now) }
    #expect(drain.settled.map(\.id) == [write])
    #expect(drain.changes == ["level 0.9 0.7"])
  }

  @Test("row 13: a default yields to any existing value")
  func defaults() throws {
    var (bench, _) = try offline(.one(.setIfAbsent, "level", "0.5"))
    let drain = back(&bench, after: Self.late, [theirs])
    #expect(drain.proposals.first?.operations.map(\.verb) == [.setIfAbsent])
    #expect(bench.shown("level") == "0.7")
  }

  @Test("a merged write that conflicts at the hub is merged again once the replica has the conflicting value")
  func conflictsAtTheHub() throws {
    var (bench, write) = try edited()
    _ = back(&bench, after: Self.soon)
    let refused = bench.hub(bench.outcomes((1, .conflict(aCat))))
    #expect(refused.settled.isEmpty && refused.proposals.isEmpty)
    #expect(bench.shown("note") == "\"the cat sat\"")
    let names = NamesRun(first: 0, names: lit.map(\.name))
    let again = bench.hub(bench.commits(after: 5, [[2: "\"a cat\""]], names: names))
    #expect(again.numbers == [2])
    #expect(again.proposals.first?.operations.map(\.value) == [json("\"a cat sat\"")])
    #expect(again.proposals.first?.conditions.map(\.version) == [6])
    let end = bench.hub(bench.outcomes((2, .committed(count: 1, version: 7))))
    #expect(end.settled.map(\.id) == [write])
  }

  @Test("a younger numbered write is resent although an older one waits for its conflicting value")
  func conflictsBeforeAHold() throws {
    var (bench, _) = try edited()
    _ = back(&bench, after: Self.soon)
    #expect(try bench.write(.one(.add, "n", "1")).drain.numbers == [2])
    let held = bench.hub(bench.outcomes((1, .conflict(aCat)), (2, .retryLater(.busy, pauseMilliseconds: 5))))
    #expect(held.numbers.isEmpty)
    #expect(bench.wait(5).numbers == [2])
  }

  @Test("a write retried under a later number goes after younger numbered writes")
  func conflictsInOrder() throws {
    var (bench, _) = try edited()
    _ = back(&bench, after: Self.soon)
    try bench.write(.one(.add, "n", "1"))
    bench.hub(bench.outcomes((1, .conflict(aCat))))
    let names = NamesRun(first: 0, names: lit.map(\.name))
    #expect(bench.hub(bench.commits(after: 5, [[2: "\"a cat\""]], names: names)).numbers == [3])
    #expect(bench.hub(bench.outcomes((2, .retryLater(.busy, pauseMilliseconds: 5)))).numbers.isEmpty)
    #expect(bench.wait(5).numbers == [2, 3])
  }
}
