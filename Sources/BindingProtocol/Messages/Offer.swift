/// Asks a peer for its replica of a model (§7).
package struct AskOffer: WireContent, Hashable {
  /// The receiving session.
  package var session: SessionID
  /// The hub's number for this request, repeated in the offer.
  package var request: UInt32
  /// The model's topic.
  package var topic: Topic

  package init(session: SessionID, request: UInt32, topic: Topic) {
    self.session = session
    self.request = request
    self.topic = topic
  }

  package init(from reader: inout WireReader) throws(WireError) {
    session = try reader.u64("session")
    request = try reader.u32("request")
    topic = try reader.modelTopic("topic")
  }

  package func write(to writer: inout WireWriter) {
    writer.u64(session)
    writer.u32(request)
    writer.u32(topic)
  }
}

/// A part of a peer's replica, for a hub that lost its own (§7).
package struct Offer: WireContent, Hashable {
  /// The hub's number for the request.
  package var request: UInt32
  /// The model's topic.
  package var topic: Topic
  /// The epoch of the replica.
  package var epoch: Epoch
  /// The version of the replica.
  package var version: Version
  /// Counts up from 0.
  package var chunk: UInt32
  /// Whether this is the last chunk.
  package var isLast: Bool
  /// The fields in this chunk.
  package var fields: [OfferedField]
  /// The highest number that the peer has seen of each writer; nil: unspecified (capability `rescue`).
  package var numbers: [SeenNumber]?

  package init(
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

  package init(from reader: inout WireReader) throws(WireError) {
    request = try reader.u32("request")
    topic = try reader.modelTopic("topic")
    epoch = try reader.u64("epoch")
    version = try reader.u64("version")
    chunk = try reader.u32("chunk")
    isLast = try reader.flag("last")
    fields = try reader.elements(try reader.count32("fields", minimum: 35))
    numbers = reader.remaining == 0 ? nil : try reader.elements(try reader.count32("numbers", minimum: 12))
  }

  package func write(to writer: inout WireWriter) {
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
package struct SeenNumber: WireContent, Hashable {
  /// The writer's tag.
  package var tag: Tag
  /// The proposal's number.
  package var number: ProposalNumber

  package init(tag: Tag, number: ProposalNumber) {
    self.tag = tag
    self.number = number
  }

  package init(from reader: inout WireReader) throws(WireError) {
    tag = try reader.tag("tag")
    number = try reader.u32("number")
  }

  package func write(to writer: inout WireWriter) {
    writer.u64(tag.rawValue)
    writer.u32(number)
  }

  /// The maximum number of entries that a peer sends and that a hub accepts from it.
  package static let maxCount = 4_096
}

/// One field of an offered replica.
package struct OfferedField: WireContent, Hashable {
  /// The field's name.
  package var name: String
  /// The version of the last commit that wrote it.
  package var version: Version
  /// The writer of that commit, as the offering peer claims; without its user, which no peer can vouch for.
  package var origin: Origin
  /// The number of its proposal.
  package var number: ProposalNumber
  /// The commit's wall time, milliseconds since 1970.
  package var time: UInt64
  /// nil: deleted.
  package var value: FieldValue?

  package init(
    name: String, version: Version, origin: Origin, number: ProposalNumber, time: UInt64, value: FieldValue?
  ) {
    self.name = name
    self.version = version
    self.origin = origin
    self.number = number
    self.time = time
    self.value = value
  }

  package init(from reader: inout WireReader) throws(WireError) {
    name = try reader.fieldName("name")
    version = try reader.u64("version")
    origin = Origin(tag: try reader.tag("origin"), name: try reader.text8("origin"))
    number = try reader.u32("number")
    time = try reader.u64("time")
    value = try reader.value("value")
  }

  package func write(to writer: inout WireWriter) {
    writer.text8(name)
    writer.u64(version)
    writer.u64(origin.tag.rawValue)
    writer.text8(origin.name)
    writer.u32(number)
    writer.u64(time)
    writer.value(value)
  }
}
