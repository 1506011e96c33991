/// Everything that a cell needs once it is observed or tracked; accessed under the cell's lock.
///
/// It does not depend on the value's type, so that its code is compiled once. The values are stored elsewhere: the
/// newest in the cell, overwritten ones in `overwritten`.
@usableFromInline
struct Traffic {
  /// A value in delivery to the observers that existed when it was written.
  @usableFromInline
  struct Delivery {
    @usableFromInline var writer: Writer
    @usableFromInline var observers: ObserverList.Members
    /// The cause of the write, for a `LoopWatch`; 0 where there is none.
    var cause: UInt64 = 0
    var hops: UInt8 = 0
  }

  /// Incremented by every write, silent ones too.
  @usableFromInline var version: UInt64 = 0
  /// The thread that delivers this cell's values, by the id of its turn; 0 for none. While it is not 0, other threads
  /// only queue; a writer that finds it 0 becomes the deliverer. `undelivered` is empty whenever it is 0.
  ///
  /// With `offered` set, that thread has delivered for others long enough: the next writer takes over.
  @usableFromInline var deliverer: UInt64 = 0
  @usableFromInline var observers = ObserverList()
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
  /// The newest value, which is always the current one, while a turn holds it back.
  @usableFromInline var held = HeldWrite()
  var coalescedWrites: UInt64 = 0
  /// The cell's filter is a user's closure, which must not run under the lock.
  @usableFromInline var isFilterForeign = false
  @usableFromInline var isEnded = false
  /// The cell repeats other values, as that of a derived value does: it is written whenever they are.
  var isFollower = false
  /// Created when the value is first read inside `withObservationTracking`.
  var tracker: Tracker?

  init() {}

  /// Nothing stands between a write and its observers.
  @inlinable
  var isClear: Bool { deliverer == 0 && held.turn == 0 && observers.starting.isEmpty }

  /// Whether another thread than the current one delivers, and may be about to call any observer.
  var isDeliveringElsewhere: Bool { deliverer != 0 && deliverer != ThreadTurn.current.pointee.id }

  /// Whether a write by this writer notifies no observer: the only one is the writer's own and has nothing to
  /// receive.
  func isMereEcho(by writer: Writer) -> Bool {
    isClear && observers.joined.count == 1 && writer != .unnamed && observers.joined[0].except == writer
  }

  /// Queues the current value for the observers that existed before its write.
  ///
  /// - Returns: true if it supersedes the delivery before it, whose value is then to be dropped.
  mutating func add(by writer: Writer, version: UInt64, cause: UInt64, hops: UInt8) -> Bool {
    guard !observers.joined.isEmpty else { return false }
    let list = observers.joined(before: version)
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

  /// Set in `deliverer` beside the thread that looks for a successor. Ids of turns are smaller.
  static var offered: UInt64 { 1 << 63 }

  /// No thread delivers, or the delivering one looks for a successor.
  var needsDeliverer: Bool { deliverer == 0 || deliverer & Self.offered != 0 }
}

/// A write that a turn holds back until its end.
@usableFromInline
struct HeldWrite {
  /// Names the turn; 0 for none.
  @usableFromInline var turn: UInt64 = 0
  var writer: Writer = .unnamed
  var version: UInt64 = 0
  var hops: UInt8 = 0
}

/// Values that were overwritten before they were delivered.
final class ValueQueue<Value> {
  var values = Deque<Value>()
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
