/// One writer's change of a text at one place: words that became others. Ranges count Unicode scalars.
struct TextEdit {
  var range: Range<Int>
  /// The new words; nil if only the number of blanks before a word changed.
  var whole: TextPiece?
  /// The change by letters; nil unless letters were only inserted, or only removed.
  var parts: [TextPiece]?

  /// The edits that turn one text into the other, in order.
  static func between(_ base: [Unicode.Scalar], _ text: [Unicode.Scalar]) -> [TextEdit] {
    let (range, end) = differing(base, text)
    let (old, next) = (Word.words(of: base[range]), Word.words(of: text[range.lowerBound..<end]))
    let starts = starts(of: old.map(\.written.unicodeScalars.count), from: range.lowerBound)
    var edits: [TextEdit] = []
    var (done, by) = (0, 0)
    func keep(upTo word: Int) {
      for word in done..<word {
        let more = next[word + by].blank.count - old[word].blank.count
        guard more != 0 else { continue }
        let blanks = starts[word]..<starts[word] + max(0, -more)
        let part = TextPiece(range: blanks, text: String(repeating: " ", count: max(0, more)), rank: .blanks)
        edits.append(TextEdit(range: starts[word]..<starts[word + 1], whole: nil, parts: [part]))
      }
    }
    for change in RowChange.between(old, next) {
      keep(upTo: change.old.lowerBound)
      let (range, words) = (starts[change.old.lowerBound]..<starts[change.old.upperBound], next[change.new])
      if !change.old.isEmpty, !words.isEmpty,
        let some = LetterEdits(of: old[change.old], to: words.written, at: range.lowerBound)
      {
        edits += some.byWord
      } else {
        edits.append(TextEdit(range: range, whole: TextPiece(words: Array(words), at: range), parts: nil))
      }
      done = change.old.upperBound
      by = change.new.upperBound - done
    }
    keep(upTo: old.count)
    // Nothing was removed overall: the comparison has matched the wrong one of several equal words.
    let removesWhole = edits.contains { !$0.range.isEmpty && $0.parts == nil }
    if removesWhole, Array(old.written).isPart(of: Array(next.written)) {
      return LetterEdits(of: old[...], to: next.written, at: range.lowerBound)?.byWord ?? edits
    }
    return edits
  }

  /// The range in which two texts differ, extended to the blanks before words, and the end of that range in the
  /// second.
  private static func differing(_ old: [Unicode.Scalar], _ next: [Unicode.Scalar]) -> (Range<Int>, end: Int) {
    var start = 0
    var (end, stop) = (old.count, next.count)
    while start < end, start < stop, old[start] == next[start] { start += 1 }
    while end > start, stop > start, old[end - 1] == next[stop - 1] { (end, stop) = (end - 1, stop - 1) }
    func isGap(_ index: Int) -> Bool { old[index] == " " && (index == 0 || old[index - 1] != " ") }
    var (from, to) = (max(start - 1, 0), end)
    while from > 0, !isGap(from) { from -= 1 }
    while to < old.count, to == end || !isGap(to) { to += 1 }
    return (from..<to, stop + to - end)
  }

  /// The offsets at which pieces of these lengths begin, and the end of the last.
  fileprivate static func starts(of lengths: [Int], from start: Int) -> [Int] {
    lengths.reduce(into: [start]) { $0.append($0[$0.count - 1] + $1) }
  }
}

/// Letters that were inserted into words, or removed from them.
private struct LetterEdits {
  private let before: [Character]
  /// Where the words begin, and the last ends.
  private let words: [Int]
  private var groups: [(words: Range<Int>, parts: [TextPiece])] = []

  /// nil if letters were both inserted and removed.
  init?(of old: ArraySlice<Word>, to text: String, at start: Int) {
    before = Array(old.written)
    words = TextEdit.starts(of: old.map(\.written.unicodeScalars.count), from: start)
    let after = Array(text)
    let changes = RowChange.between(before, after)
    guard changes.allSatisfy(\.old.isEmpty) || changes.allSatisfy(\.new.isEmpty) else { return nil }
    let starts = TextEdit.starts(of: before.map(\.unicodeScalars.count), from: start)
    for change in changes {
      let new = after[change.new]
      let range = starts[change.old.lowerBound]..<starts[change.old.upperBound]
      let rank: TextPiece.Rank = isInWord(change.old.lowerBound - 1) ? .afterWord : .beforeWord
      add(TextPiece(range: range, text: String(new), rank: rank), to: touched(by: change, new, at: range))
    }
  }

