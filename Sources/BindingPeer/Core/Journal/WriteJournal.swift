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
  private struct Settled: Sendable {
    let id: WriteID
    let model: String
    let outcome: Outcome
    /// The write's number, if the outbox must not record the outcome before the replica that contains it is stored.
    let deferred: ProposalNumber?
  }
  private var settled: [Settled] = []
  /// How many of these outcomes the outbox has recorded, or must not record.
  private var recorded = 0
  private var retries: [(id: WriteID, model: String, code: RetryReason)] = []
  /// Those that the outbox records later.
  var deferred = DeferredOutcomes()

  var hasOutcomes: Bool { !settled.isEmpty }

  /// - Parameter number: the write's number, if the outbox must record the outcome later than the replica.
  mutating func settle(_ id: WriteID, in model: String, as outcome: Outcome, deferred number: ProposalNumber? = nil) {
    settled.append(Settled(id: id, model: model, outcome: outcome, deferred: number))
  }

  /// The hub has deferred the write.
  mutating func retry(_ id: WriteID, in model: String, _ code: RetryReason) { retries.append((id, model, code)) }

  /// The outbox does not record the present outcomes.
  mutating func skipRecording() { recorded = settled.count }

  /// Has the outbox record the outcomes that it lacks. Those of ephemeral models are not kept.
  mutating func record(_ effects: inout PeerEffects) {
    for end in settled.dropFirst(recorded) where !Names.isEphemeral(end.model) {
      if let number = end.deferred {
        deferred.append(end.id, number, in: end.model, as: end.outcome)
      } else {
        effects.journal.append(.decided(end.id, JournalEntry.Decided(end.outcome)))
      }
    }
    recorded = settled.count
  }

  mutating func emit(_ effects: inout PeerEffects) {
    for end in settled { effects.outcomes.append(.settled(end.id, model: end.model, end.outcome)) }
    for (id, model, code) in retries { effects.outcomes.append(.retryLater(id, model: model, code)) }
    settled.removeAll(keepingCapacity: true)
    recorded = 0
    retries.removeAll(keepingCapacity: true)
  }
}
