import BindingTerminal
import Testing

@Suite("Keys, lines and texts of a full screen")
struct ScreenTests {
  private static let sequences: [(String, [Key])] = [
    ("a", [.text("a")]), ("é日", [.text("é"), .text("日")]), ("\r", [.enter]), ("\t", [.tab]), ("\u{7F}", [.backspace]),
    ("\u{03}", [.control("c")]), ("\u{1A}", [.control("z")]), ("\u{1B}[A", [.up]), ("\u{1B}OB", [.down]),
    ("\u{1B}[1;5C", [.right]), ("\u{1B}[H\u{1B}[4~", [.home, .end]), ("\u{1B}[Z", [.backTab]), ("\u{1B}[3~", [.delete]),
    ("\u{1B}[5~\u{1B}[6~", [.pageUp, .pageDown]), ("\u{1B}[15~x", [.text("x")]),
    ("\u{1B}[200~two\rlines\u{1B}[201~!", [.text("two\nlines"), .text("!")]), ("\u{1B}x", [.escape, .text("x")]),
  ]

  /// The keys in pieces that arrive one after the other; nil among them: nothing arrives for a while.
  private func keys(_ pieces: [[UInt8]?]) -> (keys: [Key], isWaiting: Bool) {
    var parser = KeyParser()
    let keys = pieces.flatMap { piece in piece.map { parser.take($0) } ?? parser.finish() }
    return (keys, parser.isWaiting)
  }

  @Test("what a terminal sends is the same keys, however it is cut")
  func sequences() {
    for (text, wanted) in Self.sequences {
      let bytes = Array(text.utf8)
      for cut in 0...bytes.count {
        let (found, isWaiting) = keys([Array(bytes[..<cut]), Array(bytes[cut...])])
        #expect(found == wanted && !isWaiting, "\(text) cut at \(cut)")
      }
    }
  }

  @Test("an escape that nothing follows is a key; half a character and an endless sequence are none")
  func lone() {
    let begun = keys([[0x1B]])
    #expect(begun.keys.isEmpty && begun.isWaiting)
    let alone = keys([[0x1B], nil])
    #expect(alone.keys == [.escape] && !alone.isWaiting)
    let half = keys([[0xE6, 0x97], nil, [UInt8(ascii: "a")]])
    #expect(half.keys == [.text("a")] && !half.isWaiting)
    #expect(keys([[0xFF, UInt8(ascii: "a")]]).keys == [.text("a")])
    let endless = keys([Array("\u{1B}[\(String(repeating: "1", count: 100))".utf8)])
    #expect(endless.keys.isEmpty && !endless.isWaiting)
    let paste = keys([Array("\u{1B}[200~never ends".utf8), nil, Array("\u{1B}[201~".utf8)])
    #expect(paste.keys == [.text("never ends")])
  }

  @Test("an editor does to its text what the same keys do in a shell")
  func editing() {
    func edited(_ text: String, _ keys: [Key]) -> String {
      var editor = LineEditor(text)
      let isKnown = keys.map { editor.take($0) }
      #expect(isKnown.allSatisfy { $0 }, "\(keys)")
      return "\(editor.head)|\(editor.text.dropFirst(editor.caret))"
    }
    #expect(edited("ab", [.text("c")]) == "abc|")
    #expect(edited("ab", [.left, .text("x")]) == "ax|b")
    #expect(edited("ab", [.left, .left, .left, .backspace, .delete]) == "|b")
    #expect(edited("ab", [.home, .right, .backspace]) == "|b")
    #expect(edited("ab", [.right, .delete, .end]) == "ab|")
    #expect(edited("one two  ", [.control("w")]) == "one |")
    #expect(edited("one", [.control("w"), .control("w")]) == "|")
    #expect(edited("one two", [.left, .left, .left, .control("u")]) == "|two")
    #expect(edited("one two", [.control("a"), .control("f"), .control("k")]) == "o|")
    #expect(edited("👨‍👩‍👧e", [.text("\u{301}"), .backspace, .backspace]) == "|")
    var editor = LineEditor("a")
    let isKnown = [Key.enter, .up, .tab, .escape].map { editor.take($0) }
    #expect(!isKnown.contains(true) && editor.text == "a")
  }

  @Test("a line is cut at a column, also where characters are two columns wide")
  func widths() {
    var line = ScreenLine("日本", .bold)
    line.add("語abc")
    #expect(line.width == 9)
    #expect(line.cut(to: 9) == line)
    #expect(line.cut(to: 8).text == "日本語a…")
    #expect(line.cut(to: 6).text == "日本…" && line.cut(to: 6).width == 5)
    #expect(line.cut(to: 1).text == "…" && line.cut(to: 0).text == "")
    #expect(ScreenLine("e\u{301}👍").width == 3)
    var right = ScreenLine("left")
    right.alignRight(ScreenLine("right"), to: 12)
    #expect(right.text == "left   right")
    right.alignRight(ScreenLine("none"), to: 12)
    #expect(right.text == "left   right")
  }

  @Test("a text cannot send sequences to the terminal")
  func escaped() { #expect(ScreenLine("a\u{1B}[2Jb\u{202E}").text == #"a\u{1b}[2Jb\u{202e}"#) }
}
