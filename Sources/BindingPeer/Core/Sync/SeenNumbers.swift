import BindingProtocol

/// The highest proposal number of each writer, as seen in the commits of a model. A hub that has lost its log
/// receives them with the replica, so that it does not apply again what the replica holds.
struct SeenNumbers: Sendable {
  private struct Seen {
    var number: ProposalNumber
    /// When the writer was last recorded, as a count of changes of the writer.
    var turn: UInt64
  }
  private var byTag: [Tag: Seen] = [:]
  /// The writer of the latest commits: most commits have the writer of the one before.
  private var last = SeenNumber(tag: .none, number: 0)
  private var turn: UInt64 = 0

  /// Twice as many are kept as are sent. Above that the half seen least recently is dropped.
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

  /// The writers seen most recently, in the order of their tags.
  mutating func latest() -> [SeenNumber] {
    recordLast()
    return byTag.sorted { $0.value.turn > $1.value.turn }.prefix(SeenNumber.maxCount)
      .map { SeenNumber(tag: $0.key, number: $0.value.number) }
      .sorted { $0.tag.rawValue < $1.tag.rawValue }
  }
}
