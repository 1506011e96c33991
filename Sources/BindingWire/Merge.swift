/// What `add`, `max`, `min` and `union` make of a field's value. Hub and peer use the same, so that what a peer shows
/// before the commit is what the hub commits.
public enum Merge {
  /// The field's new value; nil when `verb` merges nothing, or when operand or field is nothing that it merges: for
  /// `union` a list, else a finite number whose sum a double holds. Integers add exactly; past 64 bits, or with a
  /// fraction, the sum is a double. A list keeps its order, and what is new to it comes last.
  public static func apply(_ verb: Verb, operand: FieldValue, to current: FieldValue?) -> FieldValue? {
    switch verb {
    case .set, .delete, .whenUnset, .clear: return nil
    case .union: return union(operand, into: current)
    case .add, .max, .min: break
    }
    guard let change = number(operand) else { return nil }
    guard let current else { return operand }
    guard let base = number(current) else { return nil }
    switch verb {
    case .add: return sum(base, change)
    case .max: return base.isLess(than: change) ? operand : current
    default: return change.isLess(than: base) ? operand : current
    }
  }

  private static func union(_ operand: FieldValue, into current: FieldValue?) -> FieldValue? {
    guard case .array(let new)? = try? operand.json else { return nil }
    var merged: [JSON] = []
    if let current {
      guard case .array(let present)? = try? current.json else { return nil }
      merged = present
    }
    #if MUTANTS
      if Mutant.isOn(.unionReplaces) { merged = [] }
    #endif
    var known = Set(merged)
    for element in new where known.insert(element).inserted { merged.append(element) }
    return FieldValue(json: .array(merged))
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
