/// One or more commits of one model, in order (§5.2): the message `commits`.
package struct CommitGroup: WireContent, Hashable {
  /// The epoch of the log.
  package var epoch: Epoch
  /// The first commit makes version `previous` + 1.
  package var previous: Version
  /// The hub's wall time, milliseconds since 1970.
  package var time: UInt64
  /// The writers; commits refer to them by index.
  package var origins: [Origin]
  /// The names of the field ids that are new with these commits.
  package var names: NamesRun
  /// The commits, in order.
  package var commits: [Commit]

  package init(
    epoch: Epoch, previous: Version, time: UInt64, origins: [Origin], names: NamesRun, commits: [Commit]
  ) {
    self.epoch = epoch
    self.previous = previous
    self.time = time
    self.origins = origins
    self.names = names
    self.commits = commits
  }

  /// The version that the last commit makes.
  package var version: Version { previous + Version(commits.count) }

  package init(from reader: inout WireReader) throws(WireError) {
    epoch = try reader.u64("epoch")
    previous = try reader.u64("previous")
    time = try reader.u64("time")
    origins = try reader.origins()
    names = try NamesRun(from: &reader)
    let count = try reader.commitCount(after: previous)
    commits = try reader.elements(count)
    for commit in commits where commit.origin >= origins.count {
      throw reader.error("origin", "is \(commit.origin); \(origins.count) origins are listed")
    }
  }

  package func write(to writer: inout WireWriter) {
    writer.u64(epoch)
    writer.u64(previous)
    writer.u64(time)
    writer.count16(origins.count)
    for origin in origins { writer.origin(origin) }
    names.write(to: &writer)
    writer.count16(commits.count)
    writer.elements(commits)
  }
}

/// Names of consecutive field ids: `first`, `first` + 1, …
package struct NamesRun: WireContent, Hashable {
  /// The id of the first name; without names, the number of ids assigned before.
  package var first: FieldID
  /// The names, in the order of the ids.
  package var names: [String]

  package init(first: FieldID, names: [String] = []) {
    self.first = first
    self.names = names
  }

  package init(from reader: inout WireReader) throws(WireError) {
    let (first, count) = try reader.namesHeader()
    self.first = first
    names = []
    names.reserveCapacity(count)
    for _ in 0..<count { names.append(try reader.fieldName("names")) }
  }

  package func write(to writer: inout WireWriter) {
    writer.u32(first)
    writer.count32(names.count)
    for name in names { writer.text8(name) }
  }
}

/// One atomic change of a model.
package struct Commit: WireContent, Hashable {
  /// The writer: an index in the group's origins.
  package var origin: UInt16
  /// The proposal's number.
  package var number: ProposalNumber
  /// The hops of the proposal.
  package var hops: UInt8
  /// The changed fields.
  package var changes: [CommitChange]

  package init(origin: UInt16, number: ProposalNumber, hops: UInt8 = 0, changes: [CommitChange]) {
    self.origin = origin
    self.number = number
    self.hops = hops
    self.changes = changes
  }

  package init(from reader: inout WireReader) throws(WireError) {
    origin = try reader.u16("origin")
    number = try reader.u32("number")
    hops = try reader.u8("hops")
    changes = try reader.elements(try reader.count16("changes", minimum: 8))
  }

  package func write(to writer: inout WireWriter) {
    writer.u16(origin)
    writer.u32(number)
    writer.u8(hops)
    writer.count16(changes.count)
    writer.elements(changes)
  }
}

/// A commit's new value of one field.
package struct CommitChange: WireContent, Hashable {
  /// The field's id.
  package var field: FieldID
  /// nil: deleted.
  package var value: FieldValue?

  package init(field: FieldID, value: FieldValue?) {
    self.field = field
    self.value = value
  }

  package init(from reader: inout WireReader) throws(WireError) {
    field = try reader.fieldID("field")
    value = try reader.value("value")
  }

  package func write(to writer: inout WireWriter) {
    writer.u32(field)
    writer.value(value)
  }
}

extension WireReader {
  mutating func origins() throws(WireError) -> [Origin] {
    let count = try count16("origins", minimum: 9)
    var origins: [Origin] = []
    origins.reserveCapacity(count)
    for _ in 0..<count { origins.append(try origin("origins")) }
    return origins
  }

  /// The first id and the count of a `names`.
  mutating func namesHeader() throws(WireError) -> (first: FieldID, count: Int) {
    let first = try u32("names.first")
    let count = try count32("names", minimum: 2)
    guard count <= FieldID.max - first else { throw error("names", "the ids end at \(FieldID.max - 1)") }
    return (first, count)
  }

  /// The number of commits: at least one, and few enough for the version to stay within 64 bits.
  mutating func commitCount(after previous: Version) throws(WireError) -> Int {
    let count = try count16("commits", minimum: 9)
    if count == 0 { throw error("commits", "is empty; at least one commit is required") }
    if UInt64(count) > UInt64.max - previous { throw error("previous", "leaves no number for \(count) commits") }
    return count
  }

  /// A field's id, other than the one that means "a name follows".
  @inlinable
  mutating func fieldID(_ place: StaticString) throws(WireError) -> FieldID {
    let id = try u32(place)
    if id == FieldID.max { throw error(place, "is 0xFFFFFFFF, which is reserved") }
    return id
  }
}
