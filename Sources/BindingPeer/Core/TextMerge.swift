#if MUTANTS
  import BindingWire
#endif

/// Three-way merge of one text: what two writers made of it, each without knowing of the other.
///
/// - Words that either inserted are in the result; words that either deleted are not.
/// - Where both only put letters into the same word, or took some out of it, the letters of both count.
/// - Where both replaced the same words in another way, both replacements stand, the first one's before the second's.
/// - The same words put in at the same place by both count once, also where one of them put in more.
/// - The result depends on the three texts alone, so every peer comes to the same; a page, too (`merge` in values.js).
///
/// Words are runs of letters and digits; every other character, whole as a person sees it, is a word of its own, so
/// that none is torn. Blanks belong to the word behind them. Words are the same where a person sees the same.
enum TextMerge {
  /// - Parameters:
  ///   - base: what both began with.
  ///   - first: what came first in the agreed order.
  ///   - second: what came later, and is laid over the first.
  static func merge(base: String, first: String, second: String) -> String {
    if first.isWritten(as: base) || first.isWritten(as: second) { return second }
    if second.isWritten(as: base) { return first }
    var weave = Weave(base: Word.words(of: base), Word.words(of: first), Word.words(of: second))
    if let merged = weave.merged() { return merged }
    weave.replacesWords = true
    return weave.merged() ?? second
  }
}

/// Two edits of one row made one.
private struct Weave {
  private let base: [Word]
  private(set) var first: Edit
  private(set) var second: Edit
  /// Both writers' words stand where they replaced the same ones.
  var replacesWords = false

  init(base: [Word], _ first: [Word], _ second: [Word]) {
    self.base = base
    self.first = Edit(of: base, to: first)
    self.second = Edit(of: base, to: second)
  }

  /// nil where both changed the same words, and their letters cannot be told apart.
  func merged() -> String? {
    var weave = self
    var text = ""
    var place = 0
    var end = 0
    while place <= base.count {
      if place >= end {
        end = place
        while end < base.count, first.kept[end] == nil || second.kept[end] == nil { end += 1 }
        if end > place, base[place].isLetter == false, weave.isContested(from: place, to: end) {
          if let letters = weave.letters(from: place, to: end) {
            text += letters
            (weave.first.added[end], weave.second.added[end]) = ([], [])
            place = end
          } else if !replacesWords {
            return nil
          }
        }
      }
      weave.lay(place, on: &text)
      place += 1
    }
    return text
  }

  /// What both put in before a word, and the word if both have it.
  private func lay(_ place: Int, on text: inout String) {
    var (mine, theirs) = (first.added[place], second.added[place])
    // What one side put in and the other has among more words there was put in once, and is older than those. Letters
    // are too few for that: those of the later writer count once only where they are the same.
    if theirs.isLetters ? mine == theirs : theirs.isPart(of: mine) {
      theirs = []
    } else if mine.isPart(of: theirs) {
      mine = []
    }
    #if MUTANTS
      if Mutant.isOn(.dropWords), !mine.isEmpty { theirs = [] }
    #endif
    for word in mine + theirs { put(word, on: &text) }
    guard place < base.count, let one = first.kept[place], let other = second.kept[place] else { return }
    let blank = one.blank == base[place].blank ? other.blank : one.blank
    put(Word(blank: blank, text: one.text, isLetter: one.isLetter), on: &text)
  }

  /// Two writers who each put in a word do not mean one long word.
  private func put(_ word: Word, on text: inout String) {
    let isGlued = !word.isLetter && word.blank.isEmpty && word.text.first?.isPartOfWord == true
    text += isGlued && text.last?.isPartOfWord == true ? " " : word.blank
    text += word.text
  }

  /// Whether both writers changed these words, or what stands among them.
  private func isContested(from start: Int, to end: Int) -> Bool {
    let old = base[start..<end].written
    return !first.written(from: start, to: end).isWritten(as: old)
      && !second.written(from: start, to: end).isWritten(as: old)
  }

  /// What becomes of one word that both have changed, letter by letter; nil where one of them did more than put letters
  /// in, or take some out. Of one word alone: letters of several may be taken for those of another one, and a word that
  /// was put in would lose those.
  private func letters(from start: Int, to end: Int) -> String? {
    let (one, other) = (first.written(from: start, to: end), second.written(from: start, to: end))
    guard end - start == 1, Word.words(of: one).count == 1, Word.words(of: other).count == 1 else { return nil }
    let weave = Weave(base: Word.letters(of: base[start..<end].written), Word.letters(of: one), Word.letters(of: other))
    return weave.first.isOneWay && weave.second.isOneWay ? weave.merged() : nil
  }
}

/// What one writer made of the base.
private struct Edit {
  /// By word of the base: as it stands in the other text, if it does.
  private(set) var kept: [Word?]
  /// By word of the base, and for the end: what was put in before it, or in its place.
  var added: [[Word]]
  /// Nothing was taken out; or nothing was put in, and something is left.
  let isOneWay: Bool

  init(of base: [Word], to other: [Word]) {
    kept = Array(repeating: nil, count: base.count)
    added = Array(repeating: [], count: base.count + 1)
    let changes = RowChange.between(base, other)
    isOneWay = changes.allSatisfy { $0.old.isEmpty } || !other.isEmpty && changes.allSatisfy { $0.new.isEmpty }
    var (place, by) = (0, 0)
    for change in changes {
      for place in place..<change.old.lowerBound { kept[place] = other[place + by] }
      added[change.old.lowerBound] = Array(other[change.new])
      place = change.old.upperBound
      by = change.new.upperBound - place
    }
    for place in place..<base.count { kept[place] = other[place + by] }
  }

  func written(from start: Int, to end: Int) -> String {
    (start..<end).reduce("") { $0 + added[$1].written + (kept[$1]?.written ?? "") } + added[end].written
  }
}

/// A word with the blanks before it, which do not count when words are compared; or a letter of one.
private struct Word: Equatable {
  var blank: Substring
  var text: Substring
  var isLetter = false

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

  static func letters(of text: String) -> [Word] {
    text.indices.map { Word(blank: "", text: text[$0...$0], isLetter: true) }
  }
}

extension Collection where Element == Word {
  fileprivate var written: String { reduce("") { $0 + $1.written } }

  fileprivate var isLetters: Bool { first?.isLetter == true }

  /// Whether the other has all these words in this order, with others between them or not.
  fileprivate func isPart(of other: [Word]) -> Bool {
    var rest = self[...]
    for word in other where rest.first == word { rest.removeFirst() }
    return rest.isEmpty
  }
}

extension String {
  /// Whether both have the same bytes: `é` can be written in two ways.
  fileprivate func isWritten(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}

extension Character {
  fileprivate var isPartOfWord: Bool { isLetter || isNumber }
}
