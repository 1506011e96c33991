import BindingProtocol

/// Catch-ups under way. Each turn sends a share of them, so that the join of a big model delays no other peer.
extension HubMachine {
  /// The most bytes of catch-ups that a turn sends, and of one message.
  private var shareBytes: Int { min(hub.configuration.limits.chunkBytes, 65_536) }

  /// Whether the end of another drain would send more.
  package var isStreaming: Bool {
    !waitingJoins.isEmpty || catchups.contains { !$0.isWaiting && !isCongested($0.catchup.session) }
      || announcing.contains { !isCongested($0.session) }
  }

  /// Sends one turn's share, beginning with the catch-ups that have waited longest.
  mutating func sendCatchups(_ output: inout HubOutput) {
    let enough = output.byteCount + shareBytes
    var served = 0
    var rest: [CatchupStream] = []
    while served < catchups.count, output.byteCount < enough {
      let stream = catchups[served]
      served += 1
      if let left = isCongested(stream.catchup.session) ? stream : sendNext(of: stream, &output) { rest.append(left) }
    }
    catchups.removeFirst(served)
    catchups += rest
  }

  /// Finishes catch-ups of a model that have little left, because every decision on it is stored. In a busy model
  /// that is so for a moment only.
  mutating func endCatchups(of index: Int, _ output: inout HubOutput) {
    guard hub.models[index].isSettled else { return }
    for position in catchups.indices.reversed() where catchups[position].catchup.model === hub.models[index] {
      guard !isCongested(catchups[position].catchup.session), let left = catchups[position].catchup.countLeft() else {
        continue
      }
      guard left <= catchups[position].allowance else {
        // The allowance grows, so the catch-up ends however much is written meanwhile.
        catchups[position].allowance *= 2
        continue
      }
      var stream: CatchupStream? = catchups.remove(at: position)
      while let more = stream { stream = sendNext(of: more, &output) }
    }
  }

  /// A batch was stored: catch-ups that have sent these fields send them again.
  mutating func recordChanges(
    _ changed: [(field: FieldID, before: FieldSlot.Decided)], in model: ModelLog, after version: Version
  ) {
    for position in catchups.indices where catchups[position].catchup.model === model {
      catchups[position].catchup.record(changed.lazy.map(\.field), after: version)
    }
  }

  /// Sends the next message of a catch-up.
  /// - Returns: the remaining catch-up; nil: finished.
  private mutating func sendNext(of stream: CatchupStream, _ output: inout HubOutput) -> CatchupStream? {
    var stream = stream
    let (session, model) = (stream.catchup.session, stream.catchup.model)
    guard let record = hub.sessions[session] else { return nil }
    let chunk = stream.catchup.nextChunk(
      epoch: model.epoch(ifStored: hub.epoch), lastDecided: lastDecided(of: record.identity.tag, in: model),
      limitBytes: shareBytes,
      mayEnd: model.isSettled)
    stream.isWaiting = chunk == nil
    guard let chunk else { return stream }
    hub.send(.catchup(chunk), to: session, &output, topic: model.topic)
    return chunk.isLast ? nil : stream
  }

  /// The last decided number that a peer receives with its catch-up.
  func lastDecided(of tag: Tag, in model: ModelLog) -> ProposalNumber {
    model.lastStored(of: tag)
  }

  /// Ends the catch-up of a session that leaves a model or joins it again.
  mutating func endCatchup(of session: SessionID, in model: ModelLog) {
    catchups.removeAll { $0.catchup.session == session && $0.catchup.model === model }
  }

  /// Whether the session's connection is congested.
  func isCongested(_ session: SessionID) -> Bool {
    !congestedConnections.isEmpty && hub.sessions[session].map { congestedConnections[$0.connection] != nil } == true
  }

  struct CatchupStream {
    var catchup: Catchup
    /// Everything is sent but the last message, which waits until every decision is stored.
    var isWaiting = false
    /// The most fields that may be sent in one turn to finish it.
    var allowance = 2_048
  }
}
