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

  /// Adds commits to the line of their writer.
  mutating func add(
    _ changes: [Change], to model: String, by origin: Origin, epoch: Epoch, version: Version, time: UInt64,
    count: Int = 1
  ) {
    let key = Key(model: model, tag: origin.tag)
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
      text.member("name", line.origin.shownName)
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
