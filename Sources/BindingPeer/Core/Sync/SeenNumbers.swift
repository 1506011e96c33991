import BindingProtocol

/// The highest proposal number that was seen of each writer in the commits of a model. A hub that has lost its log is
/// told it with the replica, so that it carries nothing out again that the replica holds.
struct SeenNumbers: Sendable {
  private struct Seen {
    var number: ProposalNumber
    /// Counted up as writers take turns.
    var turn: UInt64
  }
  private var byTag: [Tag: Seen] = [:]
  /// The writer of the last commits: most follow one of the same.
  private var last = SeenNumber(tag: .none, number: 0)
  private var turn: UInt64 = 0

  /// Twice as many are kept as are told: then the half goes that was not heard of for longest.
  static let mostKept = 2 * SeenNumber.maxCount

  mutating func record(_ tag: Tag, _ number: ProposalNumber) {
    guard number > 0 else { return }
    if tag == last.tag {
      if number > last.number { last.number = number }
      return
    }
    recordLast()
    last = SeenNumber(tag: tag, number: number)
  }

  private mutating func recordLast() {
    guard last.tag != .none else { return }
    turn += 1
    byTag[last.tag] = Seen(number: max(last.number, byTag[last.tag]?.number ?? 0), turn: turn)
    guard byTag.count > SeenNumbers.mostKept else { return }
    let kept = byTag.sorted { $0.value.turn > $1.value.turn }.prefix(SeenNumber.maxCount)
    byTag = Dictionary(uniqueKeysWithValues: kept.map { ($0.key, $0.value) })
  }

  /// The writers heard of last, in the order of their tags.
  mutating func latest() -> [SeenNumber] {
    recordLast()
    return byTag.sorted { $0.value.turn > $1.value.turn }.prefix(SeenNumber.maxCount)
      .map { SeenNumber(tag: $0.key, number: $0.value.number) }
      .sorted { $0.tag.rawValue < $1.tag.rawValue }
  }
}
