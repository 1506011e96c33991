/// Validates JSON text (RFC 8259) and locates faults. Allocates nothing.
///
/// It is stricter than the RFC's grammar in three points, so that every reader understands the same: the text is
/// UTF-8, surrogates in `\u` escapes are paired, and arrays and objects nest at most `JSON.maxDepth` deep.
struct JSONScanner {
  let text: UnsafeRawBufferPointer
  var offset = 0
  /// The fault, once there is one.
  var problem: StaticString = ""

  init(_ text: UnsafeRawBufferPointer) { self.text = text }

  /// Scans one whole text.
  mutating func scanText() -> Bool {
    guard scanValue(depth: 0) else { return false }
    skipSpace()
    return offset == text.count || fail("text follows the value")
  }

  mutating func fail(_ problem: StaticString) -> Bool {
    self.problem = problem
    return false
  }

  var byte: UInt8? { offset < text.count ? text[offset] : nil }

  mutating func skipSpace() {
    while offset < text.count {
      switch text[offset] {
      case 0x20, 0x09, 0x0A, 0x0D: offset += 1
      default: return
      }
    }
  }

  mutating func scanValue(depth: Int) -> Bool {
    skipSpace()
    switch byte {
    case nil: return fail("the text ends where a value must stand")
    case UInt8(ascii: "{"): return scanObject(depth: depth + 1)
    case UInt8(ascii: "["): return scanArray(depth: depth + 1)
    case UInt8(ascii: "\""): return scanString()
    case UInt8(ascii: "t"): return scanWord("true")
    case UInt8(ascii: "f"): return scanWord("false")
    case UInt8(ascii: "n"): return scanWord("null")
    default: return scanNumber()
    }
  }

  mutating func scanWord(_ word: StaticString) -> Bool {
    let length = word.utf8CodeUnitCount
    guard text.count - offset >= length else { return fail("no value: true, false and null are the only words") }
    for index in 0..<length where text[offset + index] != word.utf8Start[index] {
      return fail("no value: true, false and null are the only words")
    }
    offset += length
    return true
  }

  private mutating func scanArray(depth: Int) -> Bool {
    guard depth <= JSON.maxDepth else { return fail("more than 128 nested arrays and objects") }
    offset += 1
    skipSpace()
    if byte == UInt8(ascii: "]") {
      offset += 1
      return true
    }
    while true {
      guard scanValue(depth: depth) else { return false }
      skipSpace()
      switch byte {
      case UInt8(ascii: ","): offset += 1
      case UInt8(ascii: "]"):
        offset += 1
        return true
      default: return fail("an array goes on with , or ends with ]")
      }
    }
  }

  private mutating func scanObject(depth: Int) -> Bool {
    guard depth <= JSON.maxDepth else { return fail("more than 128 nested arrays and objects") }
    offset += 1
    skipSpace()
    if byte == UInt8(ascii: "}") {
      offset += 1
      return true
    }
    while true {
      skipSpace()
      guard scanName(), scanValue(depth: depth) else { return false }
      skipSpace()
      switch byte {
      case UInt8(ascii: ","): offset += 1
      case UInt8(ascii: "}"):
        offset += 1
        return true
      default: return fail("an object goes on with , or ends with }")
      }
    }
  }

  /// Scans a member's name and the colon after it.
  mutating func scanName() -> Bool {
    guard byte == UInt8(ascii: "\"") else { return fail("a member begins with its name in quotation marks") }
    guard scanString() else { return false }
    return scanColon()
  }

  mutating func scanColon() -> Bool {
    skipSpace()
    guard byte == UInt8(ascii: ":") else { return fail("a colon stands between name and value") }
    offset += 1
    return true
  }

