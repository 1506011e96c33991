import BindingProtocol

/// Outcomes that a session is sent at the end of the drain.
struct OutcomeMessages {
  /// The message with room for more, and those without.
  private var open = OutcomesWriter()
  private var full: [OutcomesWriter] = []
  /// Whether the session is in the list of those to be sent outcomes.
  var isQueued = false

  mutating func append(_ outcome: WireOutcome, limitBytes: Int) {
    makeRoom(limitBytes)
    open.append(outcome)
  }

  /// Appends the outcomes of commits with consecutive numbers and versions.
  mutating func appendCommits(
    _ topic: Topic, _ number: ProposalNumber, version: Version, count: UInt16, limitBytes: Int
  ) {
    makeRoom(limitBytes)
    open.committed(topic, number, version: version, count: count)
  }

  private mutating func makeRoom(_ limitBytes: Int) {
    guard open.isFull || open.byteCount > limitBytes else { return }
    full.append(open)
    open = OutcomesWriter()
  }

  mutating func send(
    _ session: SessionID, to connection: ConnectionID, epoch: Epoch, start: StartNumber, _ output: inout HubOutput
  ) {
    isQueued = false
    for index in full.indices {
      output.frame(to: .connection(connection)) { writer in
        full[index].finish(session: session, epoch: epoch, start: start, into: &writer)
      }
    }
    full.removeAll()
    guard !open.isEmpty else { return }
    output.frame(to: .connection(connection)) { writer in
      open.finish(session: session, epoch: epoch, start: start, into: &writer)
    }
    open.removeAll()
  }
}

/// Outcomes on their way to sessions: gathered during a drain, sent at its end.
extension SessionTable {
  /// Puts an outcome into the session's next message.
  mutating func enqueue(_ outcome: WireOutcome, _ session: SessionID) {
    let limit = outcomeBytes
    let isFirst = with(session) { record -> Bool in
      record.outcomes.append(outcome, limitBytes: limit)
      defer { record.outcomes.isQueued = true }
      return !record.outcomes.isQueued
    }
    if isFirst == true { withOutcomes.append(session) }
  }

  /// Puts answers whose decisions are stored now into their sessions' next messages.
  mutating func enqueue(
    _ answers: [DeferredAnswer], _ others: [DeferredAnswer.Other], of model: ModelLog, wall: UInt64
  ) {
    forEachRun(answers) { sessions, run in sessions.enqueue(run, others, of: model, wall: wall) }
  }

  /// The proposals of these answers wait no longer: what was decided of them is undone.
  mutating func undo(_ answers: [DeferredAnswer]) {
    forEachRun(answers) { sessions, run in
      sessions.with(run[run.startIndex].session) { $0.unacknowledged = max($0.unacknowledged - run.count, 0) }
    }
  }

  /// Sends the gathered outcomes.
  mutating func sendOutcomes(epoch: Epoch, start: StartNumber, _ output: inout HubOutput) {
    for id in withOutcomes {
      with(id) { session in
        session.outcomes.send(id, to: session.connection, epoch: epoch, start: start, &output)
      }
    }
    withOutcomes.removeAll(keepingCapacity: true)
  }

  /// Passes neighbouring answers of one session to `body`, run by run.
  private mutating func forEachRun(
    _ answers: [DeferredAnswer], _ body: (inout SessionTable, ArraySlice<DeferredAnswer>) -> Void
  ) {
    var index = 0
    while index < answers.count {
      let session = answers[index].session
      let end = answers[index...].firstIndex { $0.session != session } ?? answers.count
      body(&self, answers[index..<end])
      index = end
    }
  }

  /// Puts the answers of one session into its next message.
  private mutating func enqueue(
    _ answers: ArraySlice<DeferredAnswer>, _ others: [DeferredAnswer.Other], of model: ModelLog, wall: UInt64
  ) {
    guard let session = answers.first?.session else { return }
    let (limit, topic) = (outcomeBytes, model.topic)
    let isFirst = with(session) { record -> Bool in
      record.unacknowledged = max(record.unacknowledged - answers.count, 0)
      var next = answers.startIndex
      while next < answers.endIndex {
        let answer = answers[next]
        guard let index = answer.index else {
          let count = DeferredAnswer.commits(in: answers, from: next)
          record.outcomes.appendCommits(
            topic, answer.number, version: answer.version, count: UInt16(count), limitBytes: limit)
          next += count
          continue
        }
        switch others[index] {
        case .outcome(let rest):
          record.outcomes.append(
            WireOutcome(topic: topic, number: answer.number, rest), limitBytes: limit)
        case .conflict(let field):
          let conflict = model.conflict(on: field, now: wall)
          record.outcomes.append(
            WireOutcome(topic: topic, number: answer.number, .conflict(conflict)), limitBytes: limit)
        }
        next += 1
      }
      defer { record.outcomes.isQueued = true }
      return !record.outcomes.isQueued
    }
    if isFirst == true { withOutcomes.append(session) }
  }
}
