import BindingProtocol

/// The fields that a model's most recent commits touched, so that a delta need not check every field.
struct RecentCommits {
  private var entries: [(version: Version, field: FieldID)] = []
  private var since: Version

  /// - Parameter version: no earlier commit is known.
  init(since version: Version) { since = version }

  mutating func append(_ field: FieldID, at version: Version) { entries.append((version, field)) }

  /// Keeps between `limit` and twice as many entries.
  mutating func trim(to limit: Int) {
    guard entries.count > 2 * limit else { return }
    let dropped = entries.count - limit
    since = entries[dropped - 1].version
    entries.removeFirst(dropped)
  }

  /// The fields changed after a version, in order; nil: the commits do not reach back that far.
  func fieldsChanged(after version: Version) -> [FieldID]? {
    guard version >= since else { return nil }
    return Set(entries.lazy.reversed().prefix { $0.version > version }.map(\.field)).sorted()
  }
}
