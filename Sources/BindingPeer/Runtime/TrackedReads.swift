import BindingModel

/// Where it is noted that a value was read by somebody who wants to know when it is another: Observation, or a derived
/// value. It is made for the first of them; a value that nobody tracks pays nothing.
// SAFETY: what is here never changes; what its subclass adds has its own lock.
class ReadTracker: @unchecked Sendable {
  /// Stands for the value: derived values note its version, Observation its writes.
  fileprivate let changes = Observable(false, filter: .everyWrite)

  fileprivate init() {}

  /// The value may show another from now on: what was computed from it is computed anew where it is read.
  final func invalidate() { changes.setSilently(false) }
}

/// The tracked reads of one value.
///
/// What is read may be ahead of what observers were told, or change back before they are told. So what was read is
/// kept, and readers are told when the value is another than that. Told once, they have to read again, as Observation's
/// rule is; until then the value is tracked by nobody.
// SAFETY: `reads` guards all that changes.
final class TrackedReads<Value: Sendable & Equatable>: ReadTracker, @unchecked Sendable {
  private struct Reads: Sendable {
    var isTracked = false
    /// How many reads are under way.
    var underway = 0
    var last: Value?
    /// Not all have read the same.
    var isMixed = false
  }
  private let reads = Protected(Reads())

  override init() { super.init() }

  /// Whether anybody waits to be told.
  var isTracked: Bool { reads.withLock { $0.isTracked } }

  /// Reads the value for those who track on this thread.
  func read(_ present: () -> Value) -> Value {
    _ = changes.value
    // Whoever tells from now on tells this reader too.
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

  /// Tells the readers, if the value is another than they have read.
  func notify(_ value: Value) {
    let (isTracked, last) = reads.withLock { reads in
      (reads.isTracked, reads.underway > 0 || reads.isMixed ? nil : reads.last)
    }
    guard isTracked else { return }
    if let last, last == value { return }
    // What was kept goes after the lock is let go of: its end may be anybody's code.
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
