/// A field, referred to by the hub's id if the peer knows it, else by name.
package enum FieldReference: WireContent, Hashable {
  case id(FieldID)
  case name(String)

  package init(from reader: inout WireReader) throws(WireError) {
    let id = try reader.u32("fieldref")
    self = id == FieldID.max ? .name(try reader.fieldName("fieldref")) : .id(id)
  }

  package func write(to writer: inout WireWriter) {
    switch self {
    case .id(let id): writer.u32(id)
    case .name(let name):
      writer.u32(FieldID.max)
      writer.text8(name)
    }
  }
}

/// A proposal on the wire (§6.1); `propose` carries a list of them.
package struct NumberedProposal: WireContent, Hashable {
  /// The model's topic.
  package var topic: Topic
  /// The proposal's number.
  package var number: ProposalNumber
  /// Up to this number the peer has seen all outcomes in this model.
  package var confirmed: ProposalNumber
  /// The hub must not apply it any more; if it already has, it reports the outcome.
  package var isVoid: Bool
  /// It was first sent in an earlier epoch, in which it may have been applied.
  package var isEarlier: Bool
  /// The hops of the proposal.
  package var hops: UInt8
  /// Not interpreted by the hub.
  package var metadata: [MetadataEntry]
  /// The conditions; all must hold.
  package var conditions: [WireCondition]
  /// The operations, in order.
  package var operations: [WireOperation]

  package init(
    topic: Topic, number: ProposalNumber, confirmed: ProposalNumber = 0, isVoid: Bool = false,
    isEarlier: Bool = false, hops: UInt8 = 0, metadata: [MetadataEntry] = [], conditions: [WireCondition] = [],
    operations: [WireOperation]
  ) {
    self.topic = topic
    self.number = number
    self.confirmed = confirmed
    self.isVoid = isVoid
    self.isEarlier = isEarlier
    self.hops = hops
    self.metadata = metadata
    self.conditions = conditions
    self.operations = operations
  }

  package init(from reader: inout WireReader) throws(WireError) {
    topic = try reader.modelTopic("topic")
    number = try reader.proposalNumber("number")
    confirmed = try reader.u32("confirmed")
    let flags = try reader.bits("flags", known: NumberedProposal.knownFlags)
    isVoid = flags & NumberedProposal.void != 0
    isEarlier = flags & NumberedProposal.earlier != 0
    hops = try reader.u8("hops")
    metadata = try reader.elements(try reader.count8("metadata", minimum: 3))
    conditions = try reader.elements(try reader.count8("conditions", minimum: 20))
    operations = try reader.elements(try reader.count16("operations", minimum: 9))
  }

  package func write(to writer: inout WireWriter) {
    NumberedProposal.writeHead(
      topic, number, confirmed: confirmed, isVoid: isVoid, isEarlier: isEarlier, hops: hops, to: &writer)
    writer.count8(metadata.count)
    writer.elements(metadata)
    writer.count8(conditions.count)
    writer.elements(conditions)
    writer.count16(operations.count)
    writer.elements(operations)
  }

  fileprivate static func writeHead(
    _ topic: Topic, _ number: ProposalNumber, confirmed: ProposalNumber, isVoid: Bool, isEarlier: Bool, hops: UInt8,
    to writer: inout WireWriter
  ) {
    writer.u32(topic)
    writer.u32(number)
    writer.u32(confirmed)
    writer.u8((isVoid ? void : 0) | (isEarlier ? earlier : 0))
    writer.u8(hops)
  }

  static let void: UInt8 = 1
  static let earlier: UInt8 = 2
  static let knownFlags: UInt8 = 3

  /// The length of a proposal without metadata, conditions and operations, in bytes.
  static let minimumBytes = 18
}

/// Writes the frame of a `propose` part by part, without intermediate values: for each proposal `begin`, its
/// conditions, `beginOperations`, its operations; finally `finish`.
package struct ProposalsWriter: Sendable {
  private var writer = WireWriter()
  private let countOffset: Int
  /// Proposals begun so far.
  package private(set) var count = 0

  /// Begins the frame.
  package init(session: SessionID, start: StartNumber) {
    PeerHeader(kind: .propose, session: session, start: start).write(to: &writer)
    countOffset = writer.count
    writer.u16(0)
  }

  /// Begins a proposal.
  /// - Parameter conditions: the number of conditions that follow.
  package mutating func begin(
    _ topic: Topic, _ number: ProposalNumber, confirmed: ProposalNumber, isVoid: Bool, isEarlier: Bool = false,
    hops: UInt8, metadata: [MetadataEntry], conditions: Int
  ) {
    count += 1
    NumberedProposal.writeHead(
      topic, number, confirmed: confirmed, isVoid: isVoid, isEarlier: isEarlier, hops: hops, to: &writer)
    writer.count8(metadata.count)
    writer.elements(metadata)
    writer.count8(conditions)
  }

  /// Adds a condition of the current proposal.
  package mutating func add(_ condition: WireCondition) { condition.write(to: &writer) }

  /// Ends the conditions of the current proposal.
  /// - Parameter count: the number of operations that follow.
  package mutating func beginOperations(_ count: Int) { writer.count16(count) }

  /// Adds an operation of the current proposal.
  package mutating func add(_ verb: Verb, _ field: FieldReference, _ value: FieldValue?) {
    WireOperation(verb: verb, field: field, value: value).write(to: &writer)
  }

  /// The whole frame.
  package consuming func finish() -> [UInt8] {
    writer.patch16(at: countOffset, UInt16(checked: count))
    return writer.takeBytes()
  }
}

/// A condition on the wire.
package struct WireCondition: WireContent, Hashable {
  /// The epoch of the log.
  package var epoch: Epoch
  /// The version since which the field must be unchanged.
  package var version: Version
  /// The field.
  package var field: FieldReference

  package init(epoch: Epoch, version: Version, field: FieldReference) {
    self.epoch = epoch
    self.version = version
    self.field = field
  }

  package init(from reader: inout WireReader) throws(WireError) {
    epoch = try reader.u64("conditions")
    version = try reader.u64("conditions")
    field = try FieldReference(from: &reader)
  }

  package func write(to writer: inout WireWriter) {
    writer.u64(epoch)
    writer.u64(version)
    field.write(to: &writer)
  }
}

/// An operation on the wire.
package struct WireOperation: WireContent, Hashable {
  /// The operation.
  package var verb: Verb
  /// The field; `.id(0)` for `clear`.
  package var field: FieldReference
  /// nil for `delete` and `clear`.
  package var value: FieldValue?

  package init(verb: Verb, field: FieldReference, value: FieldValue?) {
    self.verb = verb
    self.field = field
    self.value = value
  }

  package init(from reader: inout WireReader) throws(WireError) {
    verb = try reader.choice("verb", try reader.u8("verb"), "0 to 10")
    field = try FieldReference(from: &reader)
    value = try reader.value("value")
  }

  package func write(to writer: inout WireWriter) {
    writer.u8(verb.rawValue)
    field.write(to: &writer)
    writer.value(value)
  }
}

extension WireReader {
  /// The number of a proposal, at least 1.
  @inlinable
  mutating func proposalNumber(_ place: StaticString) throws(WireError) -> ProposalNumber {
    let number = try u32(place)
    if number == 0 { throw error(place, "is 0; numbers begin with 1") }
    return number
  }
}
