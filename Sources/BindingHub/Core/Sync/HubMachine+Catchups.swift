import BindingProtocol

/// Catch-ups that are being told: each turn tells a share of them, so that a join of a big model keeps nobody waiting.
extension HubMachine {
  /// The bytes of catch-ups that a turn may tell, and that one message of them has.
  private var shareBytes: Int { min(configuration.limits.chunkBytes, 65_536) }

  /// Whether the end of another drain tells more.
  public var isStreaming: Bool {
    !waitingJoins.isEmpty || catchups.contains { !$0.isWaiting && !isCongested($0.catchup.session) }
      || announcing.contains { !isCongested($0.session) }
  }

  /// Tells what a turn may tell, of those who have waited longest first.
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

  /// All that was decided of a model is stored, which where many write is so for this moment only: catch-ups of it that
  /// have little left are told to their end.
  mutating func endCatchups(of index: Int, _ output: inout HubOutput) {
    guard models[index].isSettled else { return }
    for position in catchups.indices.reversed() where catchups[position].catchup.model === models[index] {
      guard !isCongested(catchups[position].catchup.session), let left = catchups[position].catchup.countLeft() else {
        continue
      }
      guard left <= catchups[position].allowance else {
        // However much is written meanwhile, it comes to an end.
        catchups[position].allowance *= 2
        continue
      }
      var stream: CatchupStream? = catchups.remove(at: position)
      while let more = stream { stream = sendNext(of: more, &output) }
    }
  }

  /// A batch of a model was stored: what catch-ups have told of these fields is told again.
  mutating func recordChanges(
    _ changed: [(field: FieldID, before: FieldSlot.Decided)], in model: ModelLog, after version: Version
  ) {
    for position in catchups.indices where catchups[position].catchup.model === model {
      catchups[position].catchup.record(changed.lazy.map(\.field), after: version)
    }
  }

  /// Tells the next message of one.
  /// - Returns: what is left of it; nil: nothing.
  private mutating func sendNext(of stream: CatchupStream, _ output: inout HubOutput) -> CatchupStream? {
    var stream = stream
    let (session, model) = (stream.catchup.session, stream.catchup.model)
    guard let record = sessions[session] else { return nil }
    let chunk = stream.catchup.nextChunk(
      epoch: model.epoch(ifStored: epoch), lastDecided: lastDecided(of: record.identity.tag, in: model),
      limitBytes: shareBytes,
      mayEnd: model.isSettled)
    stream.isWaiting = chunk == nil
    guard let chunk else { return stream }
    send(.catchup(chunk), to: session, &output, topic: model.topic)
    return chunk.isLast ? nil : stream
  }

  /// The mark that a peer is told with what it is brought.
  func lastDecided(of tag: Tag, in model: ModelLog) -> ProposalNumber {
    model.lastStored(of: tag)
  }

  /// Somebody has left a model, or joins it anew.
  mutating func endCatchup(of session: SessionID, in model: ModelLog) {
    catchups.removeAll { $0.catchup.session == session && $0.catchup.model === model }
  }

  /// Whether messages wait for room at the session's connection.
  func isCongested(_ session: SessionID) -> Bool {
    !congestedConnections.isEmpty && sessions[session].map { congestedConnections[$0.connection] != nil } == true
  }

  struct CatchupStream {
    var catchup: Catchup
    /// All has been told but the last message, which waits until what was decided is stored.
    var isWaiting = false
    /// Fields that may be told at once to bring it to its end.
    var allowance = 2_048
  }
}
