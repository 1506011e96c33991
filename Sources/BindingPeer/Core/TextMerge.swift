#if MUTANTS
  import BindingWire
#endif

/// Three-way merge of one text: what two writers made of it, each without knowing of the other.
///
/// - Words that either inserted are in the result; words that either deleted are not.
/// - Where both replaced the same words, both replacements stand, the first one's before the second's.
/// - The same words put in at the same place by both count once, also where one of them put in more.
/// - The result depends on the three texts alone, so every peer comes to the same.
///
/// Words are runs of letters and digits; every other character, whole as a person sees it, is a word of its own, so
/// that none is torn. Blanks belong to the word behind them. What lies between the first and the last difference is
/// compared word by word up to a limit of work; past it, it counts as one replaced piece.
enum TextMerge {
  /// Words of one side times words of the other that are compared at most: some milliseconds.
  static let workLimit = 1_000_000

  /// - Parameters:
  ///   - base: what both began with.
  ///   - first: what came first in the agreed order.
  ///   - second: what came later, and is laid over the first.
  static func merge(base: String, first: String, second: String) -> String {
    if first == base || first == second { return second }
    if second == base { return first }
    let words = Word.words(of: base)
    let first = Alignment(of: words, with: Word.words(of: first))
    let second = Alignment(of: words, with: Word.words(of: second))
    var merged = ""
    for place in 0...words.count {
      var (mine, theirs) = (first.inserted(before: place), second.inserted(before: place))
      // What one side put in and the other has among more words there was put in once, and is older than those.
      if theirs.isPart(of: mine) { theirs = theirs.prefix(0) } else if mine.isPart(of: theirs) { mine = mine.prefix(0) }
      #if MUTANTS
        if Mutant.isOn(.dropWords), !mine.isEmpty { theirs = theirs.prefix(0) }
      #endif
      for word in mine { merged += word.written }
      // Two writers who each put in a word do not mean one long word.
      let isGlued = !mine.isEmpty && (theirs.first?.isGlued(to: merged) ?? false)
      merged += isGlued ? " " : ""
      for word in theirs { merged += word.written }
      guard place < words.count, let one = first.kept(place), let other = second.kept(place) else { continue }
      let blank = one.blank == words[place].blank ? other.blank : one.blank
      merged += Word(blank: blank, text: one.text).isGlued(to: merged) ? " " : blank
      merged += one.text
    }
    return merged
  }
}

/// A word with the blanks before it, which do not count when words are compared.
private struct Word: Equatable {
  var blank: Substring
  var text: Substring

  static func == (one: Word, other: Word) -> Bool { one.text == other.text }

  var written: String { String(blank + text) }

  /// Whether it would become one word with what stands before it.
  func isGlued(to text: String) -> Bool {
    guard blank.isEmpty, let last = text.last, let first = self.text.first else { return false }
    return last.isPartOfWord && first.isPartOfWord
  }

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
}

extension ArraySlice where Element == Word {
  /// Whether the other has all these words in this order, with others between them or not.
  fileprivate func isPart(of other: ArraySlice<Word>) -> Bool {
    var rest = self
    for word in other where rest.first == word { rest.removeFirst() }
    return rest.isEmpty
  }
}

extension Character {
  fileprivate var isPartOfWord: Bool { isLetter || isNumber }
}

/// Which words of one text another one kept, and what it put in before each of them and after the last.
private struct Alignment {
  private let other: [Word]
  /// By word of the base: its place in the other text.
  private var places: [Int?]
  /// By word of the base, and for the end: what was put in before it.
  private var insertions: [Range<Int>]

  func kept(_ place: Int) -> Word? { places[place].map { other[$0] } }
  func inserted(before place: Int) -> ArraySlice<Word> { other[insertions[place]] }

  init(of base: [Word], with other: [Word]) {
    self.other = other
    places = Array(repeating: nil, count: base.count)
    insertions = Array(repeating: 0..<0, count: base.count + 1)
    var head = 0
    while head < min(base.count, other.count), base[head] == other[head] {
      places[head] = head
      head += 1
    }
    var (baseEnd, otherEnd) = (base.count, other.count)
    while baseEnd > head, otherEnd > head, base[baseEnd - 1] == other[otherEnd - 1] {
      baseEnd -= 1
      otherEnd -= 1
      places[baseEnd] = otherEnd
    }
    let (rows, columns) = (baseEnd - head, otherEnd - head)
    if rows > 0, columns > 0, rows <= TextMerge.workLimit / columns {
      align(base[head..<baseEnd], other[head..<otherEnd])
    } else if columns > 0 {
      insertions[head] = head..<otherEnd
    }
  }

  /// By the longest common subsequence.
  private mutating func align(_ base: ArraySlice<Word>, _ other: ArraySlice<Word>) {
    let columns = other.count + 1
    // Of the words from here to the end on both sides, how many can be kept.
    var kept = [Int32](repeating: 0, count: (base.count + 1) * columns)
    for row in stride(from: base.count - 1, through: 0, by: -1) {
      for column in stride(from: other.count - 1, through: 0, by: -1) {
        kept[row * columns + column] =
          base[base.startIndex + row] == other[other.startIndex + column]
          ? kept[(row + 1) * columns + column + 1] + 1
          : max(kept[(row + 1) * columns + column], kept[row * columns + column + 1])
      }
    }
    var (row, column) = (0, 0)
    // What replaces words stands where the first of them stood.
    var gap = base.startIndex
    var start = other.startIndex
    func close(_ insertions: inout [Range<Int>]) {
      let end = other.startIndex + column
      if start < end { insertions[gap] = start..<end }
    }
    while row < base.count, column < other.count {
      if base[base.startIndex + row] == other[other.startIndex + column] {
        close(&insertions)
        places[base.startIndex + row] = other.startIndex + column
        row += 1
        column += 1
        (gap, start) = (base.startIndex + row, other.startIndex + column)
      } else if kept[(row + 1) * columns + column] >= kept[row * columns + column + 1] {
        row += 1
      } else {
        column += 1
      }
    }
    column = other.count
    close(&insertions)
  }
}