  /// Scans a string with its quotation marks; the caller has seen the first.
  mutating func scanString() -> Bool {
    offset += 1
    while offset < text.count {
      if text.hasPlainText(at: offset) {
        offset += 8
        continue
      }
      let next = text[offset]
      if next >= 0x80 {
        let length = UTF8Check.sequenceLength(text, at: offset)
        guard length > 0 else { return fail("not UTF-8") }
        offset += length
      } else if next == UInt8(ascii: "\"") {
        offset += 1
        return true
      } else if next == UInt8(ascii: "\\") {
        guard scanEscape() else { return false }
      } else if next < 0x20 {
        return fail("a control character in a string must be escaped")
      } else {
        offset += 1
      }
    }
    return fail("the text ends inside a string")
  }

  private mutating func scanEscape() -> Bool {
    guard offset + 1 < text.count else { return fail("the text ends inside a string") }
    switch text[offset + 1] {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
      UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
      offset += 2
      return true
    case UInt8(ascii: "u"): return scanUnicodeEscape() != nil
    default: return fail("no escape: \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX are the only ones")
    }
  }

  /// Scans `\uXXXX`, or two of them that form a surrogate pair; returns the code point.
  mutating func scanUnicodeEscape() -> UInt32? {
    guard let first = hexadecimal(at: offset + 2) else {
      _ = fail("\\u needs four hexadecimal digits")
      return nil
    }
    guard first & 0xF800 == 0xD800 else {
      offset += 6
      return first
    }
    guard first < 0xDC00, offset + 7 < text.count, text[offset + 6] == UInt8(ascii: "\\"),
      text[offset + 7] == UInt8(ascii: "u"), let second = hexadecimal(at: offset + 8), second & 0xFC00 == 0xDC00
    else {
      _ = fail("half of a surrogate pair stands alone")
      return nil
    }
    offset += 12
    return 0x10000 + (first & 0x3FF) << 10 + second & 0x3FF
  }

  private func hexadecimal(at start: Int) -> UInt32? {
    guard start + 4 <= text.count else { return nil }
    var number: UInt32 = 0
    for index in start..<(start + 4) {
      let digit: UInt8
      switch text[index] {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = text[index] - UInt8(ascii: "0")
      case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = text[index] - UInt8(ascii: "a") + 10
      case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = text[index] - UInt8(ascii: "A") + 10
      default: return nil
      }
      number = number << 4 | UInt32(digit)
    }
    return number
  }

  mutating func scanNumber() -> Bool {
    if byte == UInt8(ascii: "-") { offset += 1 }
    switch byte {
    case UInt8(ascii: "0"): offset += 1
    case .some(UInt8(ascii: "1")...UInt8(ascii: "9")): skipDigits()
    default: return fail("no value: an object, array, string, number, true, false or null must stand here")
    }
    if byte == UInt8(ascii: ".") {
      offset += 1
      guard skipDigits() > 0 else { return fail("a digit must follow the decimal point") }
    }
    if byte == UInt8(ascii: "e") || byte == UInt8(ascii: "E") {
      offset += 1
      if byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-") { offset += 1 }
      guard skipDigits() > 0 else { return fail("a digit must follow the e of the exponent") }
    }
    return true
  }

  @discardableResult
  private mutating func skipDigits() -> Int {
    let start = offset
    while let next = byte, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(next) { offset += 1 }
    return offset - start
  }
}

extension UnsafeRawBufferPointer {
  /// Whether the next eight bytes are all unescaped text of a string; false also where there are fewer.
  ///
  /// Tests eight bytes at a time, after "Bit Twiddling Hacks" of S. E. Anderson (a byte less than n, a zero byte):
  /// the top bit of a byte is set if it is a control character, a quotation mark, a backslash or beyond ASCII, and
  /// perhaps in bytes behind such a one.
  @inline(__always)
  fileprivate func hasPlainText(at offset: Int) -> Bool {
    guard offset &+ 8 <= count else { return false }
    let each: UInt64 = 0x0101_0101_0101_0101
    let bytes = little64(at: offset)
    let control = bytes &- each &* 0x20
    let quote = (bytes ^ each &* UInt64(UInt8(ascii: "\""))) &- each
    let backslash = (bytes ^ each &* UInt64(UInt8(ascii: "\\"))) &- each
    return ((control | quote | backslash) & ~bytes | bytes) & (each &* 0x80) == 0
  }
}
