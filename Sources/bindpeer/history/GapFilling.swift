import BindingPeer

/// A stretch of a model whose commits the hub had coalesced, while they are read from its history.
struct RecordedGap {
  /// What has arrived since, commit by commit: it follows what is read.
  private(set) var waiting: [CommitInfo] = []
  private(set) var epoch: Epoch
  /// How far the recording was when the history was asked last.
  var askedAfter: Version?

  /// Past this many the waiting commits are read from the history too.
  static let mostWaiting = 100_000

  init(in epoch: Epoch) { self.epoch = epoch }

  /// - Parameter isComplete: whether each commit before these has arrived by itself.
  mutating func add(_ commits: [CommitInfo], in epoch: Epoch, isComplete: Bool) {
    let isNext = isComplete && epoch == self.epoch && waiting.last.map { $0.version + 1 } == commits.first?.version
    if !isNext || waiting.count > RecordedGap.mostWaiting { waiting.removeAll() }
    self.epoch = epoch
    waiting += commits
  }
}

extension SharedModel.PastCommit {
  /// The commit as it would have arrived; nil if a value of it was removed from history. Nobody knows its hops.
  var info: CommitInfo? {
    guard !changes.contains(where: \.isRemoved) else { return nil }
    return CommitInfo(
      version: version, origin: writer, number: number, time: time, hops: 0,
      changes: changes.map { FieldChange(field: $0.field, value: $0.value) }, own: false)
  }
}
