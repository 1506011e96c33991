package import BindingProtocol

/// Where a model without a log begins: beyond every version and record of all removed models, whatever their names
/// were. So versions and records of a name never repeat, and a peer that returns to a model which was removed and
/// made again lags behind it and is not ahead.
package struct LogFloor: Sendable, Hashable {
  /// The latest epoch of the log in which a model was removed.
  package var epoch: Epoch
  /// The highest version that a removed model had.
  package var version: Version
  /// The highest record that a removed model had.
  package var record: UInt64

  /// A floor; the defaults are that of a log without removals.
  package init(epoch: Epoch = 0, version: Version = 0, record: UInt64 = 0) {
    self.epoch = epoch
    self.version = version
    self.record = record
  }

  /// The floor of a log without removals.
  package static let none = LogFloor()

  /// Raises the floor over a batch that removes a model.
  package mutating func raise(over removal: Batch) {
    epoch = max(epoch, removal.epoch)
    version = max(version, removal.version)
    record = max(record, removal.record)
  }

  /// Whether a new model's log may begin with this record: after record 0, or after an earlier or the present
  /// floor.
  package func mayBegin(_ record: UInt64) -> Bool { record > 0 && record <= self.record + 1 }
}
