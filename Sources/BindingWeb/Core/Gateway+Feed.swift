import BindingPeer
import BindingProtocol

extension Gateway {
  mutating func joinFeed(_ page: PageID, _ output: inout GatewayOutput) {
    feed.pages.insert(page)
    guard feed.pages.count == 1 else { return }
    feed.hasBegun = false
    output.add(.send(PeerMessage.status.encode(session: 0, start: 0)))
  }

  mutating func leaveFeed(_ page: PageID, now: UInt64) {
    guard feed.pages.remove(page) != nil, feed.pages.isEmpty else { return }
    for model in feed.followed.keys { unfollow(model, now: now) }
    feed = Feed()
  }

  /// Follows the models that have changed since the last report. The catch-up then shows which fields changed.
  mutating func look(at report: JSON, now: UInt64) {
    guard !feed.pages.isEmpty else { return }
    for entry in report["models"]?.elements ?? [] {
      guard let id = entry["model"]?.string, let version = entry["version"]?.int64.flatMap({ Version(exactly: $0) })
      else { continue }
      let sent = feed.versions[id]
      guard feed.hasBegun else {
        feed.versions[id] = (0, version)
        continue
      }
      if sent?.version != version, feed.followed[id] == nil { follow(id, now: now) }
    }
    feed.hasBegun = true
    for (id, changed) in feed.followed where now >= changed + Feed.idleMilliseconds { unfollow(id, now: now) }
  }

  private mutating func follow(_ id: String, now: UInt64) {
    if feed.followed.count >= Feed.maxModels {
      guard let oldest = feed.followed.min(by: { ($0.value, $0.key) < ($1.value, $1.key) }), now >= oldest.value + 2_000
      else { return }
      unfollow(oldest.key, now: now)
    }
    let isThere = rooms[id] != nil
    guard isThere || makesRoom(now: now) else { return }
    feed.followed[id] = now
    rooms[id, default: Room()].emptySince = nil
    reader.join(id, now: now, into: &wanted)
    if isThere, reader.isCurrent(id) { catchUpFeed(id) }
  }

  private mutating func unfollow(_ id: String, now: UInt64) {
    feed.followed[id] = nil
    if rooms[id]?.pages.isEmpty == true { rooms[id]?.emptySince = now }
  }

  /// Makes room for one more model if there is none. Models without pages are removed first, then models followed
  /// for the feed alone.
  mutating func makesRoom(now: UInt64) -> Bool {
    guard rooms.count >= options.maxModels else { return true }
    let empty = rooms.filter { $0.value.pages.isEmpty && $0.key != OwnModel.id }
    guard
      let id = empty.min(by: { ($0.value.emptySince ?? .max, $0.key) < ($1.value.emptySince ?? .max, $1.key) })?.key
    else { return false }
    feed.followed[id] = nil
    rooms[id] = nil
    reader.leave(id, now: now, into: &wanted)
    return true
  }

  /// Adds an update of a followed model to the feed.
  mutating func addToFeed(_ update: ModelUpdate, now: UInt64) {
    let model = update.model
    guard feed.followed[model] != nil, update.cause != .detached else { return }
    guard case .commits = update.cause, update.coalesced == 0, let first = update.commits.first,
      let sent = feed.versions[model], sent.version + 1 >= first.version, sent.epoch == 0 || sent.epoch == update.epoch
    else { return catchUpFeed(model) }
    feed.followed[model] = now
    var values: [String: FieldValue?] = [:]
    for change in update.changes { values[change.field] = .some(change.old) }
    for commit in update.commits where commit.version > sent.version {
      // A field whose shown value did not change was set to the value it had.
      let changes = commit.changes.map { change in
        Feed.Change(
          field: change.field, version: commit.version, from: values[change.field] ?? change.value, to: change.value,
          isKnown: true)
      }
      for change in commit.changes { values[change.field] = .some(change.value) }
      feed.add(
        changes, to: model, by: commit.origin, epoch: update.epoch, version: commit.version, time: commit.time)
    }
    feed.versions[model] = (update.epoch, update.version)
  }

  /// Adds the changes since the last sent version that the fields' own versions show, one line per writer.
  private mutating func catchUpFeed(_ model: String) {
    let (epoch, version) = reader.version(of: model)
    let sent = feed.versions[model] ?? (0, 0)
    feed.versions[model] = (epoch, version)
    // Versions of an earlier epoch cannot be compared with those of this one.
    guard version > sent.version, sent.epoch == 0 || sent.epoch == epoch else { return }
    var counted: Set<Version> = []
    for field in reader.committed(model, after: sent.version).sorted(by: {
      ($0.version, $0.name) < ($1.version, $1.name)
    }) {
      let change = Feed.Change(field: field.name, version: field.version, from: nil, to: field.value, isKnown: false)
      feed.add(
        [change], to: model, by: field.origin, epoch: epoch, version: field.version, time: field.time,
        count: counted.insert(field.version).inserted ? 1 : 0)
    }
  }

  /// Sends the lines since the last send. A page that reads too slowly misses them.
  mutating func sendFeed(_ output: inout GatewayOutput) {
    guard !feed.pages.isEmpty, let (lines, left) = feed.take() else { return }
    let text = PageText.feed(lines, left: left)
    for page in feed.pages.sorted() where pages[page]?.isLive == true && pages[page]?.isBusy == false {
      sendText(to: page, text, &output)
    }
  }
}
