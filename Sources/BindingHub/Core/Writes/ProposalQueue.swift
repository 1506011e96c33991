import BindingProtocol

/// Proposals on their way to a decision: decided when they arrive, or when the store or the model's owner has
/// answered, because decisions build on stored state only.
struct ProposalQueue {
  var sequencer: Sequencer
  /// The token of the last approval request.
  var lastToken: UInt32 = 0

  init(_ sequencer: Sequencer) { self.sequencer = sequencer }

  /// Handles the proposals of one frame.
  mutating func receive(
    _ proposals: ProposalCursor, _ frame: UnsafeRawBufferPointer, _ session: SessionID, _ hub: inout HubContext,
    _ time: HubTime, _ output: inout HubOutput
  ) throws(WireError) {
    let speaker = hub.sessions.with(session) {
      ($0.identity, $0.connection, unacknowledged: $0.unacknowledged, seat: $0.seat, $0.usage)
    }
    guard let (origin, connection, before, seatBefore, usage) = speaker else { return }
    let limit = hub.configuration.limits.maxUnacknowledged
    var (proposals, place) = (proposals, -1)
    let (admitted, pause) = hub.admit(proposals.remaining, bytes: frame.count, usage, time, &output)
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
      place += 1
      guard let model = hub.models.index(of: proposals.topic),
        seat?.isValid(in: model, hub.models[model]) == true || hub.models[model].members.sessions.contains(session)
      else {
        hub.error(
          .notJoined, "topic \(proposals.topic) has not been joined", session, connection, isFatal: false, &output)
        continue
      }
      if place >= admitted {
        hub.retryLater(proposals.topic, proposals.number, .rateLimited, pause: pause, session)
        continue
      }
      hub.models.touch(model)
      let log = hub.models[model]
      let mustWait = log.decidesLater(at: hub.start) || unacknowledged >= limit
      if mustWait, answerRepeat(proposals, origin, session, log, &hub) { continue }
      if unacknowledged >= limit {
        hub.retryLater(proposals.topic, proposals.number, pause: 20, session)
        continue
      }
      if mustWait {
        if log.batch.waiting.count < hub.configuration.maxWaitingProposals {
          log.batch.waiting.append(kept(proposals, session, frame, &copy))
          unacknowledged += 1
        } else {
          hub.retryLater(proposals.topic, proposals.number, pause: 20, session)
        }
        continue
      }
      let present = hub.seat(of: origin, in: session, connection, in: model, known: seat)
      seat = present
      if hub.configuration.isShared, SharedWriters.refuse(session, present.writer, in: log, &hub, &output) { return }
      sequencer.limitation = present.limitation
      switch decide(proposals, origin, present.writer, session, log, &hub, time) {
      case .answered: break
      case .waits:
        unacknowledged += 1
        if hub.configuration.isShared {
          // Another hub may be first; then it is decided again.
          log.batch.pending.proposals.append(kept(proposals, session, frame, &copy))
        }
      case .approval(let fields):
        let kept = kept(proposals, session, frame, &copy)
        ask(about: fields, of: kept, by: origin, in: model, &hub, time, &output)
        unacknowledged += 1
      }
    }
  }

  /// A proposal as it is kept, with its frame, which is copied once for all of them.
  private func kept(
    _ proposal: ProposalCursor, _ session: SessionID, _ frame: UnsafeRawBufferPointer, _ copy: inout [UInt8]?
  ) -> WaitingProposal {
    let bytes = copy ?? Array(frame)
    copy = bytes
    return WaitingProposal(session: session, frame: bytes, offset: proposal.offset)
  }

  /// Answers a repeat from the stored outcome, even while no decision is possible: the peer must not wait for an
  /// owner or a store that others keep busy.
  /// - Returns: whether the proposal was a repeat.
  func answerRepeat(
    _ proposal: ProposalCursor, _ origin: Origin, _ session: SessionID, _ model: ModelLog, _ hub: inout HubContext
  ) -> Bool {
    guard let answer = sequencer.answerRepeat(proposal, of: origin, in: model, &hub) else { return false }
    if case .outcome(let outcome) = answer {
      hub.sessions.enqueue(WireOutcome(topic: proposal.topic, number: proposal.number, outcome), session)
    }
    return true
  }

  // MARK: Deciding

  /// The result of handling a proposal.
  private enum Decided {
    /// The answer was enqueued, or none is due.
    case answered
    /// The answer follows when the decision is stored.
    case waits
    /// The model's owner must be asked.
    case approval([ApprovalField])
  }

  private mutating func decide(
    _ proposal: ProposalCursor, _ origin: Origin, _ writer: Int, _ session: SessionID, _ model: ModelLog,
    _ hub: inout HubContext, _ time: HubTime, approval: Sequencer.Approval? = nil
  ) -> Decided {
    if isFull(model.batch, hub) {
      hub.retryLater(proposal.topic, proposal.number, pause: 1, session)
      return .answered
    }
    let answers = model.batch.pending.answers.count
    let approval = approval ?? (ProposalQueue.needsApproval(origin.tag, in: model, &hub) ? .toBeAsked : .given)
    // A peer that does not report when a proposal was first sent may have sent any of them in an earlier epoch.
    let mayBeOld =
      !model.writers.seenNumbers.isEmpty
      && (proposal.isEarlier || hub.sessions[session]?.capabilities.reportsEarlier == false)
    switch sequencer.decide(
      proposal, of: origin, writer: writer, session: session, in: model, time: time, approval: approval,
      mayBeOld: mayBeOld, &hub)
    {
    case .nothing: break
    case .outcome(let outcome):
      hub.sessions.enqueue(WireOutcome(topic: proposal.topic, number: proposal.number, outcome), session)
    case .approve(let fields):
      guard let refusal = unreadable(fields, in: model, &hub) else { return .approval(fields) }
      return decide(proposal, origin, writer, session, model, &hub, time, approval: .denied(refusal))
    }
    return model.batch.pending.answers.count > answers ? .waits : .answered
  }

  /// Decides a model's proposals that waited for the store or for the owner.
  mutating func decideWaiting(in index: Int, _ hub: inout HubContext, _ time: HubTime, _ output: inout HubOutput) {
    let model = hub.models[index]
    var waiting = model.batch.waiting[...]
    if let pendingApproval = model.approval.pending {
      guard let approval = pendingApproval.approval else { return }
      model.approval.pending = nil
      let writer = ProposalQueue.mayRefuse(pendingApproval, approval, &hub)
      if let passedOn = pendingApproval.proposal.forwarded {
        decide(pendingApproval.proposal, of: passedOn, approval, in: index, &hub, time, &output)
      } else {
        decideWaiting(pendingApproval.proposal, approval, of: writer, index, &hub, time, &output)
      }
    }
    while model.approval.pending == nil, let next = waiting.first {
      // Nobody waits to send it again.
      if next.isForwarded, isFull(model.batch, hub) { break }
      waiting.removeFirst()
      var denied: Sequencer.Approval?
      if model.batch.shared.pace == .refuseNext {
        model.batch.shared.pace = .together
        denied = .denied(
          Refusal(.proposalTooLarge, "what the proposal changes has more bytes than the store takes at once"))
      }
      if let writer = next.forwarded {
        decide(next, of: writer, denied, in: index, &hub, time, &output)
      } else {
        decideWaiting(next, denied, index, &hub, time, &output)
      }
    }
    model.batch.waiting = Array(waiting)
  }

  /// The writer of a denied proposal. It is refused even when its session is gone: its peer may have resent it in a
  /// later session, and a silent owner no longer owns the model.
  private static func mayRefuse(
    _ pending: PendingApproval, _ approval: Sequencer.Approval, _ hub: inout HubContext
  ) -> Origin? {
    guard case .denied = approval, hub.sessions.identities[pending.origin.tag] != nil else { return nil }
    return pending.origin
  }

  private mutating func decideWaiting(
    _ proposal: WaitingProposal, _ approval: Sequencer.Approval?, of gone: Origin? = nil, _ index: Int,
    _ hub: inout HubContext, _ time: HubTime, _ output: inout HubOutput
  ) {
    let session = hub.sessions[proposal.session]
    guard let origin = session?.identity ?? gone else { return }
    let (model, writer) = (hub.models[index], hub.writer(origin, in: index))
    if hub.configuration.isShared, SharedWriters.refuse(proposal.session, writer, in: model, &hub, &output) { return }
    // What a session that is gone wrote was denied.
    sequencer.limitation = session.flatMap {
      hub.access.limitation(in: $0.id, on: $0.connection, of: hub.models[index].id)
    }
    let decided = proposal.read { cursor in
      decide(cursor, origin, writer, proposal.session, hub.models[index], &hub, time, approval: approval)
    }
    switch decided ?? .answered {
    case .answered: hub.sessions.endWait(proposal.session)
    case .waits:
      if hub.configuration.isShared { hub.models[index].batch.pending.proposals.append(proposal) }
    case .approval(let fields): ask(about: fields, of: proposal, by: origin, in: index, &hub, time, &output)
    }
  }
}
