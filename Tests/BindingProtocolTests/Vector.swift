import BindingProtocol

/// A frame with its direction: the content of a vector file.
enum Vector: Equatable {
  case toHub(PeerMessage, session: SessionID, start: StartNumber)
  case toPeer(HubMessage, topic: Topic, start: StartNumber)

  static let toHubName = "peer to hub"
  static let toPeerName = "hub to peer"

  var bytes: [UInt8] {
    switch self {
    case .toHub(let message, let session, let start): message.encode(session: session, start: start)
    case .toPeer(let message, let topic, let start): message.encode(topic: topic, start: start)
    }
  }

  var direction: String {
    if case .toHub = self { Self.toHubName } else { Self.toPeerName }
  }

  var name: String {
    switch self {
    case .toHub(let message, _, _): message.kind.name.description
    case .toPeer(let message, _, _): message.kind.name.description
    }
  }

  /// Decodes a frame sent in `direction`.
  static func decode(_ frame: [UInt8], direction: String) throws(WireError) -> Vector {
    if direction == toHubName {
      let (header, message) = try PeerMessage.decode(frame)
      return .toHub(message, session: header.session, start: header.start)
    }
    let (header, message) = try HubMessage.decode(frame)
    return .toPeer(message, topic: header.topic, start: header.start)
  }

  /// Header and body as JSON, named as in protocol.md.
  var content: JSON {
    switch self {
    case .toHub(let message, let session, let start):
      [
        "header": [
          "kind": .integer(Int64(message.kind.rawValue)), "session": .string(String(session)),
          "start": .integer(Int64(start)),
        ],
        "body": Self.body(message),
      ]
    case .toPeer(let message, let topic, let start):
      [
        "header": [
          "topic": .integer(Int64(topic)), "kind": .integer(Int64(message.kind.rawValue)),
          "start": .integer(Int64(start)),
        ],
        "body": Self.body(message),
      ]
    }
  }

  private static func body(_ message: PeerMessage) -> JSON {
    switch message {
    case .hello(let content): content.content
    case .join(let joins): ["joins": .array(joins.map { $0.content })]
    case .propose(let proposals): ["proposals": .array(proposals.map { $0.content })]
    case .alive(let content): content.content
    case .leave(let content): content.content
    case .ping(let content): content.content
    case .offer(let content): content.content
    case .approval(let content): content.content
    case .awaitApplied(let content): content.content
    case .report(let entries): ["models": .array(entries.map { $0.content })]
    case .verify(let content): content.content
    case .drain(let content): content.content
    case .history(let content): content.content
    case .forward(let content): content.content
    case .counted(let content): content.content
    case .askHeads, .status: .object([])
    }
  }

  private static func body(_ message: HubMessage) -> JSON {
    switch message {
    case .welcome(let content): content.content
    case .topic(let content): content.content
    case .joined(let content): content.content
    case .outcomes(let content): content.content
    case .announce(let content): content.content
    case .heads(let content): content.content
    case .error(let content): content.content
    case .pong(let content): content.content
    case .askOffer(let content): content.content
    case .statusReport(let content): content.content
    case .approve(let content): content.content
    case .rights(let content): content.content
    case .keys(let content): content.content
    case .upstream(let content): content.content
    case .hubs(let content): content.content
    case .count(let content): content.content
    case .awaited(let content): content.content
    case .commits(let content): content.content
    case .catchup(let content): content.content
    case .head(let content): content.content
    case .heartbeat(let content): content.content
    case .ask(let content): content.content
    case .past(let content): content.content
    }
  }

  /// The reverse of `content`. Returns nil, with the reasons, if something is missing.
  static func read(_ content: JSON, problems: inout [String]) -> Vector? {
    let body = content["body"] ?? .null
    let header = content["header"] ?? .null
    guard let kind = header["kind"]?.int64.flatMap({ UInt8(exactly: $0) }),
      let start = header["start"]?.int64.flatMap({ UInt32(exactly: $0) })
    else {
      problems.append("the header has no kind or start")
      return nil
    }
    if let kind = PeerMessageKind(rawValue: kind) {
      let session = header["session"]?.string.flatMap { UInt64($0) } ?? 0
      return .toHub(message(kind, body, &problems), session: session, start: start)
    }
    guard let kind = HubMessageKind(rawValue: kind), let topic = header["topic"]?.int64 else {
      problems.append("the header has no known kind, or no topic")
      return nil
    }
    return .toPeer(message(kind, body, &problems), topic: Topic(topic), start: start)
  }

  private static func message(_ kind: PeerMessageKind, _ body: JSON, _ problems: inout [String]) -> PeerMessage {
    var list = ContentMap(reading: body)
    switch kind {
    case .hello: return .hello(.read(body, problems: &problems))
    case .join:
      var joins: [Join] = []
      list.list("joins", &joins)
      problems += list.problems
      return .join(joins)
    case .propose:
      var proposals: [NumberedProposal] = []
      list.list("proposals", &proposals)
      problems += list.problems
      return .propose(proposals)
    case .alive: return .alive(.read(body, problems: &problems))
    case .leave: return .leave(.read(body, problems: &problems))
    case .askHeads: return .askHeads
    case .ping: return .ping(.read(body, problems: &problems))
    case .offer: return .offer(.read(body, problems: &problems))
    case .status: return .status
    case .approval: return .approval(.read(body, problems: &problems))
    case .awaitApplied: return .awaitApplied(.read(body, problems: &problems))
    case .report:
      var entries: [AppliedEntry] = []
      list.list("models", &entries)
      problems += list.problems
      return .report(entries)
    case .verify: return .verify(.read(body, problems: &problems))
    case .drain: return .drain(.read(body, problems: &problems))
    case .history: return .history(.read(body, problems: &problems))
    case .forward: return .forward(.read(body, problems: &problems))
    case .counted: return .counted(.read(body, problems: &problems))
    }
  }

  private static func message(_ kind: HubMessageKind, _ body: JSON, _ problems: inout [String]) -> HubMessage {
    switch kind {
    case .welcome: .welcome(.read(body, problems: &problems))
    case .topic: .topic(.read(body, problems: &problems))
    case .joined: .joined(.read(body, problems: &problems))
    case .outcomes: .outcomes(.read(body, problems: &problems))
    case .announce: .announce(.read(body, problems: &problems))
    case .heads: .heads(.read(body, problems: &problems))
    case .error: .error(.read(body, problems: &problems))
    case .pong: .pong(.read(body, problems: &problems))
    case .askOffer: .askOffer(.read(body, problems: &problems))
    case .statusReport: .statusReport(.read(body, problems: &problems))
    case .approve: .approve(.read(body, problems: &problems))
    case .rights: .rights(.read(body, problems: &problems))
    case .keys: .keys(.read(body, problems: &problems))
    case .upstream: .upstream(.read(body, problems: &problems))
    case .hubs: .hubs(.read(body, problems: &problems))
    case .count: .count(.read(body, problems: &problems))
    case .awaited: .awaited(.read(body, problems: &problems))
    case .commits: .commits(.read(body, problems: &problems))
    case .catchup: .catchup(.read(body, problems: &problems))
    case .head: .head(.read(body, problems: &problems))
    case .heartbeat: .heartbeat(.read(body, problems: &problems))
    case .ask: .ask(.read(body, problems: &problems))
    case .past: .past(.read(body, problems: &problems))
    }
  }
}
