import BindingModel

/// Records that a value was read by a reader that has to learn of changes: Observation, or a derived value. Created
/// for the first of them; an untracked value costs nothing.
// SAFETY: what is here never changes; what its subclass adds has its own lock.
class ReadTracker: @unchecked Sendable {
  /// Stands for the value: derived values record its version, Observation its writes.
  fileprivate let changes = Observable(false, filter: .everyWrite)

  fileprivate init() {}

  /// The value may have changed: what was computed from it is recomputed when it is read.
  final func invalidate() { changes.setSilently(false) }
}

/// The tracked reads of one value.
///
/// A reader may see a value before observers are notified of it, and the value may change back before they are. So
/// the value read is kept, and readers are notified when it differs from the present one. After one notification they
/// have to read again, as Observation requires; until then the value is not tracked.
// SAFETY: `reads` guards all that changes.
final class TrackedReads<Value: Sendable & Equatable>: ReadTracker, @unchecked Sendable {
  private struct Reads: Sendable {
    var isTracked = false
    /// The number of reads under way.
    var underway = 0
    var last: Value?
    /// Not all readers have read the same value.
    var isMixed = false
  }
  private let reads = Protected(Reads())

  override init() { super.init() }

  /// Whether a reader waits for a notification.
  var isTracked: Bool { reads.withLock { $0.isTracked } }

  /// Reads the value for the trackers of this thread.
  func read(_ present: () -> Value) -> Value {
    _ = changes.value
    // From now on a notification reaches this reader too.
    let former = reads.withLock { reads -> Value? in
      reads.isTracked = true
      reads.underway += 1
      return reads.last
    }
    let value = present()
    let isAnother = former.map { $0 != value } ?? false
    reads.withLock { reads in
      reads.underway -= 1
      guard reads.isTracked else { return }
      if isAnother || (former == nil && reads.last != nil) { reads.isMixed = true }
      if reads.last == nil { reads.last = value }
    }
    return value
  }

  /// Notifies the readers if the value differs from what they have read.
  func notify(_ value: Value) {
    let (isTracked, last) = reads.withLock { reads in
      (reads.isTracked, reads.underway > 0 || reads.isMixed ? nil : reads.last)
    }
    guard isTracked else { return }
    if let last, last == value { return }
    // The kept value is released outside the lock: its deinit may run any code.
    let kept = reads.withLock { reads -> Value? in
      defer {
        reads.isTracked = false
        reads.isMixed = false
        reads.last = nil
      }
      return reads.last
    }
    changes.value = false
    withExtendedLifetime(kept) {}
  }
}
