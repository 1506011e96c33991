import BindingProtocol

extension HubMachine {
  mutating func propose(
    _ proposals: ProposalCursor, _ frame: UnsafeRawBufferPointer, _ session: SessionID, _ time: HubTime,
    _ output: inout HubOutput
  ) throws(WireError) {
    let speaker = hub.sessions.with(session) {
      (origin: $0.identity, connection: $0.connection, unacknowledged: $0.unacknowledged, seat: $0.seat)
    }
    guard let (origin, connection, before, seatBefore) = speaker else { return }
    var proposals = proposals
    var index = -1
    var copy: [UInt8]?
    var unacknowledged = before
    // Most frames name one model, and most sessions write to one model for long.
    var seat = seatBefore
    defer {
      hub.sessions.with(session) { record in
        record.unacknowledged = unacknowledged
        record.seat = seat
      }
    }
    while try proposals.next() {
      index += 1
      guard let model = hub.models.index(of: proposals.topic),
        isSeated(seat, in: model) || hub.models[model].sessions.contains(session)
      else {
        hub.error(
          .notJoined, "topic \(proposals.topic) has not been joined", session, connection, isFatal: false, &output)
        continue
      }
      hub.models.touch(model)
      let mustWait = hub.models[model].isBusy || unacknowledged >= hub.configuration.limits.maxUnacknowledged
      if mustWait, answerRepeat(proposals, origin, session, model) { continue }
      if unacknowledged >= hub.configuration.limits.maxUnacknowledged {
        hub.retryLater(proposals.topic, proposals.number, pause: 20, session)
        continue
      }
      if hub.models[model].isBusy {
        // Decided when the batch is stored, because decisions build on stored state only, or when the owner has
        // answered.
        if hub.models[model].waiting.count < hub.configuration.maxWaitingProposals {
          let bytes = copy ?? Array(frame)
          copy = bytes
          hub.models[model].waiting.append(.init(session: session, frame: bytes, index: index))
          unacknowledged += 1
        } else {
          hub.retryLater(proposals.topic, proposals.number, pause: 20, session)
        }
        continue
      }
      let writer: Int
      if let seat, isSeated(seat, in: model) {
        writer = seat.writer
      } else {
        writer = hub.writer(origin, in: model)
        seat = Seat(model: model, writer: writer, seating: hub.models[model].seating)
      }
      switch decide(proposals, origin, writer, session, model, time) {
      case .answered: break
      case .waits: unacknowledged += 1
      case .approval(let fields):
        let bytes = copy ?? Array(frame)
        copy = bytes
        ask(
          about: fields, of: .init(session: session, frame: bytes, index: index), by: origin, in: model, time, &output)
        unacknowledged += 1
      }
    }
  }

  private func isSeated(_ seat: Seat?, in model: Int) -> Bool {
    seat?.model == model && seat?.seating == hub.models[model].seating
  }

  /// The result of handling a proposal.
  enum Decided {
    /// The answer was enqueued, or none is due.
    case answered
    /// The answer follows when the decision is stored.
    case waits
    /// The model's owner must be asked.
    case approval([ApprovalField])
  }

  mutating func decide(
    _ proposal: ProposalCursor, _ origin: Origin, _ writer: Int, _ session: SessionID, _ model: Int, _ time: HubTime,
    approval: Sequencer.Approval? = nil
  ) -> Decided {
    let log = hub.models[model]
    if log.pendingBatch.isOpen, log.pendingBatch.commits.isFull {
      hub.retryLater(proposal.topic, proposal.number, pause: 1, session)
      return .answered
    }
    let answers = log.pendingBatch.answers.count
    let approval = approval ?? (needsApproval(origin.tag, in: log) ? .toBeAsked : .given)
    switch sequencer.decide(
      proposal, of: origin, writer: writer, session: session, in: log, time: time, approval: approval,
      mayBeOld: !log.seenNumbers.isEmpty && mayBeOld(proposal, session), &hub)
    {
    case .nothing: break
    case .outcome(let outcome):
      hub.sessions.enqueue(WireOutcome(topic: proposal.topic, number: proposal.number, outcome), session)
    case .approve(let fields): return .approval(fields)
    }
    return log.pendingBatch.answers.count > answers ? .waits : .answered
  }
}
