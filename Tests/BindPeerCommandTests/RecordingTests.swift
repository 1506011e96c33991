import BindingHub
import BindingPeer
import Testing

@testable import bindpeer

@Suite("Recorded histories")
struct RecordingTests {
  private let arm = Origin(tag: Tag(rawValue: 1), name: "arm")
  private let panel = Origin(tag: Tag(rawValue: 2), name: "panel")

  private func value(_ text: String?) -> FieldValue? { text.map { FieldValue(bytes: Array($0.utf8)) } }

  private func commit(_ version: Version, _ field: String, _ text: String?, by origin: Origin? = nil) -> CommitInfo {
    CommitInfo(
      version: version, origin: origin ?? arm, number: 1, time: 5, hops: 0,
      changes: [FieldChange(field: field, value: value(text))], own: false)
  }

  private func field(_ name: String, _ text: String?, _ version: Version) -> CommittedField {
    CommittedField(name: name, value: value(text), version: version, origin: arm, number: 1, time: 5)
  }

  private func values(_ version: Version, _ fields: [CommittedField]) -> CommittedValues {
    let digest = fields.reduce(UInt64(0)) { sum, field in
      sum &+ (field.value.map { fieldDigest(name: field.name, version: field.version, value: $0) } ?? 0)
    }
    return CommittedValues(epoch: 1, version: version, digest: digest, fields: fields)
  }

  private func recording(_ lines: [(milliseconds: UInt64, HistoryLine.Content)]) throws -> Recording {
    try Recording(
      lines.flatMap { HistoryLine(time: $0.milliseconds * 1_000_000, $0.1).bytes }, file: "run.history")
  }

  // MARK: Recording

