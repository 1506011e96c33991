/// What `add`, `max` and `min` make of a field's number. Hub and peer use the same, so that what a peer shows before
/// the commit is what the hub commits.
public enum Merge {
  /// The field's new value; nil when `verb` merges nothing, when operand or field is no finite number, or when the
  /// sum is beyond what a double holds. Integers add exactly; past 64 bits, or with a fraction, the sum is a double.
  public static func apply(_ verb: Verb, operand: FieldValue, to current: FieldValue?) -> FieldValue? {
    guard let change = number(operand) else { return nil }
    switch verb {
    case .add, .max, .min: break
    case .set, .delete, .whenUnset, .clear: return nil
    }
    guard let current else { return operand }
    guard let base = number(current) else { return nil }
    switch verb {
    case .add: return sum(base, change)
    case .max: return base.isLess(than: change) ? operand : current
    default: return change.isLess(than: base) ? operand : current
    }
  }

  /// The finite number of a value; nil if it has none, or one that no sum is made of.
  private static func number(_ value: FieldValue) -> WireNumber? {
    guard let number = (try? value.json).flatMap(WireNumber.init) else { return nil }
    switch number {
    case .integer: return number
    case .double(let double): return double.isFinite ? number : nil
    case .unsigned: return nil
    }
  }

  private static func sum(_ left: WireNumber, _ right: WireNumber) -> FieldValue? {
    if case .integer(let left) = left, case .integer(let right) = right {
      let (sum, overflow) = left.addingReportingOverflow(right)
      if !overflow { return FieldValue(json: .integer(sum)) }
    }
    let sum = left.double + right.double
    return sum.isFinite ? FieldValue(json: .number(sum)) : nil
  }
}
