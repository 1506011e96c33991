import BindingProtocol

/// Catch-ups under way. Each turn sends a share of them, so that the join of a big model delays no other peer.
struct CatchupStreamer {
  private struct Stream {
    var catchup: Catchup
    /// Everything is sent but the last message, which waits until every decision is stored.
    var isWaiting = false
    /// The most fields that may be sent in one turn to finish it.
    var allowance = 2_048
  }
  private var streams: [Stream] = []
  /// The most bytes of catch-ups that a turn sends, and of one message.
  private let shareBytes: Int

  init(_ limits: Limits) { shareBytes = min(limits.chunkBytes, 65_536) }

  var isEmpty: Bool { streams.isEmpty }

  /// Whether another turn would send more.
  func isStreaming(_ congested: CongestedConnections, _ sessions: SessionTable) -> Bool {
    for stream in streams where !stream.isWaiting && !congested.contains(stream.catchup.session, sessions) {
      return true
    }
    return false
  }

  mutating func add(_ catchup: Catchup) { streams.append(Stream(catchup: catchup)) }

  /// Sends one turn's share, beginning with the catch-ups that have waited longest.
  mutating func sendShare(_ congested: CongestedConnections, _ hub: inout HubContext, _ output: inout HubOutput) {
    let enough = output.byteCount + shareBytes
    var served = 0
    var rest: [Stream] = []
    while served < streams.count, output.byteCount < enough {
      let stream = streams[served]
      served += 1
      let isCongested = congested.contains(stream.catchup.session, hub.sessions)
      if let left = isCongested ? stream : sendNext(of: stream, &hub, &output) { rest.append(left) }
    }
    streams.removeFirst(served)
    streams += rest
  }

  /// Finishes catch-ups of a model that have little left, because every decision on it is stored. In a busy model
  /// that is so for a moment only.
  mutating func finish(
    _ model: ModelLog, _ congested: CongestedConnections, _ hub: inout HubContext, _ output: inout HubOutput
  ) {
    guard model.isSettled else { return }
    for position in streams.indices.reversed() where streams[position].catchup.model === model {
      guard !congested.contains(streams[position].catchup.session, hub.sessions),
        let left = streams[position].catchup.countLeft()
      else { continue }
      guard left <= streams[position].allowance else {
        // The allowance grows, so the catch-up ends however much is written meanwhile.
        streams[position].allowance *= 2
        continue
      }
      var stream: Stream? = streams.remove(at: position)
      while let more = stream { stream = sendNext(of: more, &hub, &output) }
    }
  }

  /// A batch was stored: catch-ups that have sent these fields send them again.
  mutating func recordChanges(
    _ changed: [(field: FieldID, before: FieldSlot.Decided)], in model: ModelLog, after version: Version
  ) {
    for position in streams.indices where streams[position].catchup.model === model {
      streams[position].catchup.record(changed.lazy.map(\.field), after: version)
    }
  }

  /// Ends the catch-ups of a model; of one session, which leaves the model or joins it again, or of all.
  mutating func end(in model: ModelLog, of session: SessionID? = nil) {
    streams.removeAll { $0.catchup.model === model && (session == nil || $0.catchup.session == session) }
  }

  mutating func end(on connection: ConnectionID, _ sessions: SessionTable) {
    for position in streams.indices.reversed()
    where sessions[streams[position].catchup.session]?.connection == connection {
      streams.remove(at: position)
    }
  }

  /// Sends the next message of a catch-up.
  /// - Returns: the remaining catch-up; nil: finished.
  private func sendNext(of stream: Stream, _ hub: inout HubContext, _ output: inout HubOutput) -> Stream? {
    var stream = stream
    let (session, model) = (stream.catchup.session, stream.catchup.model)
    guard let record = hub.sessions[session] else { return nil }
    let lastDecided = model.writers.lastStored(of: record.identity.tag)
    let chunk = stream.catchup.nextChunk(
      epoch: model.epoch(ifStored: hub.epoch), lastDecided: lastDecided, limitBytes: shareBytes,
      mayEnd: model.isSettled)
    stream.isWaiting = chunk == nil
    guard let chunk else { return stream }
    hub.send(.catchup(chunk), to: session, &output, topic: model.topic)
    return chunk.isLast ? nil : stream
  }
}
