import BindingHub
import BindingPeer
import BindingProtocol

/// A peer that owns the first model: the hub asks it before another peer's write to that model is committed.
extension World {
  /// How long the hub waits for the owner, milliseconds.
  static let approvalTimeout: UInt64 = 2_000

  /// Takes the model, or gives it up.
  func own(_ peer: SimulatedPeer, _ member: EphemeralMember) throws(Violation) {
    if member.has(Names.owner) == nil {
      try writeEphemeral([FieldOperation(.set, Names.owner, context.uniqueValue(of: peer.index))], peer, member)
    } else if context.featureChance.perMille(300) {
      try writeEphemeral([FieldOperation(.delete, Names.owner)], peer, member)
    }
  }

  /// Ends ownership: over a slow connection, asking one question after the other would take too long.
  func endOwnership() throws(Violation) {
    guard context.profile.hasOwner, context.profile.requestDelay > 5 || context.featureChance.perMille(500) else {
      return
    }
    for peer in peers {
      guard let member = peer.member, !member.isAway, member.has(Names.owner) != nil else { continue }
      try writeEphemeral([FieldOperation(.delete, Names.owner)], peer, member)
    }
  }

  /// The hub asks an owner's application.
  func ask(_ request: ApprovalRequest, _ peer: SimulatedPeer) {
    let temper = context.profile.temper
    var refuses = false
    var delay = context.featureChance.within(0...20)
    if context.isChaos {
      if context.featureChance.perMille(temper.silences) { return }
      refuses = context.featureChance.perMille(temper.refusals)
      if context.featureChance.perMille(temper.delays) { delay = context.featureChance.within(1_500...2_500) }
      if context.featureChance.perMille(temper.cuts) {
        context.agenda.add(
          .besides(.breakOff(peer: peer.index, run: peer.process.run, crashes: false)),
          at: context.now + context.featureChance.within(0...20))
      }
      if context.featureChance.perMille(temper.crashes) {
        context.agenda.add(
          .besides(.breakOff(peer: peer.index, run: peer.process.run, crashes: true)),
          at: context.now + context.featureChance.within(0...20))
      }
    }
    context.agenda.add(
      .besides(.approve(peer: peer.index, run: peer.process.run, request, refuses: refuses)), at: context.now + delay)
  }

  func answer(_ request: ApprovalRequest, refuses: Bool, _ index: Int) throws(Violation) {
    let peer = peers[index]
    guard !peer.process.isPaused else {
      return context.agenda.add(
        .besides(.approve(peer: index, run: peer.process.run, request, refuses: refuses)), at: context.now + 100)
    }
    context.record("p\(index) \(refuses ? "refuses" : "allows") what \(request.origin.name) writes")
    peer.session.answer(request, refusing: refuses ? "no" : nil, now: peerNow(index), into: &peer.output)
    try settle(index)
  }

  func breakOff(_ index: Int, crashes: Bool) throws(Violation) {
    // A carrier, which only sends an earlier run's writes, has no process of its own.
    guard context.isChaos, !context.isQuiet, peers[index].outbox.successor == nil else { return }
    if crashes { return try crash(index) }
    context.record("cut p\(index), which was asked")
    breakConnection(index)
    try settle(index)
  }

  // MARK: What the hub asks, receives and decides

  func look(_ request: ApprovalRequest) throws(Violation) {
    context.counts[.ownerAsked] += 1
    guard let owner = ephemeral?.owner, received.session[owner] == request.session, request.origin.tag != owner else {
      throw Violation(.leave, "somebody was asked about what \(request.origin.name) writes who does not own the model")
    }
    if let open = ownership.open, open.session == request.session, context.now < open.askedAt + World.approvalTimeout {
      throw Violation(.leave, "\(owner.short) was asked \(request.token) before it answered \(open.token)")
    }
    ownership.ask(.init(request, to: owner, at: context.now))
  }

  /// The owner's answer arrives, in its turn or too late.
  func recordReceived(_ approval: Approval, in session: SessionID) {
    guard let open = ownership.open, open.token == approval.token, open.session == session else { return }
    ownership.answer(approval.token, approval.isAccepted, at: context.now)
    if approval.isAccepted { context.counts[.allowedByOwner] += 1 }
  }

