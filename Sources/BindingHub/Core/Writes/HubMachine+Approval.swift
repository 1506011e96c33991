import BindingProtocol

/// A proposal that waits for the approval of its model's owner (protocol.md §9.3).
struct PendingApproval {
  let token: UInt32
  /// The session that was asked.
  let asked: SessionID
  let owner: Tag
  /// The identity that made the proposal.
  let origin: Origin
  let proposal: ModelLog.Waiting
  let fields: [ApprovalField]
  /// When the owner counts as silent, on the monotonic clock.
  let answerBy: UInt64
  /// The owner's answer.
  var approval: Sequencer.Approval?
}

/// Asks a model's owner for approval, one proposal at a time. Other proposals for the model wait.
extension HubMachine {
  /// Whether another peer must approve this peer's writes.
  func needsApproval(_ tag: Tag, in model: ModelLog) -> Bool {
    guard let owner = model.owner, owner != tag else { return false }
    return session(ofOwner: owner, of: model) != nil
  }

  private func session(ofOwner owner: Tag, of model: ModelLog) -> SessionID? {
    guard let id = hub.sessions.identities[owner]?.session, hub.sessions[id]?.joins[model.topic] != nil else {
      return nil
    }
    return id
  }

  mutating func ask(
    about fields: [ApprovalField], of proposal: ModelLog.Waiting, by origin: Origin, in index: Int, _ time: HubTime,
    _ output: inout HubOutput
  ) {
    let model = hub.models[index]
    guard let owner = model.owner, let asked = session(ofOwner: owner, of: model) else { return }
    lastToken &+= 1
    model.pendingApproval = PendingApproval(
      token: lastToken, asked: asked, owner: owner, origin: origin, proposal: proposal, fields: fields,
      answerBy: time.monotonic + hub.configuration.approvalMilliseconds)
    hub.counters.approvals += 1
    hub.models.touch(index)
    hub.send(
      .approve(ApprovalRequest(session: asked, topic: model.topic, token: lastToken, origin: origin, fields: fields)),
      to: asked,
      &output)
  }

  mutating func handle(_ approval: Approval, _ session: SessionID, _ time: HubTime, _ output: inout HubOutput) {
    guard let index = hub.models.index(of: approval.topic), let pendingApproval = hub.models[index].pendingApproval,
      pendingApproval.asked == session,
      pendingApproval.token == approval.token, pendingApproval.approval == nil
    else { return }
    let name = hub.sessions[session]?.identity.name ?? ""
    hub.models[index].pendingApproval?.approval =
      approval.isAccepted
      ? .givenFor(pendingApproval.fields)
      : .denied(
        Refusal(.refusedByOwner, "\(hub.models[index].id): \(name) says: \(PrintedText.escaped(approval.text))"))
    goOn(index, time, &output)
  }

  /// Decides a proposal again when the model's owner has changed or is gone.
  mutating func askAgain(_ index: Int, _ time: HubTime, _ output: inout HubOutput) {
    guard let pendingApproval = hub.models[index].pendingApproval, pendingApproval.owner != hub.models[index].owner
    else {
      return
    }
    // A denied proposal waits only for the store.
    if case .denied? = pendingApproval.approval { return }
    hub.models[index].pendingApproval = nil
    hub.models[index].waiting.insert(pendingApproval.proposal, at: 0)
    goOn(index, time, &output)
  }

  /// Denies the proposals of silent owners. A silent owner loses the model: otherwise each later write would wait
  /// as long.
  mutating func endSilence(_ time: HubTime, _ output: inout HubOutput) {
    for index in hub.models.touched {
      guard let pendingApproval = hub.models[index].pendingApproval, pendingApproval.approval == nil,
        pendingApproval.answerBy <= time.monotonic
      else {
        continue
      }
      hub.counters.silentOwners += 1
      let name = hub.sessions[pendingApproval.asked]?.identity.name ?? "its owner"
      let limit = hub.configuration.approvalMilliseconds
      hub.models[index].pendingApproval?.approval = .denied(
        Refusal(.ownerSilent, "\(hub.models[index].id): \(name), which owns it, did not answer within \(limit) ms"))
      disown(index, pendingApproval.owner, time)
      goOn(index, time, &output)
    }
  }

  /// Deletes the field that names a model's owner, unless another peer holds it by now.
  private mutating func disown(_ index: Int, _ owner: Tag, _ time: HubTime) {
    hub.models[index].owner = nil
    guard let ephemeralIndex = hub.models[index].counterpart,
      let field = hub.models[ephemeralIndex].fields.id(of: Names.owner),
      hub.models[ephemeralIndex].holder(of: field)?.tag == owner
    else { return }
    change(ephemeralIndex, [(Names.owner, nil)], time)
  }
}
