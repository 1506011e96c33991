package import BindingProtocol

/// One hub's handle of a `SharedMemoryLog`, driven step by step, so that every run with the same calls is the same.
///
/// Nothing happens but in `step`, which delivers events on the caller's thread; a step is the unit of its time. An
/// append may meet a `Fault` on its way to the log or back. Without an answer after `patience` steps the store appends
/// the same bytes again, and after the last try answers `unknown`.
package final class SharedMemoryStore: SharedStore {
  /// What happens to one try of an append.
  package enum Fault: Sendable {
    /// Nothing.
    case none
    /// It reaches the log only after so many steps.
    case lateRequest(Int)
    /// It never reaches the log.
    case lostRequest
    /// Its answer comes only after so many steps.
    case lateAnswer(Int)
    /// It reaches the log; its answer never comes.
    case lostAnswer
    /// Its answer comes twice.
    case repeatedAnswer
  }
  /// The fault of each try, counted from 0 over all appends of this handle.
  package typealias Faults = @Sendable (Int) -> Fault

  /// Steps until a try without an answer is repeated.
  package static let patience = 8
  /// Tries of one append.
  package static let maxTries = 5
  /// Steps between two readings of the heads that changed.
  package static let checkInterval = 10

  /// The id of the log when the handle was opened.
  package let logID: LogID
  /// The epoch of the log when the handle was opened.
  package let epoch: Epoch
  /// Always `.memory`.
  package var grade: SharedGrade { .memory }
  /// 1 MiB.
  package let maxBatchBytes = 1_048_576
  private let log: SharedMemoryLog
  private let faults: Faults
  private let state: HubLock<SharedMemoryState>

  /// A handle of a log, without faults by default.
  /// - Parameter namesAll: whether it names all models that are there, as if it had missed their records.
  package init(_ log: SharedMemoryLog, namesAll: Bool = false, faults: @escaping Faults = { _ in .none }) {
    let now = log.glance
    (logID, epoch) = (now.logID, now.epoch)
    self.log = log
    self.faults = faults
    let position = now.revision
    state = HubLock(SharedMemoryState(position, checked: namesAll ? 0 : position, fence: log.shards.fence))
  }

  /// What a hub shows of the store.
  package var status: SharedStoreStatus {
    let position = log.revision
    return state.withLock { state in
      SharedStoreStatus(
        address: "memory:", isConnected: !state.isCut, room: log.room, gradeReason: "The log is in memory.",
        lag: position - min(position, state.position), losses: state.losses)
    }
  }

  package func begin(_ deliver: @escaping @Sendable (SharedEvent) -> Void) {
    state.withLock { state in
      precondition(state.deliver == nil, "begin is called once")
      state.deliver = deliver
      state.hasBegun = true
      state.events = [.connected(true), .caughtUp(state.position)]
    }
  }

  package func append(_ number: UInt64, _ batches: [SharedBatch]) {
    state.withLock { state in
      state.appends.add(number, batches)
      let sizes = batches.map { batch in
        var writer = WireWriter()
        batch.batch.write(to: &writer)
        return writer.count
      }
      for (batch, size) in zip(batches, sizes) where size > maxBatchBytes {
        var output = OpenAppends.Output()
        state.appends.take(.tooLarge, to: number, of: batch.batch.model, into: &output)
        state.events += output.events
      }
      let fitting = zip(batches, sizes).filter { $1 <= maxBatchBytes }.map(\.0)
      guard !fitting.isEmpty else { return }
      state.start(SharedMemoryState.Try(number: number, batches: fitting, count: 1, fence: state.shards.fence), faults)
    }
  }

  package func load(_ model: String) {
    ask { log in
      let (head, stored) = log.load(model)
      return .loaded(head, .success(stored))
    }
  }

  package func loadToFold(_ model: String, upTo record: UInt64) {
    ask { log in
      var stored = log.load(model).1
      stored?.batches.removeAll { $0.record > record }
      return .foldable(model, .success(stored))
    }
  }

  package func head(of model: String) { ask { .head($0.head(of: model)) } }

  package func sync(_ number: UInt64) { state.withLock { $0.schedule(.sync(number), after: 1) } }

  package func list(prefix: String, after: String, limit: Int) {
    ask { log in
      let page = log.list(prefix: prefix, after: after, limit: min(max(limit, 1), 1_000))
      return .listed(prefix: prefix, page.heads, isLast: page.isLast)
    }
  }

  package func fold(_ fold: SharedFold) {
    // The fold in force is read when the folding begins, and compared when it ends.
    let seen = log.folds(of: fold.model)
    ask { .folded(fold.model, $0.fold(fold, over: seen)) }
  }

  package func history(_ query: HistoryQuery) { ask { .history(query, .success($0.history(query))) } }

  package func close() { state.withLock { $0 = SharedMemoryState(closedAt: $0.position) } }

  private func ask(_ answer: @escaping @Sendable (SharedMemoryLog) -> SharedEvent) {
    state.withLock { $0.schedule(.ask(answer), after: 1) }
  }

  // MARK: Driven by tests

  /// Cuts the handle from the log, or heals that. While it is cut, nothing reaches the log and nothing comes from it.
  package func setCut(_ isCut: Bool) {
    state.withLock { state in
      guard state.isCut != isCut else { return }
      state.isCut = isCut
      state.events.append(.connected(!isCut))
    }
  }

  /// Holds the tail up, or lets it go on.
  package func setTailHeld(_ isHeld: Bool) { state.withLock { $0.isTailHeld = isHeld } }

  /// Makes the tail lose the events of these records, as if they had never been sent.
  package func setLosing(_ isLost: @escaping @Sendable (SharedRecord) -> Bool) { state.withLock { $0.isLost = isLost } }

  /// Whether nothing is under way but the reading of heads.
  package var isIdle: Bool {
    let revision = log.revision
    return state.withLock { state in
      state.work.isEmpty && state.events.isEmpty && state.appends.isEmpty && state.position >= revision
    }
  }

  /// Does what is due, and delivers the events of it.
  /// - Returns: whether anything was delivered.
  @discardableResult package func step() -> Bool {
    let present = log.glance
    let (events, deliver) = state.withLock { state in
      guard state.hasBegun else { return ([], nil) as ([SharedEvent], (@Sendable (SharedEvent) -> Void)?) }
      if (present.logID, present.epoch) != (logID, epoch) {
        defer { state = SharedMemoryState(closedAt: state.position) }
        let text = "another epoch of the log has begun; start the hub again, which loads the log as it is now"
        return ([.failed(StoreError(text, .replaced))], state.deliver)
      }
      if state.rest(present) { return ([], nil) }
      state.step(log, faults)
      defer { state.events.removeAll() }
      return (state.events, state.deliver)
    }
    for event in events {
      deliver?(event)
      if case .resharded = event { state.withLock { $0.shards.told() } }
    }
    return !events.isEmpty
  }
}
