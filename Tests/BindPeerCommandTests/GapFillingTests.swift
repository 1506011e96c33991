import BindbusTesting
import BindingHub
import BindingPeer
import Foundation
import Testing

@testable import bindpeer

/// Commits that a recorder did not receive one by one.
@Suite("Gaps of a recording", .timeLimit(.minutes(5)))
struct GapFillingTests {
  private let hub: Hub
  private let link: TestLink
  private let writer: Peer
  private let reader: Peer
  private let recorder: Recorder
  private let lines: Protected<[HistoryLine]>

  init() async throws {
    let lines = Protected<[HistoryLine]>([])
    hub = try Hub.embedded()
    link = TestLink(to: hub)
    writer = try Peer(name: "writer", hub: .inProcess(hub))
    reader = try Peer(name: "recorder", hub: .inProcess(link))
    recorder = Recorder(fillingGaps: .seconds(20)) { new in lines.withLock { $0 += new } }
    self.lines = lines
    recorder.begin(.recording(prefix: "", hub: "", log: 1))
  }

  /// Waits until something holds.
  private func eventually(_ holds: () -> Bool) async throws {
    let end = ContinuousClock.now + .seconds(20)
    while !holds(), ContinuousClock.now < end { try await Task.sleep(for: .milliseconds(2)) }
    #expect(holds(), "\(recorded)")
  }

  private func begin() async throws -> (written: SharedModel, read: SharedModel) {
    let written = try writer.model("m", on: .direct)
    try set("a", "0", in: written)
    try await eventually { written.version.version == 1 }
    let read = try reader.model("m", on: .direct)
    recorder.follow(read, as: "m")
    try await eventually { recorded == ["state 1"] }
    return (written, read)
  }

  private func set(_ field: String, _ text: String, in model: SharedModel) throws {
    try model.write(Proposal(operations: [FieldOperation(.set, field, FieldValue(bytes: Array(text.utf8)))]))
  }

  private func write(_ count: Int, of text: String = "1", in model: SharedModel) async throws {
    for number in 0..<count {
      let before = model.version.version
      try set("f\(number)", text, in: model)
      try await eventually { model.version.version == before + 1 }
    }
  }

  /// The lines in words: `state VERSION` or `commit VERSION`.
  private var recorded: [String] {
    lines.withLock { $0 }.compactMap { line in
      switch line.content {
      case .recording: nil
      case .state(let state, _): "state \(state.version)"
      case .commit(let commit, _): "commit \(commit.version)"
      }
    }
  }

  private func commits(_ versions: ClosedRange<Int>) -> [String] { versions.map { "commit \($0)" } }

  /// What `play --check` says of the recording.
  private func check() async throws -> PlayResult {
    let stage = try Hub.embedded()
    defer { stage.stop() }
    let bytes = lines.withLock { $0.flatMap(\.bytes) }
    var player = Player(try Recording(bytes, file: "run.history"), into: stage, speed: nil, isExact: true)
    await player.play(from: 0)
    return player.result
  }

  private func close() async {
    await writer.close(flush: .zero)
    await reader.close(flush: .zero)
    hub.stop()
  }

  @Test("commits of a time without the hub are read from its history, with writers and digests")
  func filled() async throws {
    let (written, _) = try await begin()
    link.cut()
    try await eventually { reader.status.phase != .live }
    try await write(7, in: written)
    #expect(recorded == ["state 1"])
    link.heal()
    try await eventually { recorded.last == "commit 8" }
    try await write(2, of: "2", in: written)
    try await eventually { recorded.last == "commit 10" }
    #expect(recorded == ["state 1"] + commits(2...10))
    for case .commit(let commit, _) in lines.withLock({ $0.map(\.content) }) {
      #expect(commit.origin.name == "writer" && commit.number > 0 && commit.time > 0)
    }
    #expect(try await check().failure == nil)
    await close()
  }

  @Test("commits that are made while the history is read follow in order, in several pages too")
  func meanwhile() async throws {
    let (written, _) = try await begin()
    link.cut()
    try await eventually { reader.status.phase != .live }
    // Each page holds about 64 KiB.
    try await write(12, of: "\"\(String(repeating: "x", count: 15_000))\"", in: written)
    link.heal()
    var number = 0
    try await eventually {
      number += 1
      try? set("f0", "\(number)", in: written)
      return recorded.count > 13
    }
    try await eventually { writer.unconfirmed == 0 && recorded.last == "commit \(written.version.version)" }
    #expect(recorded == ["state 1"] + commits(2...Int(written.version.version)))
    #expect(try await check().failure == nil)
    await close()
  }

  @Test("what the hub no longer keeps stays marked as one state")
  func lost() async throws {
    let (written, _) = try await begin()
    link.cut()
    try await eventually { reader.status.phase != .live }
    // A hub in memory keeps the last 256 KiB.
    try await write(8, of: "\"\(String(repeating: "x", count: 60_000))\"", in: written)
    link.heal()
    try await eventually { recorded.last == "state 9" }
    try await write(1, of: "2", in: written)
    try await eventually { recorded.last == "commit 10" }
    #expect(recorded == ["state 1", "state 9", "commit 10"])
    #expect(try await check().stretches == ["m: the commits after version 1, up to 9, are one state"])
    await close()
  }

  @Test("a recorder that ends has closed its gaps, and waits for nothing more")
  func ending() async throws {
    let (written, read) = try await begin()
    link.cut()
    try await eventually { reader.status.phase != .live }
    try await write(3, in: written)
    link.heal()
    try await eventually { read.version.version == 4 }
    await recorder.finish()
    #expect(recorded == ["state 1"] + commits(2...4))
    await close()
    await recorder.finish()
    #expect(recorded.count == 4)
  }

  @Test("commits wait only as long as they follow each other")
  func waiting() {
    func commits(_ versions: ClosedRange<Version>) -> [CommitInfo] {
      versions.map {
        CommitInfo(
          version: $0, origin: Origin(tag: Tag(rawValue: 1), name: "a"), number: 1, time: 0, hops: 0, changes: [],
          own: false)
      }
    }
    var gap = RecordedGap(in: 1)
    gap.add(commits(5...6), in: 1, isComplete: true)
    gap.add(commits(7...7), in: 1, isComplete: true)
    #expect(gap.waiting.map(\.version) == [5, 6, 7])
    gap.add(commits(9...9), in: 1, isComplete: true)
    #expect(gap.waiting.map(\.version) == [9])
    gap.add([], in: 1, isComplete: false)
    #expect(gap.waiting.isEmpty)
    gap.add(commits(10...10), in: 1, isComplete: true)
    gap.add(commits(11...11), in: 2, isComplete: true)
    #expect(gap.waiting.map(\.version) == [11] && gap.epoch == 2)
  }
}
