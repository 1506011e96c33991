import Testing

@testable import BindingPeer

@Suite("Merging two edits of one text")
struct TextMergeTests {
  @Test(
    "keeps the words of both",
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
    "keeps the letters of both in one word, each once",
    arguments: [
      ("hello", "hello!", "Jhello", "Jhello!"), ("hello", "helXlo", "helloY", "helXloY"),
      ("hello", "helXlo", "helYlo", "helXYlo"), ("hello", "hel lo", "helloY", "hel lo helloY"),
      ("a hello b", "a helo b", "a helloY b", "a heloY b"), ("hello", "hllo", "helo", "hlo"),
      ("one two", "onetwo", "oneX two", "onetwo oneX"), ("hello", "helXlo", "helXYlo", "helXYlo"),
      ("hello", "", "helloY", "helloY"), ("cat", "car", "cats", "car cats"),
      ("hello", "heb1a2llo", "he12llo", "heb1a212llo"), ("hello", "hebananallo", "heanllo", "hebananaanllo"),
      ("hello", "hebllo", "hebllo!", "hebllo!"),
    ])
  func letters(base: String, first: String, second: String, merged: String) {
    #expect(TextMerge.merge(base: base, first: first, second: second) == merged)
  }

  @Test("of what two type into one word, wherever in it, has every letter once and loses none of what was there")
  func typing() {
    var random = Numbers(seed: 11)
    for _ in 0..<2_000 {
      let base = String((0..<Int.random(in: 0...30, using: &random)).map { _ in "abc".randomElement(using: &random)! })
      let (first, second) = (typed("0123456789", into: base, &random), typed("ABCDEFGHIJ", into: base, &random))
      let merged = TextMerge.merge(base: base, first: first, second: second)
      for letter in "0123456789" { #expect(merged.filter { $0 == letter } == first.filter { $0 == letter }) }
      for letter in "ABCDEFGHIJ" { #expect(merged.filter { $0 == letter } == second.filter { $0 == letter }) }
      let left = merged.filter { "abc".contains($0) }
      #expect(left == base, "\(base) \(first) \(second) \(merged)")
    }
  }

  /// Some of these letters, each at most once, anywhere in the text.
  private func typed(_ letters: String, into base: String, _ random: inout Numbers) -> String {
    var text = base
    for letter in letters where Bool.random(using: &random) {
      let place = Int.random(in: 0...text.count, using: &random)
      text.insert(contentsOf: "\(letter)", at: text.index(text.startIndex, offsetBy: place))
    }
    return text
  }

  @Test("counts the same edit once")
  func sameEdit() {
    #expect(TextMerge.merge(base: "a c", first: "a b c", second: "a b c") == "a b c")
    #expect(TextMerge.merge(base: "a c", first: "a b c!", second: "a b c") == "a b c!")
  }

  @Test("tears no character that a person sees as one")
  func graphemes() {
    let family = "👨‍👩‍👧"
    let merged = TextMerge.merge(base: "é👍", first: "é👍🏽", second: "é👍" + family)
    #expect(merged == "é👍🏽" + family)
    #expect(TextMerge.merge(base: "e", first: "e\u{301}", second: "e!").contains("!"))
  }

  @Test("of long texts without a common word is bounded, and both stand")
  func bounded() {
    let first = (0..<5_000).map { "first\($0)" }.joined(separator: " ")
    let second = (0..<5_000).map { "second\($0)" }.joined(separator: " ")
    let merged = TextMerge.merge(base: "", first: first, second: second)
    #expect(merged == first + " " + second)
  }

  @Test("of random edits has every word that either put in, none that either took out, and is the same each time")
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
      let place = Int.random(in: 0...words.count, using: &random)
      if Bool.random(using: &random), place < words.count {
        words.remove(at: place)
      } else {
        words.insert("\(mark)\(number)", at: place)
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
