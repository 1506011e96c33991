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
  var declared = Declared()
  /// How the last value received is to be read.
  var reading = FieldReading.declared
  /// The stored form of what shows; only of a field whose type was changed.
  var raw: FieldValue?
  /// Created when the status is first observed.
  var broadcaster: StatusBroadcaster<FieldStatus>?
  /// Created at the first tracked read: the `TrackedReads` of the value's type.
  var tracker: ReadTracker?

  /// The declaration that the program has shared, and what its last comparison with a description has shown.
  struct Declared {
    private(set) var field: DescribedField?
    /// The description, and the field's there if the declaration differs from it for good.
    var compared: (description: FieldValue, otherwise: FieldDescription?)?
    /// Counts the declarations.
    private(set) var number = 0

    mutating func declare(_ field: DescribedField?) {
      (self.field, compared) = (field, nil)
      number += 1
    }
  }

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

extension Optional {
  /// The value; `fresh`, from now on, if there was none.
  mutating func filled(with fresh: Wrapped) -> Wrapped {
    let filled = self ?? fresh
    self = filled
    return filled
  }
}
