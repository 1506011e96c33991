import BindingProtocol

/// A proposal that waits for the approval of its model's owner (protocol.md §9.3).
struct PendingApproval {
  let token: UInt32
  /// The session that was asked.
  let asked: SessionID
  let owner: Tag
  /// The identity that made the proposal.
  let origin: Origin
  let proposal: WaitingProposal
  let fields: [ApprovalField]
  /// When the owner counts as silent, on the monotonic clock.
  let answerBy: UInt64
  /// The owner's answer.
  var approval: Sequencer.Approval?
}

/// Who must approve other peers' writes to a model, and what the owner is asked now.
struct OwnerApproval {
  var owner: Tag?
  /// The proposal for which the owner's approval is awaited.
  var pending: PendingApproval?
  /// Who owns the model as the log of several hubs says; nil: nobody.
  var recorded: RecordedOwner?
  /// What `recorded` was when this hub last acted on it.
  var followed: RecordedOwner?
  /// A peer here wants to own the model, and the log of several hubs does not say so yet.
  var claim: OwnerClaim?
  /// Since when the owner's hub is out of reach, on the monotonic clock; nil: it is not.
  var missingSince: UInt64?
}

/// Asks a model's owner for approval, one proposal at a time. Other proposals for the model wait.
extension ProposalQueue {
  /// Whether another peer must approve this peer's writes.
  static func needsApproval(_ tag: Tag, in model: ModelLog, _ hub: inout HubContext) -> Bool {
    guard let owner = model.approval.owner, owner != tag else { return false }
    return session(ofOwner: owner, of: model, &hub) != nil
  }

  private static func session(ofOwner owner: Tag, of model: ModelLog, _ hub: inout HubContext) -> SessionID? {
    guard let id = hub.sessions.identities[owner]?.session, hub.sessions[id]?.joins[model.topic] != nil else {
      return nil
    }
    return id
  }

  /// Why the owner cannot be asked about these fields; nil: it can.
  func unreadable(_ fields: [ApprovalField], in model: ModelLog, _ hub: inout HubContext) -> Refusal? {
    guard fields.contains(where: \.isElement), let owner = model.approval.owner,
      let id = ProposalQueue.session(ofOwner: owner, of: model, &hub), let asked = hub.sessions[id],
      !asked.capabilities.knowsLists
    else { return nil }
    let name = asked.identity.name
    return Refusal(
      .refusedByOwner, "\(model.id): \(name), which owns it, does not know lists, so it cannot be asked; update it")
  }

  mutating func ask(
    about fields: [ApprovalField], of proposal: WaitingProposal, by origin: Origin, in index: Int,
    _ hub: inout HubContext, _ time: HubTime, _ output: inout HubOutput
  ) {
    let model = hub.models[index]
    guard let owner = model.approval.owner, let asked = ProposalQueue.session(ofOwner: owner, of: model, &hub) else {
      return
    }
    lastToken &+= 1
    model.approval.pending = PendingApproval(
      token: lastToken, asked: asked, owner: owner, origin: origin, proposal: proposal, fields: fields,
      answerBy: time.monotonic + hub.configuration.approvalMilliseconds)
    hub.counters.approvals += 1
    hub.models.touch(index)
    hub.send(
      .approve(ApprovalRequest(session: asked, topic: model.topic, token: lastToken, origin: origin, fields: fields)),
      to: asked, &output)
  }

  /// Records an owner's answer.
  /// - Returns: the model whose proposals can be decided now; nil: nothing was asked.
  func receive(_ approval: Approval, _ session: SessionID, _ hub: inout HubContext) -> Int? {
    guard let index = hub.models.index(of: approval.topic), let pendingApproval = hub.models[index].approval.pending,
      pendingApproval.asked == session,
      pendingApproval.token == approval.token, pendingApproval.approval == nil
    else { return nil }
    let model = hub.models[index]
    let name = hub.sessions[session]?.identity.name ?? ""
    model.approval.pending?.approval =
      approval.isAccepted
      ? .givenFor(pendingApproval.fields)
      : .denied(Refusal(.refusedByOwner, "\(model.id): \(name) says: \(PrintedText.escaped(approval.text))"))
    return index
  }

  /// The model's owner has changed or is gone: what it was asked is to be decided again.
  /// - Returns: whether anything was asked.
  func ownerChanged(of model: ModelLog) -> Bool {
    guard let pendingApproval = model.approval.pending, pendingApproval.owner != model.approval.owner else {
      return false
    }
    // A denied proposal waits only for the store.
    if case .denied? = pendingApproval.approval { return false }
    model.approval.pending = nil
    model.batch.waiting.insert(pendingApproval.proposal, at: 0)
    return true
  }

  /// Denies the proposal of a silent owner. A silent owner loses the model: otherwise each later write would wait
  /// as long.
  /// - Returns: whether the owner is silent.
  func endSilence(of index: Int, _ hub: inout HubContext, _ time: HubTime) -> Bool {
    let model = hub.models[index]
    guard let pendingApproval = model.approval.pending, pendingApproval.approval == nil,
      pendingApproval.answerBy <= time.monotonic
    else { return false }
    hub.counters.silentOwners += 1
    let name = hub.sessions[pendingApproval.asked]?.identity.name ?? "its owner"
    let limit = hub.configuration.approvalMilliseconds
    model.approval.pending?.approval = .denied(
      Refusal(.ownerSilent, "\(model.id): \(name), which owns it, did not answer within \(limit) ms"))
    disown(model, pendingApproval.owner, &hub, time)
    return true
  }

  /// Deletes the field that names a model's owner, unless another peer holds it by now.
  private func disown(_ model: ModelLog, _ owner: Tag, _ hub: inout HubContext, _ time: HubTime) {
    model.approval.owner = nil
    guard let index = model.counterpart, let field = hub.models[index].fields.id(of: Names.owner),
      hub.models[index].holder(of: field)?.tag == owner
    else { return }
    hub.change(index, [(Names.owner, nil)], time)
  }
}
