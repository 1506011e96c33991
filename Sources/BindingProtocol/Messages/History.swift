/// Asks for a page of a model's earlier commits (§5.5): the message `history`.
package struct HistoryRequest: WireContent, Hashable {
  /// The peer's number for the request, repeated in the answer.
  package var request: UInt32
  /// The model's topic.
  package var topic: Topic
  /// Whether the oldest commits come first.
  package var isOldestFirst = false
  /// Only commits of this epoch; 0: of any.
  package var epoch: Epoch = 0
  /// Only commits with a later version.
  package var after: Version = 0
  /// Only commits up to this version; 0: up to the head.
  package var through: Version = 0
  /// Only commits from this time on, milliseconds since 1970 by the hub's wall clock.
  package var since: UInt64 = 0
  /// Only commits before this time; 0: no bound.
  package var until: UInt64 = 0
  /// The most commits of the page; 0: as many as the hub allows.
  package var count: UInt16 = 0
  /// Only commits that changed one of these fields, and of them only these changes; empty: all.
  package var fields: [String] = []
  /// Only commits of these writers, by `Origin.isMeant`; empty: of all.
  package var writers: [String] = []

  package init(request: UInt32, topic: Topic) { (self.request, self.topic) = (request, topic) }

  package init(from reader: inout WireReader) throws(WireError) {
    request = try reader.u32("request")
    topic = try reader.modelTopic("topic")
    isOldestFirst = try reader.bits("flags", known: 1) == 1
    epoch = try reader.u64("epoch")
    after = try reader.u64("after")
    through = try reader.u64("through")
    since = try reader.u64("since")
    until = try reader.u64("until")
    count = try reader.u16("count")
    for _ in 0..<(try reader.count8("fields", minimum: 2)) { fields.append(try reader.fieldName("fields")) }
    writers = try reader.texts("writers")
  }

  package func write(to writer: inout WireWriter) {
    writer.u32(request)
    writer.u32(topic)
    writer.u8(isOldestFirst ? 1 : 0)
    for number in [epoch, after, through, since, until] { writer.u64(number) }
    writer.u16(count)
    writer.texts(fields)
    writer.texts(writers)
  }
}

/// A page of a model's earlier commits (§5.5): the message `past`.
package struct PastPage: WireContent, Hashable {
  /// What a page says of those after it.
  package enum End: UInt8, Sendable, CaseIterable {
    /// There may be more from `next` on.
    case more = 0
    case all
    /// The model is ephemeral and has no history.
    case none
    case notJoined
    /// The user lacks the right `history`.
    case notPermitted
    /// The hub cannot read its history now.
    case unreadable
  }
  /// Why there are no commits before the horizon.
  package enum Reason: UInt8, Sendable, CaseIterable {
    /// The model begins there.
    case beginning = 0
    /// They are no longer kept.
    case notKept
    /// Names of deleted fields were given back.
    case renumbered
    /// The hub keeps its models in memory and has run only since then.
    case start
  }

  /// The receiving session.
  package var session: SessionID
  /// The peer's number for the request.
  package var request: UInt32
  package var end: End
  /// Where the next page begins: its `through`, or its `after` if the oldest commits come first.
  package var next: Version = 0
  /// From this version on every commit is there; one more than `head` if none is.
  package var horizon: Version = 0
  package var reason = Reason.beginning
  /// The model's version when the page was read.
  package var head: Version = 0
  package var commits: [PastCommit] = []

  package init(session: SessionID, request: UInt32, end: End) {
    (self.session, self.request, self.end) = (session, request, end)
  }

  package init(from reader: inout WireReader) throws(WireError) {
    session = try reader.u64("session")
    request = try reader.u32("request")
    end = try reader.choice("end", try reader.u8("end"), "0 to 5")
    next = try reader.u64("next")
    horizon = try reader.u64("horizon")
    reason = try reader.choice("reason", try reader.u8("reason"), "0 to 3")
    head = try reader.u64("head")
    let origins = try reader.origins()
    var names: [String] = []
    for _ in 0..<(try reader.count16("names", minimum: 2)) { names.append(try reader.fieldName("names")) }
    let count = try reader.count16("commits", minimum: 32)
    commits.reserveCapacity(count)
    for _ in 0..<count { commits.append(try PastCommit(from: &reader, origins, names)) }
    let used = tables
    guard used.origins.all == origins else { throw reader.error("origins", PastPage.order) }
    guard used.names.all == names else { throw reader.error("names", PastPage.order) }
  }

  private static let order = "are not those of the commits, each once, in the order of their first use"

  /// What the commits name, each once.
  private var tables: (origins: Table<Origin>, names: Table<String>) {
    var origins = Table<Origin>()
    var names = Table<String>()
    for commit in commits {
      origins.add(commit.origin)
      for change in commit.changes { names.add(change.field) }
    }
    return (origins, names)
  }

  package func write(to writer: inout WireWriter) {
    writer.u64(session)
    writer.u32(request)
    writer.u8(end.rawValue)
    writer.u64(next)
    writer.u64(horizon)
    writer.u8(reason.rawValue)
    writer.u64(head)
    let (origins, names) = tables
    writer.count16(origins.all.count)
    for origin in origins.all { writer.origin(origin) }
    writer.count16(names.all.count)
    for name in names.all { writer.text8(name) }
    writer.count16(commits.count)
    for commit in commits { commit.write(to: &writer, origins, names) }
  }
}

