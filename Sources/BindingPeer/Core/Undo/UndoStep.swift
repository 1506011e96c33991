import BindingProtocol

/// A version of an epoch: where a value was committed.
struct UndoPoint: Sendable, Hashable {
  var epoch: Epoch
  var version: Version
}

/// What one step did to one field: enough to take it back, and to find out whether it still may be.
struct UndoField: Sendable, Equatable {
  /// How the field is taken back.
  enum Kind: UInt8, Sendable {
    /// The value before comes back, on condition that the field is as the step left it.
    case set = 1
    /// What was added is subtracted.
    case add
    /// The words that were inserted go, those that were removed return.
    case text
  }

  /// The value that the step left, as far as it is known.
  enum Left: Sendable, Equatable {
    case unknown
    case absent
    case digest(UInt64)

    init(_ value: FieldValue?) {
      guard let value else {
        self = .absent
        return
      }
      self = .digest(value.bytes.withUnsafeBytes { Digest.ofValue($0) })
    }
  }

  let name: String
  var kind: Kind
  /// The committed value just before the step; nil: none. For a text the text without the step's edits.
  var before: FieldValue?
  /// Whether `before` was committed. If not, it is what showed: the step has no commit, or its commit arrived together
  /// with others.
  var isBeforeKnown = false
  /// Where `before` was committed.
  var beforeAt: UndoPoint?
  /// Of an element of a list: between which others it stood when the step was made.
  var place: ListOperand?
  /// Of an element of a list: whether the step moved it, perhaps to a place at the same rank.
  var isMoved = false
  /// Where the step's last value was committed; nil: nowhere yet.
  var at: UndoPoint?
  var left = Left.unknown
  /// What `add` added in all.
  var sum: FieldValue?
  /// The text with the step's edits.
  var after: FieldValue?
  /// A change of epoch has lost what the step left: it cannot be taken back.
  var isLost = false

  init(_ name: String, _ kind: Kind) {
    self.name = name
    self.kind = kind
  }

  /// Whether anything of the step is known to have taken effect.
  var hasEffect: Bool { at != nil || kind == .text }

  var bytes: Int {
    96 + name.utf8.count + (place == nil ? 0 : 2 * Names.maxElementIDBytes)
      + [before, sum, after].reduce(0) { $0 + ($1?.bytes.count ?? 0) }
  }
}

/// A step of undo: one or more writes of this peer to one model, taken back together.
struct UndoStep: Sendable, Equatable {
  let id: UInt64
  /// In the order in which they were first written.
  var fields: [UndoField] = []
  /// Its writes without an outcome, or whose commits have not arrived.
  var writes: [WriteID] = []
  /// When it was last written to; nil: no later write joins it, except one of its group.
  var writtenAt: UInt64?
  /// The group, or the editing session of a control, whose writes join it; 0: none.
  var group: UInt64 = 0
  var edit: UInt64 = 0

  init(id: UInt64) { self.id = id }

  subscript(name: String) -> UndoField? {
    get { fields.first { $0.name == name } }
    set {
      guard let index = fields.firstIndex(where: { $0.name == name }) else {
        if let newValue { fields.append(newValue) }
        return
      }
      if let newValue { fields[index] = newValue } else { fields.remove(at: index) }
    }
  }

  /// Whether nothing of it has taken effect, and nothing is under way.
  var isEmpty: Bool { writes.isEmpty && !fields.contains(where: \.hasEffect) }

  var bytes: Int { fields.reduce(64 + 8 * writes.count) { $0 + $1.bytes } }

  /// The fields whose undo may be rounded, because fractions were added.
  var inexact: [String] {
    fields.filter { field in
      guard field.kind == .add, case .number? = field.sum?.jsonIfValid else { return false }
      return true
    }.map(\.name)
  }

  var names: [String] { fields.map(\.name) }
}

/// How a write is recorded for undo.
package enum UndoRole: Sendable, Hashable {
  /// As a step of its own, or joined to the last one.
  /// - edit: the editing session of a control, whose writes are one step; 0: none.
  case step(edit: UInt64)
  /// Not at all; steps stay as they are.
  case notUndoable
  /// It takes back a step, and can be taken back itself.
  case restoring
}

/// Why a step was not taken back. The step is gone.
package struct UndoFailure: Error, Sendable, Hashable {
  /// What was in the way.
  package enum Cause: Sendable, Hashable {
    /// The field was written since.
    case changed(by: Origin, isOwn: Bool, isDeleted: Bool)
    /// The value before is not known here: the commit arrived together with others.
    case unknownBefore
    /// The hub's log has begun a new epoch, and what the step left is not there.
    case lost
  }
  /// The field's name.
  package var field: String
  /// What was in the way.
  package var cause: Cause
}

/// Where a model's undo and redo stand.
package struct UndoState: Sendable, Hashable {
  /// The fields of the step that an undo takes back; nil: there is none.
  package var undoes: [String]?
  /// The fields of the step that a redo restores; nil: there is none.
  package var redoes: [String]?
}

/// A question about the past: the value of a field just before a version, which this peer received together with
/// others. Answered by `Session.answer(_:with:)`.
package struct PastQuestion: Sendable, Hashable {
  /// The step that needs it.
  package var step: UInt64
  /// The field's name.
  package var field: String
  /// The epoch of the version.
  package var epoch: Epoch
  /// The version before which the value stood.
  package var version: Version
}

/// The answer to a `PastQuestion`.
package enum PastAnswer: Sendable, Hashable {
  /// The value, nil for none, and the version at which it was committed.
  case value(FieldValue?, version: Version)
  case notKnown
}

/// The limits of a model's steps.
package enum UndoLimits {
  /// Steps of a model, those to undo and those to redo together.
  package static let maxSteps = 100
  /// Bytes of a model's steps.
  package static let maxBytes = 1_048_576
  /// How long after the last write another one of the same fields joins its step, milliseconds.
  package static let joinMilliseconds: UInt64 = 1_000
  /// Bytes of the steps that an outbox file keeps.
  package static let maxKeptBytes = 8_388_608
}
