import BindingProtocol

/// Congested request connections, whose peers read too slowly. They get no more commits, which would only grow the
/// queue. Once a connection is writable it gets each model's head; the peer finds the gap and asks for one delta of
/// all it missed.
struct CongestedConnections {
  /// By connection: the models whose messages it missed.
  private var missed: [ConnectionID: Set<Topic>] = [:]

  func contains(_ session: SessionID, _ sessions: SessionTable) -> Bool {
    !missed.isEmpty && sessions[session].map { missed[$0.connection] != nil } == true
  }

  /// A message with a model's commits or head was not sent.
  mutating func leftOut(_ frame: UnsafeRawBufferPointer, for connection: ConnectionID, _ hub: inout HubContext) {
    var reader = WireReader(frame)
    guard let header = try? HubHeader(from: &reader), hub.sessions.byConnection[connection] != nil else { return }
    hub.counters.leftOut += 1
    missed[connection, default: []].insert(header.topic)
  }

  mutating func add(_ connection: ConnectionID) { if missed[connection] == nil { missed[connection] = [] } }

  mutating func forget(_ connection: ConnectionID) { missed[connection] = nil }

  mutating func becameWritable(_ connection: ConnectionID, _ hub: inout HubContext, _ output: inout HubOutput) {
    guard let topics = missed.removeValue(forKey: connection) else { return }
    let joined = (hub.sessions.byConnection[connection] ?? []).compactMap { hub.sessions[$0]?.joins }
    for topic in topics.sorted() where joined.contains(where: { $0[topic]?.delivery != nil }) {
      guard let index = hub.models.index(of: topic) else { continue }
      let head = hub.models[index].head(ifStored: hub.epoch)
      output.send(.head(head), to: .connection(connection), topic: topic, start: hub.start)
    }
  }
}

extension HubMachine {
  /// A message with a model's commits or head was not sent, because the connection is congested.
  package mutating func leftOut(_ frame: UnsafeRawBufferPointer, for connection: ConnectionID) {
    publisher.congested.leftOut(frame, for: connection, &hub)
  }

  /// A connection is congested: its catch-ups pause until it is writable.
  package mutating func becameCongested(_ connection: ConnectionID) {
    if hasSession(on: connection) { publisher.congested.add(connection) }
  }

  /// The messages that waited for a connection have left.
  package mutating func becameWritable(_ connection: ConnectionID, into output: inout HubOutput) {
    publisher.congested.becameWritable(connection, &hub, &output)
  }
}

extension HubHeader {
  /// Whether a frame tells a model's followers of its state, rather than answering one peer.
  static func isModelUpdate(_ frame: UnsafeRawBufferPointer) -> Bool {
    guard frame.count >= HubHeader.byteCount else { return false }
    let kind = frame[4]
    return kind == HubMessageKind.commits.rawValue || kind == HubMessageKind.head.rawValue
  }
}
