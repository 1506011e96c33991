extension ValueSource where Value: Sendable {
  /// This value once it has come to rest: what was written stays for `interval` without another write, then it is told.
  /// For a search field, or what is costly to answer:
  /// ```swift
  /// query.debounced(for: .milliseconds(300)).observeOnMain(on: self) { screen, text in screen.search(text) }
  /// ```
  /// Reading it gives what came to rest last; at first that is the present value. Its observers run on a thread of the
  /// system's: say `observeOnMain`, or a lane. It follows from when it is made for as long as it is held or observed,
  /// keeps no owner alive, and has one timer under way while something waits. When the owner goes, what waits is told
  /// at once, and it ends.
  ///
  /// - Parameter interval: from zero up; less counts as zero.
  public func debounced(for interval: Duration) -> ReadOnly<Value> {
    ReadOnly(timed: TimedFollower(location, .rest, interval, .system))
  }

  /// This value, told at most once in `interval`: the first write after a pause at once, then the newest when the time
  /// has passed. The last value always arrives.
  ///
  /// Reading it gives what was told last. Its observers run on the thread that writes, or on one of the system's: say
  /// `observeOnMain`, or a lane. It lasts as `debounced(for:)` does. `observe(.latest(every:))` does the same for one
  /// observer, and says how many changes it was not told.
  ///
  /// - Parameter interval: from zero up; less counts as zero.
  public func throttled(for interval: Duration) -> ReadOnly<Value> {
    ReadOnly(timed: TimedFollower(location, .pause, interval, .system))
  }

  /// The present value, then what comes to rest: `for await text in query.values(debounce: .milliseconds(300))`. A slow
  /// loop skips values, never the last; it finishes as `values` does.
  public func values(debounce interval: Duration) -> Values<Value> { debounced(for: interval).values }

  /// The present value, then the newest, at most once in `interval`. It finishes as `values` does.
  public func values(throttle interval: Duration) -> Values<Value> { throttled(for: interval).values }

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

/// Follows another value in its time, and tells it from a cell of its own.
private final class TimedFollower<Value: Sendable>: Sendable {
  enum Rule {
    /// Told once nothing more has come for the interval.
    case rest
    /// Told at once, then not again for the interval.
    case pause
  }

  private struct State {
    var waiting: Value?
    /// The most hops of what it stands for.
    var hops: UInt8 = 0
    /// When what waits may be told, by the clock.
    var dueAt: UInt64 = 0
    /// The clock has been asked, or somebody tells: whoever comes meanwhile only leaves what he has.
    var isAsked = false
    var isPublishing = false
    /// The source has ended: what waits is told now.
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
    // What waited goes after the lock is let go of: its end may be anybody's code.
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
    // Not here: inside an observer what is told now would be delivered after the end.
    clock.after(0) { self.goOn() }
  }

  /// Tells what is due, and asks the clock for the rest.
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

/// What the source's observation holds: the first value is there already, and its end is that of the source.
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
    // Written since it was read, perhaps.
    _ = follower?.shown.storeSilently(value)
  }
}

/// The place of a value that follows another: it takes no writes. Whoever holds or observes it keeps it following.
private struct TimedLocation<Value: Sendable>: UnwritableLocation {
  let follower: TimedFollower<Value>

  func read() -> Value { follower.shown.read() }

  func track() { follower.shown.track() }

  var refusal: BindingError { BindingError(.refused, "this value follows another: write that one") }

  func observe(owner: AnyObject?, _ body: @escaping @Sendable (Value, Writer) -> Void) -> ObserverToken {
    let follower = follower
    return follower.shown.observe(owner: owner) { value, writer in
      withExtendedLifetime(follower) { body(value, writer) }
    }
  }

  func remove(observer owner: AnyObject) { follower.shown.removeObservers(of: owner) }
}
