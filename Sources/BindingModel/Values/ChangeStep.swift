/// The change of one value, of any type.
protocol RecordedChange: AnyObject, Sendable {
  var source: ObjectIdentifier { get }
  /// Whether the value still exists.
  var isAlive: Bool { get }
  /// Writes the value before the change, or the one after it.
  func restore(old: Bool, by writer: Writer)
  /// A change that continues from this one to a later value.
  func continued(by later: any RecordedChange) -> any RecordedChange
}

final class ValueChange<Value: Sendable>: RecordedChange {
  let source: ObjectIdentifier
  private let old: Value
  private let new: Value
  // SAFETY: a weak reference may be read on any thread, and this one is never set again.
  nonisolated(unsafe) private weak var observable: Observable<Value>?

  init(of observable: Observable<Value>, from old: Value, to new: Value) {
    source = ObjectIdentifier(observable)
    self.observable = observable
    (self.old, self.new) = (old, new)
  }

  private init(_ first: ValueChange, to new: Value) {
    source = first.source
    observable = first.observable
    (old, self.new) = (first.old, new)
  }

  var isAlive: Bool { observable != nil }

  func restore(old isOld: Bool, by writer: Writer) { observable?.set(isOld ? old : new, by: writer) }

  func continued(by later: any RecordedChange) -> any RecordedChange {
    (later as? ValueChange).map { ValueChange(self, to: $0.new) } ?? self
  }
}

/// One step of a `ChangeHistory`.
struct ChangeStep: Sendable {
  /// In the order in which the values were first changed; one for each value.
  private(set) var changes: [any RecordedChange]
  /// The thread and its cascade in which it was made.
  private let origin: (thread: UInt64, cascade: UInt64)
  /// The group, or the editing session of a control, that it belongs to; 0: none.
  private let group: UInt64
  private let edit: UInt64
  private let beganAt: ContinuousClock.Instant
  private var endedAt: ContinuousClock.Instant
  /// It was undone or redone: nothing is added any more.
  var isClosed = false

  init(
    _ change: any RecordedChange, _ thread: UInt64, _ progress: Progress, group: UInt64,
    at time: ContinuousClock.Instant
  ) {
    changes = [change]
    origin = (thread, progress.cascade)
    (self.group, edit) = (group, progress.edit)
    (beganAt, endedAt) = (time, time)
  }

  var isAlive: Bool { changes.contains { $0.isAlive } }

  /// Whether a change in this cascade or group belongs to it.
  func isOf(_ thread: UInt64, _ cascade: UInt64, group: UInt64) -> Bool {
    guard !isClosed else { return false }
    return group != 0 || self.group != 0 ? group == self.group : origin == (thread, cascade)
  }

  /// Whether a later step changes the same values, and nobody would call it another step.
  func isContinued(by later: ChangeStep, within time: Duration) -> Bool {
    guard !isClosed, !later.isClosed, group == 0, later.group == 0, edit == later.edit,
      Set(changes.map(\.source)) == Set(later.changes.map(\.source))
    else { return false }
    return edit != 0 || endedAt.duration(to: later.beganAt) < time
  }

  mutating func add(_ change: any RecordedChange, at time: ContinuousClock.Instant) {
    endedAt = time
    if let index = changes.firstIndex(where: { $0.source == change.source }) {
      changes[index] = changes[index].continued(by: change)
    } else {
      changes.append(change)
    }
  }

  mutating func absorb(_ later: ChangeStep) {
    for change in later.changes { add(change, at: later.endedAt) }
  }
}