/// An earlier commit.
package struct PastCommit: Sendable, Hashable {
  /// The epoch of the log in which it was decided. With the version it is the commit's address.
  package var epoch: Epoch
  package var version: Version
  /// The hub's wall time, milliseconds since 1970.
  package var time: UInt64
  package var origin: Origin
  package var number: ProposalNumber
  package var changes: [PastChange]

  package init(
    epoch: Epoch, version: Version, time: UInt64, origin: Origin, number: ProposalNumber, changes: [PastChange]
  ) {
    (self.epoch, self.version, self.time) = (epoch, version, time)
    (self.origin, self.number, self.changes) = (origin, number, changes)
  }

  fileprivate init(from reader: inout WireReader, _ origins: [Origin], _ names: [String]) throws(WireError) {
    epoch = try reader.u64("epoch")
    version = try reader.u64("version")
    if version == 0 { throw reader.error("version", "is 0; the first commit makes version 1") }
    time = try reader.u64("time")
    let index = Int(try reader.u16("origin"))
    guard index < origins.count else {
      throw reader.error("origin", "is \(index); \(origins.count) origins are listed")
    }
    origin = origins[index]
    number = try reader.u32("number")
    changes = []
    for _ in 0..<(try reader.count16("changes", minimum: 3)) { changes.append(try PastChange(from: &reader, names)) }
  }

  fileprivate func write(to writer: inout WireWriter, _ origins: Table<Origin>, _ names: Table<String>) {
    writer.u64(epoch)
    writer.u64(version)
    writer.u64(time)
    writer.u16(origins[origin])
    writer.u32(number)
    writer.count16(changes.count)
    for change in changes { change.write(to: &writer, names) }
  }
}

/// What an earlier commit made of a field.
package struct PastChange: Sendable, Hashable {
  package var field: String
  /// The value that the field got; nil: it was deleted, or the value was removed from history.
  package var value: FieldValue?
  /// Whether an administrator removed the value from history.
  package var isRemoved: Bool

  package init(field: String, value: FieldValue?, isRemoved: Bool = false) {
    (self.field, self.value, self.isRemoved) = (field, value, isRemoved)
  }

  fileprivate init(from reader: inout WireReader, _ names: [String]) throws(WireError) {
    let name = Int(try reader.u16("name"))
    guard name < names.count else { throw reader.error("name", "is \(name); \(names.count) names are listed") }
    field = names[name]
    let state = try reader.u8("state")
    guard state <= 2 else { throw reader.error("state", "is \(state); allowed are 0 to 2") }
    isRemoved = state == 2
    guard state == 0 else { return }
    guard let bytes = try reader.value("value") else { throw reader.error("value", "is none, and state is 0") }
    value = bytes
  }

  fileprivate func write(to writer: inout WireWriter, _ names: Table<String>) {
    writer.u16(names[field])
    writer.u8(value != nil ? 0 : isRemoved ? 2 : 1)
    if let value { writer.value(value) }
  }
}

/// What several commits of a page name, each once, in the order of first use.
private struct Table<Entry: Hashable> {
  private(set) var all: [Entry] = []
  private var indices: [Entry: UInt16] = [:]

  mutating func add(_ entry: Entry) {
    guard indices[entry] == nil else { return }
    indices[entry] = UInt16(clamping: all.count)
    all.append(entry)
  }

  subscript(entry: Entry) -> UInt16 { indices[entry] ?? 0 }
}

extension Origin {
  /// Whether a text means this writer: its name, its user, its tag in full, or its name, a dash and the tag's first
  /// four digits.
  package func isMeant(by text: String) -> Bool {
    text == name || text == user || text == fullName || text == "\(name)-\(tag.short)" || text == tag.description
  }
}
