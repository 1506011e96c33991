/// What a field takes by its description (protocol.md §8): made once, asked of each value. Hub and peers use the same.
public struct FieldRule: Sendable {
  public let type: FieldType
  /// Bounds of numbers, both allowed; nil where there is none. A NaN lies within no bound.
  let minimum: WireNumber?
  let maximum: WireNumber?
  /// The longest text, in characters as a reader counts them: extended grapheme clusters (Unicode's UAX #29).
  public let maximumLength: Int?
  /// Whether the field stands in the model's ephemeral line, and so has no value in the stored one.
  public let isEphemeral: Bool
  /// The only values; nil for any.
  private var chosen: Choices?
  /// Numbers from `low` to `high` lie within the bounds; others may, if a bound is none that a double holds.
  private let low: Double
  private let high: Double

  /// In one place, so that a rule is copied with one reference.
  private final class Choices: Sendable {
    let values: [JSON]
    /// Those that all else allows, as they are usually written.
    let texts: [[UInt8]]

    init(_ values: [JSON], allowedBy rule: FieldRule) {
      self.values = values
      texts = values.filter { rule.violation($0) == nil }.map(\.bytes)
    }
  }

  /// What of the rule a value breaks.
  public enum Violation: Sendable, Equatable {
    case type
    case range
    case length(Int)
    case choice
  }

  /// A bound that is no number (a text's, say) bounds nothing.
  public init(
    type: FieldType, minimum: JSON? = nil, maximum: JSON? = nil, maximumLength: Int? = nil, choices: [JSON] = [],
    isEphemeral: Bool = false
  ) {
    self.type = type
    self.isEphemeral = isEphemeral
    self.minimum = minimum.flatMap(WireNumber.init)
    self.maximum = maximum.flatMap(WireNumber.init)
    self.maximumLength = maximumLength
    low = self.minimum.map { $0.exactDouble ?? .infinity } ?? -.infinity
    high = self.maximum.map { $0.exactDouble ?? -.infinity } ?? .infinity
    if !choices.isEmpty { chosen = Choices(choices, allowedBy: self) }
  }

  /// The only values; empty for any.
  public var choices: [JSON] { chosen?.values ?? [] }

  /// Whether it takes every value.
  public var isEmpty: Bool { !isEphemeral && type == .any && !isBounded && maximumLength == nil && chosen == nil }

  private var isBounded: Bool { minimum != nil || maximum != nil }

  /// Whether both take the same values, however the rules are written: what is absent is as its default, the order of
  /// choices does not count.
  public func allowsSame(as other: FieldRule) -> Bool {
    guard isEphemeral == other.isEphemeral else { return false }
    // Choices are values that all else allows: they are the whole rule.
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

  /// What `value` breaks; nil if it fits.
  public func violation(_ value: JSON) -> Violation? {
    guard type.admits(value) else { return .type }
    if let chosen, !chosen.values.contains(where: { $0.isSameValue(as: value) }) { return .choice }
    if isBounded, let number = WireNumber(value), !contains(number) { return .range }
    if let maximumLength, case .string(let text) = value {
      let count = text.count
      if count > maximumLength { return .length(count) }
    }
    return nil
  }

  /// The same for a value's text, which is known to be JSON. Allocates nothing for what is plain and fits.
  public func violation(_ value: UnsafeRawBufferPointer) -> Violation? {
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

  /// False where it takes a closer look.
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
  /// Whether the string that stands here has no more bytes than that between its quotation marks: then it has no more
  /// characters either.
  fileprivate func certainlyHasAtMost(_ characters: Int) -> Bool {
    var end = text.count
    while end > offset, text[end - 1] != UInt8(ascii: "\"") { end -= 1 }
    return end - offset - 2 <= characters
  }

  /// Whether the object that stands here may stand for a number or bytes: its first name begins with `$` or an escape.
  fileprivate var mayBeEscape: Bool {
    var scanner = self
    scanner.offset += 1
    scanner.skipSpace()
    guard scanner.byte == UInt8(ascii: "\""), scanner.offset + 1 < text.count else { return false }
    return text[scanner.offset + 1] == UInt8(ascii: "$") || text[scanner.offset + 1] == UInt8(ascii: "\\")
  }
}

extension JSON {
  /// Whether both are one value: numbers however they are written, all else by the same text.
  func isSameValue(as other: JSON) -> Bool {
    if let left = WireNumber(self), let right = WireNumber(other), left.isSame(as: right) { return true }
    return bytes == other.bytes
  }
}
