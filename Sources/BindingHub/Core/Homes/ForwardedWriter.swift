import BindingProtocol

/// The writer of proposals that another hub of the log has passed on. A class, because each of them refers to it.
final class ForwardedWriter: Sendable {
  let origin: Origin
  /// The last record of the model that the other hub had.
  let record: UInt64

  init(_ origin: Origin, after record: UInt64) { (self.origin, self.record) = (origin, record) }
}

/// What other hubs of the log pass on to this one, as the home of a model.
extension HubMachine {
  /// Receives proposals that a sibling passes on. It finds in the log what becomes of them, so it is answered nothing;
  /// what is dropped here it decides itself.
  mutating func receiveForward(
    _ reader: inout WireReader, _ frame: UnsafeRawBufferPointer, _ session: SessionID, _ connection: ConnectionID,
    _ time: HubTime, _ output: inout HubOutput
  ) throws(WireError) {
    let head = try ForwardHead(from: &reader)
    var proposals = try ProposalCursor(reader)
    guard hub.trusts(sibling: session) else {
      let text = "\(head.model): only another hub of the same log may pass proposals on"
      return hub.deny(text, session, connection, &output)
    }
    guard head.identity.isProven else {
      hub.counters.wrongSecrets += 1
      let text = "\(head.model): the tag of a writer does not match its secret"
      return hub.error(.notYours, text, session, connection, isFatal: false, &output)
    }
    let count = proposals.remaining
    let (admitted, _) = hub.admit(count, bytes: frame.count, hub.sessions[session]?.usage, time, &output)
    guard admitted >= count, let index = modelForForward(head.model, &output) else { return }
    let model = hub.models[index]
    // A hub that is being drained decides only what no other one may: its owner has not been sent away yet.
    guard others.drain == nil || model.approval.owner != nil else { return }
    let user = hub.access.principal(of: connection) == nil ? nil : head.user
    let origin = Origin(tag: head.identity.tag, name: head.identity.name, user: user)
    let writer = ForwardedWriter(origin, after: head.record)
    let copy = Array(frame)
    while try proposals.next(), model.batch.waiting.count < hub.configuration.maxWaitingProposals {
      hub.counters.forwarded += 1
      model.batch.waiting.append(.init(session: 0, frame: copy, offset: proposals.offset, forwarded: writer))
    }
    goOn(index, time, &output)
  }

  /// The model for which something is passed on; nil: there is no room for it here.
  private mutating func modelForForward(_ id: String, _ output: inout HubOutput) -> Int? {
    if let index = hub.models.index(named: id) { return index }
    guard hub.models.namedCount < hub.configuration.limits.maxModels, hub.models.hasTopics else { return nil }
    let index = hub.models.make(id, from: .none)
    loadNew(index, &output)
    return index
  }
}

extension HubContext {
  /// Whether a session is that of another hub of the log, and what it says of its peers is believed: where this hub has
  /// keys, it is that of a hub with the same key. Elsewhere everybody may write everything, and secrets prove writers.
  func trusts(sibling session: SessionID) -> Bool {
    guard configuration.isShared, let record = sessions[session], record.capabilities.isSibling,
      record.connection < HubMachine.firstInProcessConnection
    else { return false }
    return access.principal(of: record.connection).map { $0 == .sibling } ?? (access.policy == nil)
  }

  /// Whether an edge on a connection is believed what it says of its peers.
  func mayCount(_ connection: ConnectionID) -> Bool { access.policy == nil || access.isGateway(connection) }

  /// Whether a session is that with which an edge reads, and the edge counts its peers.
  func counts(_ session: SessionID) -> Bool {
    guard let names = sessions[session]?.capabilities else { return false }
    return names.counts && !names.isSibling && !names.onlyWrites
  }

  /// Whether a session writes for a peer of an edge which counts that peer.
  func isCountedByEdge(_ session: SessionID) -> Bool {
    sessions[session].map { $0.capabilities.counts && $0.capabilities.onlyWrites } ?? false
  }
}

/// Decides what another hub has passed on.
extension ProposalQueue {
  /// Decides a proposal that another hub of the log has passed on. Nobody here is told what becomes of it.
  mutating func decide(
    _ proposal: WaitingProposal, of writer: ForwardedWriter, _ approval: Sequencer.Approval?, in index: Int,
    _ hub: inout HubContext, _ time: HubTime, _ output: inout HubOutput
  ) {
    let (model, tag) = (hub.models[index], writer.origin.tag)
    let approval = approval ?? (ProposalQueue.needsApproval(tag, in: model, &hub) ? .toBeAsked : .given)
    let decided = proposal.read { cursor -> Sequencer.Immediate? in
      let last = model.writers.index(of: tag).map { index in model.writers.with(index) { $0.lastDecided } } ?? 0
      if last == 0, model.batch.shared.forgotten.mayHaveForgotten(tag, after: writer.record) { return nil }
      guard cursor.number > last else { return nil }
      // This hub has not seen yet what the other one has, or something was lost on the way.
      guard cursor.number == last + 1 else {
        model.batch.shared.keepEarly(proposal)
        return nil
      }
      sequencer.limitation = nil
      let place = hub.writer(writer.origin, in: index)
      let isOld = !model.writers.seenNumbers.isEmpty && cursor.isEarlier
      return sequencer.decide(
        cursor, of: writer.origin, writer: place, session: 0, in: model, time: time, approval: approval,
        mayBeOld: isOld, &hub)
    }
    switch decided ?? nil {
    case .nothing?: model.batch.pending.proposals.append(proposal)
    case .approve(let fields)?:
      if let refusal = unreadable(fields, in: model, &hub) {
        return decide(proposal, of: writer, .denied(refusal), in: index, &hub, time, &output)
      }
      ask(about: fields, of: proposal, by: writer.origin, in: index, &hub, time, &output)
    case .outcome?, nil: break
    }
  }

  /// Whether the pending batch takes no more decisions.
  func isFull(_ batch: BatchState, _ hub: HubContext) -> Bool {
    if batch.pending.isOpen, batch.pending.commits.isFull { return true }
    return hub.configuration.isShared && batch.shared.pace == .oneByOne && batch.hasDecisions
  }
}
