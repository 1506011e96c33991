import BindingProtocol

/// The file for a session's journal entries, and the run to which they belong.
struct JournalWriter: Sendable {
  let file: OutboxFile
  let run: UInt32
  /// Why the file lags behind the session.
  private(set) var problem: String?
  private var hasChanged = false
  /// The run has ended without unacknowledged writes.
  var leaves = false

  init(file: OutboxFile, run: UInt32) {
    self.file = file
    self.run = run
  }

  mutating func append(_ entries: [JournalEntry]) {
    guard !entries.isEmpty || problem != nil else { return }
    let wasLagging = problem != nil
    problem = file.append(entries, of: run)
    if wasLagging != (problem != nil) { hasChanged = true }
  }

  mutating func leaveIfDue() {
    if leaves { file.leave(run) }
    leaves = false
  }

  /// - Returns: whether the file has begun or ceased to lag since the last call.
  mutating func takeChange() -> Bool {
    defer { hasChanged = false }
    return hasChanged
  }
}

extension PeerRuntime.State {
  /// Writes the session's journal entries before any of its frames can leave: frames are passed to the link under the
  /// same lock, later.
  ///
  /// That is a `write(2)` under the lock, a few microseconds: the entries are in the session's order, and an
  /// assignment that has returned is in the file.
  mutating func writeJournal() {
    let wasLagging = isOutboxLagging
    outbox?.append(effects.journal)
    // Under the lock too: a caller that closes the file afterwards finds this in it.
    outbox?.leaveIfDue()
    guard isOutboxLagging else { return }
    // The file may lack what a proposal or a confirmation says: those frames are dropped here, as by a bad
    // connection, and the session repeats them. While it knows of the problem it sends no confirmations itself.
    effects.link.removeAll { action in
      guard case .send(let frame) = action, let kind = frame.first.flatMap(PeerMessageKind.init) else { return false }
      return kind == .propose || !wasLagging && (kind == .alive || kind == .join)
    }
  }

  /// Whether the outbox file lacks entries.
  var isOutboxLagging: Bool { outbox?.problem != nil }

  var outboxStatus: OutboxStatus {
    guard let outbox else { return .memory }
    return outbox.problem.map { .memoryOnly($0) } ?? .kept
  }
}
