/// Base64 with the standard alphabet and padding (RFC 4648 §4).
package enum Base64 {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
  private static let padding = UInt8(ascii: "=")

  /// Encodes bytes.
  package static func encode(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count + 2) / 3 * 4)
    var index = 0
    while index < bytes.count {
      let count = min(3, bytes.count - index)
      var group: UInt32 = 0
      for step in 0..<3 { group = group << 8 | (step < count ? UInt32(bytes[index + step]) : 0) }
      for step in 0..<4 {
        text.append(step <= count ? alphabet[Int(group >> (18 - 6 * UInt32(step)) & 63)] : padding)
      }
      index += 3
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// Decodes a canonical text: whole groups of four, padding only at the end, unused bits 0. nil for any other.
  package static func decode(_ text: String) -> [UInt8]? {
    let text = Array(text.utf8)
    guard text.count % 4 == 0 else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count / 4 * 3)
    for start in stride(from: 0, to: text.count, by: 4) {
      let isLast = start + 4 == text.count
      let pads = isLast ? (text[start + 3] == padding ? (text[start + 2] == padding ? 2 : 1) : 0) : 0
      var group: UInt32 = 0
      for step in 0..<4 {
        guard step < 4 - pads else {
          group <<= 6
          continue
        }
        guard let digit = digit(text[start + step]) else { return nil }
        group = group << 6 | digit
      }
      guard group & ((1 << (8 * UInt32(pads))) - 1) == 0 else { return nil }
      for step in 0..<(3 - pads) { bytes.append(UInt8(truncatingIfNeeded: group >> (16 - 8 * UInt32(step)))) }
    }
    return bytes
  }

  private static func digit(_ byte: UInt8) -> UInt32? {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(byte - UInt8(ascii: "A"))
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(byte - UInt8(ascii: "a")) + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0")) + 52
    case UInt8(ascii: "+"): 62
    case UInt8(ascii: "/"): 63
    default: nil
    }
  }
}
