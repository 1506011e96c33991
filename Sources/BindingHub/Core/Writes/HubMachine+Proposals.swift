import BindingProtocol

extension HubMachine {
  mutating func propose(
    _ proposals: ProposalCursor, _ frame: UnsafeRawBufferPointer, _ session: SessionID, _ time: HubTime,
    _ output: inout HubOutput
  ) throws(WireError) {
    let speaker = sessions.with(session) {
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
      sessions.with(session) { record in
        record.unacknowledged = unacknowledged
        record.seat = seat
      }
    }
    while try proposals.next() {
      index += 1
      guard let model = self.index(of: proposals.topic),
        isSeated(seat, in: model) || models[model].sessions.contains(session)
      else {
        error(
          .notJoined, "topic \(proposals.topic) has not been joined", session, connection, isFatal: false, &output)
        continue
      }
      touch(model)
      let mustWait = models[model].isBusy || unacknowledged >= configuration.limits.maxUnacknowledged
      if mustWait, answerRepeat(proposals, origin, session, model) { continue }
      if unacknowledged >= configuration.limits.maxUnacknowledged {
        retryLater(proposals.topic, proposals.number, pause: 20, session)
        continue
      }
      if models[model].isBusy {
        // Decided when the batch is stored, because decisions build on stored state only, or when the owner has
        // answered.
        if models[model].waiting.count < configuration.maxWaitingProposals {
          let bytes = copy ?? Array(frame)
          copy = bytes
          models[model].waiting.append(.init(session: session, frame: bytes, index: index))
          unacknowledged += 1
        } else {
          retryLater(proposals.topic, proposals.number, pause: 20, session)
        }
        continue
      }
      let writer: Int
      if let seat, isSeated(seat, in: model) {
        writer = seat.writer
      } else {
        writer = self.writer(origin, in: model)
        seat = Seat(model: model, writer: writer, seating: models[model].seating)
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
    seat?.model == model && seat?.seating == models[model].seating
  }

  mutating func retryLater(
    _ topic: Topic, _ number: ProposalNumber, _ code: RetryReason = .busy, pause pauseMilliseconds: UInt32,
    _ session: SessionID
  ) {
    sequencer.counters.retries += 1
    enqueue(.init(topic: topic, number: number, .retryLater(code, pauseMilliseconds: pauseMilliseconds)), session)
  }

  /// The index of an identity among a model's writers.
  mutating func writer(_ origin: Origin, in model: Int) -> Int {
    if models[model].knownWriter(origin.tag) == nil { sessions.identities[origin.tag]?.models.insert(model) }
    return models[model].writer(for: origin)
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
    let log = models[model]
    if log.pendingBatch.isOpen, log.pendingBatch.commits.isFull {
      retryLater(proposal.topic, proposal.number, pause: 1, session)
      return .answered
    }
    let answers = log.pendingBatch.answers.count
    let approval = approval ?? (needsApproval(origin.tag, in: log) ? .toBeAsked : .given)
    switch sequencer.decide(
      proposal, of: origin, writer: writer, session: session, in: log, time: time, approval: approval,
      mayBeOld: !log.seenNumbers.isEmpty && mayBeOld(proposal, session))
    {
    case .nothing: break
    case .outcome(let outcome): enqueue(WireOutcome(topic: proposal.topic, number: proposal.number, outcome), session)
    case .approve(let fields): return .approval(fields)
    }
    return log.pendingBatch.answers.count > answers ? .waits : .answered
  }

  /// Undoes decisions that are neither stored nor reported.
  mutating func dropBatch(_ index: Int) {
    forEachRun(models[index].pendingBatch.answers) { machine, run in
      machine.sessions.with(run[run.startIndex].session) { $0.unacknowledged = max($0.unacknowledged - run.count, 0) }
    }
    models[index].dropBatch()
    models[index].forgetWriters()
  }
}
