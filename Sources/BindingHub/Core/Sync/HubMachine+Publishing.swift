import BindingProtocol

extension HubMachine {
  /// Sends a stored batch to all joined sessions: published, or to each on its request connection.
  mutating func publish(_ batch: Batch, _ index: Int, _ output: inout HubOutput) {
    guard !batch.body.isEmpty else { return }
    let model = models[index]
    if !verifications.isEmpty { rememberDigest(index) }
    model.headsLeft = 3
    recentlyChanged.insert(index)
    announceFirstCommit(index, &output)
    let header = HubHeader(topic: model.topic, kind: .commits, start: start)
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
      guard let session = sessions[id], session.joins[model.topic]?.delivery != nil,
        served.insert(session.connection).inserted
      else { continue }
      sequencer.counters.routedCommits += 1
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
    let limit = configuration.limits.maxPublishedBytes
    guard body.count > limit else { return false }
    guard body.count <= configuration.maxGroupBytes else { return true }
    return body.withUnsafeBytes { bytes in
      guard var cursor = try? CommitCursor(WireReader(bytes, message: "commits")), cursor.remaining > 1 else {
        return true
      }
      while (try? cursor.next()) == true { if cursor.byteCount + 64 > limit { return true } }
      return false
    }
  }

  func publishHead(_ index: Int, _ output: inout HubOutput) {
    let model = models[index]
    let head = self.head(of: model)
    output.send(.head(head), to: .publish, topic: model.topic, start: start)
    guard !model.routed.isEmpty else { return }
    for id in model.routed.sorted() { send(.head(head), to: id, &output, topic: model.topic) }
  }

  /// What a model's followers compare theirs with. An ephemeral model has an epoch of its own.
  func head(of model: ModelLog) -> Head {
    Head(epoch: model.epoch(ifStored: epoch), version: model.version, digest: model.fields.digest())
  }

  mutating func sendOutcomes(_ output: inout HubOutput) {
    for id in withOutcomes {
      let (start, epoch) = (start, epoch)
      sessions.with(id) { session in
        session.hasOutcomes = false
        for index in session.full.indices {
          output.frame(to: .connection(session.connection)) { writer in
            session.full[index].finish(session: id, epoch: epoch, start: start, into: &writer)
          }
        }
        session.full.removeAll()
        guard !session.outcomes.isEmpty else { return }
        output.frame(to: .connection(session.connection)) { writer in
          session.outcomes.finish(session: id, epoch: epoch, start: start, into: &writer)
        }
        session.outcomes.removeAll()
      }
    }
    withOutcomes.removeAll(keepingCapacity: true)
  }

  // MARK: Outcomes

  /// Past this many bytes a message of outcomes is full; the longest conflict then still fits into the frame.
  private var outcomesLimit: Int { configuration.limits.chunkBytes / 2 }

  /// Puts an outcome into the session's next message.
  mutating func enqueue(_ outcome: WireOutcome, _ session: SessionID) {
    let limit = outcomesLimit
    let isFirst = sessions.with(session) { record -> Bool in
      record.makeRoom(limitBytes: limit)
      record.outcomes.append(outcome)
      defer { record.hasOutcomes = true }
      return !record.hasOutcomes
    }
    if isFirst == true { withOutcomes.append(session) }
  }

  /// Answers a repeat from the stored outcome, even while no decision is possible: the peer must not wait for an
  /// owner or a store that others keep busy.
  /// - Returns: whether the proposal was a repeat.
  mutating func answerRepeat(
    _ proposal: ProposalCursor, _ origin: Origin, _ session: SessionID, _ model: Int
  ) -> Bool {
    guard let answer = sequencer.answerRepeat(proposal, of: origin, in: models[model]) else { return false }
    if case .outcome(let outcome) = answer {
      enqueue(WireOutcome(topic: proposal.topic, number: proposal.number, outcome), session)
    }
    return true
  }

  /// Passes neighbouring answers of one session to `body`, run by run.
  mutating func forEachRun(
    _ answers: [ModelLog.Answer], _ body: (inout HubMachine, ArraySlice<ModelLog.Answer>) -> Void
  ) {
    var index = 0
    while index < answers.count {
      let session = answers[index].session
      let end = answers[index...].firstIndex { $0.session != session } ?? answers.count
      body(&self, answers[index..<end])
      index = end
    }
  }

  /// Puts the answers of one session, whose decisions are stored now, into its next message.
  mutating func enqueue(
    _ answers: ArraySlice<ModelLog.Answer>, _ others: [ModelLog.Answer.Other], of model: ModelLog, wall: UInt64
  ) {
    guard let session = answers.first?.session else { return }
    let (limit, topic) = (outcomesLimit, model.topic)
    let isFirst = sessions.with(session) { record -> Bool in
      record.unacknowledged = max(record.unacknowledged - answers.count, 0)
      var next = answers.startIndex
      while next < answers.endIndex {
        let answer = answers[next]
        record.makeRoom(limitBytes: limit)
        guard let index = answer.index else {
          let count = ModelLog.Answer.commits(in: answers, from: next)
          record.outcomes.committed(topic, answer.number, version: answer.version, count: UInt16(count))
          next += count
          continue
        }
        switch others[index] {
        case .outcome(let rest): record.outcomes.append(WireOutcome(topic: topic, number: answer.number, rest))
        case .conflict(let field):
          let conflict = model.conflict(on: field, now: wall)
          record.outcomes.append(WireOutcome(topic: topic, number: answer.number, .conflict(conflict)))
        }
        next += 1
      }
      defer { record.hasOutcomes = true }
      return !record.hasOutcomes
    }
    if isFirst == true { withOutcomes.append(session) }
  }
}
