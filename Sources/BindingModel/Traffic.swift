/// All that a cell needs once somebody has looked at it; reached under the cell's lock.
///
/// It knows nothing of the value's type, so that its code is compiled once. The values themselves stay where they are:
/// the newest in the cell, overwritten ones in `overwritten`.
@usableFromInline
struct Traffic {
  @usableFromInline typealias List = ContiguousArray<AnyObserver>

  /// A value on its way to the observers that were there when it was written.
  @usableFromInline
  struct Delivery {
    @usableFromInline var writer: Writer
    @usableFromInline var observers: List
  }

  /// Goes up with every write, silent ones too.
  @usableFromInline var version: UInt64 = 0
  /// In order of arrival, which is the order of delivery.
  @usableFromInline var observers: List = []
  /// Observers whose first callback is still running on the thread that brought them.
  @usableFromInline var starting: List = []
  /// The thread that delivers this cell's values, by the id of its turn; 0 for none. While it is not 0 others only
  /// queue; whoever finds it 0 and writes becomes it. `undelivered` is empty whenever it is 0.
  @usableFromInline var deliverer: UInt64 = 0
  @usableFromInline var undelivered = Fifo<Delivery>()
  /// The value of the last of `undelivered` is the present one, still in the cell. Those of all others lie in
  /// `overwritten`, in order.
  @usableFromInline var isLastPresent = false
  /// A `ValueQueue`, made when it is first needed.
  var overwritten: AnyObject?
  /// The one writer of everything undelivered, the round under way included; else unnamed.
  @usableFromInline var soleWriter: Writer = .unnamed
  /// The turn that keeps the newest value back; 0 for none. That value is always the present one.
  @usableFromInline var heldBy: UInt64 = 0
  var heldWriter: Writer = .unnamed
  var heldVersion: UInt64 = 0
  /// The version that the latest observer started from.
  var latestStart: UInt64 = 0
  /// Cancelled by a thread that is not the delivering one, to be marked by that one before its next round.
  @usableFromInline var cancelledElsewhere: List = []
  /// Observers that ever came, which numbers them.
  var observationCount: UInt64 = 0
  /// Observers are looked through for dead owners when there are this many.
  private var pruneAt = 8
  var foldedWrites: UInt64 = 0
  /// The cell's filter is somebody's closure, which must not run under the lock.
  @usableFromInline var isFilterForeign = false
  @usableFromInline var isEnded = false
  /// Made when the value is first read inside `withObservationTracking`.
  var tracker: Tracker?

  init() {}

  @inlinable
  var hasObservers: Bool { !observers.isEmpty || !starting.isEmpty }

  /// Nothing stands between a write and its observers.
  @inlinable
  var isClear: Bool { deliverer == 0 && heldBy == 0 && starting.isEmpty }

  /// Queues the present value for the observers that were there before its write.
  ///
  /// - Returns: true if it takes the place of the one before, whose value is thus to be dropped.
  mutating func add(by writer: Writer, version: UInt64) -> Bool {
    guard !observers.isEmpty else { return false }
    let list = latestStart < version ? observers : observers.filter { $0.since < version }
    // Nobody is spared its own echo while another's write is still on its way: it would be left showing that one.
    let named = deliverer == 0 || soleWriter == writer ? writer : .unnamed
    soleWriter = named
    let delivery = Delivery(writer: named, observers: list)
    isLastPresent = true
    if undelivered.count < Turn.backlogLimit {
      undelivered.append(delivery)
      return false
    }
    undelivered.last = delivery
    foldedWrites += 1
    return true
  }

  /// Marks, for the delivering thread, what others cancelled meanwhile. The caller releases them after unlocking.
  mutating func takeCancelledElsewhere() -> List {
    guard !cancelledElsewhere.isEmpty else { return [] }
    let cancelled = cancelledElsewhere
    cancelledElsewhere = []
    for observation in cancelled { observation.cancel() }
    return cancelled
  }

  /// Takes the observation out of the list at once, and marks it where the delivering thread may still meet it.
  /// The caller releases it after unlocking.
  @discardableResult
  mutating func cancel(_ number: UInt64, on thread: UInt64) -> AnyObserver? {
    if let place = starting.firstIndex(where: { $0.number == number }) {
      // The thread of the first callback sees that it is no longer listed.
      return starting.remove(at: place)
    }
    guard let place = observers.firstIndex(where: { $0.number == number }) else { return nil }
    let observation = observers.remove(at: place)
    if deliverer == 0 || deliverer == thread {
      observation.cancel()
    } else {
      cancelledElsewhere.append(observation)
    }
    return observation
  }

  /// Observers to look through for dead owners, if there are many.
  func observersToPrune() -> List { observers.count >= pruneAt ? observers : [] }

  mutating func planPruning() { pruneAt = max(8, observers.count * 2) }
}

/// Values that were overwritten before they were delivered.
final class ValueQueue<Value> {
  var values = Fifo<Value>()
}
