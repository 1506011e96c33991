import Dispatch

/// Delivers changes to one observer on a lane, at its pace: meanwhile changes wait, and are coalesced.
///
/// The source of a change calls `enqueue`, under any lock, then `schedule` without one. A clock gives the time and
/// wakes; a pace that has to wait has one timer pending, and no thread.
@usableFromInline
package final class PacedDelivery<Raw: Sendable, Value: Sendable>: Sendable {
  /// Called with the raw change, its value, and the number of changes that it stands for.
  @usableFromInline
  package typealias Body = @Sendable (_ raw: Raw, _ value: Value, _ weight: Int) -> Void

  @usableFromInline
  struct Contents {
    @usableFromInline var waiting: CoalescingQueue<Raw>
    @usableFromInline var limiter: PaceLimiter<Value>
    /// Nil once the delivery is over.
    @usableFromInline var body: Body?
    /// A thread is calling the body, and delivers what arrives meanwhile, too.
    @usableFromInline var isNotifying = false
    /// Work was submitted to the lane, or a timer to the clock.
    @usableFromInline var isAsked = false
  }
  @usableFromInline
  enum Turn {
    case notify(CoalescingQueue<Raw>.Entry, Body)
    case wait(nanoseconds: UInt64)
    case nothing
  }

  @usableFromInline let contents: Protected<Contents>
  private let lane: Lane
  @usableFromInline let owner: WeakOwner?
  @usableFromInline let clock: PaceClock
  @usableFromInline let form: @Sendable (Raw) -> Value?
  /// A pace without an interval reads no clock.
  @usableFromInline let isTimed: Bool

  /// - Parameters:
  ///   - owner: held weakly; the delivery is over when it is gone.
  ///   - coalesce: coalesces an older and a newer raw change into one.
  ///   - form: makes the value to deliver from a raw change, on the lane and with no lock held; nil: it cannot be
  ///     delivered.
  package init(
    _ pace: Pace<Value>, lane: Lane, owner: AnyObject?, clock: PaceClock = .system,
    coalesce: @escaping @Sendable (inout Raw, Raw) -> Void, form: @escaping @Sendable (Raw) -> Value?,
    body: @escaping Body
  ) {
    self.lane = lane
    self.owner = owner.map { WeakOwner($0) }
    self.clock = clock
    self.form = form
    isTimed = pace.interval > 0
    contents = Protected(
      Contents(waiting: CoalescingQueue(limit: pace.limit, coalesce: coalesce), limiter: PaceLimiter(pace), body: body))
  }

  /// Whether no more calls will be made.
  @inlinable
  package var isOver: Bool { contents.withLock { $0.body == nil } || isOrphaned }

  /// Stores a change for delivery; calls no observer.
  /// - Returns: whether nothing waited before it.
  @discardableResult @inlinable
  package func enqueue(_ raw: Raw, weight: Int = 1) -> Bool {
    contents.withLock { contents in
      guard contents.body != nil else { return false }
      let isFirst = contents.waiting.isEmpty
      contents.waiting.append(raw, weight: weight)
      return isFirst
    }
  }

  /// Delivers what is due: now if the caller is on the lane, else when the lane runs.
  package func schedule() {
    if lane.isCurrent { return notify() }
    let isToAsk = contents.withLock { contents in
      guard !contents.isAsked, !contents.waiting.isEmpty else { return false }
      contents.isAsked = true
      return true
    }
    if isToAsk { lane.run { self.notifyOnLane() } }
  }

  /// Delivers what is due, on the lane.
  @inlinable
  package func notify() {
    var isFirst = true
    while true {
      switch takeTurn(isFirst: isFirst) {
      case .notify(let entry, let body):
        isFirst = false
        let value = form(entry.element)
        let now = isTimed ? clock.now() : 0
        let admitted = contents.withLock { $0.limiter.admit(value, weight: entry.weight, at: now) }
        guard let admitted else { continue }
        // Keeps the owner alive while its observer runs.
        let object = owner?.object
        if owner != nil, object == nil { return end() }
        withExtendedLifetime(object) { ThreadTurn.runObserver { body(entry.element, admitted.value, admitted.weight) } }
      case .wait(let nanoseconds):
        return clock.after(nanoseconds) { [weak self] in self?.beWoken() }
      case .nothing: return
      }
    }
  }

  /// Ends the delivery: no more calls are made.
  @inlinable
  package func end() {
    // The body may hold user objects, so it is released without the lock.
    let body = contents.withLock { contents in
      defer {
        contents.body = nil
        contents.waiting.removeAll()
      }
      return contents.body
    }
    withExtendedLifetime(body) {}
  }

  /// Whether the owner is gone.
  @inlinable
  package var isOrphaned: Bool { owner.map { $0.object == nil } ?? false }

  @inlinable
  func takeTurn(isFirst: Bool) -> Turn {
    let now = isTimed ? clock.now() : 0
    return contents.withLock { contents in
      if isFirst, contents.isNotifying { return .nothing }
      contents.isNotifying = false
      guard let body = contents.body, !contents.waiting.isEmpty else { return .nothing }
      if let wait = contents.limiter.wait(at: now) {
        guard !contents.isAsked else { return .nothing }
        contents.isAsked = true
        return .wait(nanoseconds: wait)
      }
      guard let entry = contents.waiting.popFirst() else { return .nothing }
      contents.isNotifying = true
      return .notify(entry, body)
    }
  }

  /// Called by the clock when the time has come; the lane has still to run.
  @usableFromInline
  func beWoken() {
    if lane.isCurrent { notifyOnLane() } else { lane.run { [weak self] in self?.notifyOnLane() } }
  }

  private func notifyOnLane() {
    contents.withLock { $0.isAsked = false }
    notify()
  }
}

/// The clock that a pace is measured with.
@usableFromInline
package struct PaceClock: Sendable {
  /// Nanoseconds; never goes back.
  @usableFromInline package let now: @Sendable () -> UInt64
  /// Runs `work` after at least this many nanoseconds, on any thread.
  @usableFromInline package let after: @Sendable (_ nanoseconds: UInt64, _ work: @escaping @Sendable () -> Void) -> Void

  package init(
    now: @escaping @Sendable () -> UInt64,
    after: @escaping @Sendable (_ nanoseconds: UInt64, _ work: @escaping @Sendable () -> Void) -> Void
  ) {
    self.now = now
    self.after = after
  }

  package static let system = PaceClock(
    now: { DispatchTime.now().uptimeNanoseconds },
    after: { nanoseconds, work in
      let deadline = DispatchTime.now() + .nanoseconds(Int(clamping: nanoseconds))
      DispatchQueue.global().asyncAfter(deadline: deadline, execute: work)
    })
}
