import BindingHub
import BindingProtocol

/// The location of one model in the store.
final class ModelLocation {
  let name: String
  /// The last stored record.
  var record: UInt64 = 0
  /// The snapshot of its older batches.
  var snapshot: Snapshot?
  /// The number of fields at the snapshot; 0: the model was not compacted in this run of the process.
  var fieldCount = 0
  /// Its batches after the snapshot, by rising record.
  var uncompacted: [BatchLocation] = []

  init(_ name: String) { self.name = name }
}

/// The location of a batch in the log.
struct BatchLocation {
  var row: Int64
  var start: UInt32
  var length: UInt32
  var record: UInt64

  func slice(of bytes: [UInt8]) -> ArraySlice<UInt8> { bytes[Int(start)..<Int(start) + Int(length)] }
}
