/// A number in a JSON text, compared by its value without rounding.
enum WireNumber: Sendable, Equatable {
  case integer(Int64)
  /// Past `Int64.max`; only the escape `{"$int":…}` can represent it.
  case unsigned(UInt64)
  case double(Double)

  init?(_ json: JSON) {
    switch json {
    case .integer(let number): self = .integer(number)
    case .number(let number): self = .double(number)
    default:
      guard let number = json.unsignedPastInt64 else { return nil }
      self = .unsigned(number)
    }
  }

  var double: Double {
    switch self {
    case .integer(let number): Double(number)
    case .unsigned(let number): Double(number)
    case .double(let number): number
    }
  }

  /// False if one of them is a NaN.
  func isLess(than other: WireNumber) -> Bool {
    switch (self, other) {
    case (.double(let left), .double(let right)): left < right
    case (.double(let left), _): !left.isNaN && other.order(to: left) > 0
    case (_, .double(let right)): !right.isNaN && order(to: right) < 0
    case (.integer(let left), .integer(let right)): left < right
    case (.unsigned(let left), .unsigned(let right)): left < right
    case (.integer, .unsigned): true
    case (.unsigned, .integer): false
    }
  }

  /// The number as a double, if the conversion is exact; nil for a NaN.
  var exactDouble: Double? {
    let double = double
    return isSame(as: .double(double)) ? double : nil
  }

  /// Whether both have the same value; a NaN equals nothing.
  func isSame(as other: WireNumber) -> Bool {
    !double.isNaN && !other.double.isNaN && !isLess(than: other) && !other.isLess(than: self)
  }

  /// For an integer: -1, 0 or 1 if it is less than, equal to or greater than `double`.
  private func order(to double: Double) -> Int {
    let floor = double.rounded(.down)
    switch self {
    case .integer(let integer):
      guard let whole = Int64(exactly: floor) else { return double > 0 ? -1 : 1 }
      return integer == whole ? (floor == double ? 0 : -1) : integer < whole ? -1 : 1
    case .unsigned(let integer):
      guard let whole = UInt64(exactly: floor) else { return double > 0 ? -1 : 1 }
      return integer == whole ? (floor == double ? 0 : -1) : integer < whole ? -1 : 1
    case .double: return 0
    }
  }
}

extension JSON {
  /// The number in `{"$int":"…"}` if it is past `Int64.max`; parsing leaves such an object as it is.
  var unsignedPastInt64: UInt64? {
    guard case .object(let members) = self, members.count == 1, members[0].name == "$int",
      case .string(let digits) = members[0].value, let number = UInt64(digits), number > UInt64(Int64.max),
      String(number) == digits
    else { return nil }
    return number
  }
}

/// A plain JSON number, read without allocating.
struct PlainNumber {
  let double: Double
  /// Whether it was written without a fraction.
  let isWhole: Bool
  /// The maximum distance between the number and `double`, with twice the error of two roundings: of a decimal with
  /// more digits than a double distinguishes, the value is approximate.
  let slack: Double

  /// The powers of ten that a double holds exactly.
  private static let powers: [Double] = [
    1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
  ]

  /// Reads the number at `offset` of a valid JSON text. nil if it needs the full parser: for exponents, for
  /// integers that a double does not hold, and for more than 18 digits.
  init?(_ text: UnsafeRawBufferPointer, at offset: Int) {
    var (at, digits, places, isWhole) = (offset, UInt64(0), 0, true)
    let isNegative = text[at] == UInt8(ascii: "-")
    if isNegative { at &+= 1 }
    scan: while at < text.count {
      let byte = text[at]
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"):
        guard digits < 100_000_000_000_000_000 else { return nil }
        digits = digits &* 10 &+ UInt64(byte &- UInt8(ascii: "0"))
        if !isWhole { places &+= 1 }
      case UInt8(ascii: "."): isWhole = false
      case UInt8(ascii: "e"), UInt8(ascii: "E"): return nil
      default: break scan
      }
      at &+= 1
    }
    let isExact = digits <= 1 << 53
    guard places <= 22, isExact || !isWhole else { return nil }
    let magnitude = isWhole ? Double(digits) : Double(digits) / Self.powers[places]
    double = isNegative ? -magnitude : magnitude
    self.isWhole = isWhole
    slack = isExact ? 0 : magnitude * 0x1p-50
  }
}
