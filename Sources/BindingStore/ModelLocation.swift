import BindingHub
import BindingProtocol

/// Where one model lies in the store.
final class ModelLocation {
  let name: String
  /// The last record that was taken.
  var record: UInt64 = 0
  /// What its older batches were folded into.
  var snapshot: Snapshot?
  /// The fields that it had then; 0: it was not folded in this life of the process.
  var fieldCount = 0
  /// Its batches that no snapshot holds, by rising record.
  var uncompacted: [BatchLocation] = []

  init(_ name: String) { self.name = name }
}

/// A batch in the log.
struct BatchLocation {
  var row: Int64
  var start: UInt32
  var length: UInt32
  var record: UInt64

  func slice(of bytes: [UInt8]) -> ArraySlice<UInt8> { bytes[Int(start)..<Int(start) + Int(length)] }
}
