/// A token bucket for messages: a sustained rate per second, and a burst.
struct MessageBudget: Sendable {
  private let perSecond: Double
  private let atOnce: Double
  private var left: Double
  private var filledAt: UInt64

  /// - Parameter now: nanoseconds of a monotonic clock, as in `spend`.
  init(perSecond: Int, atOnce: Int, now: UInt64) {
    self.perSecond = Double(perSecond)
    self.atOnce = Double(atOnce)
    left = Double(atOnce)
    filledAt = now
  }

  /// Spends one message; false if none is left.
  mutating func spend(now: UInt64) -> Bool {
    left = min(atOnce, left + Double(now &- filledAt) / 1e9 * perSecond)
    filledAt = now
    guard left >= 1 else { return false }
    left -= 1
    return true
  }
}
