package import BindingProtocol

/// A store that lives as long as its process. Acknowledged commits survive nothing, and the welcome says so.
///
/// The machine holds the models already, so the store keeps no second copy. It only counts records, to check that
/// each batch was decided on the last one. Its hub is its only writer.
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
  private var records: [String: UInt64] = [:]

  /// - Parameter tail: unproven if a hub with this log has run before.
  package init(logID: LogID, epoch: Epoch, tail: Tail = .proven) {
    self.logID = logID
    self.epoch = epoch
    self.tail = tail
  }

  /// Counts the batches' records.
  /// - Throws: `StoreError` for a batch that was not decided on its model's last record.
  package func append(_ batches: [Batch]) throws(StoreError) -> [Appended] {
    var results: [Appended] = []
    results.reserveCapacity(batches.count)
    for batch in batches {
      let last = MemoryStore.count(batch, in: &records[batch.model, default: 0], floor)
      guard last + 1 == batch.record || last == 0 && floor.mayBegin(batch.record) else {
        throw StoreError("\(batch.model): record \(batch.record) was decided, and the log has record \(last)")
      }
      if batch.form == .removal {
        floor.raise(over: batch)
        records[batch.model] = nil
      }
      results.append(.stored)
    }
    return results
  }

  /// Counts a batch if it follows the last record.
  /// - Returns: the record before it.
  private static func count(_ batch: Batch, in record: inout UInt64, _ floor: LogFloor) -> UInt64 {
    let last = record
    if last + 1 == batch.record || last == 0 && floor.mayBegin(batch.record) { record = batch.record }
    return last
  }

  /// Loads nothing.
  package func load(_ each: (StoredModel) throws(StoreError) -> Void) throws(StoreError) {}

  /// Returns nil.
  package func load(_ model: String) throws(StoreError) -> StoredModel? { nil }

  /// Begins another epoch of the log.
  package func start(_ epoch: Epoch) throws(StoreError) { self.epoch = epoch }
}
