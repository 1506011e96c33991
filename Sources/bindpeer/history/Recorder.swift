import BindingPeer
import Dispatch
import Foundation

/// Writes what becomes of models into a history, in order of arrival. Callable from any thread.
final class Recorder: @unchecked Sendable {  // SAFETY: all mutable state is accessed only while `lock` is held
  private let lock = NSLock()
  private let write: @Sendable ([HistoryLine]) -> Void
  private var models: [String: RecordedModel] = [:]
  private var gaps: [String: RecordedGap] = [:]
  private var fillings: [String: Task<Void, Never>] = [:]
  private var kept: [any Sendable] = []
  private var commits = 0
  private let timeout: Duration?
  private var endsAt: ContinuousClock.Instant?

  /// - Parameters:
  ///   - timeout: the longest wait for a page of the hub's history, from which coalesced commits are read; nil: the
  ///     state stands for them.
  ///   - write: receives lines in order, while a lock is held.
  init(fillingGaps timeout: Duration? = nil, write: @escaping @Sendable ([HistoryLine]) -> Void) {
    self.write = write
    self.timeout = timeout
  }

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

  /// Records a model from now on: its state, and then each commit. Where commits were coalesced on their way, they are
  /// read from the hub's history; else the state that they made stands for them.
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
    let isSingle = isPlain && missed == 0 && update.coalesced == 0
    if gaps[id] != nil {
      gaps[id]?.add(update.commits, in: update.epoch, isComplete: isSingle)
      return
    }
    var recorded = models[id] ?? RecordedModel(id)
    var lines: RecordedModel.Lines = []
    if !isSingle || !recorded.append(update.commits, in: update.epoch, to: &lines) {
      if let reached = recorded.reached, mayFill(id), reached.epoch == update.epoch, reached.version < update.version {
        gaps[id] = RecordedGap(in: update.epoch)
        fillings[id] = Task { [weak self] in await self?.fill(id, from: model) }
      } else {
        Recorder.catchUp(&recorded, with: model, to: &lines)
      }
    }
    models[id] = recorded
    add(lines)
  }

  /// Writes lines. Call while the lock is held.
  private func add(_ lines: RecordedModel.Lines) {
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

  // MARK: Gaps

  private func mayFill(_ id: String) -> Bool { timeout != nil && !Names.isEphemeral(id) }

  /// Reads the commits of a gap, page by page; each is written before the next page is asked for.
  private func fill(_ id: String, from model: SharedModel) async {
    while let query = nextQuery(for: id, from: model), let timeout {
      let page = try? await model.historyPage(query, timeout: timeout)
      append(page?.commits ?? [], to: id)
    }
  }

  /// What to ask the hub for next; nil: the gap is closed. Where the hub does not have the commits, or does not say,
  /// the state stands for them.
  private func nextQuery(for id: String, from model: SharedModel) -> SharedModel.HistoryQuery? {
    lock.lock()
    defer { lock.unlock() }
    guard var recorded = models[id], let gap = gaps[id] else { return nil }
    var lines: RecordedModel.Lines = []
    defer { add(lines) }
    let hasFollowed = recorded.append(gap.waiting, in: gap.epoch, to: &lines)
    let reached = recorded.reached ?? (0, 0)
    let present = model.committed(after: reached.version, in: reached.epoch)
    let isClosed = hasFollowed && present.map { $0.epoch == reached.epoch && $0.version <= reached.version } ?? true
    let isLate = endsAt.map { $0 < .now } ?? false
    if !isClosed, !isLate, present?.epoch == reached.epoch, gap.askedAfter.map({ $0 < reached.version }) ?? true {
      models[id] = recorded
      gaps[id]?.askedAfter = reached.version
      var query = SharedModel.HistoryQuery()
      (query.isOldestFirst, query.epoch) = (true, reached.epoch)
      query.versions = reached.version + 1 ... .max
      return query
    }
    gaps[id] = nil
    let isSame = present.map { $0.version != reached.version || recorded.isSame(as: $0) } ?? true
    if !isClosed || !isSame { Recorder.catchUp(&recorded, with: model, to: &lines) }
    models[id] = recorded
    return nil
  }

  private func append(_ commits: [SharedModel.PastCommit], to id: String) {
    lock.lock()
    defer { lock.unlock() }
    guard var recorded = models[id], let epoch = recorded.reached?.epoch else { return }
    var lines: RecordedModel.Lines = []
    for commit in commits where commit.epoch == epoch {
      guard let info = commit.info, recorded.append([info], in: epoch, to: &lines) else { break }
    }
    models[id] = recorded
    add(lines)
  }

  /// Waits until all gaps are closed, at most twice as long as for a page of history.
  func finish() async {
    for filling in beginEnd() { await filling.value }
  }

  private func beginEnd() -> [Task<Void, Never>] {
    lock.lock()
    defer { lock.unlock() }
    endsAt = .now + (timeout ?? .zero)
    return Array(fillings.values)
  }

  private static var now: UInt64 { DispatchTime.now().uptimeNanoseconds }
}
