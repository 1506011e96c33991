/// The values that a field's description allows (protocol.md §8): made once, tested with each value. Hub and peers
/// share it.
package struct FieldRule: Sendable {
  /// The type of allowed values.
  package let type: FieldType
  /// Inclusive bounds of numbers; nil: unbounded. A NaN lies within no bound.
  let minimum: WireNumber?
  let maximum: WireNumber?
  /// The maximum length of a text, in characters as a reader counts them: extended grapheme clusters (Unicode's UAX
  /// #29).
  package let maximumLength: Int?
  /// Whether the field belongs to the ephemeral model, and so has no value in the stored one.
  package let isEphemeral: Bool
  /// The field's time limit; nil: its values do not expire.
  package let expiry: FieldExpiry?
  /// Whether this is another name of a field, under which nothing is stored.
  package private(set) var isAlias = false
  /// Whether the field is a list (§6.5): everything else in the rule is about its elements.
  package let isList: Bool
  /// The only allowed values; nil: any.
  private var chosen: Choices?
  /// Numbers from `low` to `high` lie within the bounds; others may too, if a double does not hold a bound exactly.
  private let low: Double
  private let high: Double

  /// A class, so that copying a rule copies one reference.
  private final class Choices: Sendable {
    let values: [JSON]
    /// The choices that the rest of the rule allows, in their usual spelling.
    let texts: [[UInt8]]

    init(_ values: [JSON], allowedBy rule: FieldRule) {
      self.values = values
      texts = values.filter { rule.violation($0) == nil }.map(\.bytes)
    }
  }

  /// The part of a rule that a value violates.
  package enum Violation: Sendable, Equatable {
    case type
    case range
    case length(Int)
    case choice
  }

  /// Makes a rule. A bound that is not a number (a text, say) is ignored.
  package init(
    type: FieldType, minimum: JSON? = nil, maximum: JSON? = nil, maximumLength: Int? = nil, choices: [JSON] = [],
    isEphemeral: Bool = false, isList: Bool = false, expiry: FieldExpiry? = nil
  ) {
    self.type = type
    self.expiry = expiry
    self.isEphemeral = isEphemeral
    self.isList = isList
    self.minimum = minimum.flatMap(WireNumber.init)
    self.maximum = maximum.flatMap(WireNumber.init)
    self.maximumLength = maximumLength
    low = self.minimum.map { $0.exactDouble ?? .infinity } ?? -.infinity
    high = self.maximum.map { $0.exactDouble ?? -.infinity } ?? .infinity
    if !choices.isEmpty { chosen = Choices(choices, allowedBy: self) }
  }

  /// The rule of an alias's name.
  static var alias: FieldRule {
    var rule = FieldRule(type: .any)
    rule.isAlias = true
    return rule
  }

  /// The only allowed values; empty: any.
  package var choices: [JSON] { chosen?.values ?? [] }

  /// Whether the rule allows every value, for ever.
  package var isEmpty: Bool {
    !isList && !isEphemeral && expiry == nil && type == .any && !isBounded && maximumLength == nil && chosen == nil
  }

  private var isBounded: Bool { minimum != nil || maximum != nil }

  /// Whether both rules allow the same values, however they are written: absent members count as their default, and
  /// the order of choices is ignored.
  package func allowsSame(as other: FieldRule) -> Bool {
    guard isEphemeral == other.isEphemeral, isList == other.isList,
      expiry?.milliseconds == other.expiry?.milliseconds
    else { return false }
    // Only choices that the rest of the rule allows count: they are the whole rule.
    if let chosen, let others = other.chosen {
      let mine = chosen.values.filter { violation($0) == nil }
      let theirs = others.values.filter { other.violation($0) == nil }
      func has(_ values: [JSON], _ value: JSON) -> Bool { values.contains { $0.isSameValue(as: value) } }
      return mine.allSatisfy { has(theirs, $0) } && theirs.allSatisfy { has(mine, $0) }
    }
    func isSame(_ one: WireNumber?, _ other: WireNumber?) -> Bool {
      guard let one, let other else { return one == nil && other == nil }
      return one.isSame(as: other)
    }
    return chosen == nil && other.chosen == nil && type == other.type && isSame(minimum, other.minimum)
      && isSame(maximum, other.maximum) && maximumLength == other.maximumLength
  }

  /// The part of the rule that `value` violates; nil if it fits.
  package func violation(_ value: JSON) -> Violation? {
    guard type.admits(value) else { return .type }
    if let chosen, !chosen.values.contains(where: { $0.isSameValue(as: value) }) { return .choice }
    if isBounded, let number = WireNumber(value), !contains(number) { return .range }
    if let maximumLength, case .string(let text) = value {
      let count = text.count
      if count > maximumLength { return .length(count) }
    }
    return nil
  }

  /// The part of the rule that a value violates; nil if it fits. The text must be valid JSON. Allocates nothing for
  /// a plain value that fits.
  package func violation(_ value: UnsafeRawBufferPointer) -> Violation? {
    if certainlyAllows(value) { return nil }
    guard let json = try? JSON(parsing: value) else { return .type }
    return violation(json)
  }

  private func contains(_ number: WireNumber) -> Bool {
    if case .double(let double) = number, double.isNaN { return false }
    if let minimum, number.isLess(than: minimum) { return false }
    if let maximum, maximum.isLess(than: number) { return false }
    return true
  }

  /// A quick test without allocation; false if the value needs the full one.
  private func certainlyAllows(_ text: UnsafeRawBufferPointer) -> Bool {
    if let chosen { return chosen.texts.contains { text.elementsEqual($0) } }
    var scanner = JSONScanner(text)
    scanner.skipSpace()
    switch scanner.byte {
    case UInt8(ascii: "\""):
      guard type == .string || type == .any else { return false }
      return maximumLength.map { scanner.certainlyHasAtMost($0) } ?? true
    case UInt8(ascii: "t"), UInt8(ascii: "f"): return type == .boolean || type == .any
    case UInt8(ascii: "n"): return type == .any
    case UInt8(ascii: "["): return type == .array || type == .any
    case UInt8(ascii: "{"): return (type == .object || type == .any && !isBounded) && !scanner.mayBeEscape
    default:
      guard type == .number || type == .integer || type == .any,
        let plain = PlainNumber(text, at: scanner.offset)
      else { return false }
      if type == .integer, !plain.isWhole { return false }
      return plain.double - plain.slack >= low && plain.double + plain.slack <= high
    }
  }
}

extension JSONScanner {
  /// Whether the string at the offset has at most this many bytes between its quotation marks, hence at most as
  /// many characters.
  fileprivate func certainlyHasAtMost(_ characters: Int) -> Bool {
    var end = text.count
    while end > offset, text[end - 1] != UInt8(ascii: "\"") { end -= 1 }
    return end - offset - 2 <= characters
  }

  /// Whether the object at the offset may be the escape of a number or bytes: its first name begins with `$` or an
  /// escape.
  fileprivate var mayBeEscape: Bool {
    var scanner = self
    scanner.offset += 1
    scanner.skipSpace()
    guard scanner.byte == UInt8(ascii: "\""), scanner.offset + 1 < text.count else { return false }
    return text[scanner.offset + 1] == UInt8(ascii: "$") || text[scanner.offset + 1] == UInt8(ascii: "\\")
  }
}

extension JSON {
  /// Whether both are the same value: numbers compare by value, everything else by its text.
  func isSameValue(as other: JSON) -> Bool {
    if let left = WireNumber(self), let right = WireNumber(other), left.isSame(as: right) { return true }
    return bytes == other.bytes
  }
}
