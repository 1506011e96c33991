extension ValueSource where Value: Sendable {
  /// This value once it has come to rest: a written value is published when `interval` has passed without another
  /// write. For a search field, or for anything costly to compute:
  /// ```swift
  /// query.debounced(for: .milliseconds(300)).observeOnMain(on: self) { screen, text in screen.search(text) }
  /// ```
  /// A read returns the value that came to rest last, at first the current one. Observers run on a thread of the
  /// system: use `observeOnMain`, or a lane. The view follows the value from its creation for as long as it is held
  /// or observed, keeps no owner alive, and has one timer pending while a value waits. When the owner is gone, a
  /// waiting value is published immediately, and the view ends.
  ///
  /// - Parameter interval: zero or more; less counts as zero.
  public func debounced(for interval: Duration) -> ReadOnly<Value> {
    ReadOnly(timed: TimedFollower(location, .rest, interval, .system))
  }

  /// This value, published at most once per `interval`: the first write after a pause immediately, then the newest
  /// when the time has passed. The last value always arrives.
  ///
  /// A read returns the value published last. Observers run on the writing thread, or on a thread of the system: use
  /// `observeOnMain`, or a lane. The view lasts as that of `debounced(for:)` does. `observe(.latest(every:))` does
  /// the same for one observer, and reports how many changes were coalesced.
  ///
  /// - Parameter interval: zero or more; less counts as zero.
  public func throttled(for interval: Duration) -> ReadOnly<Value> {
    ReadOnly(timed: TimedFollower(location, .pause, interval, .system))
  }

  /// An async sequence of the current value, then of each value that comes to rest:
  /// `for await text in query.values(debounce: .milliseconds(300))`. A slow loop skips values, never the last; it
  /// finishes as `values` does.
  public func values(debounce interval: Duration) -> Values<Value> { debounced(for: interval).values }

  /// An async sequence of the current value, then of the newest, at most once per `interval`. It finishes as `values`
  /// does.
  public func values(throttle interval: Duration) -> Values<Value> { throttled(for: interval).values }

  /// `debounced(for:)` in the time of another clock, such as `TestClock` of `BindbusTesting`.
  public func debounced(for interval: Duration, clock: some Clock<Duration>) -> ReadOnly<Value> {
    debounced(for: interval, clock: PaceClock(clock))
  }

  /// `throttled(for:)` in the time of another clock, such as `TestClock` of `BindbusTesting`.
  public func throttled(for interval: Duration, clock: some Clock<Duration>) -> ReadOnly<Value> {
    throttled(for: interval, clock: PaceClock(clock))
  }

  package func debounced(for interval: Duration, clock: PaceClock) -> ReadOnly<Value> {
    ReadOnly(timed: TimedFollower(location, .rest, interval, clock))
  }

  package func throttled(for interval: Duration, clock: PaceClock) -> ReadOnly<Value> {
    ReadOnly(timed: TimedFollower(location, .pause, interval, clock))
  }
}

extension ReadOnly where Value: Sendable {
  fileprivate init(timed follower: TimedFollower<Value>) { self.init(root: TimedLocation(follower: follower)) }
}

extension PaceClock {
  /// The time of another clock, since this moment.
  fileprivate init(_ clock: some Clock<Duration>) {
    let origin = clock.now
    self.init(
      now: { origin.duration(to: clock.now).nanoseconds },
      after: { nanoseconds, work in
        // From now on, not from when the task starts.
        let deadline = clock.now.advanced(by: .nanoseconds(Int64(clamping: nanoseconds)))
        Task {
          try? await clock.sleep(until: deadline, tolerance: nil)
          work()
        }
      })
  }
}

/// Follows another value in its own time, and publishes it from a cell of its own.
private final class TimedFollower<Value: Sendable>: Sendable {
  enum Rule {
    /// Published once no other value has arrived for the interval.
    case rest
    /// Published immediately, then not again for the interval.
    case pause
  }

  private struct State {
    var waiting: Value?
    /// The most hops of the changes that it stands for.
    var hops: UInt8 = 0
    /// When the waiting value may be published, by the clock.
    var dueAt: UInt64 = 0
    /// A timer is pending, or a thread publishes: other threads meanwhile only leave their value.
    var isAsked = false
    var isPublishing = false
    /// The source has ended: the waiting value is published now.
    var isEnding = false
  }

