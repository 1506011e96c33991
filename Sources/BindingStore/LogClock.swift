/// The log's own time, in milliseconds: by it writers and history grow old.
///
/// It goes on from the newest time in the log, as a clock does that nobody sets: while a hub runs. At a start it
/// follows the wall clock forward, a day at most, and never goes back: a wall clock that is wrong makes nobody old.
struct LogClock {
  /// What a start may add to it.
  static let longestJump: UInt64 = 24 * 3_600 * 1_000
  private let begin: UInt64
  private let began: UInt64
  let uptime: () -> UInt64

  /// - Parameters:
  ///   - newest: the newest time in the log; nil: nothing was ever written.
  ///   - isOwn: whether that was this clock's; in a store of format 1 it was the wall clock's, which may be ahead.
  ///   - wall: milliseconds since 1970.
  ///   - uptime: milliseconds that nobody sets, from any beginning.
  init(after newest: UInt64?, isOwn: Bool, wall: UInt64, uptime: @escaping () -> UInt64) {
    let followed = newest.map { min(wall, $0 + LogClock.longestJump) } ?? wall
    begin = isOwn ? max(newest ?? 0, followed) : followed
    began = uptime()
    self.uptime = uptime
  }

  /// Of this process, also while the machine sleeps.
  static func uptime() -> () -> UInt64 {
    let start = ContinuousClock.now
    return {
      let (seconds, attoseconds) = (ContinuousClock.now - start).components
      return UInt64(seconds) * 1_000 + UInt64(attoseconds / 1_000_000_000_000_000)
    }
  }

  var now: UInt64 { begin + (uptime() - began) }
}
