import BindingProtocol

/// The state that all records of an outbox file add up to.
struct OutboxContent: Sendable, Equatable {
  private struct Run: Sendable, Equatable {
    var identity: Identity
    var log: LogID?
    var epoch: Epoch?
    var lastNumbers: [String: ProposalNumber] = [:]
    var writes: [WriteID: KeptWrite] = [:]
    var sizes: [WriteID: Int] = [:]
    /// It ended, and what it wrote has outcomes. It is kept for the runs after it.
    var hasLeft = false

    /// Number 0 is none: a write that has lost its number.
    mutating func used(_ number: ProposalNumber, in model: String) {
      guard number > 0 else { return }
      lastNumbers[model] = max(number, lastNumbers[model] ?? 0)
    }
  }
  private var runs: [UInt32: Run] = [:]
  private(set) var lastRun: UInt32 = 0
  private(set) var replicas = KeptReplicas()
  /// The steps of undo, which belong to no run.
  private(set) var undo = KeptUndo()
  /// Bytes of the writes without an outcome.
  private var writeBytes = 0

  /// Bytes of what a compacted file keeps, without the runs themselves.
  var liveBytes: Int { writeBytes + undo.bytes }

  var isEmpty: Bool { runs.isEmpty && undo.isEmpty }

  /// Applies one record of this many bytes. Records of ended runs and decided writes change nothing.
  mutating func apply(_ record: OutboxRecord, bytes: Int) {
    let number = record.run
    switch record.content {
    case .began(let identity):
      runs[number] = Run(identity: identity)
      lastRun = max(lastRun, number)
    case .left: leave(number)
    case .counted(let model, let last), .entry(.counted(let model, let last)):
      runs[number]?.used(last, in: model)
    case .replica(let record): replicas.apply(record)
    case .dropped(let log, let model): replicas.drop(model, of: log)
    case .synced: break
    case .entry(.welcomed(let log, let epoch)):
      replicas.follow(log)
      runs[number]?.log = log
      runs[number]?.epoch = epoch
    case .entry(.written(let write)):
      guard runs[number] != nil else { return }
      // A write that was merged with another peer's is recorded again.
      let isSecondTry = runs[number]?.writes[write.id]?.isSecondTry ?? false
      runs[number]?.writes[write.id] = write
      runs[number]?.writes[write.id]?.isSecondTry = isSecondTry
      writeBytes += bytes - (runs[number]?.sizes.updateValue(bytes, forKey: write.id) ?? 0)
    case .entry(.numbered(let id, let proposal, let conditions)):
      guard let model = runs[number]?.writes[id]?.model else { return }
      runs[number]?.writes[id]?.number = proposal == 0 ? nil : proposal
      if proposal == 0 { runs[number]?.writes[id]?.isSecondTry = true }
      runs[number]?.writes[id]?.proposal.conditions = conditions
      runs[number]?.used(proposal, in: model)
    case .entry(.undo(let model, let step, let payload)): undo.put(payload, model: model, step: step)
    case .entry(.withdrawn(let id)): runs[number]?.writes[id]?.isWithdrawn = true
    case .entry(.decided(let id, _)):
      runs[number]?.writes[id] = nil
      writeBytes -= runs[number]?.sizes.removeValue(forKey: id) ?? 0
    }
  }

  /// The runs that left writes without an outcome, oldest first.
  var unfinished: [PreviousRun] {
    var earlier: Swift.Set<Tag> = []
    var unfinished: [PreviousRun] = []
    for (number, run) in runs.sorted(by: { $0.key < $1.key }) {
      if !run.writes.isEmpty {
        unfinished.append(
          PreviousRun(
            number: number, identity: run.identity, earlier: earlier, log: run.log, epoch: run.epoch,
            lastNumbers: run.lastNumbers, writes: run.writes.values.sorted { $0.id < $1.id }))
      }
      earlier.insert(run.identity.tag)
    }
    return unfinished
  }

