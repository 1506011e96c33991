import BindingProtocol

/// The file for a session's journal entries, and the run to which they belong.
struct JournalWriter: Sendable {
  let file: OutboxFile
  let run: UInt32
}

/// A write of an earlier run, as the peer's own session knows it.
struct Restored: Sendable {
  let id: WriteID
  let model: String
  let write: PendingWrite
}

extension PeerRuntime.State {
  /// Writes the session's journal entries before any of its frames can leave: frames are passed to the link under the
  /// same lock, later.
  ///
  /// That is a `write(2)` under the lock, a few microseconds: the entries are in the session's order, and an
  /// assignment that has returned is in the file.
  mutating func writeJournal() {
    guard let outbox else { return }
    defer {
      // Under the lock too: a caller that closes the file afterwards finds this in it.
      if leavesOutbox { outbox.file.leave(outbox.run) }
      leavesOutbox = false
    }
    var entries: [JournalEntry] = []
    for action in output.actions {
      if case .keep(let entry) = action { entries.append(entry) }
    }
    guard !entries.isEmpty || outboxProblem != nil else { return }
    let wasLagging = outboxProblem != nil
    outboxProblem = outbox.file.append(entries, of: outbox.run)
    if wasLagging != (outboxProblem != nil) { hasOutboxChanged = true }
    guard outboxProblem != nil else { return }
    // The file may lack what a proposal or a confirmation says: those frames are dropped here, as by a bad
    // connection, and the session repeats them. While it knows of the problem it sends no confirmations itself.
    output.actions.removeAll { action in
      guard case .send(let frame) = action, let kind = frame.first.flatMap(PeerMessageKind.init) else { return false }
      return kind == .propose || !wasLagging && (kind == .alive || kind == .join)
    }
  }

  /// The number of writes without an outcome, those of earlier runs included.
  var unconfirmed: Int { writes.count + restored.count }

  var outboxStatus: OutboxStatus {
    outbox == nil ? .memory : outboxProblem.map { .memoryOnly($0) } ?? .kept
  }
}
