import BindingPeer

/// YAML of one level: a line `name: value` for each field. Comments, blank lines and the order stay, and so does how a
/// value is written until it changes. Lists and objects are in one line, as JSON.
struct YAMLDocument: MirrorDocument {
  private struct Line: Equatable {
    /// All before the value, for a field; the whole line for any other.
    var head: String
    var entry: MirrorEntry?
    /// The value as it is written.
    var value = ""
    /// The blanks and the comment behind the value.
    var tail = ""

    var text: String { head + value + tail }
  }
  private var lines: [Line] = []

  init() {}

  init(_ text: String) throws(MirrorFault) {
    // A carriage return and a line feed are one character.
    var texts = text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }
    if texts.last?.isEmpty == true { texts.removeLast() }
    for (index, text) in texts.enumerated() { lines.append(try read(String(text), index + 1)) }
  }

  var text: String { lines.map { $0.text + "\n" }.joined() }

  var fields: [MirrorEntry] { lines.compactMap(\.entry) }

  mutating func set(_ name: String, to value: FieldValue?) {
    let place = lines.firstIndex { $0.entry?.name == name }
    guard let value else {
      if let place { lines.remove(at: place) }
      return
    }
    let written = YAMLDocument.text(of: value)
    let entry = MirrorEntry(name: name, content: .json(value), line: 0)
    if let place {
      if lines[place].value.isEmpty, lines[place].head.last == ":" { lines[place].head += " " }
      (lines[place].value, lines[place].entry) = (written, entry)
    } else {
      // Names of fields are plain in YAML, but for one that begins as an element of a list does.
      let key = name.hasPrefix("-") ? "\"\(name)\"" : name
      lines.append(Line(head: "\(key): ", entry: entry, value: written))
    }
  }

  // MARK: - Reading

  private func read(_ text: String, _ number: Int) throws(MirrorFault) -> Line {
    func fault(_ words: String) -> MirrorFault { MirrorFault(line: number, words: words) }
    guard let first = text.first(where: { !$0.isWhitespace }), first != "#", text != "---", text != "..." else {
      return Line(head: text)
    }
    guard !text[text.startIndex].isWhitespace, first != "-" else {
      throw fault("goes on with the one before: write a list as [1, 2] and an object as {\"a\": 1}, in one line")
    }
    let (name, end) = try key(of: text, number)
    try MirrorFault.check(name, in: number, among: fields.map(\.name))
    let rest = text[end...]
    let start = rest.firstIndex { !$0.isWhitespace } ?? rest.endIndex
    let (content, valueEnd) = try value(in: text, from: start, number)
    let tail = text[valueEnd...]
    let isComment = tail.first?.isWhitespace == true && tail.first { !$0.isWhitespace } == "#"
    guard isComment || tail.allSatisfy(\.isWhitespace) else {
      throw fault("has more than one value: \(tail.prefix(40))")
    }
    let entry = MirrorEntry(name: name, content: content, line: number)
    return Line(head: String(text[..<start]), entry: entry, value: String(text[start..<valueEnd]), tail: String(tail))
  }

  /// The name, and where what is behind its colon begins.
  private func key(of text: String, _ number: Int) throws(MirrorFault) -> (String, String.Index) {
    var (name, end): (String?, String.Index)
    if text.first == "\"" || text.first == "'" {
      end = YAMLDocument.endOfQuotes(in: text, from: text.startIndex) ?? text.endIndex
      name = YAMLDocument.unquoted(text[..<end])
    } else {
      end =
        text.indices.first { place in
          let next = text.index(after: place)
          return text[place] == ":" && (next == text.endIndex || text[next].isWhitespace)
        } ?? text.endIndex
      name = String(text[..<end])
    }
    guard let name, end < text.endIndex, text[end] == ":" else {
      throw MirrorFault(line: number, words: "is no field: write NAME: VALUE")
    }
    return (name, text.index(after: end))
  }

  /// The value, and where it ends.
  private func value(
    in text: String, from start: String.Index, _ number: Int
  ) throws(MirrorFault) -> (MirrorEntry.Content, String.Index) {
    func fault(_ words: String) -> MirrorFault { MirrorFault(line: number, words: words) }
    let comment = YAMLDocument.comment(in: text, from: start)
    switch start < text.endIndex ? text[start] : "#" {
    case "#": throw fault("has no value: write null, or \"\" for an empty text")
    case "\"", "'":
      guard let end = YAMLDocument.endOfQuotes(in: text, from: start),
        let words = YAMLDocument.unquoted(text[start..<end])
      else { throw fault("has quotes that do not end, or an escape that JSON does not have") }
      return (.json(FieldValue(json: .string(words))), end)
    case "[", "{":
      // A comment sign inside a text of it is none: the longest part that is JSON counts.
      for end in ([text.endIndex] + comment.reversed()) {
        let part = String(text[start..<end]).trimmed
        if let value = try? FieldValue(text: part) {
          return (.json(value), text.index(start, offsetBy: part.count))
        }
      }
      throw fault("has a list or an object that is no JSON: write names and texts in double quotes")
    case "&", "*", "!", "|", ">", "%", "@", "`":
      throw fault("has a value that begins with \(text[start]): write text in double quotes")
    default:
      let part = String(text[start..<(comment.first ?? text.endIndex)]).trimmed
      guard !part.contains(": ") else { throw fault("has a colon in its value: write text in double quotes") }
      let content: MirrorEntry.Content = part == "~" ? .json(FieldValue(json: .null)) : .bare(part)
      return (content, text.index(start, offsetBy: part.count))
    }
  }

  /// Where comments may begin: at a sign with a blank before it.
  private static func comment(in text: String, from start: String.Index) -> [String.Index] {
    text[start...].indices.filter { $0 > start && text[$0] == "#" && text[text.index(before: $0)].isWhitespace }
  }

  /// The place behind the closing quotes; nil: there are none.
  private static func endOfQuotes(in text: String, from start: String.Index) -> String.Index? {
    let quote = text[start]
    var place = text.index(after: start)
    while place < text.endIndex {
      let next = text.index(after: place)
      if text[place] == "\\", quote == "\"" {
        place = next < text.endIndex ? text.index(after: next) : next
      } else if text[place] == quote {
        // Two of the single ones are one of the text.
        guard quote == "'", next < text.endIndex, text[next] == quote else { return next }
        place = text.index(after: next)
      } else {
        place = next
      }
    }
    return nil
  }

  private static func unquoted(_ text: Substring) -> String? {
    guard text.first == "'" else { return (try? FieldValue(text: String(text)).json)?.string }
    return text.count < 2 ? nil : String(text.dropFirst().dropLast()).replacing("''", with: "'")
  }

  // MARK: - Writing

  private static func text(of value: FieldValue) -> String {
    guard case .string(let text)? = try? value.json, isPlain(text) else { return JSONLine.text(of: value) }
    return text
  }

  /// Whether a text needs no quotes: it is read as this text whatever the field's type.
  private static func isPlain(_ text: String) -> Bool {
    let letters = text.unicodeScalars
    guard let first = letters.first, first.properties.isAlphabetic || first == "_", text == text.trimmed else {
      return false
    }
    let signs = " _-./()+,0123456789".unicodeScalars
    let isSimple = letters.allSatisfy { $0.properties.isAlphabetic || signs.contains($0) }
    return isSimple && TypedText.isText(text) && text.lowercased() != "null"
  }
}

extension String {
  /// Without blanks at both ends.
  fileprivate var trimmed: String {
    String(drop { $0.isWhitespace }.reversed().drop { $0.isWhitespace }.reversed())
  }
}
