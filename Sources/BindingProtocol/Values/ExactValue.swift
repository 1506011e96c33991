/// The canonical form of a JSON value: equal values are equal however they are written (protocol.md §2). Numbers
/// compare by their exact decimal value, strings by their code points, objects regardless of the order of their
/// members. No number is converted to a double, and no text is normalised.
struct ExactValue: Hashable, Sendable {
  private let bytes: [UInt8]

  /// - Precondition: the text is valid JSON.
  init(_ text: UnsafeRawBufferPointer) {
    var writer = ExactWriter(text)
    writer.writeValue()
    bytes = writer.bytes
  }

  /// Hashes all bytes in one call; an array would hash byte by byte.
  func hash(into hasher: inout Hasher) { bytes.withUnsafeBytes { hasher.combine(bytes: $0) } }
}

extension FieldValue {
  /// Whether both are the same JSON value, however each is written (protocol.md §2). Invalid JSON equals only the
  /// same bytes.
  public func isSame(as other: FieldValue) -> Bool {
    if bytes == other.bytes { return true }
    guard isValid, other.isValid else { return false }
    return bytes.withUnsafeBytes { ExactValue($0) } == other.bytes.withUnsafeBytes { ExactValue($0) }
  }
}

/// Writes each part of a value after its kind and length, so that different values never have the same bytes.
private struct ExactWriter {
  private var scanner: JSONScanner
  private(set) var bytes: [UInt8] = []

  /// A number whose exponent has more digits is not computed: it equals only the same text.
  private static let maxExponentDigits = 15

  init(_ text: UnsafeRawBufferPointer) { scanner = JSONScanner(text) }

  mutating func writeValue() {
    scanner.skipSpace()
    switch scanner.byte {
    case UInt8(ascii: "{"): writeObject()
    case UInt8(ascii: "["): writeArray()
    case UInt8(ascii: "\""): writeString()
    case UInt8(ascii: "t"), UInt8(ascii: "f"), UInt8(ascii: "n"):
      bytes.append(scanner.byte ?? 0)
      scanner.offset += scanner.byte == UInt8(ascii: "f") ? 5 : 4
    default:
      let start = scanner.offset
      _ = scanner.scanNumber()
      writeNumber(scanner.text.part(start, scanner.offset - start))
    }
  }

  private mutating func writeArray() {
    scanner.offset += 1
    bytes.append(UInt8(ascii: "["))
    while !ends(with: UInt8(ascii: "]")) {
      bytes.append(UInt8(ascii: ","))
      writeValue()
    }
    bytes.append(UInt8(ascii: "]"))
  }

  private mutating func writeString() {
    let start = scanner.offset
    _ = scanner.scanString()
    let inside = scanner.text.part(start + 1, scanner.offset - start - 2)
    bytes.append(UInt8(ascii: "\""))
    if inside.contains(UInt8(ascii: "\\")) {
      let text = JSONParser.unescaped(inside)
      write(count: text.count)
      bytes += text
    } else {
      write(count: inside.count)
      bytes += inside
    }
  }

  private mutating func writeObject() {
    scanner.offset += 1
    bytes.append(UInt8(ascii: "{"))
    let start = bytes.count
    var members: [(name: Range<Int>, end: Int)] = []
    while !ends(with: UInt8(ascii: "}")) {
      scanner.skipSpace()
      let name = bytes.count
      writeString()
      let end = bytes.count
      _ = scanner.scanColon()
      writeValue()
      members.append((name..<end, bytes.count))
    }
    bytes.append(UInt8(ascii: "}"))
    if members.count == 1, let digits = digits(of: members[0].name, end: members[0].end) {
      bytes.removeSubrange((start - 1)...)
      digits.withUnsafeBytes { writeNumber($0) }
    } else if members.count > 1 {
      sort(members, from: start)
    }
  }

  /// Sorts an object's members by name; of two with the same name the later is kept.
  private mutating func sort(_ members: [(name: Range<Int>, end: Int)], from start: Int) {
    func precedes(_ left: Int, _ right: Int) -> Bool {
      let (one, other) = (bytes[members[left].name], bytes[members[right].name])
      return one.lexicographicallyPrecedes(other) || left < right && one.elementsEqual(other)
    }
    let order = members.indices.sorted(by: precedes)
    var sorted: [UInt8] = []
    sorted.reserveCapacity(bytes.count - start)
    for (index, member) in order.enumerated() {
      let isReplaced =
        index + 1 < order.count && bytes[members[member].name].elementsEqual(bytes[members[order[index + 1]].name])
      if !isReplaced { sorted += bytes[members[member].name.lowerBound..<members[member].end] }
    }
    bytes.replaceSubrange(start..., with: sorted)
    bytes.append(UInt8(ascii: "}"))
  }

