/// How often an observer is notified, and of how much.
///
/// ```swift
/// level.observe(.latest(every: .milliseconds(100)), on: self) { … }
/// ```
/// Without a pace an observer receives every write, or what its lane keeps up with. Other libraries call
/// `.latest(every:)` *throttle* or *sample*. `throttled(for:)` and `debounced(for:)` are views of a value for all of
/// its observers.
public struct Pace<Value: Sendable>: Sendable {
  /// The least time between two calls, in nanoseconds.
  @usableFromInline let interval: UInt64
  /// At most this many changes wait for delivery; past it the oldest is coalesced into the one after it.
  package let limit: Int
  /// Coalesces an older and a newer change into one.
  @usableFromInline package let coalesce: @Sendable (inout Value, Value) -> Void
  /// The part of a new value worth delivering after the one delivered before; nil: nothing.
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

  /// The newest value, at most once per `interval`: the first change after a pause immediately, later ones when the
  /// time has passed. Values may be skipped, but the last one always arrives, at most `interval` late.
  /// - Parameter interval: zero (no limit: one value per turn of the lane) or more; less counts as zero.
  public static func latest(every interval: Duration) -> Pace { Pace(every: interval) }

  /// Every change, one call each, in order. At most `limit` of them (at least 1) wait while the observer is busy;
  /// past that the oldest are coalesced into the one after them, and the call for that one reports how many.
  public static func everyChange(limit: Int = 1_000) -> Pace { Pace(every: .zero, limit: limit) }

  /// Whether delivery depends on the values.
  package var comparesValues: Bool { remainder != nil }

  /// The same pace for objects that stand for values: `form` makes one from a value, `value` returns its value. The
  /// newest of several stands for all.
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

  /// The same pace without interval and deadband, which the reader of its output applies.
  package var untimed: Pace { Pace(every: .zero, limit: limit, coalesce: coalesce) }
}

extension Pace where Value: BinaryFloatingPoint {
  /// The newest value, at most once per `interval`, and only if it differs from the one delivered before by
  /// `deadband` or more. So a last value within the deadband of the one before does not arrive.
  /// - Parameters:
  ///   - interval: zero or more; less counts as zero.
  ///   - deadband: in the unit of the value; zero or less, or NaN: every change is delivered.
  public static func latest(every interval: Duration, deadband: Value) -> Pace {
    Pace(every: interval, remainder: { notified, new in abs(new - notified) < deadband ? nil : new })
  }
}

extension Pace where Value: FixedWidthInteger {
  /// The newest value, at most once per `interval`, and only if it differs from the one delivered before by
  /// `deadband` or more. So a last value within the deadband of the one before does not arrive.
  /// - Parameters:
  ///   - interval: zero or more; less counts as zero.
  ///   - deadband: in the unit of the value; zero or less: every change is delivered.
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
  /// Whole nanoseconds: 0 if negative, at most 146 years.
  var nanoseconds: UInt64 {
    let (seconds, attoseconds) = components
    guard seconds >= 0, attoseconds >= 0 else { return 0 }
    let longest = UInt64.max / 4
    let (whole, isTooLong) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
    return isTooLong ? longest : min(longest, whole + UInt64(attoseconds) / 1_000_000_000)
  }
}
