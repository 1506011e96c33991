/// A part of what a peer lacks of a model (§5.2): the message `catchup`.
public struct CatchupChunk: WireContent, Hashable {
  public enum Form: UInt8, Sendable {
    /// Every field that changed after `previous`, as it is at `version`.
    case delta = 1
    /// All fields at `version`; what is not named does not exist.
    case snapshot
  }

  public var session: SessionID
  public var request: UInt32
  public var epoch: Epoch
  /// 0 for a snapshot.
  public var previous: Version
  public var version: Version
  public var form: Form
  /// Counts up from 0; nothing changes before the last one is there.
  public var chunk: UInt32
  public var isLast: Bool
  /// The highest of the requester's proposal numbers in this model that has been decided.
  public var lastDecided: ProposalNumber
  /// Who wrote; the entries of this chunk refer to them by position.
  public var origins: [Origin]
  public var names: NamesRun
  public var entries: [CatchupEntry]

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
  public var field: FieldID
  /// The version of the commit that wrote it last.
  public var version: Version
  /// Who did: a position in the chunk's origins.
  public var origin: UInt16
  /// The number of that proposal.
  public var number: ProposalNumber
  /// When, by the hub's wall clock, milliseconds since 1970.
  public var time: UInt64
  /// nil: deleted.
  public var value: FieldValue?

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
