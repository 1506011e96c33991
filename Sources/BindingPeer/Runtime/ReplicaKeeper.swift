import BindingModel
import BindingProtocol
import Dispatch
import Logging

/// Stores a peer's replicas in its keep file, on a queue of its own: at most every 250 ms what has changed, and now and
/// then that nothing has.
final class ReplicaKeeper: Sendable {
  private struct Schedule: Sendable {
    var isScheduled = false
    var isEnded = false
    /// When the last batch was taken; 0: none.
    var lastAt: UInt64 = 0
    var hasProblem = false
  }
  /// The time between two batches, milliseconds.
  static let pauseMilliseconds: UInt64 = 250
  /// The time after which a file that could not be written is tried again.
  static let problemMilliseconds: UInt64 = 5_000

  private let file: OutboxFile
  private let limits: Peer.Keeping
  private let log: Logger
  private let queue = DispatchQueue(label: "bindpeer keep", qos: .utility)
  private let schedule = Protected(Schedule())
  /// What the file holds; used on the queue alone.
  private let replicas: Protected<KeptReplicas>
  private weak let runtime: PeerRuntime?

  init(of runtime: PeerRuntime, in file: OutboxFile, _ replicas: KeptReplicas, _ limits: Peer.Keeping, log: Logger) {
    self.runtime = runtime
    self.file = file
    self.limits = limits
    self.log = log
    self.replicas = Protected(replicas)
    file.disk.withLock { $0.onGrowth = { [weak self] in self?.storeSoon() } }
    rest()
  }

  /// Stores what has changed, at the latest 250 ms from now.
  func storeSoon() {
    let pause: UInt64? = schedule.withLock { schedule in
      guard !schedule.isScheduled, !schedule.isEnded else { return nil }
      schedule.isScheduled = true
      let next = schedule.lastAt + ReplicaKeeper.pauseMilliseconds
      return next - min(next, PeerRuntime.now)
    }
    guard let pause else { return }
    queue.asyncAfter(deadline: .now() + .milliseconds(Int(pause))) { [weak self] in self?.store() }
  }

  /// Stores what is left, on the caller's thread, and ends.
  func finish() {
    let wasEnded = schedule.withLock { schedule in
      defer { schedule.isEnded = true }
      return schedule.isEnded
    }
    guard !wasEnded else { return }
    queue.sync {
      store()
      // An outcome follows the replica that contains it, and is confirmed once it is stored too.
      for _ in 0..<2 where runtime?.state.withLock({ $0.session.isKeepingDue }) == true { store() }
    }
  }

  /// While nothing changes, the file tells now and then that the values are still complete.
  private func rest() {
    let pause = Int(ReplicaKeeping.completeMilliseconds) + 1_000
    queue.asyncAfter(deadline: .now() + .milliseconds(pause)) { [weak self] in
      guard let self, !schedule.withLock({ $0.isEnded }) else { return }
      store()
      rest()
    }
  }

  private func store() {
    guard let runtime else { return }
    schedule.withLock { ($0.isScheduled, $0.lastAt) = (false, PeerRuntime.now) }
    var (batch, run, previousRuns) = runtime.state.withLock { state in
      let batch = state.session.takeKeeping(wall: OutboxFile.wall, now: PeerRuntime.now)
      return (batch, state.outbox?.run ?? 0, state.previousRuns)
    }
    let carrier = previousRuns?.current
    var entries = batch.entries.map { (run: run, entry: $0) }
    if let carrier { entries += take(from: carrier, of: runtime, &batch) }
    let tooLarge = apply(&batch)
    let hadNothing = batch.isEmpty && entries.isEmpty
    let problem = hadNothing ? nil : file.keep(batch, entries)
    runtime.state.withLock { state in
      for model in tooLarge { state.session.stopKeeping(model) }
      state.session.finishKeeping(batch, isStored: problem == nil)
    }
    if let carrier {
      carrier.state.withLock { $0.session.finishKeeping(KeepBatch(), isStored: problem == nil) }
      previousRuns?.endIfDone()
    }
    if file.wantsRewrite { rewrite() }
    if problem == nil, !hadNothing { schedule.withLock { $0.hasProblem = false } }
    if let problem { return wait(because: problem) }
    let isCarrierDue = carrier?.state.withLock { $0.session.hasDeferredOutcomes } ?? false
    if isCarrierDue || runtime.state.withLock({ $0.session.isKeepingDue }) { storeSoon() }
  }

  /// The file cannot be written: it is not tried again at once.
  private func wait(because problem: String) {
    let isNew = schedule.withLock { schedule in
      defer { (schedule.lastAt, schedule.hasProblem) = (PeerRuntime.now + ReplicaKeeper.problemMilliseconds, true) }
      return !schedule.hasProblem
    }
    guard isNew else { return }
    log.warning("the values are not kept on disk now: \(problem)", metadata: ["file": "\(file.path)"])
  }

  private func rewrite() {
    let kept = replicas.withLock { replicas in
      replicas.forgetOldLogs()
      return replicas
    }
    file.rewriteInBackground(with: kept)
  }

  /// The outcomes of an earlier run's writes, which another session has received: they wait for this peer's replicas.
  /// A replica of a model that this peer does not follow will never contain them: it is dropped, rather than shown
  /// older than what was acknowledged.
  private func take(
    from carrier: PeerRuntime, of runtime: PeerRuntime, _ batch: inout KeepBatch
  ) -> [(run: UInt32, entry: JournalEntry)] {
    let kept = replicas.withLock { $0 }
    var dropped: [(log: LogID, model: String)] = []
    let (entries, run) = carrier.state.withLock { state in
      let entries = state.session.takeDeferredOutcomes { model, outcome in
        let (isContained, isFollowed) = runtime.state.withLock {
          ($0.session.contains(model, outcome), $0.session.follows(model))
        }
        if !isFollowed, case .committed(_, let version) = outcome, let log = kept.lastLog,
          let replica = kept[log, model], replica.version < version
        {
          dropped.append((log, model))
        }
        return isContained
      }
      return (entries, state.outbox?.run ?? 0)
    }
    batch.dropped += dropped
    if !dropped.isEmpty {
      runtime.state.withLock { [dropped] state in for (_, model) in dropped { state.session.keepAnew(model) } }
    }
    return entries.map { (run, $0) }
  }

  /// Applies the batch to what is kept, and drops from both what exceeds a limit.
  /// - Returns: the models that are not kept any more.
  private func apply(_ batch: inout KeepBatch) -> [String] {
    var dropped: [(log: LogID, model: String)] = []
    replicas.withLock { [batch] replicas in
      for (log, model) in batch.dropped { replicas.drop(model, of: log) }
      for record in batch.records { replicas.apply(record) }
      for record in batch.records where replicas[record.log, record.model]?.bytes ?? 0 > limits.maxModelBytes {
        dropped.append((record.log, record.model))
      }
      for (log, model) in dropped { replicas.drop(model, of: log) }
      for spared in [Swift.Set(batch.records.map(\.model)), []] {
        let surplus = replicas.surplus(over: limits.maxBytes, sparing: spared)
        for (log, model) in surplus { replicas.drop(model, of: log) }
        dropped += surplus
      }
    }
    for (log, model) in dropped {
      batch.records.removeAll { $0.log == log && $0.model == model }
      self.log.warning(
        "the values of \(model) are not kept on disk: they exceed a limit",
        metadata: ["maxModelBytes": "\(limits.maxModelBytes)", "maxBytes": "\(limits.maxBytes)"])
    }
    batch.dropped += dropped
    return dropped.map(\.model)
  }
}
