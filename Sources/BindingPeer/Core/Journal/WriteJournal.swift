import BindingProtocol

/// What the outbox of a session records besides the writes themselves.
struct WriteJournal: Sendable {
  /// Whether every step of a write is recorded in an outbox (`PeerEffects.journal`).
  let isKept: Bool
  /// True while entries cannot be written: outcomes that the journal lacks are then not confirmed to the hub.
  var isLagging = false
  /// The log and epoch that it names.
  private var hub: (log: LogID, epoch: Epoch)?

  init(isKept: Bool) { self.isKept = isKept }

  /// An earlier run has recorded this log and epoch.
  mutating func resume(log: LogID, epoch: Epoch) { hub = (log, epoch) }

  mutating func record(log: LogID, epoch: Epoch, _ effects: inout PeerEffects) {
    guard hub.map({ $0 != (log, epoch) }) ?? true else { return }
    hub = (log, epoch)
    effects.journal.append(.welcomed(log: log, epoch: epoch))
  }
}

/// The outcomes and deferrals of writes since the last drain, in their order.
struct OutcomeQueue: Sendable {
  private var settled: [(id: WriteID, model: String, outcome: Outcome)] = []
  /// How many of these outcomes the outbox has recorded, or must not record.
  private var recorded = 0
  private var retries: [(id: WriteID, model: String, code: RetryReason)] = []

  var hasOutcomes: Bool { !settled.isEmpty }

  mutating func settle(_ id: WriteID, in model: String, as outcome: Outcome) { settled.append((id, model, outcome)) }

  /// The hub has deferred the write.
  mutating func retry(_ id: WriteID, in model: String, _ code: RetryReason) { retries.append((id, model, code)) }

  /// The outbox does not record the present outcomes.
  mutating func skipRecording() { recorded = settled.count }

  /// Has the outbox record the outcomes that it lacks. Those of ephemeral models are not kept.
  mutating func record(_ effects: inout PeerEffects) {
    for (id, model, outcome) in settled.dropFirst(recorded) where !Names.isEphemeral(model) {
      effects.journal.append(.decided(id, JournalEntry.Decided(outcome)))
    }
    recorded = settled.count
  }

  mutating func emit(_ effects: inout PeerEffects) {
    for (id, model, outcome) in settled { effects.outcomes.append(.settled(id, model: model, outcome)) }
    for (id, model, code) in retries { effects.outcomes.append(.retryLater(id, model: model, code)) }
    settled.removeAll(keepingCapacity: true)
    recorded = 0
    retries.removeAll(keepingCapacity: true)
  }
}