  /// Gives unsent writes of unproven identities a proven one. In older releases tags were drawn at random, not
  /// derived from secrets, and no hub accepts such a tag. Unsent writes of such a run become a run under the tag of
  /// its secret; sent ones stay, so that their end is reported.
  /// - Returns: whether anything was moved. Then the file must be rewritten in one step, so that sent and unsent
  ///   writes are not mixed up.
  mutating func adoptUnproven() -> Bool {
    let unproven = runs.filter { _, run in
      !run.identity.isProven && run.writes.values.contains { $0.number == nil }
    }
    for (number, run) in unproven.sorted(by: { $0.key < $1.key }) {
      var adopted = Run(identity: Identity(secret: run.identity.secret, name: run.identity.name))
      (adopted.log, adopted.epoch) = (run.log, run.epoch)
      for (id, write) in run.writes where write.number == nil {
        adopted.writes[id] = runs[number]?.writes.removeValue(forKey: id)
        adopted.sizes[id] = runs[number]?.sizes.removeValue(forKey: id)
      }
      lastRun += 1
      runs[lastRun] = adopted
    }
    return !unproven.isEmpty
  }

  /// Ends the runs without unacknowledged writes.
  mutating func forgetFinished() {
    for (number, run) in runs where run.writes.isEmpty { runs[number]?.hasLeft = true }
    forgetLeft()
  }

  private mutating func leave(_ number: UInt32) {
    for size in runs[number]?.sizes.values ?? [:].values { writeBytes -= size }
    runs[number]?.writes.removeAll()
    runs[number]?.sizes.removeAll()
    runs[number]?.hasLeft = true
    forgetLeft()
  }

  /// Forgets the runs that have ended. Who sends what a later run left has to know those that wrote at the hub.
  private mutating func forgetLeft() {
    let last = runs.filter { !$0.value.writes.isEmpty }.keys.max() ?? 0
    runs = runs.filter { number, run in !run.hasLeft || number < last && !run.lastNumbers.isEmpty }
  }

  /// Takes the replicas out: whoever writes them keeps them apart from the runs.
  mutating func takeReplicas() -> KeptReplicas {
    defer { replicas = KeptReplicas() }
    return replicas
  }

  /// The shortest file with the same content.
  var compacted: [UInt8] { compacted(with: replicas, format: replicas.isEmpty ? 1 : OutboxLog.version) }

  /// The shortest file with the runs of this content and these replicas.
  func compacted(with replicas: KeptReplicas, format: UInt32) -> [UInt8] {
    var writer = WireWriter()
    writer.raw(OutboxLog.header(version: format))
    replicas.append(to: &writer)
    for (number, run) in runs.sorted(by: { $0.key < $1.key }) {
      func add(_ content: OutboxRecord.Content) {
        OutboxLog.append(OutboxRecord(run: number, content: content), to: &writer)
      }
      add(.began(run.identity))
      if let log = run.log, let epoch = run.epoch { add(.entry(.welcomed(log: log, epoch: epoch))) }
      for (model, last) in run.lastNumbers.sorted(by: { $0.key < $1.key }) where last > 0 {
        add(.counted(model: model, last: last))
      }
      for write in run.writes.values.sorted(by: { $0.id < $1.id }) {
        add(.entry(.written(write)))
        if write.isSecondTry { add(.entry(.numbered(write.id, 0, conditions: write.proposal.conditions))) }
        if let number = write.number {
          add(.entry(.numbered(write.id, number, conditions: write.proposal.conditions)))
        }
        if write.isWithdrawn { add(.entry(.withdrawn(write.id))) }
      }
    }
    for (number, run) in runs.sorted(by: { $0.key < $1.key }) where run.hasLeft {
      OutboxLog.append(OutboxRecord(run: number, content: .left), to: &writer)
    }
    for (model, step, payload) in undo.inOrder {
      let entry = JournalEntry.undo(model: model, step: step, payload: payload)
      OutboxLog.append(OutboxRecord(run: lastRun, content: .entry(entry)), to: &writer)
    }
    return writer.withUnsafeBytes { Array($0) }
  }
}
