/// Everything that a cell needs once it is observed or tracked; accessed under the cell's lock.
///
/// It does not depend on the value's type, so that its code is compiled once. The values are stored elsewhere: the
/// newest in the cell, overwritten ones in `overwritten`.
@usableFromInline
struct Traffic {
  @usableFromInline typealias List = ContiguousArray<AnyObserver>

  /// A value in delivery to the observers that existed when it was written.
  @usableFromInline
  struct Delivery {
    @usableFromInline var writer: Writer
    @usableFromInline var observers: List
    /// The cause of the write, for a `LoopWatch`; 0 where there is none.
    var cause: UInt64 = 0
    var hops: UInt8 = 0
  }

  /// Incremented by every write, silent ones too.
  @usableFromInline var version: UInt64 = 0
  /// In order of arrival, which is the order of delivery. A cancelled observer is replaced by `Self.gone` until half
  /// of all are gone: then the list is compacted. So cancelling all takes time in proportion to their number, in any
  /// order. A list without a live observer is empty.
  @usableFromInline var observers: List = []
  /// The numbers of `observers`, ascending, to search by.
  private var numbers: ContiguousArray<UInt64> = []
  private var goneCount = 0
  /// Observers whose first callback is still running on the thread that added them.
  @usableFromInline var starting: List = []
  /// The thread that delivers this cell's values, by the id of its turn; 0 for none. While it is not 0, other threads
  /// only queue; a writer that finds it 0 becomes the deliverer. `undelivered` is empty whenever it is 0.
  ///
  /// With `offered` set, that thread has delivered for others long enough: the next writer takes over.
  @usableFromInline var deliverer: UInt64 = 0
  /// Counts what the delivering thread does for others; created when it first does.
  var service: Service?
  @usableFromInline var undelivered = Deque<Delivery>()
  /// The value of the last of `undelivered` is the current one, still in the cell. The values of all others are in
  /// `overwritten`, in order.
  @usableFromInline var isLastPresent = false
  /// A `ValueQueue`, created when it is first needed.
  var overwritten: AnyObject?
  /// The one writer of everything undelivered, including the current round; else unnamed.
  @usableFromInline var soleWriter: Writer = .unnamed
  /// The turn that holds back the newest value, which is always the current one; 0 for none.
  @usableFromInline var heldBy: UInt64 = 0
  var heldWriter: Writer = .unnamed
  var heldVersion: UInt64 = 0
  var heldHops: UInt8 = 0
  /// The version from which the latest observer started.
  var latestStart: UInt64 = 0
  /// Cancelled by other threads than the delivering one, which marks them before its next round.
  @usableFromInline var cancelledElsewhere: List = []
  /// The number of observers ever added, from which they get their numbers.
  var observationCount: UInt64 = 0
  /// Dead owners are searched for when there are this many observers.
  private var pruneAt = 8
  var coalescedWrites: UInt64 = 0
  /// The cell's filter is a user's closure, which must not run under the lock.
  @usableFromInline var isFilterForeign = false
  @usableFromInline var isEnded = false
  /// The cell repeats other values, as that of a derived value does: it is written whenever they are.
  var isFollower = false
  /// Created when the value is first read inside `withObservationTracking`.
  var tracker: Tracker?

  init() {}

  @inlinable
  var hasObservers: Bool { !observers.isEmpty || !starting.isEmpty }

  /// Nothing stands between a write and its observers.
  @inlinable
  var isClear: Bool { deliverer == 0 && heldBy == 0 && starting.isEmpty }

  /// Whether a write by this writer notifies no observer: the only one is the writer's own and has nothing to
  /// receive.
  func isMereEcho(by writer: Writer) -> Bool {
    isClear && observers.count == 1 && writer != .unnamed && observers[0].except == writer
  }

