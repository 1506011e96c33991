/// Decides what one observer is told and when. It has no clock: the time, in nanoseconds of any that never goes back,
/// is an argument.
@usableFromInline
package struct PaceLimiter<Value: Sendable>: Sendable {
  @usableFromInline let pace: Pace<Value>
  @usableFromInline var opensAt: UInt64 = 0
  /// What was told, as far as a deadband needs it.
  @usableFromInline var notified: Value?
  /// Changes that were not worth telling since.
  @usableFromInline var withheld = 0

  package init(_ pace: Pace<Value>) { self.pace = pace }

  /// How long nothing may be told yet, in nanoseconds; nil if something may be told now.
  @inlinable
  package func wait(at now: UInt64) -> UInt64? { now < opensAt ? opensAt - now : nil }

  /// Lets a change through, or what of it is worth telling, with the number of changes that it stands for. Nil: this
  /// one is not told, and counts for the next.
  /// - Parameters:
  ///   - value: nil if it cannot be told.
  ///   - weight: the changes that it stands for.
  @inlinable
  package mutating func admit(_ value: Value?, weight: Int, at now: UInt64) -> (value: Value, weight: Int)? {
    guard let value, let rest = remainder(of: value) else {
      withheld += weight
      return nil
    }
    defer { withheld = 0 }
    opensAt = now &+ pace.interval
    if pace.remainder != nil {
      if var all = notified {
        notified = nil
        pace.coalesce(&all, rest)
        notified = all
      } else {
        notified = rest
      }
    }
    return (rest, weight + withheld)
  }

  @inlinable
  func remainder(of value: Value) -> Value? {
    guard let remainder = pace.remainder, let notified else { return value }
    return remainder(notified, value)
  }
}
