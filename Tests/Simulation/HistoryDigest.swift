/// A fingerprint of a history: its times, its frames and its random draws. The same seed makes the same digest for as
/// long as hub, peers and faults behave the same.
struct HistoryDigest {
  private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

  mutating func add(_ word: UInt64) {
    value = (value ^ word) &* 0x0000_0100_0000_01B3
    value ^= value >> 29
  }

  mutating func add(_ frame: [UInt8]) {
    add(UInt64(frame.count))
    var word: UInt64 = 0
    for byte in frame { word = (word << 8 | word >> 56) ^ UInt64(byte) &* 0x9E37_79B9 }
    add(word)
  }
}