  /// Queues the current value for the observers that existed before its write.
  ///
  /// - Returns: true if it supersedes the delivery before it, whose value is then to be dropped.
  mutating func add(by writer: Writer, version: UInt64, cause: UInt64, hops: UInt8) -> Bool {
    guard !observers.isEmpty else { return false }
    let list = latestStart < version ? observers : observers.filter { $0.since < version }
    // An echo is left out only if no other writer's value is undelivered: that value would stay shown.
    let named = deliverer == 0 || soleWriter == writer ? writer : .unnamed
    soleWriter = named
    var delivery = Delivery(writer: named, observers: list, cause: cause, hops: hops)
    isLastPresent = true
    if undelivered.count < Turn.backlogLimit {
      undelivered.append(delivery)
      return false
    }
    delivery.hops = max(hops, undelivered.last?.hops ?? 0)
    undelivered.last = delivery
    coalescedWrites += 1
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

  /// Removes the observer from the list, and marks it where the delivering thread may still call it. The caller
  /// releases it after unlocking.
  @discardableResult
  mutating func cancel(_ number: UInt64, on thread: UInt64) -> AnyObserver? {
    guard let index = index(of: number) else {
      guard let index = starting.firstIndex(where: { $0.number == number }) else { return nil }
      // The thread of the first callback sees that it is no longer listed.
      return starting.remove(at: index)
    }
    let observation = observers[index]
    guard observation !== Self.gone else { return nil }
    observers[index] = Self.gone
    goneCount += 1
    if goneCount * 2 >= observers.count { closeUp() }
    markCancelled(observation, on: thread)
    return observation
  }

  /// Removes all observers, which the caller releases after unlocking.
  mutating func cancelAll(on thread: UInt64) -> List {
    let observations = observers + starting
    for observation in observers where observation !== Self.gone { markCancelled(observation, on: thread) }
    (observers, numbers, goneCount, starting) = ([], [], 0, [])
    return observations
  }

  private mutating func markCancelled(_ observation: AnyObserver, on thread: UInt64) {
    if deliverer == 0 || deliverer == thread {
      observation.cancel()
    } else {
      cancelledElsewhere.append(observation)
    }
  }

  /// Numbers a new observer.
  mutating func number(_ observation: AnyObserver) {
    observationCount += 1
    observation.number = observationCount
    observation.since = version
    latestStart = version
  }

  /// Lists an observer whose first callback has run. Mostly it is the latest; one that arrived earlier, but whose
  /// callback took longer, is inserted before those that arrived after it.
  mutating func join(_ observation: AnyObserver) {
    guard let last = numbers.last, last > observation.number else {
      observers.append(observation)
      return numbers.append(observation.number)
    }
    let index = firstIndex(from: observation.number)
    observers.insert(observation, at: index)
    numbers.insert(observation.number, at: index)
  }

  private func index(of number: UInt64) -> Int? {
    let index = firstIndex(from: number)
    return index < numbers.count && numbers[index] == number ? index : nil
  }

  private func firstIndex(from number: UInt64) -> Int {
    var (low, high) = (0, numbers.count)
    while low < high {
      let middle = (low + high) / 2
      if numbers[middle] < number { low = middle + 1 } else { high = middle }
    }
    return low
  }

  private mutating func closeUp() {
    var (live, liveNumbers) = (List(), ContiguousArray<UInt64>())
    live.reserveCapacity(observers.count - goneCount)
    liveNumbers.reserveCapacity(observers.count - goneCount)
    for (observation, number) in zip(observers, numbers) where observation !== Self.gone {
      live.append(observation)
      liveNumbers.append(number)
    }
    (observers, numbers, goneCount) = (live, liveNumbers, 0)
  }

  /// Stands in for a removed observer: cancelled from the beginning.
  private static let gone: AnyObserver = {
    let gone = AnyObserver(owner: nil, isPlain: false)
    gone.cancel()
    return gone
  }()

  /// Observers to check for dead owners, if there are many.
  func observersToPrune() -> List { observers.count >= pruneAt ? observers : [] }

  mutating func planPruning() { pruneAt = max(8, observers.count * 2) }
}

/// Values that were overwritten before they were delivered.
final class ValueQueue<Value> {
  var values = Deque<Value>()
}

extension Traffic {
  /// Set in `deliverer` beside the thread that looks for a successor. Ids of turns are smaller.
  static var offered: UInt64 { 1 << 63 }

  /// No thread delivers, or the delivering one looks for a successor.
  var needsDeliverer: Bool { deliverer == 0 || deliverer & Self.offered != 0 }
}

/// What a thread has delivered for others in one drain.
final class Service {
  /// Rounds after which it looks for a successor among those others.
  static let limit = 64

  private var drain: UInt64 = 0
  private var rounds = 0
  private var begin = ContinuousClock.now
  /// Another thread has written since.
  var isAsked = false

  /// Counts a round. Returns how long to wait for a successor, when it is time to look for one.
  ///
  /// That is twice the duration of a round: threads that write less often do not keep this one from finishing.
  func isDue(in drain: UInt64) -> Duration? {
    if drain != self.drain {
      (self.drain, rounds, begin) = (drain, 0, .now)
    }
    rounds += 1
    guard rounds >= Self.limit, isAsked else { return nil }
    let timeout = (ContinuousClock.now - begin) / rounds * 2
    (rounds, begin, isAsked) = (0, .now, false)
    return min(max(timeout, .microseconds(50)), .milliseconds(5))
  }
}
