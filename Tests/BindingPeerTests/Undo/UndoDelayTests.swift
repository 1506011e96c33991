import BindingProtocol
import Testing

@testable import BindingPeer

@Suite("Undo of what is not committed here one by one")
struct UndoDelayTests {
  @Test("a write on its way is undone at once on the screen, and at the hub once its commit is known")
  func inFlight() throws {
    var bench = PeerBench.recording()
    let drain = try bench.make(.set(["level": "0.9"]))
    let (_, undo) = try bench.restore()
    // Its writer saw 0.3; what was committed just before is not known yet.
    #expect(bench.shown("level") == "0.3" && undo.proposals.isEmpty)
    let committed = bench.hub(
      bench.commits(after: 5, [[0: "0.4"], [0: "0.9"]], own: [1: drain.numbers[0]], names: PeerBench.known))
    #expect(committed.proposals.flatMap(\.operations).map(\.value) == [json("0.4")])
    #expect(committed.proposals.flatMap(\.conditions).map(\.version) == [7])
    #expect(bench.shown("level") == "0.4")
  }

  @Test("undo of a write that the hub then refuses changes nothing")
  func refusedInFlight() throws {
    var bench = PeerBench.recording()
    let level = try bench.make(.set(["level": "9"]))
    let uses = try bench.make(.one(.add, "uses", "100"))
    _ = try bench.restore()
    _ = try bench.restore()
    let drain = bench.hub(
      bench.outcomes(
        (level.numbers[0], .refused(Refusal(.doesNotFit, "at most 1"))),
        (uses.numbers[0], .refused(Refusal(.doesNotFit, "at most 10")))))
    #expect(drain.proposals.isEmpty)
    #expect(bench.shown("level") == "0.3" && bench.shown("uses") == "7")
    #expect(bench.undoes == nil && bench.redoes == nil)
  }

  @Test("two undos of one field without waiting are decided one after the other")
  func twice() throws {
    var bench = PeerBench.recording()
    try bench.commit([(0, "level", "0.5"), (0, "level", "0.9")], after: 5)
    let (_, first) = try bench.restore()
    let (_, second) = try bench.restore()
    #expect(bench.shown("level") == "0.3")
    #expect(first.proposals.flatMap(\.conditions).map(\.version) == [7] && second.proposals.isEmpty)
    let next = bench.hub(bench.commits(after: 7, [[0: "0.5"]], own: [0: first.numbers[0]], names: PeerBench.known))
    #expect(next.proposals.flatMap(\.operations).map(\.value) == [json("0.3")])
    #expect(next.proposals.flatMap(\.conditions).map(\.version) == [8])
  }

  @Test("without a hub an unsent write is withdrawn, and redo makes it again on condition of what is there")
  func unsent() throws {
    var bench = PeerBench.recording()
    bench.lose()
    try bench.make(.set(["level": "0.9"]))
    let (start, drain) = try bench.restore()
    #expect(start == .withdrawn(fields: ["level"]))
    #expect(drain.outcomes == [.superseded] && bench.shown("level") == "0.3")
    #expect(bench.undoes == nil && bench.redoes == ["level"])
    _ = try bench.restore(redoes: true)
    #expect(bench.shown("level") == "0.9" && bench.undoes == ["level"])
    // Undone again before it was sent, and done again.
    #expect(try bench.restore().start == .withdrawn(fields: ["level"]))
    _ = try bench.restore(redoes: true)
    bench.open()
    let request = bench.welcome(knew: true).request
    let sent = bench.hub(bench.assigned(request), bench.joined(request, version: 5, follows: .nothing))
    #expect(sent.proposals.flatMap(\.operations).map(\.value) == [json("0.9")])
    #expect(sent.proposals.flatMap(\.conditions).map(\.version) == [4])
  }

  @Test("without a hub committed steps are undone on the screen, all the way, and decided when it is back")
  func offline() throws {
    var bench = PeerBench.recording()
    try bench.commit([(0, "level", "0.5"), (0, "level", "0.9")], after: 5)
    bench.lose()
    _ = try bench.restore()
    _ = try bench.restore()
    #expect(bench.shown("level") == "0.3" && bench.undoes == nil)
    bench.open()
    let request = bench.welcome(knew: true).request
    // Somebody else's 0.7 came first.
    let drain = bench.hub(
      bench.assigned(request), bench.joined(request, version: 7, follows: .delta),
      bench.chunk(
        request, from: 7, version: 8, [Entry(name: "level", value: "0.7", version: 8)]))
    #expect(drain.proposals.isEmpty && drain.outcomes.count == 2)
    #expect(bench.shown("level") == "0.7")
  }

