import BindingProtocol
import Testing

@testable import BindingPeer

@Suite("What is one step of undo")
struct UndoStepTests {
  /// Writes levels, each this many milliseconds after the one before, and commits each at once.
  private func drag(_ bench: inout PeerBench, _ levels: [Int], every milliseconds: UInt64, from version: Version) throws
  {
    for (offset, level) in levels.enumerated() {
      bench.now += milliseconds
      let drain = try bench.make(.set(["level": "\(level)"]))
      bench.hub(
        bench.commits(
          after: version + Version(offset), [[0: "\(level)"]], own: [0: drain.numbers[0]], names: PeerBench.known))
    }
  }

  @Test("a slider dragged through a hundred commits is one step")
  func slider() throws {
    var bench = PeerBench.recording()
    try drag(&bench, Array(1...100), every: 30, from: 5)
    #expect(try bench.restored(0, after: 105) == "0.3 if [105]")
    #expect(bench.undoes == nil)
    #expect(try bench.restored(0, after: 106, redoes: true) == "100 if [106]")
  }

  @Test("a pause of a second, or another field, begins a new step")
  func pauses() throws {
    var bench = PeerBench.recording()
    try drag(&bench, [1, 2], every: 999, from: 5)
    try drag(&bench, [3], every: 1_000, from: 7)
    #expect(try bench.restored(0, after: 8) == "2 if [8]")
    #expect(try bench.restored(0, after: 9) == "0.3 if [9]")
    #expect(bench.undoes == nil)
  }

  @Test("of a step that another peer interrupted only what follows is taken back")
  func interrupted() throws {
    var bench = PeerBench.recording()
    try drag(&bench, [1], every: 10, from: 5)
    bench.hub(bench.commits(after: 6, [[0: "50"]], names: PeerBench.known))
    try drag(&bench, [2], every: 10, from: 7)
    #expect(try bench.restored(0, after: 8) == "50 if [8]")
    #expect(bench.undoes == nil)
  }

  @Test("a group is one step over several fields and seconds; groups nest, and end")
  func groups() throws {
    var bench = PeerBench.recording()
    bench.session.beginUndoGroup(in: "lamp")
    try bench.commit([(0, "level", "0.5")], after: 5)
    bench.session.beginUndoGroup(in: "lamp")
    try bench.commit([(1, "on", "false")], after: 6)
    bench.session.endUndoGroup(in: "lamp")
    try bench.commit([(0, "level", "0.6")], after: 7)
    bench.session.endUndoGroup(in: "lamp")
    try bench.commit([(1, "on", "true")], after: 8)
    #expect(try bench.restored(1, after: 9) == "false if [9]")
    let (_, undo) = try bench.restore()
    let proposal = try #require(undo.proposals.first)
    #expect(proposal.operations.map(\.value) == [json("0.3"), json("true")])
    #expect(proposal.conditions.map(\.version) == [8, 10])
  }

  @Test("the editing session of a control is one step, however long it takes; another session is another")
  func edits() throws {
    var bench = PeerBench.recording()
    for (offset, (edit, value)) in [(1, "0.5"), (1, "0.6"), (2, "0.7")].enumerated() {
      bench.now += 5_000
      let drain = try bench.make(.set(["level": value]), as: .step(edit: UInt64(edit)))
      bench.hub(
        bench.commits(
          after: 5 + Version(offset), [[0: value]], own: [0: drain.numbers[0]], names: PeerBench.known))
    }
    #expect(try bench.restored(0, after: 8) == "0.6 if [8]")
    #expect(try bench.restored(0, after: 9) == "0.3 if [9]")
  }

  @Test("typing in a text beside another typist is one step, and its undo takes only these keys")
  func typing() throws {
    var bench = PeerBench.recording()
    var (version, shown): (Version, String) = (5, "one two three")
    for key in ["f", "o", "u", "r"] {
      bench.now += 30
      let text = shown + (key == "f" ? " " : "") + key
      let drain = try bench.make(
        .set(["note": "\"\(text)\""]), rules: ["note": RuledWrite(.text, base: json("\"\(shown)\""))])
      // The other types at the front.
      shown = "x " + text
      bench.hub(
        bench.commits(
          after: version, [[2: "\"\(text)\""], [2: "\"\(shown)\""]], own: [0: drain.numbers[0]],
          names: PeerBench.known))
      version += 2
    }
    #expect(try bench.restored(2, after: 13) == "\"x x x x one two three\" if [13]")
    #expect(bench.undoes == nil)
  }

  @Test("at most 100 steps are kept, the newest ones")
  func maxSteps() throws {
    var bench = PeerBench.recording()
    try bench.commit((1...UndoLimits.maxSteps + 3).map { (0, "level", "\($0)") }, after: 5)
    var version: Version = 5 + Version(UndoLimits.maxSteps) + 3
    var count = 0
    while bench.undoes != nil {
      _ = try bench.restored(0, after: version)
      (version, count) = (version + 1, count + 1)
    }
    #expect(count == UndoLimits.maxSteps)
    #expect(bench.shown("level") == "3")
  }

  @Test("at most 1 MiB of steps is kept; a step that alone is larger is not")
  func maxBytes() throws {
    var bench = PeerBench.recording()
    let large = "\"" + String(repeating: "x", count: 60_000) + "\""
    try bench.commit((1...20).map { (2, "note", "\"\($0)" + large.dropFirst()) }, after: 5)
    var version: Version = 25
    var count = 0
    while bench.undoes != nil {
      _ = try bench.restored(2, after: version)
      (version, count) = (version + 1, count + 1)
    }
    // Each holds the large value before it; the first held a short one and went first.
    #expect(count == 17)
  }
}
