import BindingProtocol
import Testing

@testable import BindingPeer

@Suite("The base of a write with a rule, when that base fails or its number is used")
struct RuledOutboxTests {
  private let note = [Entry(name: "note", value: "\"the cat\"", version: 4)]
  private let untouched = [Entry(name: "level", value: "0.3", version: 4)]

  /// Writes a text as an editor does that shows `shown`.
  private func edit(
    _ bench: inout PeerBench, _ shown: String, to text: String
  ) throws -> (id: WriteID, entries: [JournalEntry]) {
    var id: WriteID?
    let drain = try bench.act { session, now, output throws(WriteError) in
      id = try session.write(
        .set(["note": text]), rules: ["note": RuledWrite(.text, base: json(shown))], to: "lamp", now: now,
        into: &output)
    }
    return (try #require(id), drain.entries)
  }

  private let lost = WireOutcome.Rest.conflict(
    Conflict(field: "note", version: 5, origin: PeerBench.other, ageMilliseconds: 0, value: json("\"the big cat\"")))

  @Test("a text that lost its number to a conflict is kept as unsent, on condition of what its writer saw")
  func usedUpNumber() throws {
    var bench = PeerBench(keepsOutbox: true)
    bench.live(version: 4, note)
    let (id, _) = try edit(&bench, "\"the cat\"", to: "\"the cat sat\"")
    let drain = bench.hub(bench.outcomes((1, lost)))
    #expect(drain.settled.isEmpty)
    guard case .written(let kept)? = drain.entries.first, drain.entries.count == 1 else {
      Issue.record("\(drain.entries)")
      return
    }
    #expect(kept.id == id && kept.number == nil)
    #expect(kept.proposal.conditions == [Condition(field: "note", epoch: 100, version: 4)])
  }

  @Test("words of a lost epoch that another writer restores too occur once")
  func lostWords() throws {
    var bench = PeerBench()
    bench.live(version: 4, note)
    bench.lose()
    _ = try edit(&bench, "\"the cat\"", to: "\"the cat sat\"")
    bench.open()
    bench.epoch += 1
    // Nothing is left of the text: it is written whole.
    let first = bench.catchUp(bench.welcome().request, version: 1, [Entry(name: "other", value: "1", version: 1)])
    #expect(first.proposals.flatMap(\.operations).map { $0.value } == [json("\"the cat sat\"")])
    bench.hub(
      bench.commits(after: 1, [[1: "\"the big cat\""]], names: NamesRun(first: 1, names: ["note"])))
    #expect(bench.shown("note") == "\"the big cat sat\"")
    let back = Conflict(
      field: "note", version: 2, origin: PeerBench.other, ageMilliseconds: 0, value: json("\"the big cat\""))
    let again = bench.hub(bench.outcomes((1, .conflict(back))))
    #expect(again.proposals.flatMap(\.operations).map { $0.value } == [json("\"the big cat sat\"")])
  }

  @Test("a text that supersedes an unsent one, edited amid others' words, keeps them once")
  func editedAmidOthers() throws {
    var bench = PeerBench()
    bench.live(version: 4, note)
    _ = try edit(&bench, "\"the cat\"", to: "\"the catX\"")
    _ = try edit(&bench, "\"the catX\"", to: "\"the catXY\"")
    bench.hub(bench.commits(after: 4, [[0: "\"the cat sat\""]], names: NamesRun(first: 1)))
    #expect(bench.shown("note") == "\"the catXY sat\"")
    _ = try edit(&bench, "\"the catXY sat\"", to: "\"the catXY saZt\"")
    let back = Conflict(
      field: "note", version: 5, origin: PeerBench.other, ageMilliseconds: 0, value: json("\"the cat sat\""))
    let again = bench.hub(bench.outcomes((1, .conflict(back))))
    #expect(again.proposals.flatMap(\.operations).map { $0.value } == [json("\"the catX sat\"")])
    let last = bench.hub(
      bench.commits(after: 5, [[0: "\"the catX sat\""]], own: [0: 2], names: NamesRun(first: 1)))
    #expect(last.proposals.flatMap(\.operations).map { $0.value } == [json("\"the catXY saZt\"")])
    #expect(bench.shown("note") == "\"the catXY saZt\"")
  }

  @Test("a text that supersedes an unsent one, edited from the same base, keeps both edits")
  func editedFromBefore() throws {
    var bench = PeerBench()
    bench.live(version: 4, note)
    bench.lose()
    _ = try edit(&bench, "\"the cat\"", to: "\"the catX\"")
    _ = try edit(&bench, "\"the cat\"", to: "\"theY cat\"")
    #expect(bench.shown("note") == "\"theY catX\"")
    let drain = bench.live(version: 4, note, knew: true)
    #expect(drain.proposals.flatMap(\.operations).map { $0.value } == [json("\"theY catX\"")])
  }

  @Test("a withdrawn text in flight is not merged and sent again after a conflict")
  func withdrawnConflict() throws {
    var bench = PeerBench(keepsOutbox: true)
    bench.live(version: 4, note)
    let (id, _) = try edit(&bench, "\"the cat\"", to: "\"the cat sat\"")
    _ = bench.act { session, now, output in _ = session.withdraw(id, now: now, into: &output) }
    let drain = bench.hub(bench.outcomes((1, lost)))
    #expect(drain.settled.map(\.id) == [id] && drain.proposals.isEmpty)
    #expect(drain.entries == [.decided(id, .conflict)])
  }

  @Test("the result of a merge closure is kept before it is sent under a number")
  func answeredMerge() throws {
    var bench = PeerBench(keepsOutbox: true)
    bench.live(version: 4, note)
    bench.lose()
    var id: WriteID?
    _ = try bench.act { session, now, output throws(WriteError) in
      id = try session.write(
        .set(["note": "[1]"]), rules: ["note": RuledWrite(.asked, base: json("\"the cat\""))], to: "lamp", now: now,
        into: &output)
    }
    let asked = bench.live(version: 5, [Entry(name: "note", value: "[2]", version: 5)], knew: true)
    let question = try #require(asked.questions.first?.1)
    let write = try #require(id)
    let sent = bench.act { session, now, _ in session.merged(write, question, into: json("[2,1]"), now: now) }
    guard case .written(let kept)? = sent.entries.first, case .numbered(write, 1, _)? = sent.entries.last else {
      Issue.record("\(sent.entries)")
      return
    }
    #expect(kept.proposal.operations.map(\.value) == [json("[2,1]")])
  }

  @Test("a forgotten write that is resent ends as unknown if it fails, also in the next run")
  func goesAgain() throws {
    var bench = PeerBench(keepsOutbox: true)
    bench.live(version: 4, untouched)
    var entries = try bench.write(.set(["level": "0.8"])).drain.entries
    bench.lose()
    bench.open()
    bench.now += 30_000
    var limits = Limits()
    limits.identityMilliseconds = 1_000
    entries += bench.welcome(limits: limits).entries
    var content = OutboxContent()
    content.apply(OutboxRecord(run: 1, content: .began(PeerBench.identity)), bytes: 1)
    for entry in [.welcomed(log: 1, epoch: 100)] + entries {
      content.apply(OutboxRecord(run: 1, content: .entry(entry)), bytes: 1)
    }
    let rewritten = try content.compacted.withUnsafeBytes { try OutboxLog.parse($0) }.content
    for content in [content, rewritten] {
      var next = PeerBench(Session(resuming: try #require(content.unfinished.first), seed: 3, now: 1_000, wall: 0))
      next.live(version: 6, [Entry(name: "level", value: "0.8", version: 6)], knew: true)
      let end = next.hub(
        next.outcomes(
          (
            2,
            .conflict(
              Conflict(
                field: "level", version: 6, origin: PeerBench.me, ageMilliseconds: 0, value: json("0.8")))
          )))
      guard case .unknown? = end.outcomes.first else {
        Issue.record("\(end.outcomes) \(end.settled)")
        return
      }
    }
  }

  /// What a run leaves that has sent a text, and has written another over it without a hub.
  private func textOverText() throws -> [JournalEntry] {
    var own = PeerBench(keepsOutbox: true)
    own.live(version: 4, note)
    let sent = try edit(&own, "\"the cat\"", to: "\"the cat sat\"").entries
    own.lose()
    return sent + (try edit(&own, "\"the cat sat\"", to: "\"the cat sat down\"").entries)
  }

  @Test("a write of an earlier run on top of an own write that failed ends as a conflict")
  func writtenOnOwn() throws {
    let ended = try textOverText() + [.decided(WriteID(rawValue: 1), .expired)]
    var resumed = PeerBench(Session(resuming: try #require(PreviousRun.left(by: ended)), seed: 3, now: 1_000, wall: 0))
    let drain = resumed.live(version: 4, note, knew: true)
    #expect(drain.proposals.isEmpty)
    guard case .conflict? = drain.outcomes.first else {
      Issue.record("\(drain.outcomes)")
      return
    }
  }

  @Test("nor is what an earlier run wrote over a withdrawn write applied, in a field that was never written")
  func writtenOnWithdrawn() throws {
    // Without a hub: no epoch is known.
    var own = PeerBench(keepsOutbox: true)
    own.join()
    let (first, written) = try edit(&own, "\"\"", to: "\"one\"")
    // A condition in between: nothing before it is superseded.
    let between = try own.write(
      Proposal(
        operations: [FieldOperation(.set, "level", json("0.5"))],
        conditions: [Condition(field: "level", epoch: 0, version: 0)]))
    let over = try edit(&own, "\"one\"", to: "\"one two\"").entries
    let withdrawn = own.act { session, now, output in _ = session.withdraw(first, now: now, into: &output) }.entries
    let run = try #require(PreviousRun.left(by: written + between.drain.entries + over + withdrawn))
    #expect(run.writes.count == 2)
    var resumed = PeerBench(Session(resuming: run, seed: 3, now: 1_000, wall: 0))
    let drain = resumed.live(version: 4, [Entry(name: "other", value: "1", version: 4)])
    #expect(drain.proposals.flatMap(\.operations).map { $0.value } == [json("0.5")])
    guard case .conflict? = drain.outcomes.first else {
      Issue.record("\(drain.outcomes)")
      return
    }
  }

  @Test("a text of an earlier run stands on what its writer saw of its own program, once that is committed")
  func standsOnOwn() throws {
    // Both in one run: the second text waits for the commit of the first.
    var run = try #require(PreviousRun.left(by: textOverText()))
    var resumed = PeerBench(Session(resuming: run, seed: 3, now: 1_000, wall: 0))
    #expect(resumed.live(version: 4, note, knew: true).proposals.map(\.number) == [1])
    resumed.hub(resumed.outcomes((1, .committed(count: 1, version: 5))))
    let names = NamesRun(first: 1)
    let drain = resumed.hub(resumed.commits(after: 4, [[0: "\"the cat sat\""]], own: [0: 1], names: names))
    #expect(drain.proposals.map(\.number) == [2] && drain.proposals.first?.conditions.map(\.version) == [5])
    // The first in a run before: it is committed by then. Another's value is none that it stands on.
    run.writes.removeFirst()
    for (value, earlier, version) in [
      ("sat", [PeerBench.other.tag], 5), ("sat", [], 4), ("ran", [PeerBench.other.tag], 4),
    ]
      as [(String, [BindingProtocol.Tag], Version)]
    {
      run.earlier = Set(earlier)
      var later = PeerBench(Session(resuming: run, seed: 3, now: 1_000, wall: 0))
      let fields = [Entry(name: "note", value: "\"the cat \(value)\"", version: 5)]
      let sent = later.live(version: 5, fields, knew: true).proposals
      #expect(sent.map(\.conditions).map { $0.map(\.version) } == [[version]], "\(value) \(earlier)")
    }
  }

  @Test("a word of a withdrawn write is not in a later text, also in an unwritten field")
  func withdrawn() throws {
    var bench = PeerBench()
    bench.live(version: 4, untouched)
    bench.lose()
    let (first, _) = try edit(&bench, "\"\"", to: "\"one\"")
    // A condition in between: nothing before it is superseded.
    _ = try bench.write(
      Proposal(
        operations: [FieldOperation(.set, "level", json("0.5"))],
        conditions: [Condition(field: "level", epoch: 100, version: 4)]))
    _ = try edit(&bench, "\"one\"", to: "\"one two\"")
    _ = bench.act { session, now, output in _ = session.withdraw(first, now: now, into: &output) }
    let drain = bench.live(version: 4, untouched, knew: true)
    #expect(drain.proposals.last?.operations.map(\.value) == [json("\" two\"")])
  }
}
