public import BindingWire

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
      let last = records[batch.model] ?? 0
      guard last + 1 == batch.record else {
        throw StoreError("\(batch.model): record \(batch.record) was decided, the log has \(last)")
      }
      records[batch.model] = batch.record
      results.append(.stored)
    }
    return results
  }

  public func load(_ each: (StoredModel) throws(StoreError) -> Void) throws(StoreError) {}

  public func load(_ model: String) throws(StoreError) -> StoredModel? { nil }

  public func start(_ epoch: Epoch) throws(StoreError) { self.epoch = epoch }
}
