import BindingHub
import BindingPeer
import BindingProtocol

/// A model with an owner: the hub asks it before another peer's write is committed (§9.3).
struct ApprovalOracle: Invariant, SimulationPart {
  let context: SimulationContext
  let log: LogOracle
  let ephemeral: EphemeralOracle
  let sessions: SessionOracle
  let questions: ApprovalQuestions
  /// The owner of the model when the hub last settled.
  var settledOwner: Tag?

  mutating func observe(_ event: Observation) throws(Violation) {
    switch event {
    case .hubStarts:
      questions.removeAll()
      settledOwner = nil
    case .received(let frame, _, _) where frame[0] == PeerMessageKind.approval.rawValue:
      guard case (let header, .approval(let approval))? = try? PeerMessage.decode(frame) else { return }
      record(approval, in: header.session)
    case .sent(let frame, .approve, _, _):
      guard case (_, .approve(let request))? = try? HubMessage.decode(frame) else { return }
      try check(request)
    case .decided(let batches): try check(batches)
    case .hubSettled: settledOwner = ephemeral.log.owner
    default: break
    }
  }

  private func check(_ request: ApprovalRequest) throws(Violation) {
    counts[.ownerAsked] += 1
    guard let owner = ephemeral.log.owner, sessions.received.session[owner] == request.session,
      request.origin.tag != owner
    else {
      throw Violation(.approval, "a peer that does not own the model was asked about a write of \(request.origin.name)")
    }
    if let open = questions.open, open.session == request.session,
      now < open.askedAt + ApprovalQuestions.timeout
    {
      throw Violation(.approval, "\(owner.short) was asked \(request.token) before it answered \(open.token)")
    }
    questions.ask(.init(request, to: owner, at: now))
  }

  /// The owner's answer arrives, in its turn or too late.
  private func record(_ approval: Approval, in session: SessionID) {
    guard let open = questions.open, open.token == approval.token, open.session == session else { return }
    questions.answer(approval.token, approval.isAccepted, at: now)
    if approval.isAccepted { counts[.allowedByOwner] += 1 }
  }

  /// §9.3: everything sent to the store was approved by the owner of the model, and everything refused in its name
  /// was refused by it, or it was silent for 2 s.
  private func check(_ batches: [Batch]) throws(Violation) {
    guard profile.hasOwner, let batch = batches.first(where: { $0.model == modelNames[0] }) else { return }
    for decision in batch.decisions {
      guard case .refused(let refusal)? = decision.outcome else { continue }
      try checkRefusal(refusal, decision)
    }
    guard !batch.body.isEmpty, let group = try? CommitGroup.decode(batch.body) else { return }
    // A refusal is void if the store did not take it, a recovery intervened, the hub had forgotten the writer, or
    // its number was no longer the next; by then the model has no owner.
    let storesAll =
      profile.fullAppends + profile.movedAppends + profile.unknownAppends == 0
      && log.losses == 0
      && !profile.forgetsSoon
    for commit in group.commits where commit.number > 0 && storesAll {
      let writer = group.origins[Int(commit.origin)].tag
      guard questions.wasSilence(about: fields(of: commit, in: group), of: writer) else { continue }
      throw Violation(
        .approval, "proposal \(commit.number) of \(writer.short) is committed, about which the owner did not answer")
    }
    guard let owner = ephemeral.log.owner, owner == settledOwner, sessions.isLiving(owner),
      sessions.received.served[owner] != nil
    else { return }
    for commit in group.commits {
      let writer = group.origins[Int(commit.origin)].tag
      // A value recovered from a lost epoch has no number and needs no approval.
      guard writer != owner, commit.number > 0 else { continue }
      let fields = fields(of: commit, in: group)
      if questions.use(where: { $0.writer == writer && $0.verdict == true && $0.fields == fields }) == nil {
        throw Violation(
          .approval,
          "proposal \(commit.number) of \(writer.short) is committed, which the owner, \(owner.short), did not allow"
        )
      }
    }
  }

  private func checkRefusal(_ refusal: Refusal, _ decision: Decision) throws(Violation) {
    let writer = decision.origin.tag
    switch refusal.code {
    case .refusedByOwner:
      counts[.refusedByOwner] += 1
      if questions.use(where: { $0.writer == writer && $0.verdict == false }) != nil { return }
      throw Violation(
        .approval,
        "proposal \(decision.number) of \(writer.short) was refused in the name of an owner that did not refuse it")
    case .ownerSilent:
      counts[.ownerSilent] += 1
      // A later answer may be too late.
      let silent = questions.use {
        $0.writer == writer && now >= $0.askedAt + ApprovalQuestions.timeout
          && ($0.verdict == nil || $0.answeredAt >= $0.askedAt + ApprovalQuestions.timeout)
      }
      guard let silent else {
        throw Violation(
          .approval, "proposal \(decision.number) of \(writer.short) was refused for an owner's silence before its time"
        )
      }
      // The hub checks at least four times a second; a batch being stored delays it.
      if profile.hubPauses == 0, now > silent.askedAt + ApprovalQuestions.timeout + 500 {
        throw Violation(.approval, "an owner that was asked at \(silent.askedAt) ms was waited for until now")
      }
    default: break
    }
  }

  private func fields(of commit: Commit, in group: CommitGroup) -> [String: FieldValue?] {
    var fields: [String: FieldValue?] = [:]
    for change in commit.changes {
      let id = Int(change.field)
      let known = log.names[0]
      let name =
        id < known.count ? SimulatedField.names[known[id]] : group.names.names[id - Int(group.names.first)]
      fields[name] = .some(change.value)
    }
    return fields
  }
}
