import BindingProtocol

/// The identities that wrote to a model, with what each is still answered from.
struct WriterTable {
  private(set) var records: [WriterRecord] = []
  private var indices: [Tag: Int] = [:]
  private var forgetting: Set<Tag> = []
  /// By writer: the highest number that a replica showed as committed in an older epoch. It does not raise the last
  /// decided number: a resent proposal up to it ends as unknown.
  private(set) var seenNumbers: [Tag: ProposalNumber] = [:]
  /// A writer with unconfirmed outcomes was forgotten here for want of room, but not in the store.
  var hasForgottenUnconfirmed = false

  /// The most writers whose seen numbers are recorded; the first ones named stay.
  private static let mostSeenNumbers = 16_384

  /// The index of a writer, which is added if it is new. An identity may write as another user than before: an outbox
  /// that another member sends is that member's act.
  mutating func index(for origin: Origin) -> Int {
    if !forgetting.isEmpty { forgetting.remove(origin.tag) }
    if let index = indices[origin.tag] {
      if records[index].origin.user != origin.user { records[index].origin = origin }
      return index
    }
    indices[origin.tag] = records.count
    records.append(WriterRecord(origin: origin))
    return records.count - 1
  }

  func index(of tag: Tag) -> Int? { indices[tag] }

  /// Changes a writer in place.
  mutating func with<Result>(_ index: Int, _ body: (inout WriterRecord) -> Result) -> Result {
    body(&records[index])
  }

  func lastStored(of tag: Tag) -> ProposalNumber {
    indices[tag].map { records[$0].lastStored } ?? 0
  }

  func claimed(of tag: Tag) -> ProposalNumber { indices[tag].map { records[$0].claimed } ?? 0 }

  /// Undoes what was decided of these writers' proposals and is not stored.
  mutating func undo(_ writers: [Int]) {
    for writer in writers { records[writer].lastDecided = records[writer].lastStored }
  }

  /// Records that proposals of a writer up to this number were decided in an older epoch.
  mutating func see(_ number: ProposalNumber, of tag: Tag) {
    guard seenNumbers.count < WriterTable.mostSeenNumbers || seenNumbers[tag] != nil else { return }
    seenNumbers[tag] = max(seenNumbers[tag] ?? 0, number)
  }

  /// Marks writers to be forgotten.
  mutating func markForgotten(_ tags: Set<Tag>) {
    if !seenNumbers.isEmpty { for tag in tags { seenNumbers[tag] = nil } }
    forgetting.formUnion(tags)
  }

  /// Forgets the marked writers. The pending batch must be empty: it holds indices of writers.
  /// - Returns: whether indices have changed.
  mutating func forgetMarked() -> Bool {
    guard !forgetting.isEmpty else { return false }
    let tags = forgetting
    forgetting.removeAll()
    guard records.contains(where: { tags.contains($0.origin.tag) }) else { return false }
    records.removeAll { tags.contains($0.origin.tag) }
    indices.removeAll(keepingCapacity: true)
    for (index, writer) in records.enumerated() { indices[writer.origin.tag] = index }
    return true
  }
}
