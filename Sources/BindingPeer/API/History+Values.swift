package import BindingProtocol

/// What a field had at some version.
package struct PastValue: Sendable, Hashable {
  /// nil: none.
  package var value: FieldValue?
  /// The commit that gave it; version 0: the field was never written before.
  package var epoch: Epoch
  package var version: Version

  package init(value: FieldValue?, epoch: Epoch, version: Version) {
    (self.value, self.epoch, self.version) = (value, epoch, version)
  }
}

extension SharedModel {
  /// The committed value of a field just before a version of the model.
  /// - Parameters:
  ///   - version: the version that the value is older than; that of a commit of this log.
  ///   - timeout: the longest wait for each page of history.
  /// - Returns: nil if that is before the horizon, or the value was removed from history.
  /// - Throws: `HistoryError`.
  package func value(
    of field: String, before version: Version, timeout: Duration = .seconds(5)
  ) async throws(HistoryError) -> PastValue? {
    try await values(of: [field], before: version, timeout: timeout).values[field]
  }

  /// The committed values of fields just before a version of the model: what each field had if its last commit before
  /// it is still there. Fields without an entry are unknown.
  package func values(
    of fields: [String], before version: Version, timeout: Duration = .seconds(5)
  ) async throws(HistoryError) -> (values: [String: PastValue], horizon: Horizon?) {
    var found: [String: PastValue] = [:]
    var removed: Set<String> = []
    // A field that was not written since needs no history.
    for field in fields {
      guard let record = record(field), record.isCommitKnown, record.version > 0, record.version < version else {
        continue
      }
      found[field] = PastValue(value: record.committed, epoch: record.epoch, version: record.version)
    }
    var horizon: Horizon?
    for part in fields.filter({ found[$0] == nil }).chunks(of: HistoryQuery.maxFields) where version > 1 {
      var query: HistoryQuery? = HistoryQuery()
      query?.versions = 0...(version - 1)
      while let asked = query {
        let left = part.filter { found[$0] == nil && !removed.contains($0) }
        guard !left.isEmpty else { break }
        var narrowed = asked
        narrowed.fields = left
        let page = try await historyPage(narrowed, count: left.count == 1 ? 1 : 1_000, timeout: timeout)
        for commit in page.commits {
          for change in commit.changes where found[change.field] == nil && !removed.contains(change.field) {
            if change.isRemoved {
              removed.insert(change.field)
            } else {
              found[change.field] = PastValue(value: change.value, epoch: commit.epoch, version: commit.version)
            }
          }
        }
        (query, horizon) = (page.next, page.horizon)
      }
    }
    // Where the model began within reach, a field that no commit names had none.
    if version <= 1 || horizon?.reason == .beginning {
      for field in fields where found[field] == nil && !removed.contains(field) {
        found[field] = PastValue(value: nil, epoch: 0, version: 0)
      }
    }
    return (found, horizon)
  }
}

extension FieldRecord {
  /// Whether `version` is that of a commit, whose value is `committed`.
  fileprivate var isCommitKnown: Bool { origin.tag != .none }
}

extension SharedModel.HistoryQuery {
  /// The most fields and writers that a request can name.
  static let maxFields = 255

  func message(count: Int) -> HistoryRequest {
    var message = HistoryRequest(request: 0, topic: 0)
    message.isOldestFirst = isOldestFirst
    message.epoch = epoch ?? 0
    message.after = versions.lowerBound - min(versions.lowerBound, 1)
    message.through = versions.upperBound == .max ? 0 : max(versions.upperBound, 1)
    // No commit makes version 0.
    if versions.upperBound == 0 { message.after = .max }
    message.since = since ?? 0
    message.until = until.map { max($0, 1) } ?? 0
    message.count = UInt16(clamping: min(max(count, 1), 1_000))
    message.fields = Array(fields.prefix(SharedModel.HistoryQuery.maxFields))
    message.writers = Array(writers.prefix(SharedModel.HistoryQuery.maxFields))
    return message
  }
}

extension SharedModel.HistoryPage {
  init(_ page: PastPage, of query: SharedModel.HistoryQuery) throws(SharedModel.HistoryError) {
    switch page.end {
    case .more, .all: break
    case .none: throw .ephemeral
    case .notJoined: throw .notShared
    case .notPermitted: throw .notPermitted
    case .unreadable: throw .unreadable
    }
    commits = page.commits.map(SharedModel.PastCommit.init)
    horizon = SharedModel.Horizon(version: page.horizon, reason: SharedModel.Horizon.Reason(page.reason))
    head = page.head
    guard page.end == .more else { return }
    var following = query
    if query.isOldestFirst {
      // Later commits than at the first page are not asked for.
      let last = min(query.versions.upperBound, page.head)
      guard page.next < last else { return }
      following.versions = (page.next + 1)...last
    } else {
      guard page.next >= max(query.versions.lowerBound, 1) else { return }
      following.versions = query.versions.lowerBound...page.next
    }
    next = following
  }
}

extension SharedModel.PastCommit {
  init(_ commit: BindingProtocol.PastCommit) {
    self.init(
      epoch: commit.epoch, version: commit.version, time: commit.time, writer: commit.origin, number: commit.number,
      changes: commit.changes.map { Change(field: $0.field, value: $0.value, isRemoved: $0.isRemoved) })
  }
}

extension SharedModel.Horizon.Reason {
  init(_ reason: PastPage.Reason) {
    self =
      switch reason {
      case .beginning: .beginning
      case .notKept: .notKept
      case .renumbered: .renumbered
      case .start: .start
      }
  }
}
