/// A key that was pressed in a terminal, or text that was pasted into it.
public enum Key: Hashable, Sendable {
  /// One character, or all that was pasted at once.
  case text(String)
  /// Ctrl with this lower-case letter.
  case control(Character)
  case enter, tab, backTab, backspace, delete, escape
  case up, down, left, right, home, end, pageUp, pageDown
}

/// Finds the keys in what a terminal sends. What it sends for keys is that of xterm, which all terminals of today
/// follow: `ESC [` with a letter, or with a number and `~`.
public struct KeyParser: Sendable {
  private var bytes: [UInt8] = []
  private var isPasting = false

  private static let escape: UInt8 = 0x1B
  private static let longestSequence = 32
  private static let pasteEnd: [UInt8] = [escape] + Array("[201~".utf8)

  /// A parser that has seen nothing.
  public init() {}

  /// Whether a sequence, or a character, has begun and not ended. If nothing follows within some 50 ms, nothing will.
  public var isWaiting: Bool { !bytes.isEmpty }

  /// Takes what the terminal sent.
  public mutating func take(_ more: [UInt8]) -> [Key] {
    bytes += more
    var keys: [Key] = []
    while !bytes.isEmpty, let count = next(&keys) { bytes.removeFirst(count) }
    return keys
  }

  /// Takes that nothing follows: an escape without a sequence is the key.
  public mutating func finish() -> [Key] {
    guard !isPasting else { return [] }
    defer { bytes.removeAll() }
    return bytes.first == KeyParser.escape ? [.escape] : []
  }

  /// Reads what is first.
  /// - Returns: how many bytes it had; nil: its end has not come yet.
  private mutating func next(_ keys: inout [Key]) -> Int? {
    if isPasting { return paste(&keys) }
    switch bytes[0] {
    case KeyParser.escape: return sequence(&keys)
    case 0x0D, 0x0A: keys.append(.enter)
    case 0x09: keys.append(.tab)
    case 0x7F, 0x08: keys.append(.backspace)
    case 0x01...0x1A: keys.append(.control(Character(Unicode.Scalar(bytes[0] + 0x60))))
    case 0x00...0x1F: break
    default: return text(&keys)
    }
    return 1
  }

  private mutating func paste(_ keys: inout [Key]) -> Int? {
    guard let end = bytes.indices.first(where: { bytes[$0...].starts(with: KeyParser.pasteEnd) }) else { return nil }
    isPasting = false
    let text = String(decoding: bytes[..<end], as: UTF8.self).replacing("\r\n", with: "\n").replacing("\r", with: "\n")
    if !text.isEmpty { keys.append(.text(text)) }
    return end + KeyParser.pasteEnd.count
  }

  /// Characters up to the next control character.
  private func text(_ keys: inout [Key]) -> Int? {
    let run = bytes.prefix { $0 >= 0x20 && $0 != 0x7F }
    // The last character may not be whole.
    let begun = run.lastIndex { $0 & 0xC0 != 0x80 } ?? run.startIndex
    let needed = KeyParser.length(of: run[begun])
    let isCut = run.endIndex == bytes.endIndex && run.endIndex - begun < needed
    let whole = isCut ? run[..<begun] : run
    guard !whole.isEmpty else { return nil }
    keys += String(decoding: whole, as: UTF8.self).filter { $0 != "\u{FFFD}" }.map { .text(String($0)) }
    return whole.count
  }

  private static func length(of first: UInt8) -> Int {
    switch first {
    case 0xC0...0xDF: 2
    case 0xE0...0xEF: 3
    case 0xF0...0xF7: 4
    default: 1
    }
  }

  private mutating func sequence(_ keys: inout [Key]) -> Int? {
    guard bytes.count > 1 else { return nil }
    guard bytes[1] == UInt8(ascii: "[") || bytes[1] == UInt8(ascii: "O") else {
      // The key alone, and what was pressed right after it.
      keys.append(.escape)
      return 1
    }
    guard let end = bytes[2...].firstIndex(where: { !(0x20...0x3F).contains($0) }) else {
      return bytes.count > KeyParser.longestSequence ? bytes.count : nil
    }
    let number = Int(String(decoding: bytes[2..<end].prefix { $0 != UInt8(ascii: ";") }, as: UTF8.self))
    if bytes[end] == UInt8(ascii: "~"), number == 200 { isPasting = true }
    if let key = KeyParser.key(Character(Unicode.Scalar(bytes[end])), number) { keys.append(key) }
    return end + 1
  }

  private static func key(_ final: Character, _ number: Int?) -> Key? {
    switch (final, number) {
    case ("A", _): .up
    case ("B", _): .down
    case ("C", _): .right
    case ("D", _): .left
    case ("H", _), ("~", 1), ("~", 7): .home
    case ("F", _), ("~", 4), ("~", 8): .end
    case ("Z", _): .backTab
    case ("~", 3): .delete
    case ("~", 5): .pageUp
    case ("~", 6): .pageDown
    case ("M", _): .enter
    default: nil
    }
  }
}
