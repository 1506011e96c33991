import BindingModel

/// A clock that stands still until the test moves it, for `debounced(for:clock:)` and `throttled(for:clock:)`:
/// ```swift
/// let (query, clock) = (Observable(""), TestClock())
/// let settled = query.debounced(for: .milliseconds(300), clock: clock)
/// query.value = "lamp"
/// clock.advance(by: .milliseconds(300))
/// #expect(await eventually { settled.value == "lamp" })
/// ```
/// Peers and hubs keep the time of the system.
public final class TestClock: Clock {
  /// A time of the clock, as a duration since it was made.
  public struct Instant: InstantProtocol {
    /// The time since the clock was made.
    public var offset: Duration

    /// The instant this much later.
    public func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }

    /// The time from this instant to another.
    public func duration(to other: Instant) -> Duration { other.offset - offset }

    public static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
  }

  private struct State: Sendable {
    var now = Instant(offset: .zero)
    var sleepers: [(deadline: Instant, wake: AsyncStream<Never>.Continuation)] = []
  }
  private let state = Protected(State())

  /// A clock at zero.
  public init() {}

  /// The present time, which only `advance(by:)` changes.
  public var now: Instant { state.withLock { $0.now } }

  /// Zero: the clock stands at any time that it is moved to.
  public var minimumResolution: Duration { .zero }

  /// Moves the clock, and wakes what sleeps until then.
  public func advance(by duration: Duration) {
    let due = state.withLock { state in
      state.now = state.now.advanced(by: duration)
      let due = state.sleepers.filter { $0.deadline <= state.now }
      state.sleepers.removeAll { $0.deadline <= state.now }
      return due.sorted { $0.deadline < $1.deadline }
    }
    for sleeper in due { sleeper.wake.finish() }
  }

  /// Returns once the clock was moved to a time.
  /// - Throws: `CancellationError` when the task is cancelled.
  public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
    let (woken, wake) = AsyncStream<Never>.makeStream()
    state.withLock { state in
      if deadline <= state.now { wake.finish() } else { state.sleepers.append((deadline, wake)) }
    }
    // Ends with the task, too.
    for await _ in woken {}
    try Task.checkCancellation()
  }
}
