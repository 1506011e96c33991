import BindingProtocol

/// Outcomes on their way to sessions: gathered during a drain, sent at its end.
extension SessionTable {
  /// Puts an outcome into the session's next message.
  mutating func enqueue(_ outcome: WireOutcome, _ session: SessionID) {
    let limit = outcomeBytes
    let isFirst = with(session) { record -> Bool in
      record.makeRoom(limitBytes: limit)
      record.outcomes.append(outcome)
      defer { record.hasOutcomes = true }
      return !record.hasOutcomes
    }
    if isFirst == true { withOutcomes.append(session) }
  }

  /// Puts answers whose decisions are stored now into their sessions' next messages.
  mutating func enqueue(
    _ answers: [ModelLog.Answer], _ others: [ModelLog.Answer.Other], of model: ModelLog, wall: UInt64
  ) {
    forEachRun(answers) { sessions, run in sessions.enqueue(run, others, of: model, wall: wall) }
  }

  /// The proposals of these answers wait no longer: what was decided of them is undone.
  mutating func undo(_ answers: [ModelLog.Answer]) {
    forEachRun(answers) { sessions, run in
      sessions.with(run[run.startIndex].session) { $0.unacknowledged = max($0.unacknowledged - run.count, 0) }
    }
  }

  /// Sends the gathered outcomes.
  mutating func sendOutcomes(epoch: Epoch, start: StartNumber, _ output: inout HubOutput) {
    for id in withOutcomes {
      with(id) { session in
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

  /// Passes neighbouring answers of one session to `body`, run by run.
  private mutating func forEachRun(
    _ answers: [ModelLog.Answer], _ body: (inout SessionTable, ArraySlice<ModelLog.Answer>) -> Void
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
    _ answers: ArraySlice<ModelLog.Answer>, _ others: [ModelLog.Answer.Other], of model: ModelLog, wall: UInt64
  ) {
    guard let session = answers.first?.session else { return }
    let (limit, topic) = (outcomeBytes, model.topic)
    let isFirst = with(session) { record -> Bool in
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
