/// Asks a model's owner to approve a proposal (§9.3): the message `approve`.
public struct ApprovalRequest: WireContent, Hashable {
  /// The receiving session.
  package var session: SessionID
  /// The model's topic.
  package var topic: Topic
  /// The hub's number for this request, repeated in the answer.
  public var token: UInt32
  /// The proposer.
  public var origin: Origin
  /// The proposed values of the fields; nil: deleted.
  public var fields: [ApprovalField]

  package init(session: SessionID, topic: Topic, token: UInt32, origin: Origin, fields: [ApprovalField]) {
    self.session = session
    self.topic = topic
    self.token = token
    self.origin = origin
    self.fields = fields
  }

  package init(from reader: inout WireReader) throws(WireError) {
    session = try reader.u64("session")
    topic = try reader.modelTopic("topic")
    token = try reader.u32("token")
    origin = try reader.origin("origin")
    fields = try reader.elements(try reader.count16("fields", minimum: 5))
  }

  package func write(to writer: inout WireWriter) {
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
  /// The field's name.
  public var name: String
  /// The proposed value; nil: deleted.
  public var value: FieldValue?

  /// Whether it is an element of a list (§6.5), whose name older peers cannot read.
  package var isElement: Bool { ListElements.parts(of: name) != nil }

  package init(name: String, value: FieldValue?) {
    self.name = name
    self.value = value
  }

  package init(from reader: inout WireReader) throws(WireError) {
    name = try reader.fieldName("name")
    value = try reader.value("value")
  }

  package func write(to writer: inout WireWriter) {
    writer.text8(name)
    writer.value(value)
  }
}

/// The owner's answer (§9.3).
package struct Approval: WireContent, Hashable {
  /// The model's topic.
  package var topic: Topic
  /// The token of the request.
  package var token: UInt32
  /// Whether the owner approves.
  package var isAccepted: Bool
  /// The reason for a refusal, for the proposer; at most 1,000 bytes.
  package var text: String

  /// The maximum length of `text`, in bytes.
  package static let maxTextBytes = 1_000

  package init(topic: Topic, token: UInt32, isAccepted: Bool, text: String = "") {
    self.topic = topic
    self.token = token
    self.isAccepted = isAccepted
    self.text = text
  }

  package init(from reader: inout WireReader) throws(WireError) {
    topic = try reader.modelTopic("topic")
    token = try reader.u32("token")
    isAccepted = try reader.flag("accept")
    text = try reader.text16("text")
    if text.utf8.count > Approval.maxTextBytes {
      throw reader.error("text", "has \(text.utf8.count) bytes; at most \(Approval.maxTextBytes) are allowed")
    }
  }

  package func write(to writer: inout WireWriter) {
    writer.u32(topic)
    writer.u32(token)
    writer.u8(isAccepted ? 1 : 0)
    writer.text16(text)
  }
}