  @Test("commits that follow each other become lines, and repeats do not")
  func following() {
    var model = RecordedModel("m")
    var lines: RecordedModel.Lines = []
    model.append(values(4, [field("a", "1", 4)]), isWhole: true, to: &lines)
    #expect(model.append([commit(4, "a", "1"), commit(5, "a", "2"), commit(6, "b", "3")], in: 1, to: &lines))
    #expect(lines.count == 3)
    guard case .commit(let last, let digest?) = lines[2] else { return #expect(Bool(false), "\(lines)") }
    #expect(last.version == 6)
    #expect(digest == values(6, [field("a", "2", 5), field("b", "3", 6)]).digest)
  }

  @Test("a missing commit, another epoch and an unknown model ask for a state")
  func missing() {
    var model = RecordedModel("m")
    var lines: RecordedModel.Lines = []
    #expect(!model.append([commit(1, "a", "1")], in: 1, to: &lines))
    model.append(values(1, [field("a", "1", 1)]), isWhole: true, to: &lines)
    #expect(!model.append([commit(3, "a", "2")], in: 1, to: &lines))
    #expect(!model.append([commit(2, "a", "2")], in: 2, to: &lines))
    #expect(lines.count == 1)
  }

  @Test("a deletion changes the digest back, and a later state holds only what has changed")
  func deletion() {
    var model = RecordedModel("m")
    var lines: RecordedModel.Lines = []
    model.append(values(1, [field("a", "1", 1)]), isWhole: true, to: &lines)
    #expect(model.append([commit(2, "b", "1"), commit(3, "b", nil)], in: 1, to: &lines))
    #expect(model.isSame(as: values(3, [field("a", "1", 1)])))
    var later = values(9, [field("b", "7", 9)])
    later.digest = values(9, [field("a", "1", 1), field("b", "7", 9)]).digest
    model.append(later, isWhole: false, to: &lines)
    #expect(model.isSame(as: later))
    guard case .state(let state, _)? = lines.last else { return #expect(Bool(false), "\(lines)") }
    #expect(state.previous == 3)
  }

  // MARK: Reading

  @Test("a torn last line is left out with a warning, and a bad line is named")
  func torn() throws {
    let state = RecordedState(model: "m", epoch: 1, version: 1, previous: nil, fields: [field("a", "1", 1)])
    let line = HistoryLine(time: 1, .state(state, digest: nil))
    let recording = try Recording(line.bytes + Array("{\"t\":2,\"e\":\"com".utf8), file: "f")
    #expect(recording.steps.count == 1)
    #expect(recording.warnings.count == 1)
    let failure = try #require(throws: Failure.self) { try Recording(line.bytes + Array("no\n".utf8), file: "f") }
    #expect(failure.code == .doesNotFit)
    #expect(failure.text.contains("f:2"))
    #expect(throws: Failure.self) { try Recording([], file: "f") }
  }

  @Test("the states before the first commit are the beginning, whenever they arrived")
  func beginning() throws {
    let recording = try recording([
      (0, .recording(prefix: "", hub: "", log: 1)),
      (70, lines()[0].1),
      (90, lines()[1].1),
    ])
    #expect(recording.steps.map(\.time) == [0, 90_000_000])
  }

  @Test("a snapshot within a recording deletes the fields that it does not name")
  func snapshot() throws {
    let states = [
      RecordedState(
        model: "m", epoch: 1, version: 2, previous: nil, fields: [field("a", "1", 1), field("b", "1", 2)]),
      RecordedState(model: "m", epoch: 1, version: 9, previous: nil, fields: [field("a", "4", 8)]),
    ]
    let recording = try recording(states.map { ($0.version, .state($0, digest: nil)) })
    let last = try #require(recording.steps.last)
    #expect(last.coalescedAfter == 2)
    #expect(last.commits.count == 1)
    #expect(last.commits[0].changes.map(\.field) == ["a", "b"])
    #expect(last.commits[0].changes[1].value == nil)
  }

  // MARK: Playing

  private func lines(wrong: Bool = false) -> [(milliseconds: UInt64, HistoryLine.Content)] {
    let state = RecordedState(
      model: "m", epoch: 9, version: 40, previous: nil, fields: [field("a", "1e400", 38), field("b", "2", 12)])
    let next = RecordedCommit(
      model: "m", epoch: 9, version: 41, origin: panel, changes: [.init("b", nil), .init("c", value("\"x\""))])
    let known = values(40, state.fields)
    let after = values(41, [field("a", "1e400", 38), field("c", "\"x\"", 41)])
    return [
      (0, .state(state, digest: known.digest)), (5, .commit(next, digest: wrong ? 1 : after.digest)),
    ]
  }

  @Test("a played model has every version and digest of its recording, and a wrong digest is named")
  func digests() async throws {
    for wrong in [false, true] {
      let hub = try Hub.embedded()
      defer { hub.stop() }
      var player = Player(try recording(lines(wrong: wrong)), into: hub, speed: nil, isExact: true)
      await player.play(from: 0)
      #expect(player.result.commits == 3)
      #expect(player.result.stretches == [])
      #expect(player.result.differences.isEmpty != wrong)
      #expect((player.result.failure == nil) != wrong)
      let peer = try Peer(name: "reader", hub: .inProcess(hub))
      let model = try peer.model("m", on: .direct)
      #expect(await model.whenCurrent(timeout: .seconds(20)))
      #expect(model.version.version == 41)
      #expect(model.values == ["a": try #require(value("1e400")), "c": try #require(value("\"x\""))])
      #expect(model.record("c")?.origin == panel)
      await peer.close(flush: .zero)
    }
  }

  @Test("a joined peer that meets a gap of a recording catches up, and follows")
  func gap() async throws {
    let hub = try Hub.embedded()
    defer { hub.stop() }
    let peer = try Peer(name: "reader", hub: .inProcess(hub))
    let model = try peer.model("m", on: .direct)
    #expect(await model.whenCurrent(timeout: .seconds(20)))
    var player = Player(try recording(lines()), into: hub, speed: nil, isExact: true)
    await player.play(from: 0)
    let end = ContinuousClock.now + .seconds(20)
    while model.version.version != 41, ContinuousClock.now < end { try await Task.sleep(for: .milliseconds(2)) }
    #expect(model.version.version == 41)
    #expect(player.result.failure == nil, "\(player.result)")
    await peer.close(flush: .zero)
  }

  @Test("a stretch that was coalesced fails a check, and is named")
  func stretch() async throws {
    let hub = try Hub.embedded()
    defer { hub.stop() }
    let later = RecordedState(model: "m", epoch: 9, version: 60, previous: 41, fields: [field("a", "2", 55)])
    var player = Player(
      try recording(lines() + [(9, .state(later, digest: nil))]), into: hub, speed: nil, isExact: true)
    await player.play(from: 0)
    #expect(player.result.differences == [])
    #expect(player.result.stretches == ["m: the commits after version 41, up to 60, are one state"])
    #expect(player.result.failure?.code == .no)
  }

  @Test("a model that loses its last value is gone, as in the recorded run, and comes back at its version")
  func removal() async throws {
    let hub = try Hub.embedded()
    defer { hub.stop() }
    func commit(_ version: Version, _ text: String?) -> HistoryLine.Content {
      let commit = RecordedCommit(
        model: "m", epoch: 9, version: version, origin: arm, changes: [.init("a", value(text))])
      return .commit(commit, digest: values(version, text.map { [field("a", $0, version)] } ?? []).digest)
    }
    var player = Player(
      try recording([(0, commit(1, "1")), (1, commit(2, nil)), (2, commit(3, "2"))]), into: hub, speed: nil,
      isExact: true)
    await player.play(from: 0)
    #expect(player.result.failure == nil, "\(player.result)")
  }

  // MARK: Comparing

  private func comparison(tolerance: Double? = nil) throws -> WriteComparison {
    let commits = [("a", "1", 10), ("a", "2", 20), ("b", "1", 30)].enumerated().map { index, write in
      (
        UInt64(write.2),
        HistoryLine.Content.commit(
          RecordedCommit(
            model: "m", epoch: 1, version: Version(index + 1), origin: panel,
            changes: [.init(write.0, value(write.1))]), digest: nil)
      )
    }
    let other = RecordedCommit(model: "m", epoch: 1, version: 4, origin: arm, changes: [.init("a", value("9"))])
    let all = commits.map { (milliseconds: $0.0, $0.1) } + [(40, .commit(other, digest: nil))]
    let first = RecordedState(model: "m", epoch: 1, version: 0, previous: nil, fields: [])
    return WriteComparison(
      try recording([(0, .state(first, digest: nil))] + all), of: RecordedPeer("panel"), after: 0,
      tolerance: tolerance)
  }

  private func writes(_ list: [(String, String?, Double)]) -> [WriteComparison.Write] {
    list.map { WriteComparison.Write(field: "m.\($0.0)", value: value($0.1), time: $0.2) }
  }

  @Test("equal writes in the order of each field are equal, however values are spelt and fields interleaved")
  func equal() throws {
    let same = writes([("b", "1.0", 0), ("a", " 1", 0), ("a", "2e0", 0)])
    #expect(try comparison().differences(from: same, speed: 1) == [])
    #expect(try comparison().count == 3)
  }

  @Test("the first write that differs, is missing or is one too many is named, earliest first")
  func different() throws {
    let found = try comparison().differences(
      from: writes([("a", "1", 0), ("a", "3", 0), ("c", "1", 9)]), speed: 1)
    #expect(
      found == [
        "m.a: write 2 is 3; recorded is 2 at 0.02 s", "m.b: write 1 is missing; recorded is 1 at 0.03 s",
        "m.c: write 1 is 1; nothing more was recorded",
      ])
  }

  @Test("times count within the tolerance only, scaled by the speed")
  func times() throws {
    let late = writes([("a", "1", 0.001), ("a", "2", 0.002), ("b", "1", 0.5)])
    #expect(try comparison().differences(from: late, speed: 10) == [])
    #expect(try comparison(tolerance: 5).differences(from: late, speed: 10) == [])
    #expect(try comparison(tolerance: 0.05).differences(from: late, speed: nil) == [])
    #expect(try comparison(tolerance: 0.05).differences(from: late, speed: 10).count == 1)
  }

  @Test("a peer of a recording is meant by its name, its full name, its user or its tag")
  func names() {
    let origin = Origin(tag: Tag(rawValue: 0x3F), name: "panel", user: "anna")
    for word in ["panel", origin.fullName, "anna", origin.tag.description] {
      #expect(RecordedPeer(word).matches(origin), "\(word)")
    }
    #expect(!RecordedPeer("hub").matches(Origin(tag: .none, name: "hub")))
  }
}
