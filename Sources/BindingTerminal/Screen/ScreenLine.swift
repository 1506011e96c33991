import BindingProtocol

/// A line of a screen: texts, each in one style. Control characters of the texts are escaped.
public struct ScreenLine: Hashable, Sendable {
  /// How a text looks.
  public enum Style: Hashable, Sendable {
    case plain, bold, dim, reverse, good, doubtful, bad

    /// The parameter of the terminal's sequence; colours only where they are wanted.
    func code(isColoured: Bool) -> String {
      switch self {
      case .plain: ""
      case .bold: "1"
      case .dim: "2"
      case .reverse: "7"
      case .good: isColoured ? "32" : ""
      case .doubtful: isColoured ? "33" : "1"
      case .bad: isColoured ? "31" : "1"
      }
    }
  }
  struct Part: Hashable, Sendable {
    var text: String
    var style: Style
  }
  private(set) var parts: [Part] = []

  /// A line of one text.
  public init(_ text: String = "", _ style: Style = .plain) { add(text, style) }

  /// Puts a text at the end.
  public mutating func add(_ text: String, _ style: Style = .plain) {
    if !text.isEmpty { parts.append(Part(text: PrintedText.escaped(text), style: style)) }
  }

  /// Puts another line at the end.
  public mutating func append(_ line: ScreenLine) { parts += line.parts }

  /// Puts blanks at the end, up to a number of columns.
  public mutating func pad(to width: Int) { add(String(repeating: " ", count: max(0, width - self.width))) }

  /// Puts a line at the end of this one, so that it ends at a column; it is cut if there is not enough room.
  public mutating func alignRight(_ line: ScreenLine, to width: Int) {
    let room = width - self.width - 1
    guard room > 0 else { return }
    let line = line.cut(to: room)
    pad(to: width - line.width)
    parts += line.parts
  }

  /// The number of columns that it takes.
  public var width: Int { parts.reduce(0) { $0 + $1.text.columns } }

  /// The line without what is right of a column; an ellipsis shows that there was more.
  public func cut(to width: Int) -> ScreenLine {
    guard self.width > width else { return self }
    var (line, left) = (ScreenLine(), max(0, width - 1))
    for part in parts where left >= 0 {
      var text = ""
      for character in part.text {
        left -= String(character).columns
        guard left >= 0 else { break }
        text.append(character)
      }
      line.parts.append(Part(text: left < 0 && width > 0 ? text + "…" : text, style: part.style))
      if left < 0 { break }
    }
    return line
  }

  /// The texts alone.
  public var text: String { parts.map(\.text).joined() }

  /// The texts with the terminal's sequences for their styles.
  func sequence(isColoured: Bool) -> String {
    parts.map { part in
      let code = part.style.code(isColoured: isColoured)
      return code.isEmpty ? part.text : "\u{1B}[\(code)m\(part.text)\u{1B}[0m"
    }.joined()
  }
}

extension String {
  /// The number of columns that a terminal gives to the text: two to each wide character of East Asia and each emoji.
  public var columns: Int { reduce(0) { $0 + $1.columns } }
}

extension Character {
  fileprivate var columns: Int {
    guard let first = unicodeScalars.first, first.value >= 0x300 else { return 1 }
    let isEmoji = first.properties.isEmojiPresentation || unicodeScalars.contains { $0.value == 0xFE0F }
    if isEmoji || Character.wide.contains(where: { $0.contains(first.value) }) { return 2 }
    return first.properties.generalCategory == .nonspacingMark ? 0 : 1
  }

  /// East Asian Width W and F of Unicode, by blocks.
  private static let wide: [ClosedRange<UInt32>] = [
    0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x4DBF, 0x4E00...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3,
    0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF01...0xFF60, 0xFFE0...0xFFE6, 0x20000...0x3FFFD,
  ]
}
