/// Decides what one observer receives, and when. It has no clock: the time is an argument, in nanoseconds of any
/// clock that never goes back.
@usableFromInline
package struct PaceLimiter<Value: Sendable>: Sendable {
  @usableFromInline let pace: Pace<Value>
  @usableFromInline var opensAt: UInt64 = 0
  /// The value delivered before, if a deadband needs it.
  @usableFromInline var notified: Value?
  /// Changes withheld since, because they were not worth delivering.
  @usableFromInline var withheld = 0

  package init(_ pace: Pace<Value>) { self.pace = pace }

  /// How long delivery must wait, in nanoseconds; nil if it may happen now.
  @inlinable
  package func wait(at now: UInt64) -> UInt64? { now < opensAt ? opensAt - now : nil }

  /// Admits a change, or the part of it worth delivering, with the number of changes that it stands for. Nil: the
  /// change is withheld, and counts for the next one.
  /// - Parameters:
  ///   - value: nil if it cannot be delivered.
  ///   - weight: the number of changes that it stands for.
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
