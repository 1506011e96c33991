public import BindingProtocol

/// Where a model begins that has no log: beyond everything that was ever said of models that were removed, whatever
/// their names were. So versions and records of one name never repeat, and a peer that comes back to a model which was
/// removed and made again is behind it, not ahead.
public struct LogFloor: Sendable, Hashable {
  /// The latest life of the log in which a model was removed.
  public var epoch: Epoch
  /// The highest version, and the highest record, that a removed model had.
  public var version: Version
  public var record: UInt64

  public init(epoch: Epoch = 0, version: Version = 0, record: UInt64 = 0) {
    self.epoch = epoch
    self.version = version
    self.record = record
  }

  /// Nothing was removed yet.
  public static let none = LogFloor()

  /// Takes in the batch that removes a model.
  public mutating func raise(over removal: Batch) {
    epoch = max(epoch, removal.epoch)
    version = max(version, removal.version)
    record = max(record, removal.record)
  }

  /// Whether a model that is not there may begin with this record: after nothing, or after a floor that was the log's.
  public func mayBegin(_ record: UInt64) -> Bool { record > 0 && record <= self.record + 1 }
}