  /// The model has another owner, or none: the hub decides the open question afresh.
  func ownerChanged() {
    if ownership.open != nil { context.counts[.ownerGone] += 1 }
    ownership.voidOpen()
  }

  /// §9.3: everything sent to the store was approved by the owner of the model, and everything refused in its name
  /// was refused by it, or it was silent for 2 s.
  func checkApproval(_ batches: [Batch]) throws(Violation) {
    guard context.profile.hasOwner, let batch = batches.first(where: { $0.model == context.modelNames[0] }) else {
      return
    }
    for decision in batch.decisions {
      guard case .refused(let refusal)? = decision.outcome else { continue }
      try checkRefusal(refusal, decision)
    }
    guard !batch.body.isEmpty, let group = try? CommitGroup.decode(batch.body) else { return }
    // A refusal is void if the store did not take it, a recovery intervened, the hub had forgotten the writer, or
    // its number was no longer the next; by then the model has no owner.
    let storesAll =
      context.profile.fullAppends + context.profile.movedAppends + context.profile.unknownAppends == 0 && losses == 0
      && !context.profile.forgetsSoon
    for commit in group.commits where commit.number > 0 && storesAll {
      let writer = group.origins[Int(commit.origin)].tag
      guard ownership.wasSilence(about: fields(of: commit, in: group), of: writer) else { continue }
      throw Violation(
        .leave, "proposal \(commit.number) of \(writer.short) is carried out, about which the owner said nothing")
    }
    guard let owner = ephemeral?.owner, owner == ownership.settled, isLiving(owner), received.served[owner] != nil
    else {
      return
    }
    for commit in group.commits {
      let writer = group.origins[Int(commit.origin)].tag
      // A value recovered from a lost epoch has no number and needs no approval.
      guard writer != owner, commit.number > 0 else { continue }
      let fields = fields(of: commit, in: group)
      if ownership.use(where: { $0.writer == writer && $0.verdict == true && $0.fields == fields }) == nil {
        throw Violation(
          .leave,
          "proposal \(commit.number) of \(writer.short) is carried out, which the owner, \(owner.short), did not allow"
        )
      }
    }
  }

  private func checkRefusal(_ refusal: Refusal, _ decision: Decision) throws(Violation) {
    let writer = decision.origin.tag
    switch refusal.code {
    case .refusedByOwner:
      context.counts[.refusedByOwner] += 1
      if ownership.use(where: { $0.writer == writer && $0.verdict == false }) != nil { return }
      throw Violation(
        .leave, "proposal \(decision.number) of \(writer.short) was refused in the name of an owner that did not")
    case .ownerSilent:
      context.counts[.ownerSilent] += 1
      // A later answer may be too late.
      let silent = ownership.use {
        $0.writer == writer && context.now >= $0.askedAt + World.approvalTimeout
          && ($0.verdict == nil || $0.answeredAt >= $0.askedAt + World.approvalTimeout)
      }
      guard let silent else {
        throw Violation(
          .leave, "proposal \(decision.number) of \(writer.short) was refused for an owner's silence before its time")
      }
      // The hub checks at least four times a second; a batch being stored delays it.
      if context.profile.hubPauses == 0, context.now > silent.askedAt + World.approvalTimeout + 500 {
        throw Violation(.leave, "an owner that was asked at \(silent.askedAt) ms was waited for until context.now")
      }
    default: break
    }
  }

  private func fields(of commit: Commit, in group: CommitGroup) -> [String: FieldValue?] {
    var fields: [String: FieldValue?] = [:]
    for change in commit.changes {
      let id = Int(change.field)
      let known = oracle.names[0]
      let name =
        id < known.count ? SimulatedField.names[known[id]] : group.names.names[id - Int(group.names.first)]
      fields[name] = .some(change.value)
    }
    return fields
  }

  /// Whether a write was refused as writes to a model with an owner may be.
  func isRefusedByOwner(_ refusal: Refusal, in model: Int) -> Bool {
    context.profile.hasOwner && model == 0 && (refusal.code == .refusedByOwner || refusal.code == .ownerSilent)
  }
}
