/// When a link rests a moment between its drains, so that each of them takes more.
///
/// A drain costs the same locks, wake-ups and system calls for one commit as for ten. Where commits come faster than a
/// thread is woken, a rest of one wake-up lets them and the program's writes gather: fewer switches, longer frames, and
/// the processor is free for the program. Who waits for an outcome before the next write would only be delayed, and
/// shows it: commits come seldom once the link rests.
struct DrainPace {
  private enum Phase {
    /// Drains without a rest, by which the rate is known.
    case measuring
    /// Rests after each drain.
    case resting
    /// Does not rest, because few commits came when it did.
    case avoiding

    var drains: Int {
      switch self {
      case .measuring: 16
      case .resting: 64
      case .avoiding: 2_000
      }
    }
  }
  /// So long a rest is, microseconds; the system's timers make about twice as much of it.
  static let restMicroseconds: UInt32 = 50
  /// Fewer commits a second need no rest. More than one that waits for each outcome can make: a write and its outcome
  /// pass eight threads.
  static let leastRate: UInt64 = 15_000
  /// Fewer commits a second than this while it rests would come faster without: one that waits for each outcome makes
  /// no more, with a rest in each.
  static let leastRestingRate: UInt64 = 8_000
  /// After so long without a drain, nanoseconds, it begins anew.
  static let quiet: UInt64 = 1_000_000

  private var phase = Phase.measuring
  private var drains = 0
  private var began: UInt64 = 0
  private var last: UInt64 = 0
  private var commitsBefore: UInt64 = 0

  /// The link has drained frames.
  /// - Parameters:
  ///   - now: nanoseconds of a clock that never goes back.
  ///   - commits: the commits that have ever come.
  /// - Returns: whether it is to rest.
  mutating func drained(at now: UInt64, commits: UInt64) -> Bool {
    defer { last = now }
    if now - last > DrainPace.quiet { begin(.measuring, now, commits) }
    drains += 1
    guard drains > phase.drains else { return phase == .resting }
    let rate = (commits - commitsBefore) * 1_000_000_000 / max(now - began, 1)
    switch phase {
    case .measuring: begin(rate >= DrainPace.leastRate ? .resting : .measuring, now, commits)
    case .resting: begin(rate >= DrainPace.leastRestingRate ? .measuring : .avoiding, now, commits)
    case .avoiding: begin(.measuring, now, commits)
    }
    return phase == .resting
  }

  private mutating func begin(_ phase: Phase, _ now: UInt64, _ commits: UInt64) {
    (self.phase, drains, began, commitsBefore) = (phase, 0, now, commits)
  }
}
