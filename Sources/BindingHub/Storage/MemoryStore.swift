public import BindingProtocol

/// A store that lives as long as its process: acknowledged commits survive nothing, and the welcome says so.
///
/// The machine holds the models already, so nothing is kept a second time; only the records are counted, to keep the
/// contract's word that a batch is decided on the last one. It has one writer: its hub.
public final class MemoryStore: Store {
  public let logID: LogID
  public private(set) var epoch: Epoch
  public let tail: Tail
  public var durability: Durability { .memory }
  public var isImmediate: Bool { true }
  public private(set) var floor = LogFloor.none
  private var records: [String: UInt64] = [:]

  /// - Parameter tail: unproven where a hub with this log has run before.
  public init(logID: LogID, epoch: Epoch, tail: Tail = .proven) {
    self.logID = logID
    self.epoch = epoch
    self.tail = tail
  }

  public func append(_ batches: [Batch]) throws(StoreError) -> [Appended] {
    var results: [Appended] = []
    results.reserveCapacity(batches.count)
    for batch in batches {
      let last = MemoryStore.count(batch, in: &records[batch.model, default: 0], floor)
      guard last + 1 == batch.record || last == 0 && floor.mayBegin(batch.record) else {
        throw StoreError("\(batch.model): record \(batch.record) was decided, the log has \(last)")
      }
      if batch.form == .removal {
        floor.raise(over: batch)
        records[batch.model] = nil
      }
      results.append(.stored)
    }
    return results
  }

  /// Counts a batch that follows.
  /// - Returns: the record before it.
  private static func count(_ batch: Batch, in record: inout UInt64, _ floor: LogFloor) -> UInt64 {
    let last = record
    if last + 1 == batch.record || last == 0 && floor.mayBegin(batch.record) { record = batch.record }
    return last
  }

  public func load(_ each: (StoredModel) throws(StoreError) -> Void) throws(StoreError) {}

  public func load(_ model: String) throws(StoreError) -> StoredModel? { nil }

  public func start(_ epoch: Epoch) throws(StoreError) { self.epoch = epoch }
}
