/// A part of the state that a peer is missing (§5.2): the message `catchup`.
public struct CatchupChunk: WireContent, Hashable {
  /// How the state is represented.
  public enum Form: UInt8, Sendable {
    /// Every field that changed after `previous`, with its state at `version`.
    case delta = 1
    /// All fields at `version`; a field that is not listed does not exist.
    case snapshot
  }

  /// The receiving session.
  public var session: SessionID
  /// The peer's number for the request, repeated in the answers.
  public var request: UInt32
  /// The epoch of the log.
  public var epoch: Epoch
  /// The version that a delta starts from; 0 for a snapshot.
  public var previous: Version
  /// The version that the catch-up leads to.
  public var version: Version
  /// How the state is represented.
  public var form: Form
  /// Counts up from 0. The peer applies nothing before the last chunk has arrived.
  public var chunk: UInt32
  /// Whether this is the last chunk.
  public var isLast: Bool
  /// The highest decided number of the requester's proposals in this model.
  public var lastDecided: ProposalNumber
  /// The writers; the entries of this chunk refer to them by index.
  public var origins: [Origin]
  /// The names of the field ids that are new to the peer.
  public var names: NamesRun
  /// The entries of the message.
  public var entries: [CatchupEntry]

  /// Memberwise initialiser.
  public init(
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

  public init(from reader: inout WireReader) throws(WireError) {
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

  public func write(to writer: inout WireWriter) {
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
public struct CatchupEntry: WireContent, Hashable {
  /// The field's id.
  public var field: FieldID
  /// The version of the last commit that wrote it.
  public var version: Version
  /// The writer of that commit: an index in the chunk's origins.
  public var origin: UInt16
  /// The number of its proposal.
  public var number: ProposalNumber
  /// Its time by the hub's wall clock, milliseconds since 1970.
  public var time: UInt64
  /// nil: deleted.
  public var value: FieldValue?

  /// Memberwise initialiser.
  public init(
    field: FieldID, version: Version, origin: UInt16, number: ProposalNumber, time: UInt64, value: FieldValue?
  ) {
    self.field = field
    self.version = version
    self.origin = origin
    self.number = number
    self.time = time
    self.value = value
  }

  public init(from reader: inout WireReader) throws(WireError) {
    field = try reader.fieldID("field")
    version = try reader.u64("version")
    origin = try reader.u16("origin")
    number = try reader.u32("number")
    time = try reader.u64("time")
    value = try reader.value("value")
  }

  public func write(to writer: inout WireWriter) {
    writer.u32(field)
    writer.u64(version)
    writer.u16(origin)
    writer.u32(number)
    writer.u64(time)
    writer.value(value)
  }
}
