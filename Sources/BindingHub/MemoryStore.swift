public import BindingWire

/// A store that lives as long as its process: acknowledged commits survive nothing, and the welcome says so.
///
/// The machine holds the models already, so nothing is kept a second time; only the records are counted, to keep the
/// contract's word that a batch is decided on the last one. It has one writer: its hub.
public final class MemoryStore: Store {
  public let logID: LogID
  public private(set) var epoch: Epoch
  public var durability: Durability { .memory }
  private var records: [String: UInt64] = [:]

  public init(logID: LogID, epoch: Epoch) {
    self.logID = logID
    self.epoch = epoch
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

  public func load() throws(StoreError) -> [StoredModel] { [] }

  public func load(_ model: String) throws(StoreError) -> StoredModel? { nil }

  public func start(_ epoch: Epoch) throws(StoreError) { self.epoch = epoch }
}
