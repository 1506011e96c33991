/// Three-way merge of a text: combines two edits that were made without knowledge of each other.
///
/// - Words that either inserted are in the result; words that either deleted are not.
/// - Where both only inserted letters into the same words, or only removed some, the letters of both count.
/// - Where both replaced the same words differently, both replacements stay, the first before the second.
/// - Words that both inserted at one place count once, also where one of them inserted more.
/// - The result depends on the three texts alone, so every peer computes the same; so does a page (`merge` in
///   texts.js).
///
/// Words are runs of letters and digits. Every other character, as a person perceives it, is a word of its own, so
/// that none is split. Blanks belong to the word after them. Words that look the same to a person are the same.
enum TextMerge {
  /// - Parameters:
  ///   - base: the text that both edited.
  ///   - first: the edit that is first in the agreed order.
  ///   - second: the later edit, which is applied over the first.
  static func merge(base: String, first: String, second: String) -> String {
    if first.isWritten(as: base) || first.isWritten(as: second) { return second }
    if second.isWritten(as: base) { return first }
    let scalars = Array(base.unicodeScalars)
    let edits = [first, second].enumerated().flatMap { writer, text in
      TextEdit.between(scalars, Array(text.unicodeScalars)).map { (writer: writer, edit: $0) }
    }
    var weave = Weave(base: scalars)
    return weave.text(of: edits)
  }
}

/// Merges two edits of one text.
private struct Weave {
  private struct WriterPiece {
    let writer: Int
    let piece: TextPiece
    var words: [Word] { piece.words ?? [] }

    func isBeside(_ other: WriterPiece) -> Bool {
      other.writer != writer && other.piece.rank == piece.rank && other.piece.range.lowerBound == piece.range.lowerBound
    }
  }

  private let base: [Unicode.Scalar]
  private var text = ""
  /// Up to here the base was copied or left out.
  private var position = 0
  /// Whether the last piece written was words that a writer inserted.
  private var isWord = false

  init(base: [Unicode.Scalar]) { self.base = base }

  mutating func text(of edits: [(writer: Int, edit: TextEdit)]) -> String {
    let pieces = Weave.pieces(of: edits)
    for (number, current) in pieces.enumerated() {
      keep(upTo: current.piece.range.lowerBound)
      position = max(position, current.piece.range.upperBound)
      let former = number > 0 && current.isBeside(pieces[number - 1]) ? pieces[number - 1] : nil
      let later = number + 1 < pieces.count && current.isBeside(pieces[number + 1]) ? pieces[number + 1] : nil
      if !Weave.isTwice(current, former, later) { put(current.piece.text, isWord: current.piece.words != nil) }
    }
    keep(upTo: base.count)
    return text
  }

  /// The pieces in order. Overlapping edits are merged by letters where all of them allow it.
  private static func pieces(of edits: [(writer: Int, edit: TextEdit)]) -> [WriterPiece] {
    let order = edits.indices.sorted {
      (edits[$0].edit.range.lowerBound, $0) < (edits[$1].edit.range.lowerBound, $1)
    }
    var pieces: [WriterPiece] = []
    var rest = order[...]
    while let first = rest.first {
      let start = edits[first].edit.range.lowerBound
      var end = edits[first].edit.range.upperBound
      let some = rest.prefix { number in
        let range = edits[number].edit.range
        guard number == first || range.lowerBound < end else { return false }
        end = max(end, range.upperBound)
        return true
      }
      rest = rest.dropFirst(some.count)
      let areLetters = some.allSatisfy { number in
        let edit = edits[number].edit
        return edit.parts != nil || edit.range == start..<start
      }
      for number in some {
        let (writer, edit) = edits[number]
        let parts = areLetters ? edit.parts : nil
        pieces += (parts ?? edit.whole.map { [$0] } ?? []).map { WriterPiece(writer: writer, piece: $0) }
      }
    }
    func key(_ number: Int) -> (Int, Int, Int, Int) {
      (pieces[number].piece.range.lowerBound, pieces[number].piece.rank.rawValue, pieces[number].writer, number)
    }
    return pieces.indices.sorted { key($0) < key($1) }.map { pieces[$0] }
  }

  /// Whether both inserted the same at one place: it counts once. Of words contained in more words the longer
  /// insertion stays.
  private static func isTwice(_ current: WriterPiece, _ former: WriterPiece?, _ later: WriterPiece?) -> Bool {
    guard current.piece.words != nil else { return former?.piece.text == current.piece.text }
    if let former { return current.words.isPart(of: former.words) }
    if let later { return current.words.isPart(of: later.words) && !later.words.isPart(of: current.words) }
    return false
  }

  private mutating func keep(upTo end: Int) {
    guard end > position else { return }
    put(String(base[position..<end]), isWord: false)
    position = end
  }

  /// Separates words that two writers inserted side by side, which do not mean one long word.
  private mutating func put(_ new: String, isWord isNew: Bool) {
    guard let head = new.first else { return }
    if isNew || isWord, head.isPartOfWord, text.last?.isPartOfWord == true { text += " " }
    text += new
    isWord = isNew
  }
}

extension String {
  /// Whether both have the same bytes: `é` can be written in two ways.
  fileprivate func isWritten(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}
