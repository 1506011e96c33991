import BindingPeer
import BindingProtocol

/// The recent commits of all models, for pages that show a log: one line for each writer and model since the last
/// send. Every part is bounded; omissions are counted.
struct Feed: Sendable {
  /// The limits: models followed for the feed alone, lines per send, fields per line, bytes of a value in a line.
  static let maxModels = 400
  static let maxLines = 128
  static let maxFields = 16
  static let maxValueBytes = 1_024
  /// The feed stops following a model that has not changed for this long.
  static let idleMilliseconds: UInt64 = 30_000

  struct Change: Sendable {
    var field: String
    /// The version of the field's last commit. Commits of another writer may lie between it and the line's.
    var version: Version
    var from: FieldValue?
    var to: FieldValue?
    /// Whether `from` is the value before the change.
    var isKnown: Bool
  }

  struct Line: Sendable {
    var model: String
    var origin: Origin
    var epoch: Epoch
    var version: Version
    var time: UInt64
    /// The number of commits in the line.
    var count = 0
    var changes: [Change] = []
    /// The number of changed fields that the line omits.
    var more = 0
  }

  private struct Key: Hashable {
    var model: String
    var tag: Tag
    var user: String?
  }

  var pages: Set<PageID> = []
  /// The version of each model up to which the feed has been sent, and the time of the last change of each followed
  /// model.
  var versions: [String: (epoch: Epoch, version: Version)] = [:]
  var followed: [String: UInt64] = [:]
  /// Whether the hub has reported since the first page joined the feed: changes before that report are old.
  var hasBegun = false
  private var lines: [Line] = []
  private var indexByKey: [Key: Int] = [:]
  private var left = 0

  // MARK: Pages

  /// Adds a page.
  /// - Returns: whether the hub must report, because the page is the only one.
  mutating func join(_ page: PageID) -> Bool {
    pages.insert(page)
    guard pages.count == 1 else { return false }
    hasBegun = false
    return true
  }

  mutating func leave(_ page: PageID, _ models: inout FollowedModels, now: UInt64) {
    guard pages.remove(page) != nil, pages.isEmpty else { return }
    for model in followed.keys { unfollow(model, &models, now: now) }
    self = Feed()
  }

  // MARK: Followed models

  /// Follows the models that have changed since the last report. The catch-up then shows which fields changed.
  mutating func look(at report: JSON, _ models: inout FollowedModels, now: UInt64) {
    guard !pages.isEmpty else { return }
    for entry in report["models"]?.elements ?? [] {
      guard let id = entry["model"]?.string, let version = entry["version"]?.int64.flatMap({ Version(exactly: $0) })
      else { continue }
      let sent = versions[id]
      guard hasBegun else {
        versions[id] = (0, version)
        continue
      }
      if sent?.version != version, followed[id] == nil { follow(id, &models, now: now) }
    }
    hasBegun = true
    for (id, changed) in followed where now >= changed + Feed.idleMilliseconds { unfollow(id, &models, now: now) }
  }

  private mutating func follow(_ id: String, _ models: inout FollowedModels, now: UInt64) {
    if followed.count >= Feed.maxModels {
      guard let oldest = followed.min(by: { ($0.value, $0.key) < ($1.value, $1.key) }), now >= oldest.value + 2_000
      else { return }
      unfollow(oldest.key, &models, now: now)
    }
    let isThere = models.rooms[id] != nil
    guard isThere || models.makeRoom(&followed, now: now) else { return }
    followed[id] = now
    models.rooms[id, default: Room()].emptySince = nil
    models.join(id, now: now)
    if isThere, models.session.isCurrent(id) { catchUp(id, models.session) }
  }

  private mutating func unfollow(_ id: String, _ models: inout FollowedModels, now: UInt64) {
    followed[id] = nil
    if models.rooms[id]?.pages.isEmpty == true { models.rooms[id]?.emptySince = now }
  }

  // MARK: Lines

