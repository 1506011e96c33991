package import BindingProtocol

/// The bytes of an outbox file in memory, for a simulation.
package struct OutboxBook: Sendable {
  private var bytes: [UInt8] = OutboxLog.header(version: OutboxLog.version)

  /// An outbox without runs.
  package init() {}

  /// The length in bytes.
  package var count: Int { bytes.count }

  /// Begins a run and returns its number.
  package mutating func begin(_ identity: Identity) -> UInt32 {
    let run = (read?.lastRun ?? 0) + 1
    add(OutboxRecord(run: run, content: .began(identity)))
    return run
  }

  /// Appends an entry of a run. A write gets the wall time, in milliseconds since 1970.
  package mutating func append(_ entry: JournalEntry, run: UInt32, wall: UInt64) {
    guard case .written(var write) = entry else { return add(OutboxRecord(run: run, content: .entry(entry))) }
    write.time = wall
    add(OutboxRecord(run: run, content: .entry(.written(write))))
  }

  /// Records that a run has ended and its identity is no longer used.
  package mutating func leave(_ run: UInt32) { add(OutboxRecord(run: run, content: .left)) }

  /// Appends what a keep file lacks, with the outcomes of these runs.
  package mutating func keep(_ batch: KeepBatch, _ entries: [(run: UInt32, entry: JournalEntry)]) {
    for (log, model) in batch.dropped { add(OutboxRecord(run: 0, content: .dropped(log: log, model: model))) }
    for record in batch.records { add(OutboxRecord(run: 0, content: .replica(record))) }
    for (run, entry) in entries { add(OutboxRecord(run: run, content: .entry(entry))) }
  }

  /// The replicas in the file.
  package var replicas: KeptReplicas { read?.replicas ?? KeptReplicas() }

  /// Puts other replicas into the file, as another copy of it has them.
  package mutating func replaceReplicas(by replicas: KeptReplicas) {
    guard let content = read else { return }
    bytes = content.compacted(with: replicas, format: OutboxLog.version)
  }

  /// Truncates the file, as a crash in the middle of writing does.
  package mutating func cut(to count: Int) { bytes.removeLast(max(bytes.count - count, 0)) }

  /// Reopens the file: drops a torn end and compacts the rest. Returns the unfinished runs; nil if it cannot be read.
  package mutating func reopen() -> [PreviousRun]? {
    guard var content = read else { return nil }
    _ = content.adoptUnproven()
    content.forgetFinished()
    bytes = content.compacted(with: content.replicas, format: OutboxLog.version)
    return content.unfinished
  }

  /// The steps of undo, by model and step.
  package var undo: [String: [UInt64: [UInt8]]] { read?.undo.steps ?? [:] }

  private var read: OutboxContent? {
    bytes.withUnsafeBytes { bytes in try? OutboxLog.parse(bytes).content }
  }

  private mutating func add(_ record: OutboxRecord) {
    var writer = WireWriter()
    OutboxLog.append(record, to: &writer)
    writer.withUnsafeBytes { bytes += $0 }
  }
}
