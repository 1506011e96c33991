/// The value written in comparisons, byte for byte that of `Contenders/measure.c`: a JSON string of 16 digits of
/// time, 10 of the change's number, 'e' for the last change, filler.
struct Stamp {
  let time: UInt64
  let number: UInt64
  let isLast: Bool

  static let leastBytes = 32
  static let timeRange = 1..<17
  static let numberRange = 17..<27
  static let endFlagOffset = 27

  /// For a value whose first `first` bytes were removed.
  static func isLast(_ value: UnsafeRawBufferPointer, from first: Int = 0) -> Bool {
    value[endFlagOffset - first] == UInt8(ascii: "e")
  }

  static func digits(_ value: UnsafeRawBufferPointer, _ range: Range<Int>, from first: Int = 0) -> UInt64 {
    var number: UInt64 = 0
    for offset in range { number = number &* 10 &+ UInt64(value[offset - first] &- 48) }
    return number
  }
}

/// The text of a stamp, of which only the digits change, so as not to measure its encoding.
struct StampText {
  private(set) var bytes: [UInt8]

  init(_ count: Int) {
    bytes = [UInt8](repeating: UInt8(ascii: "x"), count: count)
    bytes[0] = UInt8(ascii: "\"")
    bytes[count - 1] = UInt8(ascii: "\"")
  }

  mutating func set(_ stamp: Stamp) {
    set(stamp.time, Stamp.timeRange)
    set(stamp.number, Stamp.numberRange)
    bytes[Stamp.endFlagOffset] = stamp.isLast ? UInt8(ascii: "e") : UInt8(ascii: "x")
  }

  private mutating func set(_ number: UInt64, _ range: Range<Int>) {
    var rest = number
    for offset in range.reversed() {
      let tenth = rest / 10
      bytes[offset] = UInt8(48 + rest - tenth * 10)
      rest = tenth
    }
  }
}
