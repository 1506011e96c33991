import Testing

@testable import BindingPeer

@Suite("Merging two edits of one text")
struct TextMergeTests {
  @Test(
    "a text merge keeps the words of both edits",
    arguments: [
      ("the cat sat", "the black cat sat", "the cat sat down", "the black cat sat down"),
      ("the cat", "the black cat", "the old cat", "the black old cat"),
      ("", "one", "two", "one two"), ("cat", "black cat", "old cat", "black old cat"),
      ("a b c", "a c", "a b c d", "a c d"),
      ("a b c", "a X c", "a b Y", "a X Y"),
      ("a b c", "a X c", "a Y c", "a X Y c"), ("sat", "sat down", "sat still", "sat down still"),
      ("a b c", "a c", "a Y c", "a Y c"),
      ("one two", "one", "one", "one"),
      ("keep", "keep", "keep this", "keep this"),
      ("line 1\nline 2\n", "line 1\nnew\nline 2\n", "line 1\nline 2!\n", "line 1\nnew\nline 2!\n"),
    ])
  func words(base: String, first: String, second: String, merged: String) {
    #expect(TextMerge.merge(base: base, first: first, second: second) == merged)
  }

  @Test(
    "a text merge keeps the letters of both edits in the same words, each once",
    arguments: [
      ("hello", "hello!", "Jhello", "Jhello!"), ("hello", "helXlo", "helloY", "helXloY"),
      ("hello", "helXlo", "helYlo", "helXYlo"), ("hello", "hel lo", "helloY", "hel loY"),
      ("a hello b", "a helo b", "a helloY b", "a heloY b"), ("hello", "hllo", "helo", "hlo"),
      ("one two", "onetwo", "oneX two", "oneXtwo"), ("hello", "helXlo", "helXYlo", "helXXYlo"),
      ("hello", "", "helloY", "helloY"), ("cat", "car", "cats", "car cats"),
      ("hello", "heb1a2llo", "he12llo", "heb1a212llo"), ("hello", "hebananallo", "heanllo", "hebananaanllo"),
      ("hello", "hebllo", "hebllo!", "hebllo!"), ("helo", "hello", "hello", "hello"),
      ("one two three", "onXe twYo thrZee", "oAne two BthreeC", "oAnXe twYo BthrZeeC"),
      ("ba a b", "b 1a a b", "bXa a b", "b 1Xa a b"), ("ab a", "a 1b a2", "aXb a", "a 1Xb a2"),
      ("ab", "ab Y", "abX", "abX Y"), ("(cd)", "(-cd)", "(Xcd)", "(-Xcd)"),
      ("a  b", "a b", "a   b", "a  b"),
    ])
  func letters(base: String, first: String, second: String, merged: String) {
    #expect(TextMerge.merge(base: base, first: first, second: second) == merged)
  }

  @Test(
    "a text merge keeps words whole where they meet another edit's letters",
    arguments: [
      ("cat sat", "car sat", "cats saXt", "car cats saXt"), ("one two", "onetwo", "one mid two", "onetwo mid"),
      ("one two three", "one three", "one twXo three", "one twXo three"),
      ("w14 w19 w50", "w14 w10", "w14 w19 w43 w50", "w14 w10 w43"),
      ("w02 w43 w57", "w37", "w02 w12 w43 w57", "w37 w12"),
    ])
  func whole(base: String, first: String, second: String, merged: String) {
    #expect(TextMerge.merge(base: base, first: first, second: second) == merged)
  }

