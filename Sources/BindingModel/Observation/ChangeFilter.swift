/// Which writes to an `Observable` count as a change, of which observers are notified.
///
/// A write that does not count changes nothing at all, not even the stored value.
public struct ChangeFilter<Value> {
  @usableFromInline
  enum Rule {
    case everyWrite
    /// The type's own equality.
    case equality((Value, Value) -> Bool)
    /// A user's closure: runs without a lock, perhaps more than once.
    case repeated((Value, Value) -> Bool)
  }

  @usableFromInline let rule: Rule

  @inlinable
  init(rule: Rule) { self.rule = rule }

  /// Every write counts, an equal value too.
  @inlinable
  public static var everyWrite: ChangeFilter { ChangeFilter(rule: .everyWrite) }

  /// A write counts unless `isRepeat(present, new)` returns true. The closure runs on the writing thread, perhaps
  /// more than once per write, with no lock held.
  @inlinable
  public static func unless(_ isRepeat: @escaping @Sendable (_ present: Value, _ new: Value) -> Bool) -> ChangeFilter {
    ChangeFilter(rule: .repeated(isRepeat))
  }
}

extension ChangeFilter where Value: Equatable {
  /// A write counts when it is not equal to the current value.
  @inlinable
  public static var changes: ChangeFilter { ChangeFilter(rule: .equality { $0 == $1 }) }
}

extension ChangeFilter where Value: FloatingPoint {
  /// A write counts when it is not equal to the current value. NaN over NaN does not count, though NaN equals
  /// nothing.
  @inlinable
  public static var changes: ChangeFilter { ChangeFilter(rule: .equality { isRepetition($0, $1) }) }
}

/// Calls a filter that may be missing. A borrowed closure is called in place; unwrapped with `if let` it would be
/// retained for every call.
@inlinable @inline(__always)
func isRepeated<Value>(_ present: Value, _ new: Value, _ filter: borrowing ((Value, Value) -> Bool)?) -> Bool {
  switch filter {
  case .some(let filter): filter(present, new)
  case .none: false
  }
}

/// Whether two numbers are equal. NaN counts as equal to NaN.
@inlinable @inline(__always)
func isRepetition<Value: FloatingPoint>(_ left: Value, _ right: Value) -> Bool {
  left == right || (left != left && right != right)
}

/// Whether two values are equal. For a number, or an optional one, NaN counts as equal to NaN.
///
/// Only for these: in two structs that are both unequal to themselves, another member may differ.
func repetition<Value: Equatable & SendableMetatype>(of type: Value.Type) -> @Sendable (Value, Value) -> Bool {
  if type == Double.self {
    // The commonest, without a look at what the type can do. SAFETY: cast to the type that it is.
    return { isRepetition(unsafeBitCast($0, to: Double.self), unsafeBitCast($1, to: Double.self)) }
  }
  guard type is any FloatingPoint.Type || type is any OptionalNumber.Type else { return { $0 == $1 } }
  return { $0 == $1 || ($0 != $0 && $1 != $1) }
}

private protocol OptionalNumber {}

extension Optional: OptionalNumber where Wrapped: FloatingPoint {}
