import BindingProtocol

extension HubMachine {
  /// Sends a stored batch to all joined sessions: published, or to each on its request connection.
  mutating func publish(_ batch: Batch, _ index: Int, _ output: inout HubOutput) {
    guard !batch.body.isEmpty else { return }
    let model = hub.models[index]
    if !verifications.isEmpty { rememberDigest(index) }
    model.headsLeft = 3
    recentlyChanged.insert(index)
    announceFirstCommit(index, &output)
    let header = HubHeader(topic: model.topic, kind: .commits, start: hub.start)
    let isBig = isBig(batch.body)
    let receivers = isBig ? model.sessions : model.routed
    var hasFrame = false
    if !isBig {
      output.frame(to: .publish) { writer in
        header.write(to: &writer)
        writer.raw(batch.body)
      }
      hasFrame = true
    }
    var served: Set<ConnectionID> = []
    for id in receivers.sorted() {
      // An unanswered join gets these commits with its answer.
      guard let session = hub.sessions[id], session.joins[model.topic]?.delivery != nil,
        served.insert(session.connection).inserted
      else { continue }
      hub.counters.routedCommits += 1
      if hasFrame {
        output.repeatLastFrame(to: .connection(session.connection))
      } else {
        output.frame(to: .connection(session.connection)) { writer in
          header.write(to: &writer)
          writer.raw(batch.body)
        }
        hasFrame = true
      }
    }
  }

  /// Whether a body is too big for the publish connection, where it would wait for slow subscribers: as a whole, or
  /// because of one commit in it. Many small commits decided together are not too big.
  private func isBig(_ body: [UInt8]) -> Bool {
    let limit = hub.configuration.limits.maxPublishedBytes
    guard body.count > limit else { return false }
    guard body.count <= hub.configuration.maxGroupBytes else { return true }
    return body.withUnsafeBytes { bytes in
      guard var cursor = try? CommitCursor(WireReader(bytes, message: "commits")), cursor.remaining > 1 else {
        return true
      }
      while (try? cursor.next()) == true { if cursor.byteCount + 64 > limit { return true } }
      return false
    }
  }

  func publishHead(_ index: Int, _ output: inout HubOutput) {
    let model = hub.models[index]
    let head = self.head(of: model)
    output.send(.head(head), to: .publish, topic: model.topic, start: hub.start)
    guard !model.routed.isEmpty else { return }
    for id in model.routed.sorted() { hub.send(.head(head), to: id, &output, topic: model.topic) }
  }

  /// What a model's followers compare theirs with. An ephemeral model has an epoch of its own.
  func head(of model: ModelLog) -> Head {
    Head(epoch: model.epoch(ifStored: hub.epoch), version: model.version, digest: model.fields.digest())
  }

  /// Answers a repeat from the stored outcome, even while no decision is possible: the peer must not wait for an
  /// owner or a store that others keep busy.
  /// - Returns: whether the proposal was a repeat.
  mutating func answerRepeat(
    _ proposal: ProposalCursor, _ origin: Origin, _ session: SessionID, _ model: Int
  ) -> Bool {
    guard let answer = sequencer.answerRepeat(proposal, of: origin, in: hub.models[model], &hub) else { return false }
    if case .outcome(let outcome) = answer {
      hub.sessions.enqueue(WireOutcome(topic: proposal.topic, number: proposal.number, outcome), session)
    }
    return true
  }
}