  /// Adds an update of a followed model.
  mutating func add(_ update: ModelUpdate, from session: Session, now: UInt64) {
    let model = update.model
    guard followed[model] != nil, update.cause != .detached else { return }
    guard case .commits = update.cause, update.coalesced == 0, let first = update.commits.first,
      let sent = versions[model], sent.version + 1 >= first.version, sent.epoch == 0 || sent.epoch == update.epoch
    else { return catchUp(model, session) }
    followed[model] = now
    var values: [String: FieldValue?] = [:]
    for change in update.changes { values[change.field] = .some(change.old) }
    for commit in update.commits where commit.version > sent.version {
      // A field whose shown value did not change was set to the value it had.
      let changes = commit.changes.map { change in
        Change(
          field: change.field, version: commit.version, from: values[change.field] ?? change.value, to: change.value,
          isKnown: true)
      }
      for change in commit.changes { values[change.field] = .some(change.value) }
      add(changes, to: model, by: commit.origin, epoch: update.epoch, version: commit.version, time: commit.time)
    }
    versions[model] = (update.epoch, update.version)
  }

  /// Adds the changes since the last sent version that the fields' own versions show, one line per writer.
  private mutating func catchUp(_ model: String, _ session: Session) {
    let (epoch, version) = session.version(of: model)
    let sent = versions[model] ?? (0, 0)
    versions[model] = (epoch, version)
    // Versions of an earlier epoch cannot be compared with those of this one.
    guard version > sent.version, sent.epoch == 0 || sent.epoch == epoch else { return }
    var counted: Set<Version> = []
    for field in session.committed(model, after: sent.version).sorted(by: {
      ($0.version, $0.name) < ($1.version, $1.name)
    }) {
      let change = Change(field: field.name, version: field.version, from: nil, to: field.value, isKnown: false)
      add(
        [change], to: model, by: field.origin, epoch: epoch, version: field.version, time: field.time,
        count: counted.insert(field.version).inserted ? 1 : 0)
    }
  }

  /// Adds commits to the line of their writer.
  private mutating func add(
    _ changes: [Change], to model: String, by origin: Origin, epoch: Epoch, version: Version, time: UInt64,
    count: Int = 1
  ) {
    let key = Key(model: model, tag: origin.tag, user: origin.user)
    if indexByKey[key] == nil {
      guard lines.count < Feed.maxLines else {
        left += count
        return
      }
      indexByKey[key] = lines.count
      lines.append(Line(model: model, origin: origin, epoch: epoch, version: version, time: time))
    }
    guard let position = indexByKey[key] else { return }
    lines[position].version = version
    lines[position].time = time
    lines[position].count += count
    for change in changes {
      if let index = lines[position].changes.firstIndex(where: { $0.field == change.field }) {
        lines[position].changes[index].to = change.to
        lines[position].changes[index].version = change.version
      } else if lines[position].changes.count < Feed.maxFields {
        lines[position].changes.append(change)
      } else {
        lines[position].more += 1
      }
    }
  }

  /// The lines since the last call, in the order of their last commits; nil: none.
  mutating func take() -> (lines: [Line], left: Int)? {
    guard !lines.isEmpty || left > 0 else { return nil }
    defer {
      lines.removeAll()
      indexByKey.removeAll()
      left = 0
    }
    return (lines.sorted { ($0.model, $0.version) < ($1.model, $1.version) }, left)
  }
}

extension PageText {
  static func feed(_ lines: [Feed.Line], left: Int) -> [UInt8] {
    var text = PageText("feed")
    text.member("left", left)
    text.list("lines", lines) { text, line in
      text.raw("{\"model\":")
      text.text(line.model)
      text.member("epoch", digits: line.epoch)
      text.member("version", line.version)
      text.member("count", line.count)
      text.member("tag", line.origin.tag.description)
      text.names(of: line.origin)
      text.member("time", line.time)
      text.member("more", line.more)
      text.list("changes", line.changes) { text, change in
        text.raw("{\"field\":")
        text.text(change.field)
        text.member("version", change.version)
        let isShort = [change.from, change.to].allSatisfy { $0.map { $0.bytes.count <= Feed.maxValueBytes } ?? true }
        text.member("known", change.isKnown && isShort)
        if change.isKnown { text.value("from", change.from) }
        text.value("to", change.to)
        text.raw("}")
      }
      text.raw("}")
    }
    return text.end()
  }

  /// Writes a value, or only the byte count of a long one.
  private mutating func value(_ name: StaticString, _ value: FieldValue?) {
    guard let value else { return }
    raw(",\"")
    raw(name)
    if value.bytes.count > Feed.maxValueBytes {
      raw("Bytes\":")
      number(value.bytes.count)
    } else {
      raw("\":")
      raw(value.bytes)
    }
  }
}
