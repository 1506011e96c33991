/// How much of what changes an observer wants to be told, and how often.
///
/// ```swift
/// level.observe(.latest(every: .milliseconds(100)), on: self) { … }
/// ```
/// Without a pace an observer is told what it always was: every write, or what its lane can keep up with. Other
/// libraries call `.latest(every:)` *throttle* or *sample*; a view of a value that is throttled or debounced for all of
/// its observers is `throttled(for:)`, `debounced(for:)`.
public struct Pace<Value: Sendable>: Sendable {
  /// Nanoseconds between two calls, at least.
  @usableFromInline let interval: UInt64
  /// Changes that wait to be told, at most; past it the oldest is folded into the one after it.
  package let limit: Int
  /// Makes of an older and a newer change the one that stands for both.
  @usableFromInline package let coalesce: @Sendable (inout Value, Value) -> Void
  /// What of a change is worth telling to who was told something before; nil: nothing.
  @usableFromInline let remainder: (@Sendable (_ notified: Value, _ new: Value) -> Value?)?

  package init(
    every interval: Duration, limit: Int = 1, coalesce: @escaping @Sendable (inout Value, Value) -> Void = { $0 = $1 },
    remainder: (@Sendable (_ notified: Value, _ new: Value) -> Value?)? = nil
  ) {
    self.interval = interval.nanoseconds
    self.limit = max(1, limit)
    self.coalesce = coalesce
    self.remainder = remainder
  }

  /// The newest value, at most once in `interval`: the first change after a pause at once, later ones when the time
  /// has passed. Whatever is skipped, the last value always arrives, `interval` late at most.
  /// - Parameter interval: from zero (no limit: one value a turn of the lane) up; less counts as zero.
  public static func latest(every interval: Duration) -> Pace { Pace(every: interval) }

  /// Every change, one call each, in order. Up to `limit` of them (at least 1) wait while the observer is busy; past
  /// that the oldest are folded into the one after them, and the call for that one says how many.
  public static func everyChange(limit: Int = 1_000) -> Pace { Pace(every: .zero, limit: limit) }

  /// Whether what is told depends on the values.
  package var comparesValues: Bool { remainder != nil }

  /// The same pace for what stands for values: `form` makes it of one, `value` gives that back. Folded, the newest one
  /// stands for all.
  package func mapped<Other>(
    by form: @escaping @Sendable (Value) -> Other, value: @escaping @Sendable (Other) -> Value?
  ) -> Pace<Other> {
    guard let remainder else { return Pace<Other>(interval: interval, limit: limit) }
    return Pace<Other>(interval: interval, limit: limit) { notified, new in
      guard let notified = value(notified), let new = value(new) else { return new }
      return remainder(notified, new).map(form)
    }
  }

  private init(interval: UInt64, limit: Int, remainder: (@Sendable (_ notified: Value, _ new: Value) -> Value?)? = nil)
  {
    self.interval = interval
    self.limit = limit
    coalesce = { $0 = $1 }
    self.remainder = remainder
  }

  /// The same pace, told everything that it is for: whoever reads what comes of it looks at time and deadband.
  package var untimed: Pace { Pace(every: .zero, limit: limit, coalesce: coalesce) }
}

extension Pace where Value: BinaryFloatingPoint {
  /// The newest value, at most once in `interval`, and only if it differs from the one told before by `deadband` or
  /// more. So the last value does not arrive where it comes to rest within the deadband of the one before.
  /// - Parameters:
  ///   - interval: from zero up; less counts as zero.
  ///   - deadband: in the unit of the value; zero or less, or no number: every change is told.
  public static func latest(every interval: Duration, deadband: Value) -> Pace {
    Pace(every: interval, remainder: { notified, new in abs(new - notified) < deadband ? nil : new })
  }
}

extension Pace where Value: FixedWidthInteger {
  /// The newest value, at most once in `interval`, and only if it differs from the one told before by `deadband` or
  /// more. So the last value does not arrive where it comes to rest within the deadband of the one before.
  /// - Parameters:
  ///   - interval: from zero up; less counts as zero.
  ///   - deadband: in the unit of the value; zero or less: every change is told.
  public static func latest(every interval: Duration, deadband: Value) -> Pace {
    Pace(
      every: interval,
      remainder: { notified, new in
        let (difference, isBeyond) = max(notified, new).subtractingReportingOverflow(min(notified, new))
        return !isBeyond && difference < deadband ? nil : new
      })
  }
}

extension Duration {
  /// Whole nanoseconds: none if negative, 146 years at most.
  var nanoseconds: UInt64 {
    let (seconds, attoseconds) = components
    guard seconds >= 0, attoseconds >= 0 else { return 0 }
    let longest = UInt64.max / 4
    let (whole, isTooLong) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
    return isTooLong ? longest : min(longest, whole + UInt64(attoseconds) / 1_000_000_000)
  }
}
