import BindingProtocol

/// Frames in words, for the trace of a history.
enum FrameText {
  static func text(ofPeerFrame frame: [UInt8]) -> String {
    guard let (_, message) = try? PeerMessage.decode(frame) else { return "unreadable" }
    if case .propose(let proposals) = message {
      return "propose "
        + proposals.map { "\($0.topic)#\($0.number) \($0.operations.map(\.verb))" }.joined(separator: " ")
    }
    if case .join(let joins) = message {
      return "join "
        + joins.map { "\($0.name) \($0.epoch >> 32):\($0.version) unacknowledged \($0.unacknowledged)" }.joined(
          separator: " ")
    }
    if case .forward(let forward) = message {
      return "forward \(forward.head.model) of \(forward.head.identity.name) after \(forward.head.record) "
        + forward.proposals.map { "#\($0.number) \($0.operations.map(\.verb))" }.joined(separator: " ")
    }
    return "\(message.kind)"
  }

  private static func text(of outcome: WireOutcome) -> String {
    if case .expected(let next) = outcome.rest { "expected \(next)" } else { "\(outcome.kind)" }
  }

  static func text(ofHubFrame frame: [UInt8]) -> String {
    guard let (_, message) = try? HubMessage.decode(frame) else { return "unreadable" }
    switch message {
    case .outcomes(let outcomes):
      return "outcomes "
        + outcomes.outcomes.map { "\($0.topic)#\($0.number) \(text(of: $0))" }.joined(separator: " ")
    case .commits(let group): return "commits \(group.previous)…\(group.version)"
    case .joined(let joined):
      return "joined \(joined.model) \(joined.version) decided \(joined.lastDecided) follows \(joined.follows)"
    case .catchup(let chunk):
      return "catchup \(chunk.form) \(chunk.previous)…\(chunk.version) decided \(chunk.lastDecided)"
    case .error(let error): return "error \(error.code) \(error.text)"
    case .head(let head): return "head \(head.version)"
    default: return "\(message.kind)"
    }
  }
}
