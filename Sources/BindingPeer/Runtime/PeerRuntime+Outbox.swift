import BindingProtocol

/// The file in which a session's notes go, and under which life.
struct JournalWriter: Sendable {
  let file: OutboxFile
  let run: UInt32
}

/// A write of an earlier life as the peer's own session knows it.
struct Restored: Sendable {
  let id: WriteID
  let model: String
  let write: PendingWrite
}

extension PeerRuntime.State {
  /// Writes down what the session noted, before anything that it sends can leave: frames are handed to the link under
  /// the same lock, later.
  ///
  /// That is a `write(2)` under the lock, a few microseconds: the order of notes is the session's, and an assignment
  /// that has returned is in the file.
  mutating func writeJournal() {
    guard let outbox else { return }
    defer {
      // Under the lock too: whoever closes the file afterwards finds this in it.
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
    // What a proposal says, or a confirmation, may not be in the file: those frames are lost here, as on a bad line,
    // and the session repeats them. While it knows of the problem it confirms nothing by itself.
    output.actions.removeAll { action in
      guard case .send(let frame) = action, let kind = frame.first.flatMap(PeerMessageKind.init) else { return false }
      return kind == .propose || !wasLagging && (kind == .alive || kind == .join)
    }
  }

  /// All writes without an outcome, those of earlier lives among them.
  var unconfirmed: Int { writes.count + restored.count }

  var outboxStatus: OutboxStatus {
    outbox == nil ? .memory : outboxProblem.map { .memoryOnly($0) } ?? .kept
  }
}
