/// What `add`, `max` and `min` make of a field's number. Hub and peer use the same, so that what a peer shows before
/// the commit is what the hub commits.
public enum Merge {
  /// The field's new value; nil when `verb` merges nothing, when operand or field is no finite number, or when the
  /// sum is beyond what a double holds. Integers add exactly; past 64 bits, or with a fraction, the sum is a double.
  public static func apply(_ verb: Verb, operand: FieldValue, to current: FieldValue?) -> FieldValue? {
    guard let change = Number(operand) else { return nil }
    switch verb {
    case .add, .max, .min: break
    case .set, .delete, .whenUnset, .clear: return nil
    }
    guard let current else { return operand }
    guard let base = Number(current) else { return nil }
    switch verb {
    case .add: return base.plus(change).map { FieldValue(json: $0) }
    case .max: return base.isLess(than: change) ? operand : current
    default: return change.isLess(than: base) ? operand : current
    }
  }

  private enum Number {
    case integer(Int64)
    case double(Double)

    init?(_ value: FieldValue) {
      switch try? value.json {
      case .integer(let number): self = .integer(number)
      case .number(let number) where number.isFinite: self = .double(number)
      default: return nil
      }
    }

    var double: Double {
      switch self {
      case .integer(let number): Double(number)
      case .double(let number): number
      }
    }

    func plus(_ other: Number) -> JSON? {
      if case .integer(let left) = self, case .integer(let right) = other {
        let (sum, overflow) = left.addingReportingOverflow(right)
        if !overflow { return .integer(sum) }
      }
      let sum = double + other.double
      return sum.isFinite ? .number(sum) : nil
    }

    func isLess(than other: Number) -> Bool {
      switch (self, other) {
      case (.integer(let left), .integer(let right)): left < right
      case (.double(let left), .double(let right)): left < right
      case (.integer(let left), .double(let right)): Self.order(left, right) < 0
      case (.double(let left), .integer(let right)): Self.order(right, left) > 0
      }
    }

    /// -1, 0 or 1 as `integer` is less than, equal to or greater than `double`, without rounding the integer.
    private static func order(_ integer: Int64, _ double: Double) -> Int {
      let floor = double.rounded(.down)
      guard let whole = Int64(exactly: floor) else { return double > 0 ? -1 : 1 }
      if integer == whole { return floor == double ? 0 : -1 }
      return integer < whole ? -1 : 1
    }
  }
}
