import BindingProtocol

/// What a store in memory keeps of one model: the number of its records, and its last batches with commits.
struct RecentBatches {
  var record: UInt64 = 0
  private var batches: [Batch] = []
  private var first = 0
  /// About the bytes that the batches take.
  private(set) var bytes = 0

  /// The most commits and bytes of one model, and the most bytes of all models.
  static let maxCommits = 1_000
  static let maxBytes = 262_144
  static let maxTotalBytes = 64 << 20
  /// What a batch takes besides its body.
  private static let overhead = 192

  mutating func append(_ batch: Batch) {
    guard !batch.body.isEmpty else { return }
    bytes += batch.body.count + RecentBatches.overhead
    batches.append(batch)
    trim(to: RecentBatches.maxBytes)
  }

  /// Drops the oldest batches beyond so many bytes, and beyond `maxCommits`; the last one stays.
  mutating func trim(to most: Int) {
    while first < batches.count - 1,
      bytes > most || batches[batches.count - 1].version - batches[first].previous > RecentBatches.maxCommits
    {
      bytes -= batches[first].body.count + RecentBatches.overhead
      batches[first].body = []
      batches[first].decisions = []
      first += 1
    }
    guard first > 64, first > batches.count / 2 else { return }
    batches.removeFirst(first)
    first = 0
  }

  mutating func removeBatches() {
    batches.removeAll()
    (first, bytes) = (0, 0)
  }

  /// Reads a page.
  /// - Parameter mayLackStart: whether the log has an earlier part that the store never had.
  func page(_ query: HistoryQuery, mayLackStart: Bool) -> HistoryAnswer {
    let kept = batches[first...]
    guard let oldest = kept.first else { return .none(to: query) }
    var collector = HistoryCollector(query, oldest: (oldest.previous, oldest.record))
    if query.isOldestFirst {
      for batch in kept { if !collector.add(batch) { break } }
    } else {
      for batch in kept.reversed() { if !collector.add(batch) { break } }
    }
    var answer = collector.answer
    answer.mayLackStart = mayLackStart
    return answer
  }
}
