/// Reports that a peer is alive, and its progress (§4.3).
package struct Alive: WireContent, Hashable {
  /// The number of the last heartbeat received; 0 before the first.
  package var heartbeat: UInt64
  /// The models that changed since the last `alive`.
  package var entries: [AliveEntry]

  package init(heartbeat: UInt64, entries: [AliveEntry] = []) {
    self.heartbeat = heartbeat
    self.entries = entries
  }

  package init(from reader: inout WireReader) throws(WireError) {
    heartbeat = try reader.u64("heartbeat")
    entries = try reader.elements(try reader.count16("entries", minimum: 16))
  }

  package func write(to writer: inout WireWriter) {
    writer.u64(heartbeat)
    writer.count16(entries.count)
    writer.elements(entries)
  }
}

/// A peer's progress in one model.
package struct AliveEntry: WireContent, Hashable {
  /// The model's topic.
  package var topic: Topic
  /// Up to this number the peer has seen all outcomes of its proposals.
  package var confirmed: ProposalNumber
  /// The version that the peer has applied.
  package var applied: Version

  package init(topic: Topic, confirmed: ProposalNumber, applied: Version) {
    self.topic = topic
    self.confirmed = confirmed
    self.applied = applied
  }

  package init(from reader: inout WireReader) throws(WireError) {
    topic = try reader.modelTopic("topic")
    confirmed = try reader.u32("confirmed")
    applied = try reader.u64("applied")
  }

  package func write(to writer: inout WireWriter) {
    writer.u32(topic)
    writer.u32(confirmed)
    writer.u64(applied)
  }
}

/// Leaves models, or ends the session if there are none (§4.3).
package struct Leave: WireContent, Hashable {
  /// The topics of the models to leave.
  package var topics: [Topic]

  package init(topics: [Topic] = []) { self.topics = topics }

  package init(from reader: inout WireReader) throws(WireError) {
    topics = []
    for _ in 0..<(try reader.count16("topics", minimum: 4)) { topics.append(try reader.modelTopic("topics")) }
  }

  package func write(to writer: inout WireWriter) {
    writer.count16(topics.count)
    for topic in topics { writer.u32(topic) }
  }
}

/// Requests a `pong` (§4.3).
package struct Ping: WireContent, Hashable {
  /// Repeated in the answer.
  package var token: UInt64

  package init(token: UInt64) { self.token = token }

  package init(from reader: inout WireReader) throws(WireError) { token = try reader.u64("token") }

  package func write(to writer: inout WireWriter) { writer.u64(token) }
}

/// The answer to a ping, with its token (§4.3).
package struct Pong: WireContent, Hashable {
  /// The receiving session.
  package var session: SessionID
  /// The token of the ping.
  package var token: UInt64

  package init(session: SessionID, token: UInt64) {
    self.session = session
    self.token = token
  }

  package init(from reader: inout WireReader) throws(WireError) {
    session = try reader.u64("session")
    token = try reader.u64("token")
  }

  package func write(to writer: inout WireWriter) {
    writer.u64(session)
    writer.u64(token)
  }
}

/// Reports that the hub could not do what a session requested (§4.3).
package struct ErrorMessage: WireContent, Hashable {
  /// 0 if the rejected frame named none.
  package var session: SessionID
  /// The reason as a code.
  package var code: ErrorCode
  /// Whether the session has ended.
  package var isFatal: Bool
  /// The reason as a text.
  package var text: String

  package init(session: SessionID, code: ErrorCode, isFatal: Bool, text: String) {
    self.session = session
    self.code = code
    self.isFatal = isFatal
    self.text = text
  }

  package init(from reader: inout WireReader) throws(WireError) {
    session = try reader.u64("session")
    code = try reader.choice("code", try reader.u16("code"), "1 to 13")
    isFatal = try reader.flag("fatal")
    text = try reader.text16("text")
  }

  package func write(to writer: inout WireWriter) {
    writer.u64(session)
    writer.u16(code.rawValue)
    writer.flag(isFatal)
    writer.text16(text)
  }
}

extension ErrorMessage {
  /// The model or prefix that was not joined, if that is all the error reports: `text` begins with it and a colon.
  /// The session continues.
  package var refusedJoin: String? {
    guard !isFatal, [.badName, .overLimit, .tooManyTopics, .notPermitted].contains(code) else { return nil }
    return text.firstRange(of: ": ").map { String(text[..<$0.lowerBound]) }
  }
}

/// The hub's counters and phase, as JSON (§4.3).
package struct StatusReport: WireContent, Hashable {
  /// The session of the `status` request; may be 0.
  package var session: SessionID
  /// The report.
  package var json: FieldValue

  package init(session: SessionID, json: FieldValue) {
    self.session = session
    self.json = json
  }

  package init(from reader: inout WireReader) throws(WireError) {
    session = try reader.u64("session")
    guard let value = try reader.value("json") else { throw reader.error("json", "is missing") }
    json = value
  }

  package func write(to writer: inout WireWriter) {
    writer.u64(session)
    writer.value(json)
  }
}
