import BindingProtocol
import Foundation
import Testing

@testable import BindingPeer

@Suite("Steps of undo in an outbox file")
struct UndoKeptTests {
  private let folder: OutboxFolder
  private let identity = Identity(secret: Secret(high: 2, low: 3), name: "me")

  init() throws { folder = try OutboxFolder() }

  /// The undo records of everything that a recorded session does.
  private func records() throws -> (bench: PeerBench, steps: [String: [UInt64: [UInt8]]]) {
    var bench = PeerBench.recording(keepsOutbox: true)
    var kept = KeptUndo()
    func take(_ drain: Drain) {
      for case .undo(let model, let step, let payload) in drain.entries { kept.put(payload, model: model, step: step) }
    }
    for (offset, (field, name, value)) in [(0, "level", "0.5"), (1, "on", "false")].enumerated() {
      bench.now += 2_000
      let drain = try bench.make(.set([name: value]))
      take(drain)
      take(
        bench.hub(
          bench.commits(
            after: 5 + Version(offset), [[FieldID(field): value]], own: [0: drain.numbers[0]], names: PeerBench.known)))
    }
    let (_, undo) = try bench.restore()
    take(undo)
    take(bench.hub(bench.commits(after: 7, [[1: "true"]], own: [0: undo.numbers[0]], names: PeerBench.known)))
    return (bench, kept.steps)
  }

  /// A new run of the same program, live with the same values.
  private func restarted(
    _ steps: [String: [UInt64: [UInt8]]], epoch: Epoch = 100, level: String = "0.5"
  ) -> PeerBench {
    var bench = PeerBench(keepsOutbox: true)
    bench.epoch = epoch
    bench.session.restoreUndo(steps)
    bench.join()
    bench.session.recordUndo(of: "lamp", now: bench.now)
    bench.live(
      version: 8, [Entry(name: "level", value: level, version: 6), Entry(name: "on", value: "true", version: 8)])
    return bench
  }

  @Test("a new run undoes and redoes what the one before did")
  func restarts() throws {
    var bench = restarted(try records().steps)
    #expect(bench.undoes == ["level"] && bench.redoes == ["on"])
    #expect(try bench.restored(1, after: 8, redoes: true) == "false if [8]")
    bench = restarted(try records().steps)
    #expect(try bench.restored(0, after: 8) == "0.3 if [6]")
  }

  @Test("a new run in a new epoch undoes only what still has the value that was left")
  func otherEpoch() throws {
    var bench = restarted(try records().steps, epoch: 200)
    #expect(try bench.restored(0, after: 8) == "0.3 if [6]")
    bench = restarted(try records().steps, epoch: 200, level: "0.7")
    guard case .failed = try bench.restore().start else { return #expect(Bool(false)) }
  }

  @Test("steps of another log are dropped, in the file too")
  func otherLog() throws {
    var bench = PeerBench(keepsOutbox: true)
    bench.log = 9
    bench.session.restoreUndo(try records().steps)
    bench.join()
    bench.session.recordUndo(of: "lamp", now: bench.now)
    #expect(bench.undoes == ["level"])
    bench.open()
    let gone = bench.welcome().entries.filter { if case .undo(_, _, []) = $0 { true } else { false } }
    #expect(gone.count == 2 && bench.undoes == nil && bench.redoes == nil)
  }

  @Test("a damaged, foreign or newer payload is dropped, whatever its bytes")
  func forged() throws {
    let steps = try #require(try records().steps["lamp"])
    let whole = try #require(steps.values.first)
    var forged: [UInt64: [UInt8]] = [:]
    for length in 1..<whole.count { forged[UInt64(length)] = Array(whole.prefix(length)) }
    for index in whole.indices {
      var bytes = whole
      bytes[index] ^= 0xFF
      forged[UInt64(1_000 + index)] = bytes
    }
    var generator = SystemRandomNumberGenerator()
    for number in 0..<200 {
      forged[UInt64(5_000 + number)] = (0..<64).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }
    var bench = restarted(["lamp": forged])
    // What a changed byte left readable must still be undone on condition, or fail.
    for _ in 0...UndoLimits.maxSteps { _ = try? bench.restore() }
    #expect(bench.undoes == nil)
  }

  @Test("steps survive the file's end of run, its rewriting and a torn end")
  func survives() throws {
    let steps = try #require(try records().steps["lamp"]).sorted { $0.key < $1.key }
    do {
      let file = try OutboxFile.open(folder.path())
      let run = try file.begin(identity)
      let entries = steps.map { JournalEntry.undo(model: "lamp", step: $0.key, payload: $0.value) }
      #expect(file.append(entries, of: run) == nil)
      file.leave(run)
    }
    #expect(try OutboxFile.open(folder.path()).undo["lamp"]?.count == 2)
    let size = try #require(FileManager.default.contents(atPath: folder.path())).count
    let torn = try folder.copy(to: "torn", bytes: size - 3)
    #expect(try OutboxFile.open(torn).undo.values.first?.isEmpty == false)
    do {
      let file = try OutboxFile.open(folder.path())
      let run = try file.begin(identity)
      #expect(file.append([.undo(model: "lamp", step: steps[0].key, payload: [])], of: run) == nil)
      // Enough history for the file to be rewritten.
      for id in 1...4_000 as ClosedRange<UInt64> {
        let write = KeptWrite(
          id: WriteID(rawValue: id), model: "lamp", proposal: .set(["level": "1"]), time: 0, seen: [])
        _ = file.append([.written(write), .decided(write.id, .committed)], of: run)
      }
      #expect(file.size < OutboxFile.leastHistoryBytes * 2)
    }
    #expect(try OutboxFile.open(folder.path()).undo["lamp"]?.keys.sorted() == [steps[1].key])
  }

  @Test("a file keeps at most 8 MiB of steps, the newest ones")
  func limit() {
    var kept = KeptUndo()
    let payload = [UInt8](repeating: 1, count: 100_000)
    for step in 1...200 as ClosedRange<UInt64> { kept.put(payload, model: "lamp", step: step) }
    #expect(kept.bytes <= UndoLimits.maxKeptBytes)
    #expect(kept.steps["lamp"]?[200] != nil && kept.steps["lamp"]?[1] == nil)
    #expect(kept.inOrder.map(\.step) == kept.inOrder.map(\.step).sorted())
  }
}