  private func isInWord(_ letter: Int) -> Bool { before.indices.contains(letter) && before[letter].isPartOfWord }

  /// The words to which these letters belong; an empty range if words were inserted.
  private func touched(by change: RowChange, _ new: ArraySlice<Character>, at range: Range<Int>) -> Range<Int> {
    let word = (words.lastIndex { $0 <= range.lowerBound }) ?? 0
    let (isFirst, isAfterWord) = (words[word] == range.lowerBound, isInWord(change.old.lowerBound - 1))
    if !range.isEmpty {
      // Without their separator two words become one.
      let isJoint = isFirst && isAfterWord && isInWord(change.old.upperBound)
      return (isJoint ? word - 1 : word)..<(words.firstIndex { $0 >= range.upperBound } ?? word + 1)
    }
    if !isFirst || isInWord(change.old.upperBound) && new.last?.isPartOfWord == true { return word..<word + 1 }
    return isAfterWord && new.first?.isPartOfWord == true ? word - 1..<word : word..<word
  }

  private mutating func add(_ part: TextPiece, to touched: Range<Int>) {
    if let last = groups.last, touched.lowerBound < last.words.upperBound {
      let end = max(last.words.upperBound, touched.upperBound)
      groups[groups.count - 1] = (last.words.lowerBound..<end, last.parts + [part])
    } else {
      groups.append((touched, [part]))
    }
  }

  /// The edits, grouped by the words that they change.
  var byWord: [TextEdit] {
    let scalars = before.flatMap(\.unicodeScalars)
    return groups.map { group in
      let range = words[group.words.lowerBound]..<words[group.words.upperBound]
      var text = ""
      var done = range.lowerBound
      for part in group.parts {
        text += String(scalars[done - words[0]..<part.range.lowerBound - words[0]]) + part.text
        done = part.range.upperBound
      }
      text += String(scalars[done - words[0]..<range.upperBound - words[0]])
      let whole = TextPiece(words: Word.words(of: text), at: range)
      return TextEdit(range: range, whole: whole, parts: range.isEmpty || text.isEmpty ? nil : group.parts)
    }
  }
}

/// What replaces a piece of text.
struct TextPiece {
  /// The order of insertions at one place: letters of the word before it come first, those of the word after it last.
  enum Rank: Int { case afterWord, words, blanks, beforeWord }

  let range: Range<Int>
  let text: String
  let rank: Rank
  /// nil for letters.
  let words: [Word]?

  init(range: Range<Int>, text: String, rank: Rank) {
    (self.range, self.text, self.rank, words) = (range, text, rank, nil)
  }

  init(words: [Word], at range: Range<Int>) {
    (self.range, text, rank, self.words) = (range, words[...].written, .words, words)
  }
}

/// A run of letters and digits, or another single character, with the blanks before it. Comparisons ignore the
/// blanks.
struct Word: Equatable {
  let blank: Substring
  let text: Substring

  static func == (one: Word, other: Word) -> Bool { one.text == other.text }

  var written: String { String(blank + text) }

  static func words(of text: String) -> [Word] {
    var words: [Word] = []
    var rest = text[...]
    while !rest.isEmpty {
      let blank = rest.prefix { $0 == " " }
      rest = rest.dropFirst(blank.count)
      var word = rest.prefix { $0.isPartOfWord }
      if word.isEmpty { word = rest.prefix(1) }
      rest = rest.dropFirst(word.count)
      words.append(Word(blank: blank, text: word))
    }
    return words
  }

  fileprivate static func words(of scalars: ArraySlice<Unicode.Scalar>) -> [Word] { words(of: String(scalars)) }
}

extension Collection where Element == Word {
  fileprivate var written: String { reduce(into: "") { $0 += $1.blank + $1.text } }
}

extension Collection where Element: Equatable {
  /// Whether the other contains all of these elements in this order, possibly with others between.
  func isPart(of other: some Collection<Element>) -> Bool {
    var rest = self[...]
    for one in other where rest.first == one { rest.removeFirst() }
    return rest.isEmpty
  }
}

extension String {
  init(_ scalars: ArraySlice<Unicode.Scalar>) {
    self.init()
    unicodeScalars.append(contentsOf: scalars)
  }
}

extension Character {
  var isPartOfWord: Bool { isLetter || isNumber }
}