  /// Records a write whose commit arrives at this version in a delta from version 5: beyond 6, folded with others.
  private func folded(at version: Version = 8) throws -> (bench: PeerBench, asked: [PastQuestion]) {
    var bench = PeerBench.recording()
    let drain = try bench.make(.set(["level": "0.9"]))
    bench.lose()
    bench.open()
    let request = bench.welcome(knew: true).request
    let number = drain.numbers[0]
    let caught = bench.hub(
      bench.assigned(request), bench.joined(request, version: version, lastDecided: number, follows: .delta),
      bench.chunk(
        request, from: 5, version: version,
        [Entry(name: "level", value: "0.9", version: version, origin: PeerBench.me, number: number)],
        lastDecided: number))
    return (bench, caught.past)
  }

  @Test("what stood before a folded commit is asked; without an answer the step fails and says so")
  func unknownBefore() throws {
    var (bench, asked) = try folded()
    #expect(asked.map(\.field) == ["level"] && asked.map(\.version) == [8])
    bench.session.answer(try #require(asked.first), in: "lamp", with: .notKnown)
    let failure = UndoFailure(field: "level", cause: .unknownBefore)
    #expect(try bench.restore().start == .failed(failure))
    #expect(failure.sentence.contains("is not known here"))
    #expect(bench.undoes == nil && bench.shown("level") == "0.9")
  }

  @Test("the answer about the past is what undo restores; one that cannot be true is ignored")
  func answered() throws {
    var (bench, asked) = try folded()
    let question = try #require(asked.first)
    var forged = question
    forged.version = 3
    bench.session.answer(forged, in: "lamp", with: .value(json("0.1"), version: 1))
    bench.session.answer(question, in: "lamp", with: .value(json("0.2"), version: 9))
    bench.session.answer(question, in: "lamp", with: .value(json("0.6"), version: 7))
    #expect(try bench.restored(0, after: 8) == "0.6 if [8]")
  }

  @Test("a delta of one commit folds nothing: what stood before is known")
  func deltaOfOne() throws {
    var (bench, asked) = try folded(at: 6)
    #expect(asked.isEmpty)
    #expect(try bench.restored(0, after: 6) == "0.3 if [6]")
  }

  /// A bench with two steps over one field whose hub comes back in a new epoch with these fields.
  private func newEpoch(_ level: String, uses: String = "9") throws -> PeerBench {
    var bench = PeerBench.recording()
    try bench.commit([(0, "level", "0.5"), (0, "level", "0.9")], after: 5)
    let add = try bench.make(.one(.add, "uses", "2"))
    bench.hub(bench.commits(after: 7, [[3: "9"]], own: [0: add.numbers[0]], names: PeerBench.known))
    bench.lose()
    (bench.epoch, bench.start) = (101, 8)
    bench.live(
      version: 3,
      [Entry(name: "level", value: level, version: 2), Entry(name: "uses", value: uses, version: 3)], knew: true)
    return bench
  }

  @Test("in a new epoch a step is kept if its field has the value that it left, at the present version")
  func keptOverEpoch() throws {
    var bench = try newEpoch("0.9")
    let (_, sum) = try bench.restore()
    #expect(sum.proposals.flatMap(\.operations).map(\.value) == [json("-2")])
    bench.hub(bench.commits(after: 3, [[1: "7"]], own: [0: sum.numbers[0]]))
    #expect(try bench.restored(0, after: 4) == "0.5 if [2]")
    #expect(try bench.restored(0, after: 5) == "0.3 if [5]")
  }

  @Test("in a new epoch with another value a step fails, and an addition is not subtracted")
  func lostOverEpoch() throws {
    var bench = try newEpoch("0.8", uses: "7")
    #expect(try bench.restore().start == .failed(UndoFailure(field: "uses", cause: .lost)))
    for _ in 0..<2 {
      guard case .failed(let failure) = try bench.restore().start, failure.field == "level" else {
        return #expect(Bool(false))
      }
    }
    #expect(try bench.restore().start == .nothing)
    #expect(bench.shown("level") == "0.8" && bench.shown("uses") == "7")
  }

  @Test("under another log there is nothing to undo")
  func otherLog() throws {
    var bench = PeerBench.recording()
    try bench.commit([(0, "level", "0.5")], after: 5)
    bench.lose()
    (bench.log, bench.epoch, bench.start) = (2, 300, 9)
    bench.live(version: 1, [Entry(name: "level", value: "0.5", version: 1)])
    #expect(bench.undoes == nil)
  }
}
