/// The codewords of a QR code: its data in blocks, with the codewords that correct errors (ISO/IEC 18004, 7.4 to 7.6).
struct QRBlocks {
  /// 1 to 13.
  let version: Int
  /// In the order in which they are placed.
  let codewords: [UInt8]

  /// Of error correction M by version: codewords that correct errors in a block, and blocks (table 9).
  private static let shapes: [(correcting: Int, blocks: Int)] = [
    (10, 1), (16, 1), (26, 1), (18, 2), (24, 2), (16, 4), (18, 4), (22, 4), (22, 5), (26, 5), (30, 5), (22, 8), (22, 9),
  ]

  /// Nil if no version holds these bytes.
  init?(_ bytes: [UInt8]) {
    let fitting = (1...QRBlocks.shapes.count).first { version in
      QRBlocks.countBits(version) + 4 + bytes.count * 8 <= QRBlocks.dataCount(version) * 8
    }
    guard let fitting else { return nil }
    version = fitting
    let data = QRBlocks.data(bytes, version)
    let (correcting, blocks) = QRBlocks.shapes[version - 1]
    let generator = QRBlocks.generator(correcting)
    // The first blocks are one codeword shorter than the last if they cannot all be of the same length.
    let short = data.count / blocks
    let firstLong = blocks - data.count % blocks
    var start = 0
    var parts: [(data: [UInt8], correction: [UInt8])] = []
    for block in 0..<blocks {
      let end = start + short + (block < firstLong ? 0 : 1)
      let part = Array(data[start..<end])
      parts.append((part, QRBlocks.remainder(part, generator)))
      start = end
    }
    let ordered = (0...short).flatMap { place in parts.compactMap { place < $0.data.count ? $0.data[place] : nil } }
    codewords = ordered + (0..<correcting).flatMap { place in parts.map { $0.correction[place] } }
  }

  /// Bits that tell the number of bytes.
  private static func countBits(_ version: Int) -> Int { version < 10 ? 8 : 16 }

  /// The codewords of a symbol for data.
  private static func dataCount(_ version: Int) -> Int {
    let (correcting, blocks) = shapes[version - 1]
    return codewordCount(version) - correcting * blocks
  }

  /// All codewords of a symbol: its modules without the patterns of its own.
  private static func codewordCount(_ version: Int) -> Int {
    let side = 17 + 4 * version
    // Three finder patterns with their separators, format and one dark module, two timing patterns.
    var modules = side * side - 3 * 64 - 31 - 2 * (side - 16)
    if version >= 2 {
      let places = version < 7 ? 2 : 3
      // Those at three corners are left out; of the others, some lie on the timing patterns.
      modules -= (places * places - 3) * 25 - (places - 2) * 2 * 5
    }
    return (modules - (version >= 7 ? 36 : 0)) / 8
  }

  /// Mode, length, bytes, terminator and padding.
  private static func data(_ bytes: [UInt8], _ version: Int) -> [UInt8] {
    var bits: [Bool] = []
    func append(_ value: Int, _ count: Int) { bits += (0..<count).map { value >> (count - 1 - $0) & 1 == 1 } }
    append(0b0100, 4)
    append(bytes.count, countBits(version))
    for byte in bytes { append(Int(byte), 8) }
    append(0, 4)
    bits += [Bool](repeating: false, count: (8 - bits.count % 8) % 8)
    var data = stride(from: 0, to: bits.count, by: 8).map { start in
      bits[start..<start + 8].reduce(UInt8(0)) { $0 << 1 | ($1 ? 1 : 0) }
    }
    let padding: [UInt8] = [0xEC, 0x11]
    data += (0..<dataCount(version) - data.count).map { padding[$0 % 2] }
    return data
  }

  // MARK: Reed and Solomon, over 256 elements modulo x⁸ + x⁴ + x³ + x² + 1

  /// The product of (x − 2ⁱ) for i below the degree, without its first coefficient, which is 1.
  private static func generator(_ degree: Int) -> [UInt8] {
    var result = [UInt8](repeating: 0, count: degree - 1) + [1]
    var root: UInt8 = 1
    for _ in 0..<degree {
      for place in 0..<degree {
        result[place] = product(result[place], root) ^ (place + 1 < degree ? result[place + 1] : 0)
      }
      root = product(root, 2)
    }
    return result
  }

  private static func remainder(_ data: [UInt8], _ generator: [UInt8]) -> [UInt8] {
    var rest = [UInt8](repeating: 0, count: generator.count)
    for byte in data {
      let factor = byte ^ rest[0]
      rest = rest.dropFirst() + [0]
      for (place, coefficient) in generator.enumerated() { rest[place] ^= product(coefficient, factor) }
    }
    return rest
  }

  private static func product(_ left: UInt8, _ right: UInt8) -> UInt8 {
    var (result, shifted, rest) = (UInt8(0), left, right)
    while rest != 0 {
      if rest & 1 == 1 { result ^= shifted }
      shifted = shifted << 1 ^ (shifted & 0x80 == 0 ? 0 : 0x1D)
      rest >>= 1
    }
    return result
  }
}