  @Test(
    "a text merge keeps each typed letter once and all of the base, wherever both type",
    arguments: ["ab c", "abc   ", "ab\nc- ", "aab "])
  func typing(alphabet: String) {
    var random = Numbers(seed: 11)
    for _ in 0..<1_000 {
      let length = Int.random(in: 0...30, using: &random)
      let base = String((0..<length).map { _ in alphabet.randomElement(using: &random)! })
      let (first, second) = (typed("0123456789", into: base, &random), typed("ABCDEFGHIJ", into: base, &random))
      let merged = TextMerge.merge(base: base, first: first, second: second)
      for letter in "0123456789" { #expect(merged.filter { $0 == letter } == first.filter { $0 == letter }) }
      for letter in "ABCDEFGHIJ" { #expect(merged.filter { $0 == letter } == second.filter { $0 == letter }) }
      let left = merged.filter { alphabet.contains($0) && $0 != " " }
      #expect(left == base.filter { $0 != " " }, "\(base) \(first) \(second) \(merged)")
    }
  }

  @Test("a text merge keeps each inserted word once and whole, also where the other edit replaced words")
  func lostWords() {
    var random = Numbers(seed: 5)
    for _ in 0..<4_000 {
      var words = Array(0..<60).shuffled(using: &random)[...]
      func some(_ most: Int) -> [Int] {
        let some = words.prefix(Int.random(in: 0...most, using: &random))
        words = words.dropFirst(some.count)
        return Array(some)
      }
      let base = some(5)
      var (first, second) = (base.filter { _ in Int.random(in: 0..<4, using: &random) > 0 }, base)
      for word in some(3) { first.insert(word, at: Int.random(in: 0...first.count, using: &random)) }
      for word in some(3) { second.insert(word, at: Int.random(in: 0...second.count, using: &random)) }
      let (texts, wanted) = ([base, first, second].map(text), first + second.filter { !base.contains($0) })
      let merged = TextMerge.merge(base: texts[0], first: texts[1], second: texts[2])
      #expect(merged.split(separator: " ").sorted() == text(wanted).split(separator: " ").sorted(), "\(texts)")
    }
  }

  /// Words of one length, as 'w000007': among such words, the letters of one may well be those of two others.
  private func text(_ words: [Int]) -> String {
    words.map { "w" + String(1_000_000 + $0).dropFirst() }.joined(separator: " ")
  }

  /// Inserts some of these letters, each at most once, anywhere in the text.
  private func typed(_ letters: String, into base: String, _ random: inout Numbers) -> String {
    var text = base
    for letter in letters where Bool.random(using: &random) {
      let position = Int.random(in: 0...text.count, using: &random)
      text.insert(
        contentsOf: Bool.random(using: &random) ? "\(letter)" : " \(letter)",
        at: text.index(text.startIndex, offsetBy: position))
    }
    return text
  }

  @Test("a text merge counts the same edit once")
  func sameEdit() {
    #expect(TextMerge.merge(base: "a c", first: "a b c", second: "a b c") == "a b c")
    #expect(TextMerge.merge(base: "a c", first: "a b c!", second: "a b c") == "a b c!")
  }

  @Test("a text merge splits no grapheme")
  func graphemes() {
    let family = "👨‍👩‍👧"
    let merged = TextMerge.merge(base: "é👍", first: "é👍🏽", second: "é👍" + family)
    #expect(merged == "é👍🏽" + family)
    #expect(TextMerge.merge(base: "e", first: "e\u{301}", second: "e!").contains("!"))
  }

  @Test("a merge of long texts without a common word is bounded, and keeps both")
  func bounded() {
    let first = (0..<5_000).map { "first\($0)" }.joined(separator: " ")
    let second = (0..<5_000).map { "second\($0)" }.joined(separator: " ")
    let merged = TextMerge.merge(base: "", first: first, second: second)
    #expect(merged == first + " " + second)
  }

  @Test("a merge of random edits keeps inserted words, drops removed ones, and is deterministic")
  func randomEdits() {
    var random = Numbers(seed: 7)
    for _ in 0..<2_000 {
      let base = (0..<Int.random(in: 0...12, using: &random)).map { "b\($0)" }
      let (first, second) = (edited(base, "f", &random), edited(base, "s", &random))
      let merged = TextMerge.merge(
        base: base.joined(separator: " "), first: first.joined(separator: " "), second: second.joined(separator: " "))
      let words = merged.split { !$0.isLetter && !$0.isNumber }.map(String.init)
      for word in first + second where !base.contains(word) {
        #expect(words.contains(word), "\(base) \(first) \(second)")
      }
      for word in base where !(first.contains(word) && second.contains(word)) { #expect(!words.contains(word)) }
      #expect(words.filter { base.contains($0) } == base.filter { first.contains($0) && second.contains($0) })
    }
  }

  private func edited(_ base: [String], _ mark: String, _ random: inout Numbers) -> [String] {
    var words = base
    for number in 0..<Int.random(in: 0...4, using: &random) {
      let position = Int.random(in: 0...words.count, using: &random)
      if Bool.random(using: &random), position < words.count {
        words.remove(at: position)
      } else {
        words.insert("\(mark)\(number)", at: position)
      }
    }
    return words
  }

  private struct Numbers: RandomNumberGenerator {
    var seed: UInt64
    mutating func next() -> UInt64 {
      seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return seed ^ (seed >> 31)
    }
  }
}
