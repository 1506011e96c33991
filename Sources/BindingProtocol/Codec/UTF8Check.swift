/// Tests whether bytes are well-formed UTF-8 (no overlong forms, no surrogates, nothing beyond U+10FFFF). Allocates
/// nothing.
package enum UTF8Check {
  package static func isValid(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var index = 0
    while index < bytes.count {
      if bytes[index] < 0x80 {
        index += 1
        continue
      }
      let length = sequenceLength(bytes, at: index)
      if length == 0 { return false }
      index += length
    }
    return true
  }

  /// The length of the multi-byte character at `index`: 2 to 4, or 0 if it is malformed.
  static func sequenceLength(_ bytes: UnsafeRawBufferPointer, at index: Int) -> Int {
    let first = bytes[index]
    func follows(_ distance: Int, _ range: ClosedRange<UInt8> = 0x80...0xBF) -> Bool {
      index + distance < bytes.count && range.contains(bytes[index + distance])
    }
    switch first {
    case 0xC2...0xDF: return follows(1) ? 2 : 0
    case 0xE0: return follows(1, 0xA0...0xBF) && follows(2) ? 3 : 0
    case 0xED: return follows(1, 0x80...0x9F) && follows(2) ? 3 : 0
    case 0xE1...0xEF: return follows(1) && follows(2) ? 3 : 0
    case 0xF0: return follows(1, 0x90...0xBF) && follows(2) && follows(3) ? 4 : 0
    case 0xF1...0xF3: return follows(1) && follows(2) && follows(3) ? 4 : 0
    case 0xF4: return follows(1, 0x80...0x8F) && follows(2) && follows(3) ? 4 : 0
    default: return 0
    }
  }

  /// The longest prefix of well-formed UTF-8 that has at most `limit` bytes and ends between two characters.
  static func cut(_ bytes: UnsafeRawBufferPointer, to limit: Int) -> UnsafeRawBufferPointer {
    guard bytes.count > limit else { return bytes }
    var end = limit
    while end > 0, bytes[end] & 0xC0 == 0x80 { end -= 1 }
    return bytes.part(0, end)
  }
}
