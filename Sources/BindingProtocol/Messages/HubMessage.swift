/// The header of every frame from the hub.
package struct HubHeader: Sendable, Hashable {
  /// The model's topic, or one of `Topics`.
  package var topic: Topic
  /// The kind of the message.
  package var kind: HubMessageKind
  /// The hub's start number.
  package var start: StartNumber

  package init(topic: Topic, kind: HubMessageKind, start: StartNumber) {
    self.topic = topic
    self.kind = kind
    self.start = start
  }

  /// The length of a header, in bytes.
  package static let byteCount = 9

  /// Reads the header and leaves `reader` at the body. Later errors name the kind.
  package init(from reader: inout WireReader) throws(WireError) {
    topic = try reader.u32("topic").byteSwapped
    let number = try reader.u8("kind")
    guard let kind = HubMessageKind(rawValue: number) else {
      throw reader.error("kind", "is \(number), not a kind of hub message", code: .unknownKind)
    }
    reader.message = kind.name
    self.kind = kind
    start = try reader.u32("start")
    if start == 0 { throw reader.error("start", "is 0") }
    if let fixed = kind.fixedTopic {
      if topic != fixed { throw reader.error("topic", "is \(topic), must be \(fixed)") }
    } else if !Topics.isModel(topic) {
      throw reader.error("topic", "is \(topic); a model's is at least \(Topics.firstModel)")
    }
  }

  /// Appends the header.
  package func write(to writer: inout WireWriter) {
    writer.topic(topic)
    writer.u8(kind.rawValue)
    writer.u32(start)
  }
}

/// A message from the hub to a peer.
package enum HubMessage: Sendable, Hashable {
  case welcome(Welcome)
  case topic(TopicAssigned)
  case joined(Joined)
  case outcomes(Outcomes)
  case announce(Announce)
  case heads(HeadsAnswer)
  case error(ErrorMessage)
  case pong(Pong)
  case askOffer(AskOffer)
  case statusReport(StatusReport)
  case awaited(Awaited)
  case approve(ApprovalRequest)
  case rights(SessionRights)
  case keys(AnnouncedKeys)
  case commits(CommitGroup)
  case catchup(CatchupChunk)
  case head(Head)
  case heartbeat(Heartbeat)
  case ask(AskApplied)
  case past(PastPage)
  case upstream(UpstreamState)
  case hubs(OtherHubs)
  case count(CountApplied)

  /// The kind of the message.
  package var kind: HubMessageKind {
    switch self {
    case .welcome: .welcome
    case .topic: .topic
    case .joined: .joined
    case .outcomes: .outcomes
    case .announce: .announce
    case .heads: .heads
    case .error: .error
    case .pong: .pong
    case .askOffer: .askOffer
    case .statusReport: .statusReport
    case .awaited: .awaited
    case .approve: .approve
    case .rights: .rights
    case .keys: .keys
    case .commits: .commits
    case .catchup: .catchup
    case .head: .head
    case .heartbeat: .heartbeat
    case .ask: .ask
    case .past: .past
    case .upstream: .upstream
    case .hubs: .hubs
    case .count: .count
    }
  }

  private var content: any WireContent {
    switch self {
    case .welcome(let content): content
    case .topic(let content): content
    case .joined(let content): content
    case .outcomes(let content): content
    case .announce(let content): content
    case .heads(let content): content
    case .error(let content): content
    case .pong(let content): content
    case .askOffer(let content): content
    case .statusReport(let content): content
    case .awaited(let content): content
    case .approve(let content): content
    case .rights(let content): content
    case .keys(let content): content
    case .commits(let content): content
    case .catchup(let content): content
    case .head(let content): content
    case .heartbeat(let content): content
    case .ask(let content): content
    case .past(let content): content
    case .upstream(let content): content
    case .hubs(let content): content
    case .count(let content): content
    }
  }

  /// Reads a whole frame.
  package static func decode(
    _ frame: UnsafeRawBufferPointer
  ) throws(WireError) -> (header: HubHeader, message: HubMessage) {
    var reader = WireReader(frame)
    let header = try HubHeader(from: &reader)
    return (header, try HubMessage(header.kind, from: &reader))
  }

  /// Reads a whole frame.
  package static func decode(_ frame: [UInt8]) throws(WireError) -> (header: HubHeader, message: HubMessage) {
    try frame.withUnsafeBytes { buffer in
      Result { () throws(WireError) in try decode(buffer) }
    }.get()
  }

  /// Reads the body of a frame of this kind, to its end.
  package init(_ kind: HubMessageKind, from reader: inout WireReader) throws(WireError) {
    switch kind {
    case .welcome: self = .welcome(try Welcome(from: &reader))
    case .topic: self = .topic(try TopicAssigned(from: &reader))
    case .joined: self = .joined(try Joined(from: &reader))
    case .outcomes: self = .outcomes(try Outcomes(from: &reader))
    case .announce: self = .announce(try Announce(from: &reader))
    case .heads: self = .heads(try HeadsAnswer(from: &reader))
    case .error: self = .error(try ErrorMessage(from: &reader))
    case .pong: self = .pong(try Pong(from: &reader))
    case .askOffer: self = .askOffer(try AskOffer(from: &reader))
    case .statusReport: self = .statusReport(try StatusReport(from: &reader))
    case .awaited: self = .awaited(try Awaited(from: &reader))
    case .approve: self = .approve(try ApprovalRequest(from: &reader))
    case .rights: self = .rights(try SessionRights(from: &reader))
    case .keys: self = .keys(try AnnouncedKeys(from: &reader))
    case .commits: self = .commits(try CommitGroup(from: &reader))
    case .catchup: self = .catchup(try CatchupChunk(from: &reader))
    case .head: self = .head(try Head(from: &reader))
    case .heartbeat: self = .heartbeat(try Heartbeat(from: &reader))
    case .ask: self = .ask(try AskApplied(from: &reader))
    case .past: self = .past(try PastPage(from: &reader))
    case .upstream: self = .upstream(try UpstreamState(from: &reader))
    case .hubs: self = .hubs(try OtherHubs(from: &reader))
    case .count: self = .count(try CountApplied(from: &reader))
    }
    try reader.end()
  }

  /// Appends the whole frame. `topic` is the model's topic; a message that concerns no model ignores it.
  package func write(to writer: inout WireWriter, topic: Topic = Topics.none, start: StartNumber) {
    HubHeader(topic: kind.fixedTopic ?? topic, kind: kind, start: start).write(to: &writer)
    content.write(to: &writer)
  }

  /// The whole frame. `topic` is the model's topic; a message that concerns no model ignores it.
  package func encode(topic: Topic = Topics.none, start: StartNumber) -> [UInt8] {
    var writer = WireWriter()
    write(to: &writer, topic: topic, start: start)
    return writer.bytes
  }
}
