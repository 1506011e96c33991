import BindingPeer
import Dispatch
import Foundation

/// Writes what becomes of models into a history, in order of arrival. Callable from any thread.
final class Recorder: @unchecked Sendable {  // SAFETY: all mutable state is accessed only while `lock` is held
  private let lock = NSLock()
  private let write: @Sendable ([HistoryLine]) -> Void
  private var models: [String: RecordedModel] = [:]
  private var kept: [any Sendable] = []
  private var commits = 0

  /// - Parameter write: receives lines in order, while a lock is held.
  init(write: @escaping @Sendable ([HistoryLine]) -> Void) { self.write = write }

  /// The numbers of commits and of models in the history.
  var counts: (commits: Int, models: Int) {
    lock.lock()
    defer { lock.unlock() }
    return (commits, models.values.count { $0.reached != nil })
  }

  func begin(_ content: HistoryLine.Content) {
    lock.lock()
    defer { lock.unlock() }
    write([HistoryLine(time: Recorder.now, content)])
  }

  func keep(_ thing: any Sendable) {
    lock.lock()
    kept.append(thing)
    lock.unlock()
  }

  /// Records a model from now on: its state, and then each commit. Where commits were coalesced on their way, the
  /// state that they made stands for them.
  func follow(_ model: SharedModel, as id: String) {
    keep(model.observe { [weak self] update, missed in self?.receive(update, missed: missed, from: model, as: id) })
    keep(model)
  }

  private func receive(_ update: ModelUpdate, missed: UInt64, from model: SharedModel, as id: String) {
    let isPlain: Bool
    switch update.cause {
    case .commits, .expired, .outcome, .local: isPlain = true
    case .snapshot, .delta: isPlain = false
    // Nothing was committed: the hub is gone, or is another one.
    case .detached: return
    }
    lock.lock()
    defer { lock.unlock() }
    var recorded = models[id] ?? RecordedModel(id)
    var lines: RecordedModel.Lines = []
    let isComplete =
      isPlain && missed == 0 && update.coalesced == 0
      && recorded.append(update.commits, in: update.epoch, to: &lines)
    if !isComplete { Recorder.catchUp(&recorded, with: model, to: &lines) }
    models[id] = recorded
    guard !lines.isEmpty else { return }
    commits += lines.count { if case .commit = $0 { true } else { false } }
    let now = Recorder.now
    write(lines.map { HistoryLine(time: now, $0) })
  }

  /// Records the present state of a model. A snapshot does not say what it removed; then all fields are recorded again.
  private static func catchUp(
    _ recorded: inout RecordedModel, with model: SharedModel, to lines: inout RecordedModel.Lines
  ) {
    let reached = recorded.reached ?? (0, 0)
    guard let changed = model.committed(after: reached.version, in: reached.epoch) else { return }
    var attempt = recorded
    var tried: RecordedModel.Lines = []
    attempt.append(changed, isWhole: reached.version == 0, to: &tried)
    if attempt.isSame(as: changed) {
      recorded = attempt
      lines += tried
      return
    }
    guard let whole = model.committed(after: 0, in: reached.epoch) else { return }
    recorded.append(whole, isWhole: true, to: &lines)
  }

  private static var now: UInt64 { DispatchTime.now().uptimeNanoseconds }
}
