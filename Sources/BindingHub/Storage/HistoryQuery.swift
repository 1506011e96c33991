package import BindingProtocol

/// One page of a model's history, as a hub asks its store for it.
package struct HistoryQuery: Sendable, Hashable {
  /// The hub's number for the query.
  package var number: UInt64 = 0
  package var model: String
  /// The last record that the hub has applied, and the model's version then. Later records are not told.
  package var record: UInt64
  package var head: Version
  /// Commits up to this version are not told: field ids in them mean other fields.
  package var from: Version = 0
  package var isOldestFirst = false
  /// Only commits of this epoch; 0: of any.
  package var epoch: Epoch = 0
  /// Only commits with a later version, and only those up to `through`.
  package var after: Version = 0
  package var through: Version
  /// Only commits from this wall time on, and only those before `until`; 0: no bound.
  package var since: UInt64 = 0
  package var until: UInt64 = 0
  /// The most commits.
  package var count = HistoryQuery.maxCommits
  /// Only commits that changed one of these fields, and of them only these changes; nil: all.
  package var fields: Set<FieldID>?
  /// Only commits of these writers, by `Origin.isMeant`; empty: of all.
  package var writers: [String] = []

  /// A query for the newest commits of a model.
  package init(model: String, record: UInt64, head: Version) {
    (self.model, self.record, self.head, through) = (model, record, head, head)
  }

  /// The most commits of a page, and its most bytes as it is sent, unless one commit alone is longer.
  package static let maxCommits = 1_000
  package static let maxBytes = 65_536
  /// The most bytes of batches that are looked through for one page.
  package static let maxLookedThrough = 4 << 20

  /// The versions that it is about: those after the first and up to the second.
  package var range: (after: Version, through: Version) { (max(after, from), through) }
}

/// A page of history, with field ids.
package struct HistoryAnswer: Sendable {
  package var commits: [StoredCommit] = []
  /// Where the next page begins: its `through`, or its `after` if the oldest commits come first; nil: this was all.
  package var next: Version?
  /// The version before the oldest commit that is kept.
  package var oldest: Version
  /// The record of that commit; 0: none is kept.
  package var oldestRecord: UInt64
  /// Whether there may have been commits before this start of the hub, of which the store knows nothing.
  package var mayLackStart = false

  /// An answer without commits.
  package init(oldest: Version, oldestRecord: UInt64) {
    (self.oldest, self.oldestRecord) = (oldest, oldestRecord)
  }

  /// The answer of a store that keeps nothing of the model.
  package static func none(to query: HistoryQuery) -> HistoryAnswer {
    HistoryAnswer(oldest: query.head, oldestRecord: 0)
  }
}

/// A commit as it is stored.
package struct StoredCommit: Sendable, Hashable {
  package var epoch: Epoch
  package var version: Version
  /// The hub's wall time, milliseconds since 1970.
  package var time: UInt64
  package var origin: Origin
  package var number: ProposalNumber
  package var changes: [CommitChange]

  /// What it takes in a page at most: a name of a field may have 64 bytes.
  var pageBytes: Int {
    41 + origin.name.utf8.count + (origin.user?.utf8.count ?? 0)
      + changes.reduce(0) { $0 + 72 + ($1.value?.bytes.count ?? 0) }
  }
}

/// The reading of a page, prepared where the store appends and run anywhere: it does not touch what changes there.
package struct HistoryReading: Sendable {
  private let body: @Sendable () throws(StoreError) -> HistoryAnswer

  /// - Parameter body: reads the page, in a bounded time.
  package init(_ body: @escaping @Sendable () throws(StoreError) -> HistoryAnswer) { self.body = body }

  package var result: Result<HistoryAnswer, StoreError> {
    Result { () throws(StoreError) in try body() }
  }
}

/// Collects the commits of a page from batches, which come in the order of the query.
package struct HistoryCollector {
  private let query: HistoryQuery
  private var bytes = 0
  private var lookedThrough = 0
  /// The page so far.
  package private(set) var answer: HistoryAnswer

  /// - Parameter oldest: the version before the oldest commit that is kept, and the record of that commit.
  package init(_ query: HistoryQuery, oldest: (version: Version, record: UInt64)) {
    self.query = query
    answer = HistoryAnswer(oldest: oldest.version, oldestRecord: oldest.record)
  }

  /// Looks through the next batch.
  /// - Returns: whether a further one is wanted.
  package mutating func add(_ batch: Batch) -> Bool {
    let (after, through) = query.range
    guard after < through, batch.record <= query.record else { return after < through && !query.isOldestFirst }
    guard !batch.body.isEmpty, batch.version > after, batch.previous < through else {
      return query.isOldestFirst ? batch.version < through : batch.previous > after
    }
    lookedThrough += batch.body.count
    let found = commits(of: batch)
    for commit in query.isOldestFirst ? found : found.reversed() {
      let size = commit.pageBytes
      let isFull = answer.commits.count >= query.count || bytes + size > HistoryQuery.maxBytes
      if isFull, !answer.commits.isEmpty {
        answer.next = query.isOldestFirst ? commit.version - 1 : commit.version
        return false
      }
      answer.commits.append(commit)
      bytes += size
    }
    // Everything up to here has been looked through.
    let reached = query.isOldestFirst ? min(batch.version, through) : max(batch.previous, after)
    guard query.isOldestFirst ? reached < through : reached > after else { return false }
    guard lookedThrough < HistoryQuery.maxLookedThrough, answer.commits.count < query.count else {
      answer.next = reached
      return false
    }
    return true
  }

  /// The commits of a batch that are meant, oldest first.
  private func commits(of batch: Batch) -> [StoredCommit] {
    let (after, through) = query.range
    return batch.body.withUnsafeBytes { body in
      guard var cursor = try? CommitCursor(WireReader(body, message: "commits")) else { return [] }
      guard query.epoch == 0 || query.epoch == cursor.epoch, query.since <= cursor.time,
        query.until == 0 || cursor.time < query.until
      else { return [] }
      var origins: [(origin: Origin, isMeant: Bool)] = []
      var table = cursor.origins
      while (try? table.next()) == true {
        let origin = table.origin
        let isMeant = query.writers.isEmpty || query.writers.contains { origin.isMeant(by: $0) }
        origins.append((origin, isMeant))
      }
      var found: [StoredCommit] = []
      while (try? cursor.next()) == true {
        guard cursor.version > after, cursor.version <= through, origins[Int(cursor.origin)].isMeant else { continue }
        let changes = changes(of: cursor)
        guard query.fields == nil || !changes.isEmpty else { continue }
        found.append(
          StoredCommit(
            epoch: cursor.epoch, version: cursor.version, time: cursor.time,
            origin: origins[Int(cursor.origin)].origin, number: cursor.number, changes: changes))
      }
      return found
    }
  }

  private func changes(of cursor: CommitCursor) -> [CommitChange] {
    var changes: [CommitChange] = []
    var walk = cursor.changes
    while (try? walk.next()) == true {
      guard query.fields?.contains(walk.field) ?? true else { continue }
      changes.append(CommitChange(field: walk.field, value: walk.value.map { FieldValue($0) }))
    }
    return changes
  }
}

/// A value that an administrator removed from history. It stands in its place in stored commits, so that a commit keeps
/// saying that it changed the field.
package enum RemovedValue {
  package static let bytes = Array("{\"$removed\":true}".utf8)
}
