import BindingPeer
import BindingTerminal
import Dispatch
import Foundation

/// A running measurement: a writing peer, watching peers, and a model of their own with a random name.
final class BenchRun: Sendable {
  let plan: BenchPlan
  let model = "bench/" + String(UInt32.random(in: 0x1000_0000 ... .max), radix: 16)
  private let common: CommonOptions
  private let ledger: Protected<BenchLedger>
  private let isInterrupted = Protected(false)
  private let progress: Progress
  /// The folder of the outbox of the `offline` writer.
  private let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
    "bindpeer-bench-\(UInt64.random(in: 0 ... .max))")

  init(_ plan: BenchPlan, _ common: CommonOptions) throws(Failure) {
    (self.plan, self.common) = (plan, common)
    _ = try common.addresses()
    ledger = Protected(BenchLedger(plan))
    progress = Progress("bench \(plan.profile.rawValue)", isWanted: !common.json)
  }

  /// Measures, deletes the model, and returns the result.
  func measured() async throws -> BenchResult {
    let watchers = try await connectWatchers()
    // Later the peer may be disconnected, and its status without a hub.
    let status = watchers[0].peer.status
    let observations = watchers.enumerated().map { index, watcher in
      watcher.model.observe { [ledger] update, _ in
        let now = BenchRun.now
        ledger.withLock { ledger in
          for number in update.numbers { ledger.shown(number, at: now, by: index) }
        }
      }
    }
    let signals = [SIGINT, SIGTERM].map(observeSignal)
    defer { for signal in signals { signal.cancel() } }
    defer { try? FileManager.default.removeItem(at: folder) }
    let measurement: Measurement
    do { measurement = try await write() } catch {
      await tidyUp(watchers)
      throw error
    }
    // Before the writer closes, which ends unfinished writes.
    let comparison = isInterrupted.withLock { $0 } ? 0 : differing(watchers)
    let result = BenchResult(
      plan: plan, hub: status.hub ?? "hub", durability: status.durability.map { "\($0)" } ?? "unknown",
      seconds: Double(measurement.nanoseconds) / 1e9, ledger: ledger.withLock { $0 }, differing: comparison)
    withExtendedLifetime(observations) {}
    await measurement.writer?.close(flush: isInterrupted.withLock { $0 } ? .seconds(1) : .zero)
    let isDeleted = await tidyUp(watchers)
    progress.end()
    if isInterrupted.withLock({ $0 }) {
      throw Failure(.interrupted, isDeleted ? "Interrupted; \(model) is deleted." : "Interrupted.")
    }
    return result
  }

  // MARK: Peers

  private struct Watcher: Sendable {
    let peer: Peer
    let model: SharedModel
  }

  private func connectWatchers() async throws -> [Watcher] {
    var watchers: [Watcher] = []
    for number in 1...plan.peers {
      let peer = try common.makePeer("\(common.name)-\(number)")
      // The first peer finds out whether there is a hub at all.
      if number == 1 {
        guard await common.isLive(peer) else { throw common.noHub(peer) }
      }
      watchers.append(Watcher(peer: peer, model: try peer.model(model)))
    }
    for watcher in watchers {
      let model = watcher.model
      guard await model.whenCurrent(timeout: common.timeout.duration) else { throw notJoined(model, "watches") }
    }
    return watchers
  }

  private func notJoined(_ model: SharedModel, _ what: String) -> Failure {
    model.status.refusal.map(Failure.init)
      ?? Failure(.timedOut, "A peer that \(what) did not join within \(common.timeout.milliseconds) ms.")
  }

  /// The number of fields whose value at a watching peer is not the last written one.
  private func differing(_ watchers: [Watcher]) -> Int {
    let last = ledger.withLock { $0.last }
    return watchers.reduce(0) { count, watcher in
      let values = watcher.model.values
      return count
        + last.enumerated().count { field, number in
          number != nil && values[BenchLedger.name(ofField: field)]?.number != number
        }
    }
  }

  /// Deletes the model and closes all peers; returns false, after reporting it, if the deletion is not confirmed.
  @discardableResult
  private func tidyUp(_ watchers: [Watcher]) async -> Bool {
    let deletion = try? watchers[0].model.remove()
    var isDeleted = false
    switch await deletion?.outcome(timeout: isInterrupted.withLock { $0 } ? .seconds(2) : common.timeout.duration) {
    case .committed, .unchanged: isDeleted = true
    default:
      progress.end()
      Terminal.complain("Cannot delete \(model). To delete it later:  bindpeer rm \(model) --model")
    }
    await withTaskGroup { group in
      for watcher in watchers { group.addTask { _ = await watcher.peer.close(flush: .zero) } }
    }
    return isDeleted
  }

  /// The first signal ends the measurement and still deletes the model; the second ends the program immediately.
  /// One that comes before this returns ends the program, which has made nothing yet.
  private func observeSignal(_ number: Int32) -> any DispatchSourceSignal {
    let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
    source.setEventHandler { [isInterrupted, folder] in
      let isSecond = isInterrupted.withLock { was in
        defer { was = true }
        return was
      }
      guard isSecond else { return }
      try? FileManager.default.removeItem(at: folder)
      Terminal.leave(.interrupted)
    }
    let isRegistered = DispatchSemaphore(value: 0)
    source.setRegistrationHandler { isRegistered.signal() }
    source.resume()
    isRegistered.wait()
    // On Linux the source has a handler of its own, without which the system would drop the signal.
    #if canImport(Darwin)
      signal(number, SIG_IGN)
    #endif
    return source
  }

  // MARK: Writing

  private struct Measurement {
    let writer: Peer?
    /// The duration of the writing.
    let nanoseconds: UInt64
  }

  private func write() async throws -> Measurement {
    if plan.profile == .offline { return try await writeOffline() }
    let writer = try common.makePeer(common.name)
    let shared = try writer.model(model)
    guard await shared.whenCurrent(timeout: common.timeout.duration) else { throw notJoined(shared, "writes") }
    let nanoseconds = await offer(shared, isAway: false)
    await settle()
    withExtendedLifetime(shared) {}
    return Measurement(writer: writer, nanoseconds: nanoseconds)
  }

  /// Writes into an outbox without a hub, closes the peer, and starts again with the hub.
  private func writeOffline() async throws -> Measurement {
    do {
      try FileManager.default.createDirectory(
        at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    } catch {
      throw Failure(.cannotCreate, "Cannot create \(folder.path): \(error.localizedDescription)")
    }
    let outbox = folder.appendingPathComponent("outbox").path
    let away = try common.makePeer(
      common.name, at: HubLocation("ipc://\(folder.path)/nobody"), keeping: .init(outbox: .file(outbox)))
    let nanoseconds = await offer(try away.model(model), isAway: true)
    await away.close(flush: .zero)
    if isInterrupted.withLock({ $0 }) { return Measurement(writer: nil, nanoseconds: nanoseconds) }
    ledger.withLock { $0.comeBack(at: BenchRun.now) }
    let back = try common.makePeer(common.name, keeping: .init(outbox: .file(outbox)))
    let shared = try back.model(model)
    let last = ledger.withLock { $0.last }
    for restored in back.restored {
      guard let field = restored.write.fields.first.flatMap(BenchLedger.field(named:)), let number = last[field] else {
        continue
      }
      recordOutcome(of: restored.write, number, isAway: false)
    }
    await settle()
    withExtendedLifetime(shared) {}
    return Measurement(writer: back, nanoseconds: nanoseconds)
  }

  /// Makes each write when it is due, or as soon as possible afterwards, on a thread of its own.
  /// - Returns: the duration in nanoseconds, at least what the plan says for as many writes.
  private func offer(_ shared: SharedModel, isAway: Bool) async -> UInt64 {
    let token = shared.observe { [ledger] update, _ in
      let now = BenchRun.now
      ledger.withLock { ledger in for number in update.numbers { ledger.shownHere(number, at: now) } }
    }
    let beginning = BenchRun.now
    ledger.withLock { $0.begin(at: beginning) }
    let pace = BenchPace(plan: plan, beginning: beginning, isInterrupted: isInterrupted)
    let showing = Task { await showProgress() }
    let end = await withCheckedContinuation { continuation in
      Thread.detachNewThread { [self] in
        pace.run { [self] number in makeWrite(number, to: shared, isAway: isAway) }
        continuation.resume(returning: BenchRun.now)
      }
    }
    withExtendedLifetime(token) {}
    showing.cancel()
    await showing.value
    return max(end - beginning, plan.span(of: ledger.withLock { $0.written }))
  }

  /// False if later writes cannot be made either.
  private func makeWrite(_ number: Int, to shared: SharedModel, isAway: Bool) -> Bool {
    let begin = BenchRun.now
    let field = ledger.withLock { ledger in
      ledger.begun(number, at: begin)
      return BenchLedger.name(ofField: ledger.field(of: number))
    }
    let value = FieldValue(json: .integer(Int64(number)))
    do throws(WriteError) {
      let write = try shared.write(Proposal(operations: [FieldOperation(.set, field, value)]))
      let now = BenchRun.now
      ledger.withLock { $0.returned(number, at: now) }
      recordOutcome(of: write, number, isAway: isAway)
    } catch {
      ledger.withLock { $0.couldNot(error.description) }
      if case .stopped = error { return false }
    }
    return true
  }

  /// Runs until cancelled, apart from the writing thread: output to a terminal may block.
  private func showProgress() async {
    while !Task.isCancelled {
      let tried = ledger.withLock { $0.written + $0.failed }
      progress.show(Double(tried) / Double(plan.total)) { "\(tried) of \(plan.total) writes" }
      try? await Task.sleep(for: .milliseconds(100))
    }
  }

  private func recordOutcome(of write: PendingWrite, _ number: Int, isAway: Bool) {
    Task { [ledger] in
      let outcome = await write.outcome
      let now = BenchRun.now
      ledger.withLock { $0.ended(number, outcome, isAway: isAway, at: now) }
    }
  }

  /// Waits until every write is committed and shown by every watching peer, at most for `--timeout`.
  private func settle() async {
    let end = ContinuousClock.now + common.timeout.duration
    while ContinuousClock.now < end, !isInterrupted.withLock({ $0 }) {
      if ledger.withLock({ $0.open == 0 && $0.lost == 0 }) { return }
      try? await Task.sleep(for: .milliseconds(5))
    }
  }

  static var now: UInt64 { DispatchTime.now().uptimeNanoseconds }
}

/// The schedule of a measurement: a write is due at its planned time, whatever happened to earlier ones.
struct BenchPace: Sendable {
  /// How long after the last due time late writes are still made.
  private static let grace: UInt64 = 1_000_000_000

  let plan: BenchPlan
  let beginning: UInt64
  let isInterrupted: Protected<Bool>

  /// Calls `write` with each number, on the calling thread, until it returns false.
  func run(_ write: (Int) -> Bool) {
    let end = beginning + plan.span(of: plan.total) + BenchPace.grace
    for number in 0..<plan.total {
      let due = beginning + plan.due(number)
      while true {
        if isInterrupted.withLock({ $0 }) { return }
        let now = BenchRun.now
        if now > end { return }
        if now >= due { break }
        // Short enough to notice an interruption soon.
        Thread.sleep(forTimeInterval: Double(min(due - now, 50_000_000)) / 1e9)
      }
      guard write(number) else { return }
    }
  }
}

extension ModelUpdate {
  /// The new values of the measurement's fields.
  fileprivate var numbers: [Int] { changes.compactMap { $0.new?.number } }
}

extension FieldValue {
  fileprivate var number: Int? {
    guard case .integer(let number)? = try? json else { return nil }
    return Int(exactly: number)
  }
}
