import BindingModel
import BindingProtocol
import Logging

/// Sends what earlier runs left in an outbox, one run after the other, the oldest first, each in a session of its own
/// under the identity that wrote it (R10).
///
/// It reports its progress to the peer's own session, so that those writes show there and are not overtaken.
final class PreviousRuns: Sendable {
  private struct Progress: Sendable {
    var waiting: [PreviousRun]
    var current: PeerRuntime?
    var isEnded = false
  }
  private let progress: Protected<Progress>
  private let file: OutboxFile
  private let options: SessionOptions
  private let defersOutcomes: Bool
  private let log: Logger
  private let makeLink: @Sendable () -> any PeerLink
  private weak let successor: PeerRuntime?

  init(
    _ runs: [PreviousRun], in file: OutboxFile, options: SessionOptions, defersOutcomes: Bool, log: Logger,
    of successor: PeerRuntime, makeLink: @escaping @Sendable () -> any PeerLink
  ) {
    self.defersOutcomes = defersOutcomes
    progress = Protected(Progress(waiting: runs))
    self.file = file
    self.options = options
    self.log = log
    self.successor = successor
    self.makeLink = makeLink
  }

  /// Starts with the next run, if there is one.
  func goOn() {
    var random = SystemRandomNumberGenerator()
    let seed = random.next()
    let link = makeLink()
    let next: PeerRuntime? = progress.withLock { progress in
      progress.current = nil
      guard !progress.isEnded, !progress.waiting.isEmpty else { return nil }
      let run = progress.waiting.removeFirst()
      let session = Session(
        resuming: run, seed: seed, options: options, now: PeerRuntime.now, wall: OutboxFile.wall,
        defersOutcomes: defersOutcomes)
      let runtime = PeerRuntime(
        session: session, link: link, log: log, outbox: JournalWriter(file: file, run: run.number),
        onEffects: { [weak self] effects in self?.receive(effects, of: run) })
      progress.current = runtime
      return runtime
    }
    if let next { link.start(next) }
  }

  /// The peer ends: unacknowledged writes stay in the file.
  func end() {
    let current = progress.withLock { progress in
      progress.isEnded = true
      return progress.current.take()
    }
    current?.end()
  }

  private func receive(_ effects: PeerEffects, of run: PreviousRun) {
    for case .numbered(let id, let number, _) in effects.journal where number > 0 {
      let key = RestoredKey(run: run.number, write: id)
      successor?.perform { state, _ in
        guard let restored = state.writes.restored[key] else { return }
        state.session.carriedSent(restored.id, of: restored.model, as: number)
      }
    }
    for case .settled(let id, _, let outcome) in effects.outcomes {
      successor?.endRestored(RestoredKey(run: run.number, write: id), as: outcome)
    }
    // The outcomes of an earlier run wait for this run's replicas.
    if defersOutcomes, !effects.outcomes.isEmpty { successor?.state.withLock { $0.keeper }?.storeSoon() }
    var isStopped = false
    for case .phase(.stopped(let reason)) in effects.events {
      isStopped = true
      if reason != .closed {
        log.error(
          "the writes of an earlier run in the outbox are not sent",
          metadata: ["outbox": "\(file.path)", "reason": "\(reason.inWords)"])
      }
    }
    if isStopped {
      if progress.withLock({ $0.current != nil }) { goOn() }
    } else {
      endIfDone()
    }
  }

  /// Ends the session of the present run if all its writes have their outcomes, and the file has those.
  func endIfDone() {
    guard let current else { return }
    let isDone = current.state.withLock {
      $0.session.unconfirmed == 0 && !$0.isOutboxLagging && !$0.session.hasDeferredOutcomes
    }
    if isDone { current.end() }
  }

  /// The session that sends the present run's writes; nil: none.
  var current: PeerRuntime? { progress.withLock { $0.current } }
}

extension StopReason {
  var inWords: String {
    switch self {
    case .fenced: "another process sends them: the file was copied"
    case .otherProtocol(let text): "the hub speaks another protocol: \(text)"
    case .notYours: "the identity is registered with another secret"
    case .closed: "the peer was closed"
    }
  }
}

extension PeerRuntime {
  /// Reports the outcome of an earlier run's write.
  func endRestored(_ key: RestoredKey, as outcome: Outcome) {
    let ended: RestoredWrite? = perform { state, _ in
      guard let restored = state.writes.remove(key) else { return nil }
      state.session.carriedEnded(restored.id, of: restored.model, as: outcome)
      if outcome.isMisfit, let reason = outcome.complaint {
        var current: [String: FieldValue] = [:]
        for field in restored.write.fields {
          current[field] = state.session.fieldRecord(restored.model, field)?.committed
        }
        let rejection = RestoredRejection(fields: restored.write.fields, reason: reason, current: current)
        state.writes.keep(rejection, in: restored.model)
      }
      return RestoredWrite(
        model: restored.model, write: restored.write, shared: state.models[restored.model]?.model)
    }
    guard let ended else { return }
    let current = state.withLock { state in
      Dictionary(
        uniqueKeysWithValues: Swift.Set(ended.write.fields).compactMap { field in
          state.session.fieldRecord(ended.model, field)?.committed.map { (field, $0) }
        })
    }
    // Later than the update to the value to which the field fell back, which would clear it.
    let stamp = state.withLock { state in
      state.stamp += 1
      return state.stamp
    }
    if let reason = outcome.complaint {
      ended.shared?.observers.recordRejection(
        of: ended.write.fields, reason, current: current, stamp: stamp, isSticky: outcome.isMisfit)
      ended.shared?.reportStatus()
      log.warning(
        "a write of an earlier run failed",
        metadata: ["model": "\(ended.model)", "fields": "\(ended.write.fields)", "reason": "\(reason)"])
    }
    ended.write.settle(outcome)
  }
}

/// A write of an earlier run of this program, found in the outbox.
public struct RestoredWrite: Sendable {
  /// The model's id.
  public let model: String
  /// The write, whose outcome is reported here.
  public let write: PendingWrite
  let shared: SharedModel?
}
