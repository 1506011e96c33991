import Testing

@testable import BindingPeer

@Suite("The steps of an update, and how many commits each counts")
struct UpdateStepsTests {
  private let lit = [Entry(name: "level", value: "0.3", version: 4), Entry(name: "on", value: "true", version: 5)]

  /// The version, commit count and fields of each step.
  private func summaries(_ steps: [UpdateStep]) -> [String] {
    steps.map { step in
      let fields = step.changes.sorted { $0.field < $1.field }.map { "\($0.field)=\($0.value?.description ?? "-")" }
      return "\(step.version) +\(step.commits) \(fields.joined(separator: " "))"
    }
  }

  /// A session at version 5, and the steps from there.
  private func followed(_ options: SessionOptions = SessionOptions()) -> (PeerBench, UpdateSteps) {
    var (bench, steps) = (PeerBench(options: options), UpdateSteps())
    bench.live(version: 5, lit)
    if let present = bench.session.present("lamp") {
      let beginning = steps.begin(with: present)
      #expect(summaries([beginning]) == ["5 +0 level=0.3 on=true"] && beginning.isBeginning)
    }
    return (bench, steps)
  }

  @Test("commits of one update are a step each")
  func each() {
    var (bench, steps) = followed()
    let drain = bench.hub(bench.commits(after: 5, [[0: "1"], [1: nil], [0: "3", 1: "false"]]))
    #expect(
      summaries(drain.updates.flatMap { steps.steps(of: $0) }) == [
        "6 +1 level=1", "7 +1 on=-", "8 +1 level=3 on=false",
      ])
  }

  @Test("commits past the listed ones are one step, which counts them")
  func unlisted() {
    var options = SessionOptions()
    options.maxListedCommits = 2
    var (bench, steps) = followed(options)
    let drain = bench.hub(bench.commits(after: 5, [[0: "1"], [0: "2"], [0: "3"], [0: "4"]]))
    #expect(
      summaries(drain.updates.flatMap { steps.steps(of: $0) }) == ["6 +1 level=1", "7 +1 level=2", "9 +2 level=4"])
  }

  @Test("a delta is one step that counts the commits it compacts")
  func delta() {
    var (bench, steps) = followed()
    let request = bench.hub(bench.commits(after: 9, [[0: "1"]])).request
    let drain = bench.catchUp(request, from: 5, version: 30, [Entry(name: "level", value: "0.9", version: 30)])
    #expect(summaries(drain.updates.flatMap { steps.steps(of: $0) }) == ["30 +25 level=0.9"])
  }

  @Test("a snapshot counts from the replica's version, and the first snapshot is one change")
  func snapshot() {
    var (bench, steps) = (PeerBench(), UpdateSteps())
    let first = bench.live(version: 5, lit).updates.flatMap { steps.steps(of: $0) }
    #expect(summaries(first) == ["5 +1 level=0.3 on=true"] && first[0].isBeginning)
    bench.lose()
    let drain = bench.live(version: 9, [Entry(name: "level", value: "1", version: 9)], knew: true)
    #expect(summaries(drain.updates.flatMap { steps.steps(of: $0) }) == ["9 +4 level=1 on=-"])
  }

  @Test("an own write is a step without a commit, and its commit a step without a field")
  func own() throws {
    var (bench, steps) = followed()
    let write = try bench.write(.set(["level": "0.5"])).drain
    #expect(summaries(write.updates.flatMap { steps.steps(of: $0) }) == ["5 +0 level=0.5"])
    let commit = bench.hub(bench.commits(after: 5, [[0: "0.5"]], own: [0: 1]))
    #expect(summaries(commit.updates.flatMap { steps.steps(of: $0) }) == ["6 +1 "])
  }

  @Test("commits of others under a pending set count but do not show")
  func underPending() throws {
    var (bench, steps) = followed()
    try bench.set(["level": "0.5"])
    let drain = bench.hub(bench.commits(after: 5, [[0: "1"], [0: "2", 1: "false"]]))
    #expect(summaries(drain.updates.flatMap { steps.steps(of: $0) }) == ["6 +1 ", "7 +1 on=false"])
  }

  @Test("under a pending add the last step shows the sum")
  func underAdd() throws {
    var (bench, steps) = followed()
    try bench.write(.one(.add, "level", "10"))
    let drain = bench.hub(bench.commits(after: 5, [[0: "1"], [0: "2"]]))
    #expect(summaries(drain.updates.flatMap { steps.steps(of: $0) }) == ["6 +1 level=1", "7 +1 level=12"])
  }

  @Test("a repeated frame makes no step")
  func nothing() {
    var (bench, steps) = followed()
    let frame = bench.commits(after: 5, [[0: "1"]])
    _ = bench.hub(frame).updates.flatMap { steps.steps(of: $0) }
    #expect(bench.hub(frame).updates.flatMap { steps.steps(of: $0) }.isEmpty)
  }
}
