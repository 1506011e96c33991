/// Asks a peer for its replica of a model (§7).
public struct AskOffer: WireContent, Hashable {
  /// The receiving session.
  public var session: SessionID
  /// The hub's number for this request, repeated in the offer.
  public var request: UInt32
  /// The model's topic.
  public var topic: Topic

  /// Memberwise initialiser.
  public init(session: SessionID, request: UInt32, topic: Topic) {
    self.session = session
    self.request = request
    self.topic = topic
  }

  public init(from reader: inout WireReader) throws(WireError) {
    session = try reader.u64("session")
    request = try reader.u32("request")
    topic = try reader.modelTopic("topic")
  }

  public func write(to writer: inout WireWriter) {
    writer.u64(session)
    writer.u32(request)
    writer.u32(topic)
  }
}

/// A part of a peer's replica, for a hub that lost its own (§7).
public struct Offer: WireContent, Hashable {
  /// The hub's number for the request.
  public var request: UInt32
  /// The model's topic.
  public var topic: Topic
  /// The epoch of the replica.
  public var epoch: Epoch
  /// The version of the replica.
  public var version: Version
  /// Counts up from 0.
  public var chunk: UInt32
  /// Whether this is the last chunk.
  public var isLast: Bool
  /// The fields in this chunk.
  public var fields: [OfferedField]
  /// The highest number that the peer has seen of each writer; nil: unspecified (capability `rescue`).
  public var numbers: [SeenNumber]?

  /// Memberwise initialiser.
  public init(
    request: UInt32, topic: Topic, epoch: Epoch, version: Version, chunk: UInt32, isLast: Bool,
    fields: [OfferedField], numbers: [SeenNumber]? = nil
  ) {
    self.request = request
    self.topic = topic
    self.epoch = epoch
    self.version = version
    self.chunk = chunk
    self.isLast = isLast
    self.fields = fields
    self.numbers = numbers
  }

  public init(from reader: inout WireReader) throws(WireError) {
    request = try reader.u32("request")
    topic = try reader.modelTopic("topic")
    epoch = try reader.u64("epoch")
    version = try reader.u64("version")
    chunk = try reader.u32("chunk")
    isLast = try reader.flag("last")
    fields = try reader.elements(try reader.count32("fields", minimum: 35))
    numbers = reader.remaining == 0 ? nil : try reader.elements(try reader.count32("numbers", minimum: 12))
  }

  public func write(to writer: inout WireWriter) {
    writer.u32(request)
    writer.u32(topic)
    writer.u64(epoch)
    writer.u64(version)
    writer.u32(chunk)
    writer.flag(isLast)
    writer.count32(fields.count)
    writer.elements(fields)
    guard let numbers else { return }
    writer.count32(numbers.count)
    writer.elements(numbers)
  }
}

/// The highest number of a writer's proposals in a model that the peer has seen committed.
public struct SeenNumber: WireContent, Hashable {
  /// The writer's tag.
  public var tag: Tag
  /// The proposal's number.
  public var number: ProposalNumber

  /// Memberwise initialiser.
  public init(tag: Tag, number: ProposalNumber) {
    self.tag = tag
    self.number = number
  }

  public init(from reader: inout WireReader) throws(WireError) {
    tag = try reader.tag("tag")
    number = try reader.u32("number")
  }

  public func write(to writer: inout WireWriter) {
    writer.u64(tag.rawValue)
    writer.u32(number)
  }

  /// The maximum number of entries that a peer sends and that a hub accepts from it.
  public static let maxCount = 4_096
}

/// One field of an offered replica.
public struct OfferedField: WireContent, Hashable {
  /// The field's name.
  public var name: String
  /// The version of the last commit that wrote it.
  public var version: Version
  /// The writer of that commit.
  public var origin: Origin
  /// The number of its proposal.
  public var number: ProposalNumber
  /// The commit's wall time, milliseconds since 1970.
  public var time: UInt64
  /// nil: deleted.
  public var value: FieldValue?

  /// Memberwise initialiser.
  public init(
    name: String, version: Version, origin: Origin, number: ProposalNumber, time: UInt64, value: FieldValue?
  ) {
    self.name = name
    self.version = version
    self.origin = origin
    self.number = number
    self.time = time
    self.value = value
  }

  public init(from reader: inout WireReader) throws(WireError) {
    name = try reader.fieldName("name")
    version = try reader.u64("version")
    origin = try reader.origin("origin")
    number = try reader.u32("number")
    time = try reader.u64("time")
    value = try reader.value("value")
  }

  public func write(to writer: inout WireWriter) {
    writer.text8(name)
    writer.u64(version)
    writer.origin(origin)
    writer.u32(number)
    writer.u64(time)
    writer.value(value)
  }
}