  /// The digits of `{"$int":"…"}`, given where its name and the object end; nil if it is not such a number.
  private func digits(of name: Range<Int>, end: Int) -> [UInt8]? {
    // Kind and length precede each of the two strings.
    guard bytes[name].dropFirst(5).elementsEqual("$int".utf8), bytes[name.upperBound] == UInt8(ascii: "\"") else {
      return nil
    }
    let digits = Array(bytes[(name.upperBound + 5)..<end])
    let magnitude = digits.first == UInt8(ascii: "-") ? digits.dropFirst() : digits[...]
    guard let first = magnitude.first, magnitude.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }),
      first != UInt8(ascii: "0") || digits.count == 1
    else { return nil }
    return digits
  }

  /// Writes a number as its sign, its digits without zeros at either end, and the power of ten of the last digit.
  private mutating func writeNumber(_ text: UnsafeRawBufferPointer) {
    var digits: [UInt8] = []
    var (power, exponent, at) = (0, 0, 0)
    let isNegative = text[0] == UInt8(ascii: "-")
    if isNegative { at = 1 }
    var isFraction = false
    while at < text.count, text[at] | 0x20 != UInt8(ascii: "e") {
      if text[at] == UInt8(ascii: ".") {
        isFraction = true
      } else {
        if !digits.isEmpty || text[at] != UInt8(ascii: "0") { digits.append(text[at]) }
        if isFraction { power -= 1 }
      }
      at += 1
    }
    guard !digits.isEmpty else { return bytes.append(UInt8(ascii: "0")) }
    if at < text.count {
      at += 1
      let isBelow = text[at] == UInt8(ascii: "-")
      if isBelow || text[at] == UInt8(ascii: "+") { at += 1 }
      let written = text.part(at, text.count - at).drop { $0 == UInt8(ascii: "0") }
      guard written.count <= Self.maxExponentDigits else {
        bytes.append(UInt8(ascii: "e"))
        write(count: text.count)
        bytes += text
        return
      }
      for digit in written { exponent = exponent * 10 + Int(digit - UInt8(ascii: "0")) }
      if isBelow { exponent = -exponent }
    }
    while digits.last == UInt8(ascii: "0") {
      digits.removeLast()
      power += 1
    }
    bytes.append(UInt8(ascii: isNegative ? "-" : "+"))
    write(count: digits.count)
    bytes += digits
    withUnsafeBytes(of: Int64(power + exponent).littleEndian) { bytes += $0 }
  }

  /// Skips the comma between two elements, or the closing bracket.
  private mutating func ends(with end: UInt8) -> Bool {
    scanner.skipSpace()
    switch scanner.byte {
    case UInt8(ascii: ","):
      scanner.offset += 1
      return false
    case end, nil:
      scanner.offset += 1
      return true
    default: return false
    }
  }

  private mutating func write(count: Int) {
    withUnsafeBytes(of: UInt32(truncatingIfNeeded: count).littleEndian) { bytes += $0 }
  }
}

/// The positions of the elements in the text of a JSON array.
struct ListText {
  /// The range of each element, without surrounding space.
  private(set) var elements: [Range<Int>] = []
  /// The offset after the last element, or after the opening bracket: where an appended element goes.
  private(set) var end = 0

  /// nil unless the text is a JSON array.
  init?(_ text: UnsafeRawBufferPointer) {
    guard JSON.isValid(text) else { return nil }
    var scanner = JSONScanner(text)
    scanner.skipSpace()
    guard scanner.byte == UInt8(ascii: "[") else { return nil }
    scanner.offset += 1
    end = scanner.offset
    scanner.skipSpace()
    while scanner.byte != UInt8(ascii: "]"), scanner.byte != nil {
      if scanner.byte == UInt8(ascii: ",") { scanner.offset += 1 }
      scanner.skipSpace()
      let start = scanner.offset
      guard scanner.scanValue(depth: 1) else { return nil }
      elements.append(start..<scanner.offset)
      end = scanner.offset
      scanner.skipSpace()
    }
  }
}
