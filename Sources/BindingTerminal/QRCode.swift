/// A text as a QR code (ISO/IEC 18004:2015): its UTF-8 in byte mode, with error correction M, which repairs about 15 %
/// of the codewords. Of versions 1 to 13, the smallest that holds it.
package struct QRCode {
  /// The pattern, 0 to 7, that is laid over the data.
  private(set) var mask = 0
  private var version: Int
  private var isDark: [Bool]
  /// Modules of the symbol's own, which hold no data.
  private var isFixed: [Bool]

  /// Modules of one side, without the quiet zone.
  var size: Int { 17 + 4 * version }

  /// Bytes of the longest text.
  static let maxBytes = 331
  /// Light modules on each side (6.3.8).
  private static let quietModules = 4

  /// Nil if the text has more than 331 bytes.
  package init?(_ text: String) {
    self.init(text, mask: nil)
  }

  /// - Parameter mask: nil: that with the least penalty.
  init?(_ text: String, mask wanted: Int?) {
    guard let blocks = QRBlocks(Array(text.utf8)) else { return nil }
    version = blocks.version
    isDark = [Bool](repeating: false, count: (17 + 4 * blocks.version) * (17 + 4 * blocks.version))
    isFixed = isDark
    drawFixed()
    place(blocks.codewords)
    let plain = self
    var best: (penalty: Int, code: QRCode)?
    for mask in wanted.map({ $0...$0 }) ?? 0...7 {
      var masked = plain
      masked.lay(mask)
      let penalty = masked.penalty
      if penalty < best?.penalty ?? .max { best = (penalty, masked) }
    }
    guard let best else { return nil }
    self = best.code
  }

  /// Whether a module is dark; those outside are light.
  subscript(row: Int, column: Int) -> Bool {
    guard (0..<size).contains(row), (0..<size).contains(column) else { return false }
    return isDark[row * size + column]
  }

  /// The code for a terminal, black on white whatever its colours are, two rows of modules a line.
  package var lines: [String] {
    let places = -QRCode.quietModules..<size + QRCode.quietModules
    return stride(from: places.lowerBound, to: places.upperBound, by: 2).map { row in
      let modules = places.map { column in
        switch (self[row, column], self[row + 1, column]) {
        case (true, true): "█"
        case (true, false): "▀"
        case (false, true): "▄"
        case (false, false): " "
        }
      }
      return "\u{1B}[38;5;16;48;5;231m\(modules.joined())\u{1B}[0m"
    }
  }

  // MARK: The symbol's own modules (6.3)

  private mutating func fix(_ row: Int, _ column: Int, _ dark: Bool) {
    guard (0..<size).contains(row), (0..<size).contains(column) else { return }
    isDark[row * size + column] = dark
    isFixed[row * size + column] = true
  }

  private mutating func drawFixed() {
    for index in 0..<size {
      fix(6, index, index.isMultiple(of: 2))
      fix(index, 6, index.isMultiple(of: 2))
    }
    for (row, column) in [(3, 3), (3, size - 4), (size - 4, 3)] { drawRings(row, column, out: 4, light: [2, 4]) }
    let last = size - 7
    let places = version == 1 ? [] : version < 7 ? [6, last] : [6, (6 + last) / 2, last]
    for row in places {
      // Three corners have finder patterns.
      for column in places where row + column != 12 && !(row + column == 6 + last && row != column) {
        drawRings(row, column, out: 2, light: [1])
      }
    }
    drawFormat(0)
    drawVersion()
  }

  /// Rings around a module by their distance from it.
  private mutating func drawRings(_ row: Int, _ column: Int, out: Int, light: Set<Int>) {
    for down in -out...out {
      for right in -out...out { fix(row + down, column + right, !light.contains(max(abs(down), abs(right)))) }
    }
  }

  /// The level of error correction and the mask, twice, protected by a BCH code (7.9).
  private mutating func drawFormat(_ mask: Int) {
    // M is 00.
    let bits = QRCode.appending(degree: 10, generator: 0x537, to: mask) ^ 0x5412
    for index in 0..<15 {
      let dark = bits >> index & 1 == 1
      let inner = index < 6 ? index : index < 8 ? index + 1 : 14 - index
      if index < 8 {
        fix(inner, 8, dark)
        fix(8, size - 1 - index, dark)
      } else {
        fix(8, index == 8 ? 7 : inner, dark)
        fix(size - 15 + index, 8, dark)
      }
    }
    fix(size - 8, 8, true)
  }

  /// The version, twice, protected by a Golay code (7.10).
  private mutating func drawVersion() {
    guard version >= 7 else { return }
    let bits = QRCode.appending(degree: 12, generator: 0x1F25, to: version)
    for index in 0..<18 {
      let dark = bits >> index & 1 == 1
      fix(index / 3, size - 11 + index % 3, dark)
      fix(size - 11 + index % 3, index / 3, dark)
    }
  }

  /// A value followed by the remainder of its division by the generator.
  private static func appending(degree: Int, generator: Int, to value: Int) -> Int {
    var rest = value << degree
    while rest >> degree != 0 {
      rest ^= generator << (Int.bitWidth - 1 - rest.leadingZeroBitCount - degree)
    }
    return value << degree | rest
  }

  // MARK: Data (7.7.3) and masks (7.8)

  /// Fills columns of two, from the right, upwards and downwards by turns.
  private mutating func place(_ codewords: [UInt8]) {
    var bit = 0
    for pair in 0..<(size - 1) / 2 {
      let right = size - 1 - 2 * pair
      // The column of the timing pattern is left out.
      let column = right <= 6 ? right - 1 : right
      for step in 0..<size {
        let row = pair.isMultiple(of: 2) ? size - 1 - step : step
        for place in [row * size + column, row * size + column - 1]
        where !isFixed[place] && bit < codewords.count * 8 {
          isDark[place] = codewords[bit / 8] >> (7 - bit % 8) & 1 == 1
          bit += 1
        }
      }
    }
  }

  private mutating func lay(_ mask: Int) {
    self.mask = mask
    for row in 0..<size {
      for column in 0..<size where !isFixed[row * size + column] && QRCode.inverts(mask, row, column) {
        isDark[row * size + column].toggle()
      }
    }
    drawFormat(mask)
  }

  private static func inverts(_ mask: Int, _ row: Int, _ column: Int) -> Bool {
    let product = row * column
    return switch mask {
    case 0: (row + column).isMultiple(of: 2)
    case 1: row.isMultiple(of: 2)
    case 2: column.isMultiple(of: 3)
    case 3: (row + column).isMultiple(of: 3)
    case 4: (row / 2 + column / 3).isMultiple(of: 2)
    case 5: product % 2 + product % 3 == 0
    case 6: (product % 2 + product % 3).isMultiple(of: 2)
    default: ((row + column) % 2 + product % 3).isMultiple(of: 2)
    }
  }

  /// How hard the symbol is to read (7.8.3).
  var penalty: Int {
    var penalty = 0
    for line in 0..<size {
      penalty += QRCode.penalty((0..<size).map { self[line, $0] })
      penalty += QRCode.penalty((0..<size).map { self[$0, line] })
    }
    for row in 1..<size {
      for column in 1..<size {
        let corner = self[row, column]
        if self[row - 1, column] == corner, self[row, column - 1] == corner, self[row - 1, column - 1] == corner {
          penalty += 3
        }
      }
    }
    let dark = isDark.count(where: { $0 })
    return penalty + abs(dark * 20 - isDark.count * 10) / isDark.count * 10
  }

  /// Of one row or column: runs of five and more, and what looks like a finder pattern.
  private static func penalty(_ line: [Bool]) -> Int {
    var penalty = 0
    var (run, last) = (0, !line[0])
    var bits = 0
    for (index, dark) in line.enumerated() {
      run = dark == last ? run + 1 : 1
      last = dark
      penalty += run == 5 ? 3 : run > 5 ? 1 : 0
      bits = (bits << 1 | (dark ? 1 : 0)) & 0x7FF
      if index >= 10, bits == 0b000_0101_1101 || bits == 0b101_1101_0000 { penalty += 40 }
    }
    return penalty
  }
}
