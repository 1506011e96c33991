/// A part of the state that a peer is missing (§5.2): the message `catchup`.
package struct CatchupChunk: WireContent, Hashable {
  /// How the state is represented.
  package enum Form: UInt8, Sendable {
    /// Every field that changed after `previous`, with its state at `version`.
    case delta = 1
    /// All fields at `version`; a field that is not listed does not exist.
    case snapshot
  }

  /// The receiving session.
  package var session: SessionID
  /// The peer's number for the request, repeated in the answers.
  package var request: UInt32
  /// The epoch of the log.
  package var epoch: Epoch
  /// The version that a delta starts from; 0 for a snapshot.
  package var previous: Version
  /// The version that the catch-up leads to.
  package var version: Version
  /// How the state is represented.
  package var form: Form
  /// Counts up from 0. The peer applies nothing before the last chunk has arrived.
  package var chunk: UInt32
  /// Whether this is the last chunk.
  package var isLast: Bool
  /// The highest decided number of the requester's proposals in this model.
  package var lastDecided: ProposalNumber
  /// The writers; the entries of this chunk refer to them by index.
  package var origins: [Origin]
  /// The names of the field ids that are new to the peer.
  package var names: NamesRun
  /// The entries of the message.
  package var entries: [CatchupEntry]

  package init(
    session: SessionID, request: UInt32, epoch: Epoch, previous: Version, version: Version, form: Form,
    chunk: UInt32, isLast: Bool, lastDecided: ProposalNumber, origins: [Origin], names: NamesRun,
    entries: [CatchupEntry]
  ) {
    self.session = session
    self.request = request
    self.epoch = epoch
    self.previous = previous
    self.version = version
    self.form = form
    self.chunk = chunk
    self.isLast = isLast
    self.lastDecided = lastDecided
    self.origins = origins
    self.names = names
    self.entries = entries
  }

  package init(from reader: inout WireReader) throws(WireError) {
    session = try reader.u64("session")
    request = try reader.u32("request")
    epoch = try reader.u64("epoch")
    previous = try reader.u64("previous")
    version = try reader.u64("version")
    if previous > version { throw reader.error("previous", "is \(previous), beyond version, \(version)") }
    form = try reader.choice("form", try reader.u8("form"), "1 a delta, 2 a snapshot")
    if form == .snapshot, previous != 0 { throw reader.error("previous", "is \(previous); a snapshot's is 0") }
    chunk = try reader.u32("chunk")
    isLast = try reader.flag("last")
    lastDecided = try reader.u32("mark")
    origins = try reader.origins()
    names = try NamesRun(from: &reader)
    entries = try reader.elements(try reader.count32("entries", minimum: 30))
    for entry in entries where entry.origin >= origins.count {
      throw reader.error("origin", "is \(entry.origin); \(origins.count) origins are listed")
    }
  }

  package func write(to writer: inout WireWriter) {
    writer.u64(session)
    writer.u32(request)
    writer.u64(epoch)
    writer.u64(previous)
    writer.u64(version)
    writer.u8(form.rawValue)
    writer.u32(chunk)
    writer.flag(isLast)
    writer.u32(lastDecided)
    writer.count16(origins.count)
    for origin in origins { writer.origin(origin) }
    names.write(to: &writer)
    writer.count32(entries.count)
    writer.elements(entries)
  }
}

/// One field in a catch-up.
package struct CatchupEntry: WireContent, Hashable {
  /// The field's id.
  package var field: FieldID
  /// The version of the last commit that wrote it.
  package var version: Version
  /// The writer of that commit: an index in the chunk's origins.
  package var origin: UInt16
  /// The number of its proposal.
  package var number: ProposalNumber
  /// Its time by the hub's wall clock, milliseconds since 1970.
  package var time: UInt64
  /// nil: deleted.
  package var value: FieldValue?

  package init(
    field: FieldID, version: Version, origin: UInt16, number: ProposalNumber, time: UInt64, value: FieldValue?
  ) {
    self.field = field
    self.version = version
    self.origin = origin
    self.number = number
    self.time = time
    self.value = value
  }

  package init(from reader: inout WireReader) throws(WireError) {
    field = try reader.fieldID("field")
    version = try reader.u64("version")
    origin = try reader.u16("origin")
    number = try reader.u32("number")
    time = try reader.u64("time")
    value = try reader.value("value")
  }

  package func write(to writer: inout WireWriter) {
    writer.u32(field)
    writer.u64(version)
    writer.u16(origin)
    writer.u32(number)
    writer.u64(time)
    writer.value(value)
  }
}