  private enum Step {
    case publish(Value, hops: UInt8)
    case wait(nanoseconds: UInt64)
    case rest
    case end
  }

  let shown: Cell<Value>
  private let rule: Rule
  private let interval: UInt64
  private let clock: PaceClock
  private let state = Protected(State())
  private let token = Protected<ObserverToken?>(nil)

  init(_ source: any BindingLocation<Value>, _ rule: Rule, _ interval: Duration, _ clock: PaceClock) {
    let filter: ChangeFilter<Value> = equality(of: Value.self).map { .unless($0) } ?? .everyWrite
    shown = Cell(source.read(), filter: filter)
    shown.markFollower()
    self.rule = rule
    self.interval = interval.nanoseconds
    self.clock = clock
    let opensAt = clock.now() &+ self.interval
    state.withLock { $0.dueAt = opensAt }
    let sink = Sink(self)
    let token = source.observe(owner: nil) { value, _ in sink.receive(value) }
    self.token.withLock { $0 = token }
  }

  deinit {
    token.withLock { $0 }?.cancel()
    shown.end()
  }

  func receive(_ value: Value) {
    let (now, hops) = (clock.now(), Hops.current)
    // The former value is released without the lock: its deinit may run user code.
    let (former, isToAsk) = state.withLock { state in
      defer {
        state.hops = max(hops, state.waiting == nil ? 0 : state.hops)
        state.waiting = value
        if rule == .rest { state.dueAt = now &+ interval }
        state.isAsked = true
      }
      return (state.waiting, !state.isAsked)
    }
    withExtendedLifetime(former) {}
    if isToAsk { goOn() }
  }

  func sourceEnded() {
    state.withLock { $0.isEnding = true }
    // Not here: inside an observer, a value published now would be delivered after the end.
    clock.after(0) { self.goOn() }
  }

  /// Publishes what is due, and sets a timer for the rest.
  private func goOn() {
    var isFirst = true
    while true {
      let now = clock.now()
      let step = state.withLock { next(in: &$0, at: now, isFirst: isFirst) }
      isFirst = false
      switch step {
      case .publish(let value, let hops): _ = Hops.answering(hops) { shown.store(value, by: .unnamed) }
      case .wait(let nanoseconds): return clock.after(nanoseconds) { [weak self] in self?.goOn() }
      case .rest: return
      case .end: return shown.end()
      }
    }
  }

  private func next(in state: inout State, at now: UInt64, isFirst: Bool) -> Step {
    if isFirst, state.isPublishing { return .rest }
    state.isPublishing = false
    guard let value = state.waiting else {
      state.isAsked = false
      return state.isEnding ? .end : .rest
    }
    if now < state.dueAt, !state.isEnding { return .wait(nanoseconds: state.dueAt - now) }
    state.waiting = nil
    state.isPublishing = true
    if rule == .pause { state.dueAt = now &+ interval }
    return .publish(value, hops: state.hops)
  }
}

/// Held by the source's observation: skips the first value, which is known, and ends with the source.
// SAFETY: `isFirst` is used by one observation only, whose callbacks never overlap and happen each before the next;
// `follower` is never set again.
private final class Sink<Value: Sendable>: @unchecked Sendable {
  private weak var follower: TimedFollower<Value>?
  private var isFirst = true

  init(_ follower: TimedFollower<Value>) { self.follower = follower }

  deinit { follower?.sourceEnded() }

  func receive(_ value: Value) {
    guard isFirst else {
      follower?.receive(value)
      return
    }
    isFirst = false
    // The value may have been written since it was read.
    _ = follower?.shown.storeSilently(value)
  }
}

/// The location of a value that follows another; it refuses writes. Holding or observing it keeps it following.
private struct TimedLocation<Value: Sendable>: UnwritableLocation {
  let follower: TimedFollower<Value>

  func read() -> Value { follower.shown.read() }

  func track() { follower.shown.track() }

  var refusal: BindingError { BindingError(.refused, "this value is derived from another: write to that one") }

  func observe(owner: AnyObject?, _ body: @escaping @Sendable (Value, Writer) -> Void) -> ObserverToken {
    let follower = follower
    return follower.shown.observe(owner: owner) { value, writer in
      withExtendedLifetime(follower) { body(value, writer) }
    }
  }

  func remove(observer owner: AnyObject) { follower.shown.removeObservers(of: owner) }
}
