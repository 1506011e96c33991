package import BindingProtocol

/// A store that lives as long as its process. Acknowledged commits survive nothing, and the welcome says so.
///
/// The machine holds the models already, so the store keeps no second copy. It counts records, to check that each batch
/// was decided on the last one, and keeps the last batches as history. Its hub is its only writer.
package final class MemoryStore: Store {
  /// The id of the log.
  package let logID: LogID
  /// The current epoch of the log.
  package private(set) var epoch: Epoch
  /// What was known of the end of the log when the store was created.
  package let tail: Tail
  /// Always `.memory`.
  package var durability: Durability { .memory }
  /// Always true.
  package var isImmediate: Bool { true }
  /// The floor beyond all removed models.
  package private(set) var floor = LogFloor.none
  private var models: [String: RecentBatches] = [:]
  /// About the bytes of all batches kept.
  var historyBytes: Int { bytes }
  private var bytes = 0

  /// - Parameter tail: unproven if a hub with this log has run before.
  package init(logID: LogID, epoch: Epoch, tail: Tail = .proven) {
    self.logID = logID
    self.epoch = epoch
    self.tail = tail
  }

  /// Counts the batches' records, and keeps them as history.
  /// - Throws: `StoreError` for a batch that was not decided on its model's last record.
  package func append(_ batches: [Batch]) throws(StoreError) -> [Appended] {
    var results: [Appended] = []
    results.reserveCapacity(batches.count)
    for batch in batches {
      let last = keep(batch, in: &models[batch.model, default: RecentBatches()])
      guard last + 1 == batch.record || last == 0 && floor.mayBegin(batch.record) else {
        throw StoreError("\(batch.model): record \(batch.record) was decided, and the log has record \(last)")
      }
      if batch.form == .removal {
        floor.raise(over: batch)
        bytes -= models.removeValue(forKey: batch.model)?.bytes ?? 0
      }
      results.append(.stored)
    }
    if bytes > RecentBatches.maxTotalBytes { halve() }
    return results
  }

  /// Keeps a batch if it follows the last record.
  /// - Returns: the record before it.
  private func keep(_ batch: Batch, in model: inout RecentBatches) -> UInt64 {
    let last = model.record
    if last + 1 == batch.record || last == 0 && floor.mayBegin(batch.record) {
      model.record = batch.record
      let before = model.bytes
      model.append(batch)
      bytes += model.bytes - before
    }
    return last
  }

  /// Halves every model's history. Where very many models have little each, all of it goes, so that this is rare.
  private func halve() {
    bytes = 0
    for index in models.values.indices {
      models.values[index].trim(to: models.values[index].bytes / 2)
      bytes += models.values[index].bytes
    }
    guard bytes > RecentBatches.maxTotalBytes * 3 / 4 else { return }
    for index in models.values.indices { models.values[index].removeBatches() }
    bytes = 0
  }

  /// Reads the batches that are kept in memory.
  package func history(_ query: HistoryQuery) -> HistoryReading {
    let (model, mayLackStart) = (models[query.model] ?? RecentBatches(), tail != .proven)
    return HistoryReading { model.page(query, mayLackStart: mayLackStart) }
  }

  /// Loads nothing.
  package func load(_ each: (StoredModel) throws(StoreError) -> Void) throws(StoreError) {}

  /// Returns nil.
  package func load(_ model: String) throws(StoreError) -> StoredModel? { nil }

  /// Begins another epoch of the log.
  package func start(_ epoch: Epoch) throws(StoreError) { self.epoch = epoch }
}
