/// Reports that a peer is alive, and its progress (§4.3).
public struct Alive: WireContent, Hashable {
  /// The number of the last heartbeat received; 0 before the first.
  public var heartbeat: UInt64
  /// The models that changed since the last `alive`.
  public var entries: [AliveEntry]

  /// Memberwise initialiser.
  public init(heartbeat: UInt64, entries: [AliveEntry] = []) {
    self.heartbeat = heartbeat
    self.entries = entries
  }

  public init(from reader: inout WireReader) throws(WireError) {
    heartbeat = try reader.u64("heartbeat")
    entries = try reader.elements(try reader.count16("entries", minimum: 16))
  }

  public func write(to writer: inout WireWriter) {
    writer.u64(heartbeat)
    writer.count16(entries.count)
    writer.elements(entries)
  }
}

/// A peer's progress in one model.
public struct AliveEntry: WireContent, Hashable {
  /// The model's topic.
  public var topic: Topic
  /// Up to this number the peer has seen all outcomes of its proposals.
  public var confirmed: ProposalNumber
  /// The version that the peer has applied.
  public var applied: Version

  /// Memberwise initialiser.
  public init(topic: Topic, confirmed: ProposalNumber, applied: Version) {
    self.topic = topic
    self.confirmed = confirmed
    self.applied = applied
  }

  public init(from reader: inout WireReader) throws(WireError) {
    topic = try reader.modelTopic("topic")
    confirmed = try reader.u32("confirmed")
    applied = try reader.u64("applied")
  }

  public func write(to writer: inout WireWriter) {
    writer.u32(topic)
    writer.u32(confirmed)
    writer.u64(applied)
  }
}

/// Leaves models, or ends the session if there are none (§4.3).
public struct Leave: WireContent, Hashable {
  /// The topics of the models to leave.
  public var topics: [Topic]

  /// Memberwise initialiser.
  public init(topics: [Topic] = []) { self.topics = topics }

  public init(from reader: inout WireReader) throws(WireError) {
    topics = []
    for _ in 0..<(try reader.count16("topics", minimum: 4)) { topics.append(try reader.modelTopic("topics")) }
  }

  public func write(to writer: inout WireWriter) {
    writer.count16(topics.count)
    for topic in topics { writer.u32(topic) }
  }
}

/// Requests a `pong` (§4.3).
public struct Ping: WireContent, Hashable {
  /// Repeated in the answer.
  public var token: UInt64

  /// Memberwise initialiser.
  public init(token: UInt64) { self.token = token }

  public init(from reader: inout WireReader) throws(WireError) { token = try reader.u64("token") }

  public func write(to writer: inout WireWriter) { writer.u64(token) }
}

/// The answer to a ping, with its token (§4.3).
public struct Pong: WireContent, Hashable {
  /// The receiving session.
  public var session: SessionID
  /// The token of the ping.
  public var token: UInt64

  /// Memberwise initialiser.
  public init(session: SessionID, token: UInt64) {
    self.session = session
    self.token = token
  }

  public init(from reader: inout WireReader) throws(WireError) {
    session = try reader.u64("session")
    token = try reader.u64("token")
  }

  public func write(to writer: inout WireWriter) {
    writer.u64(session)
    writer.u64(token)
  }
}

/// Reports that the hub could not do what a session requested (§4.3).
public struct HubError: WireContent, Hashable {
  /// 0 if the rejected frame named none.
  public var session: SessionID
  /// The reason as a code.
  public var code: ErrorCode
  /// Whether the session has ended.
  public var isFatal: Bool
  /// The reason as a text.
  public var text: String

  /// Memberwise initialiser.
  public init(session: SessionID, code: ErrorCode, isFatal: Bool, text: String) {
    self.session = session
    self.code = code
    self.isFatal = isFatal
    self.text = text
  }

  public init(from reader: inout WireReader) throws(WireError) {
    session = try reader.u64("session")
    code = try reader.choice("code", try reader.u16("code"), "1 to 13")
    isFatal = try reader.flag("fatal")
    text = try reader.text16("text")
  }

  public func write(to writer: inout WireWriter) {
    writer.u64(session)
    writer.u16(code.rawValue)
    writer.flag(isFatal)
    writer.text16(text)
  }
}

extension HubError {
  /// The model or prefix that was not joined, if that is all the error reports: `text` begins with it and a colon.
  /// The session continues.
  public var refusedJoin: String? {
    guard !isFatal, code == .badName || code == .overLimit || code == .tooManyTopics else { return nil }
    return text.firstRange(of: ": ").map { String(text[..<$0.lowerBound]) }
  }
}

/// The hub's counters and phase, as JSON (§4.3).
public struct StatusReport: WireContent, Hashable {
  /// The session of the `status` request; may be 0.
  public var session: SessionID
  /// The report.
  public var json: FieldValue

  /// Memberwise initialiser.
  public init(session: SessionID, json: FieldValue) {
    self.session = session
    self.json = json
  }

  public init(from reader: inout WireReader) throws(WireError) {
    session = try reader.u64("session")
    guard let value = try reader.value("json") else { throw reader.error("json", "is missing") }
    json = value
  }

  public func write(to writer: inout WireWriter) {
    writer.u64(session)
    writer.value(json)
  }
}
