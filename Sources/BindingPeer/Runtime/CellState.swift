import BindingModel
import BindingProtocol

/// The state besides a cell's shown value. It is outside of the cell: a type nested in a generic one is generic too,
/// and is looked up at each use where the types are not known.
struct CellState {
  var stamp: UInt64 = 0
  var attachment: (model: SharedModel, name: String)?
  var problem: FieldProblem?
  /// The stamp of the refusal that is the problem; values up to here do not clear it.
  var refusedAt: UInt64 = 0
  /// Whether only a write of this program clears the problem.
  var isSticky = false
  var declaration: DescribedField?
  /// How the last value received is to be read.
  var reading = FieldReading.declared
  /// The stored form of what shows; only of a field whose type was changed.
  var raw: FieldValue?
  /// Created when the status is first observed.
  var broadcaster: StatusBroadcaster<FieldStatus>?
  /// Created at the first tracked read: the `TrackedReads` of the value's type.
  var tracker: ReadTracker?

  /// Whether the problem is that of a write.
  var isRejected: Bool { if case .rejected? = problem { true } else { false } }

  /// The program has written the field again.
  /// - Returns: whether that ended the problem of an earlier write.
  mutating func answer(at stamp: UInt64) -> Bool {
    guard isRejected, stamp > refusedAt else { return false }
    (problem, isSticky) = (nil, false)
    return true
  }
}
