/// Computes the results of `add`, `max`, `min`, `union` and `describe`. Hub and peer share it, so a peer shows before
/// the commit what the hub will commit.
package enum Merge {
  /// The field's new value. Integers add exactly; past 64 bits, or with a fraction, the sum is a double. A list
  /// keeps its bytes, and new elements are appended. If the merge changes nothing, the result is `current`, byte
  /// for byte.
  ///
  /// - Returns: nil when `verb` does not merge, or when operand or field is not a list (`union`), a description
  ///   (`describe`) or a finite number whose sum a double holds (the other verbs).
  package static func apply(_ verb: Verb, operand: FieldValue, to current: FieldValue?) -> FieldValue? {
    switch verb {
    case .set, .delete, .setIfAbsent, .clear, .insert, .move, .replace: return nil
    case .union: return union(operand, into: current)
    case .describe: return DescriptionMerge(of: operand, into: current)?.merged
    case .add, .max, .min: break
    }
    guard let change = number(operand) else { return nil }
    guard let current else { return operand }
    guard let base = number(current) else { return nil }
    switch verb {
    case .add: return change.isSame(as: .integer(0)) ? current : sum(base, change, instead: current)
    case .max: return base.isLess(than: change) ? operand : current
    default: return change.isLess(than: base) ? operand : current
    }
  }

  /// Why `apply` has no result, phrased to follow the field's name: whether operand or field is wrong, and how.
  package static func violation(_ verb: Verb, operand: FieldValue, to current: FieldValue?) -> String {
    if let fault = operand.fault { return fault }
    if verb == .describe { return "\(operand.short) is not a description" }
    func isMerged(_ value: FieldValue) -> Bool {
      verb == .union ? value.bytes.withUnsafeBytes { ListText($0) } != nil : number(value) != nil
    }
    func problem(_ value: FieldValue) -> String {
      if verb == .union { return "\(value.short) is not a list" }
      if case .number(let double)? = try? value.json, double.isInfinite, value.bytes.first != UInt8(ascii: "{") {
        return "\(value.short) is not a finite double"
      }
      return "\(value.short) is not a finite number"
    }
    if !isMerged(operand) { return "\(problem(operand)), which \(verb) needs" }
    if let current, !isMerged(current) {
      return "\(verb) needs another value in the field, because \(problem(current)); set it first"
    }
    return "the sum of \(current?.short ?? "0") and \(operand.short) is not a finite double"
  }

  private static func union(_ operand: FieldValue, into current: FieldValue?) -> FieldValue? {
    let present = current ?? emptyList
    return operand.bytes.withUnsafeBytes { new in
      present.bytes.withUnsafeBytes { present in
        guard let adding = ListText(new), let list = ListText(present) else { return nil }
        var known = Set(list.elements.map { ExactValue(present.part($0)) })
        let fresh = adding.elements.filter { known.insert(ExactValue(new.part($0))).inserted }
        if let current, fresh.isEmpty { return current }
        var bytes = Array(present.prefix(list.end))
        for (index, element) in fresh.enumerated() {
          if index > 0 || !list.elements.isEmpty { bytes.append(UInt8(ascii: ",")) }
          bytes += new.part(element)
        }
        bytes.append(UInt8(ascii: "]"))
        return FieldValue(bytes: bytes)
      }
    }
  }

  private static let emptyList = FieldValue(bytes: [UInt8(ascii: "["), UInt8(ascii: "]")])

  /// The finite number of a value; nil if it is not one, or is an integer past `Int64.max`.
  private static func number(_ value: FieldValue) -> WireNumber? {
    guard let number = (try? value.json).flatMap(WireNumber.init) else { return nil }
    switch number {
    case .integer: return number
    case .double(let double): return double.isFinite ? number : nil
    case .unsigned: return nil
    }
  }

  /// The sum; `current`, which holds the left number, if the sum equals it.
  private static func sum(_ left: WireNumber, _ right: WireNumber, instead current: FieldValue) -> FieldValue? {
    if case .integer(let left) = left, case .integer(let right) = right {
      let (sum, overflow) = left.addingReportingOverflow(right)
      if !overflow { return FieldValue(json: .integer(sum)) }
    }
    let sum = left.double + right.double
    guard sum.isFinite else { return nil }
    return left.isSame(as: .double(sum)) ? current : FieldValue(json: .number(sum))
  }
}

extension UnsafeRawBufferPointer {
  fileprivate func part(_ range: Range<Int>) -> UnsafeRawBufferPointer { part(range.lowerBound, range.count) }
}
