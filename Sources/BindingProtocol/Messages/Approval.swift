/// The hub asks a model's owner whether a proposal may be carried out (§9.3): the message `approve`.
public struct ApprovalRequest: WireContent, Hashable {
  public var session: SessionID
  public var topic: Topic
  /// The hub's number for this question; the answer bears it.
  public var token: UInt32
  /// Who proposes.
  public var origin: Origin
  /// What the proposal makes of its fields; nil: deleted.
  public var fields: [ApprovalField]

  public init(session: SessionID, topic: Topic, token: UInt32, origin: Origin, fields: [ApprovalField]) {
    self.session = session
    self.topic = topic
    self.token = token
    self.origin = origin
    self.fields = fields
  }

  public init(from reader: inout WireReader) throws(WireError) {
    session = try reader.u64("session")
    topic = try reader.modelTopic("topic")
    token = try reader.u32("token")
    origin = try reader.origin("origin")
    fields = try reader.elements(try reader.count16("fields", minimum: 5))
  }

  public func write(to writer: inout WireWriter) {
    writer.u64(session)
    writer.u32(topic)
    writer.u32(token)
    writer.origin(origin)
    writer.count16(fields.count)
    writer.elements(fields)
  }
}

/// One field of a proposal that needs approval.
public struct ApprovalField: WireContent, Hashable {
  public var name: String
  public var value: FieldValue?

  public init(name: String, value: FieldValue?) {
    self.name = name
    self.value = value
  }

  public init(from reader: inout WireReader) throws(WireError) {
    name = try reader.fieldName("name")
    value = try reader.value("value")
  }

  public func write(to writer: inout WireWriter) {
    writer.text8(name)
    writer.value(value)
  }
}

/// The owner's answer (§9.3).
public struct Approval: WireContent, Hashable {
  public var topic: Topic
  public var token: UInt32
  public var isAccepted: Bool
  /// Why not, for whoever proposed; at most 1,000 bytes.
  public var text: String

  /// Bytes of `text`, at most.
  public static let maxTextBytes = 1_000

  public init(topic: Topic, token: UInt32, isAccepted: Bool, text: String = "") {
    self.topic = topic
    self.token = token
    self.isAccepted = isAccepted
    self.text = text
  }

  public init(from reader: inout WireReader) throws(WireError) {
    topic = try reader.modelTopic("topic")
    token = try reader.u32("token")
    isAccepted = try reader.flag("accept")
    text = try reader.text16("text")
    if text.utf8.count > Approval.maxTextBytes {
      throw reader.error("text", "has \(text.utf8.count) bytes; at most \(Approval.maxTextBytes) are allowed")
    }
  }

  public func write(to writer: inout WireWriter) {
    writer.u32(topic)
    writer.u32(token)
    writer.u8(isAccepted ? 1 : 0)
    writer.text16(text)
  }
}
