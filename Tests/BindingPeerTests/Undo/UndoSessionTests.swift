import BindingProtocol
import Testing

@testable import BindingPeer

@Suite("Undo in a session")
struct UndoSessionTests {
  @Test("undo restores what was committed just before, not what its writer saw, on condition of its own version")
  func restores() throws {
    var bench = PeerBench.recording()
    let drain = try bench.make(.set(["level": "0.9"]))
    // Another peer's 0.4 is committed before it.
    bench.hub(
      bench.commits(after: 5, [[0: "0.4"], [0: "0.9"]], own: [1: drain.numbers[0]], names: PeerBench.known))
    let (start, undo) = try bench.restore()
    guard case .written(_, let fields, let inexact) = start else { return #expect(Bool(false), "\(start)") }
    #expect(fields == ["level"] && inexact.isEmpty)
    #expect(bench.shown("level") == "0.4")
    #expect(undo.proposals.map { $0.operations.map(\.value) } == [[json("0.4")]])
    #expect(undo.proposals.flatMap(\.conditions).map(\.version) == [7])
    #expect(bench.undoes == nil && bench.redoes == ["level"])
  }

  @Test("a field that somebody changed since is left alone, and the step is dropped with the writer's name")
  func overtaken() throws {
    var bench = PeerBench.recording()
    try bench.commit([(0, "level", "0.9")], after: 5)
    bench.hub(bench.commits(after: 6, [[0: "0.5"]], names: PeerBench.known))
    let (start, drain) = try bench.restore()
    let failure = UndoFailure(
      field: "level", cause: .changed(by: PeerBench.other, isOwn: false, isDeleted: false))
    #expect(start == .failed(failure))
    #expect(failure.sentence == "level was changed by other-00b2 since" || failure.sentence.contains("by other-"))
    #expect(drain.proposals.isEmpty && bench.shown("level") == "0.5")
    #expect(bench.undoes == nil && bench.redoes == nil)
    #expect(try bench.restore().start == .nothing)
  }

  @Test("an undo that loses a race at the hub falls back, and leaves nothing to redo")
  func race() throws {
    var bench = PeerBench.recording()
    try bench.commit([(0, "level", "0.9")], after: 5)
    let (_, undo) = try bench.restore()
    let conflict = Conflict(
      field: "level", version: 7, origin: PeerBench.other, ageMilliseconds: 0, value: json("0.5"))
    let drain = bench.hub(
      bench.commits(after: 6, [[0: "0.5"]], names: PeerBench.known),
      bench.outcomes((undo.numbers[0], .conflict(conflict))))
    #expect(drain.outcomes == [.conflict(conflict)])
    #expect(bench.shown("level") == "0.5" && bench.redoes == nil && bench.undoes == nil)
  }

  @Test("undo and redo walk back and forth over one field, each on condition of the last version of this peer")
  func walks() throws {
    var bench = PeerBench.recording()
    try bench.commit([(0, "level", "0.5"), (0, "level", "0.9")], after: 5)
    #expect(try bench.restored(0, after: 7) == "0.5 if [7]")
    #expect(try bench.restored(0, after: 8) == "0.3 if [8]")
    #expect(bench.undoes == nil)
    #expect(try bench.restored(0, after: 9, redoes: true) == "0.5 if [9]")
    #expect(try bench.restored(0, after: 10, redoes: true) == "0.9 if [10]")
    #expect(bench.redoes == nil)
    #expect(try bench.restored(0, after: 11) == "0.5 if [11]")
    #expect(try bench.restored(0, after: 12) == "0.3 if [12]")
  }

  @Test("undo and redo go through steps of different fields in their order")
  func fields() throws {
    var bench = PeerBench.recording()
    try bench.commit([(0, "level", "0.5"), (1, "on", "false"), (0, "level", "0.9")], after: 5)
    #expect(try bench.restored(0, after: 8) == "0.5 if [8]")
    #expect(try bench.restored(1, after: 9) == "true if [7]")
    #expect(try bench.restored(1, after: 10, redoes: true) == "false if [10]")
    #expect(bench.undoes == ["on"] && bench.redoes == ["level"])
  }

  @Test("a new write empties the redo stack; one that is not undoable, or a default, does not")
  func clearsRedo() throws {
    var bench = PeerBench.recording()
    try bench.commit([(0, "level", "0.9")], after: 5)
    _ = try bench.restored(0, after: 6)
    try bench.make(.set(["on": "false"]), as: .notUndoable)
    try bench.make(.one(.setIfAbsent, "on", "false"))
    try bench.make(.one(.union, "tags", "[1]"))
    try bench.make(.set(["@description": "{}"]))
    #expect(bench.redoes == ["level"] && bench.undoes == nil)
    try bench.make(.set(["on": "false"]))
    #expect(bench.redoes == nil && bench.undoes == ["on"])
  }

  @Test("a field without a value before is deleted, and a deletion restores the value")
  func deletions() throws {
    var bench = PeerBench.recording()
    let first = try bench.make(.set(["new": "1"]))
    bench.hub(
      bench.commits(
        after: 5, [[4: "1"]], own: [0: first.numbers[0]], names: NamesRun(first: 4, names: ["new"])))
    let (_, undo) = try bench.restore()
    #expect(undo.proposals.flatMap(\.operations).map(\.verb) == [.delete])
    bench.hub(bench.commits(after: 6, [[4: nil]], own: [0: undo.numbers[0]], names: NamesRun(first: 5)))
    let (_, redo) = try bench.restore(redoes: true)
    #expect(redo.proposals.flatMap(\.operations).map(\.value) == [json("1")])
    #expect(redo.proposals.flatMap(\.conditions).map(\.version) == [7])
  }

  @Test("clear restores every field that it deleted, in one proposal; beyond 255 fields it is not recorded")
  func clears() throws {
    var bench = PeerBench.recording()
    let clear = try bench.make(.one(.clear, ""))
    bench.hub(
      bench.commits(
        after: 5, [[0: nil, 1: nil, 2: nil, 3: nil]], own: [0: clear.numbers[0]], names: PeerBench.known))
    let (_, undo) = try bench.restore()
    #expect(undo.proposals.flatMap(\.operations).compactMap(\.value).count == 4)
    #expect(undo.proposals.flatMap(\.conditions).map(\.version) == [6, 6, 6, 6])
    var wide = PeerBench()
    wide.live(version: 1, (0..<256).map { Entry(name: "f\($0)", value: "1", version: 1) })
    wide.session.recordUndo(of: "lamp", now: 1_000)
    try wide.make(.one(.clear, ""))
    #expect(wide.undoes == nil)
  }

  @Test("what was added is subtracted, whatever others added meanwhile; fractions are told as inexact")
  func additions() throws {
    var bench = PeerBench.recording()
    let add = try bench.make(.one(.add, "uses", "3"))
    bench.hub(
      bench.commits(after: 5, [[3: "10"], [3: "12"]], own: [0: add.numbers[0]], names: PeerBench.known))
    let (_, undo) = try bench.restore()
    let proposal = try #require(undo.proposals.first)
    #expect(proposal.operations.map(\.verb) == [.add] && proposal.operations.map(\.value) == [json("-3")])
    #expect(proposal.conditions.isEmpty && bench.shown("uses") == "9")
    bench.hub(bench.commits(after: 7, [[3: "9"]], own: [0: proposal.number], names: PeerBench.known))
    let (_, redo) = try bench.restore(redoes: true)
    #expect(redo.proposals.flatMap(\.operations).map(\.value) == [json("3")])
    bench.hub(bench.commits(after: 8, [[3: "12"]], own: [0: redo.numbers[0]], names: PeerBench.known))
    let half = try bench.make(.one(.add, "uses", "0.5"))
    bench.hub(bench.commits(after: 9, [[3: "12.5"]], own: [0: half.numbers[0]], names: PeerBench.known))
    guard case .written(_, _, ["uses"]) = try bench.restore().start else { return #expect(Bool(false)) }
  }

  @Test("a text keeps what others typed: only this peer's words go and return")
  func texts() throws {
    var bench = PeerBench.recording()
    let text = try bench.make(
      .set(["note": "\"one 2 two three\""]), rules: ["note": RuledWrite(.text, base: json("\"one two three\""))])
    bench.hub(
      bench.commits(
        after: 5, [[2: "\"one 2 two three\""], [2: "\"zero one 2 two three\""]], own: [0: text.numbers[0]],
        names: PeerBench.known))
    #expect(try bench.restored(2, after: 7) == "\"zero one two three\" if [7]")
    #expect(try bench.restored(2, after: 8, redoes: true) == "\"zero one 2 two three\" if [8]")
  }

  @Test("a compare-and-set, max and min come back like a set, on condition")
  func merges() throws {
    var bench = PeerBench.recording()
    let most = try bench.make(.one(.max, "uses", "9"))
    bench.hub(bench.commits(after: 5, [[3: "9"]], own: [0: most.numbers[0]], names: PeerBench.known))
    #expect(try bench.restored(3, after: 6) == "7 if [6]")
    let compared = try bench.make(
      .set(["uses": "8"]), rules: ["uses": RuledWrite(.compareAndSet, base: json("7"))])
    bench.hub(bench.commits(after: 7, [[3: "8"]], own: [0: compared.numbers[0]], names: PeerBench.known))
    #expect(try bench.restored(3, after: 8) == "7 if [8]")
  }

  @Test("a refused write, or one without effect, is no step")
  func refused() throws {
    var bench = PeerBench.recording()
    let refused = try bench.make(.set(["level": "9"]))
    let unchanged = try bench.make(.one(.delete, "none"))
    #expect(bench.undoes == ["none"])
    bench.hub(
      bench.outcomes(
        (refused.numbers[0], .refused(Refusal(.doesNotFit, "at most 1"))), (unchanged.numbers[0], .unchanged)))
    #expect(bench.undoes == nil)
    #expect(try bench.restore().start == .nothing)
  }

  @Test("a session without recording keeps nothing, and what was written before cannot be undone")
  func notRecording() throws {
    var bench = PeerBench()
    bench.live(version: 5, PeerBench.lampEntries)
    let drain = try bench.make(.set(["level": "0.9"]))
    #expect(try bench.restore().start == .nothing)
    bench.session.recordUndo(of: "lamp", now: 1_000)
    bench.hub(bench.commits(after: 5, [[0: "0.9"]], own: [0: drain.numbers[0]], names: PeerBench.known))
    #expect(bench.undoes == nil)
  }
}
