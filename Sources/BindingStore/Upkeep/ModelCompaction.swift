import BindingHub
import BindingProtocol
import Dispatch
import GRDB

/// The compaction of one model, from its snapshot and batches to the next snapshot, in small steps.
struct ModelCompaction {
  let location: ModelLocation
  private var compactor: ModelCompactor
  private var chunksRead = 0
  private var batchesRead = 0
  private let batchCount: Int
  private var hasForgotten = false
  private(set) var next: Snapshot
  /// Bytes that the last step wrote.
  private(set) var lastWritten = 0
  private var kept: HistoryPage
  private var row: (number: Int64, time: UInt64, bytes: [UInt8]) = (0, 0, [])

  init(_ location: ModelLocation, through row: Int64, model: Int64, limits: StoreLimits) {
    self.location = location
    compactor = ModelCompactor(location.name)
    if location.fieldCount > 0 { compactor.reserve(fields: location.fieldCount + location.fieldCount / 8) }
    batchCount = location.uncompacted.prefix { $0.row <= row }.count
    next = Snapshot(
      model: model, generation: (location.snapshot?.generation ?? 0) + 1, chunks: 0, bytes: 0, record: 0, version: 0)
    kept = HistoryPage(limits)
  }

  /// Does one small step.
  /// - Returns: whether the next snapshot is complete and only has to become current.
  mutating func step(
    _ db: Database, path: String, forgotten: Set<Tag>, silentSince: UInt64
  ) throws -> Bool {
    lastWritten = 0
    if let snapshot = location.snapshot, chunksRead < snapshot.chunks {
      try compactor.load(snapshot.chunk(db, chunksRead, path: path))
      chunksRead += 1
    } else if batchesRead < batchCount {
      let entry = location.uncompacted[batchesRead]
      if entry.row != row.number {
        let (time, bytes) = try LogRow.read(db, entry.row, path: path)
        row = (entry.row, time, bytes)
      }
      let bytes = Array(entry.slice(of: row.bytes))
      try LogRow.batches(of: entry.row, bytes, path: path) { batch, _ in
        try compactor.apply(batch, at: row.time)
        kept.add(batch, bytes)
      }
      batchesRead += 1
    } else if !hasForgotten {
      compactor.forget(forgotten, silentSince: silentSince)
      hasForgotten = true
    } else if let chunk = compactor.nextChunk() {
      try next.add(db, chunk)
      lastWritten = chunk.count
    } else {
      (next.record, next.version) = (compactor.record, compactor.version)
      return true
    }
    return false
  }

  /// Makes the snapshot current, and moves the batches into the history.
  func finish(_ db: Database, time: UInt64, limits: StoreLimits) throws {
    try next.write(db, name: location.name)
    try kept.write(db, model: next.model, time: time, limits: limits)
  }

  /// Updates the index, once the disk has the snapshot.
  func enter() {
    location.snapshot = next
    location.fieldCount = compactor.fieldCount
    location.uncompacted.removeFirst(batchCount)
  }

  /// Releases it on another thread: freeing a hundred thousand fields takes longer than an append may wait.
  consuming func discard() {
    guard compactor.fieldCount > 256 else { return }
    // SAFETY: nothing else refers to its contents, and this code no longer does when the block runs.
    nonisolated(unsafe) let last = self
    DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + .milliseconds(20)) {
      withExtendedLifetime(last) {}
    }
  }
}
