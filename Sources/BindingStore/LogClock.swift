/// The log's own time in milliseconds, which ages writers and history.
///
/// While a hub runs it advances from the newest time in the log, whatever happens to the wall clock. At a start it
/// follows the wall clock forward by at most a day, and never goes back: a wrong wall clock ages no writer.
struct LogClock {
  /// The most that a start may add.
  static let longestJump: UInt64 = 24 * 3_600 * 1_000
  private let begin: UInt64
  private let began: UInt64
  let uptime: () -> UInt64

  /// - Parameters:
  ///   - newest: the newest time in the log; nil: nothing was ever written.
  ///   - isOwn: whether that was this clock's. In a store of format 1 it was the wall clock's, which may be ahead.
  ///   - wall: milliseconds since 1970.
  ///   - uptime: milliseconds of a clock that is never set, from any origin.
  init(after newest: UInt64?, isOwn: Bool, wall: UInt64, uptime: @escaping () -> UInt64) {
    let followed = newest.map { min(wall, $0 + LogClock.longestJump) } ?? wall
    begin = isOwn ? max(newest ?? 0, followed) : followed
    began = uptime()
    self.uptime = uptime
  }

  /// The uptime of this process, including the machine's sleep.
  static func uptime() -> () -> UInt64 {
    let start = ContinuousClock.now
    return {
      let (seconds, attoseconds) = (ContinuousClock.now - start).components
      return UInt64(seconds) * 1_000 + UInt64(attoseconds / 1_000_000_000_000_000)
    }
  }

  var now: UInt64 { begin + (uptime() - began) }
}
