/// A line of text with a caret, changed by keys as in a shell.
public struct LineEditor: Hashable, Sendable {
  /// What stands there.
  public private(set) var text: String
  /// The number of characters before the caret.
  public private(set) var caret: Int

  /// The caret is at the end.
  public init(_ text: String = "") { (self.text, caret) = (text, text.count) }

  /// What is before the caret.
  public var head: String { String(text.prefix(caret)) }

  /// Returns whether the key means something here.
  public mutating func take(_ key: Key) -> Bool {
    switch key {
    case .text(let new): replace(caret..<caret, with: new)
    case .backspace: replace(max(0, caret - 1)..<caret, with: "")
    case .delete, .control("d"): replace(caret..<min(text.count, caret + 1), with: "")
    case .left, .control("b"): caret = max(0, caret - 1)
    case .right, .control("f"): caret = min(text.count, caret + 1)
    case .home, .control("a"): caret = 0
    case .end, .control("e"): caret = text.count
    case .control("u"): replace(0..<caret, with: "")
    case .control("k"): replace(caret..<text.count, with: "")
    case .control("w"): replace(wordStart..<caret, with: "")
    default: return false
    }
    return true
  }

  private var wordStart: Int {
    let head = Array(text.prefix(caret))
    let end = head.lastIndex { !$0.isWhitespace } ?? -1
    return end < 0 ? 0 : (head[...end].lastIndex(where: \.isWhitespace).map { $0 + 1 } ?? 0)
  }

  private mutating func replace(_ range: Range<Int>, with new: String) {
    let start = text.index(text.startIndex, offsetBy: range.lowerBound)
    let end = text.index(start, offsetBy: range.count)
    let tail = text.distance(from: end, to: text.endIndex)
    text.replaceSubrange(start..<end, with: new)
    // Characters may have joined: what counts is how many are behind the caret.
    caret = max(0, text.count - tail)
  }
}
