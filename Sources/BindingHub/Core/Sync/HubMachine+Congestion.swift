import BindingProtocol

/// Request connections whose peers read too slowly. They get no more commits, for those would only grow the queue; once
/// there is room they are told each model's head, find the gap, and ask for one delta that folds all they missed.
extension HubMachine {
  /// A message of a model's commits, or its head, was not sent: the connection is behind.
  public mutating func leftOut(_ frame: UnsafeRawBufferPointer, for connection: ConnectionID) {
    var reader = WireReader(frame)
    guard let header = try? HubHeader(from: &reader), sessions.byConnection[connection] != nil else { return }
    sequencer.counters.leftOut += 1
    congestedConnections[connection, default: []].insert(header.topic)
  }

  /// Messages wait for room at a connection: until there is, it is told no more of its catch-ups.
  public mutating func becameCongested(_ connection: ConnectionID) {
    guard congestedConnections[connection] == nil, sessions.byConnection[connection] != nil else { return }
    congestedConnections[connection] = []
  }

  /// What had waited for a connection has left.
  public mutating func becameWritable(_ connection: ConnectionID, into output: inout HubOutput) {
    guard let topics = congestedConnections.removeValue(forKey: connection) else { return }
    let joined = (sessions.byConnection[connection] ?? []).compactMap { sessions[$0]?.joins }
    for topic in topics.sorted() where joined.contains(where: { $0[topic]?.delivery != nil }) {
      guard let index = index(of: topic) else { continue }
      let head = Head(epoch: epoch, version: models[index].version, digest: models[index].fields.digest())
      output.send(.head(head), to: .connection(connection), topic: topic, start: start)
    }
  }
}

extension HubHeader {
  /// Whether a frame says what became of a model to whoever follows it, and does not answer anybody.
  static func isModelUpdate(_ frame: UnsafeRawBufferPointer) -> Bool {
    guard frame.count >= HubHeader.byteCount else { return false }
    let kind = frame[4]
    return kind == HubMessageKind.commits.rawValue || kind == HubMessageKind.head.rawValue
  }
}
