"""Places of the mutants of the hub."""

from place import Place

_CORE = "Sources/BindingHub/Core/"

PLACES = [
    Place(
        _CORE + "HubMachine+Settling.swift", "func settle", "before",
        "output.batches.append(batch)",
        """
if Mutant.isOn(.publishUnstored) { publisher.publish(batch, index, &hub, &output) }
if Mutant.isOn(.acknowledgeUnstored) {
  hub.sessions.enqueue(model.batch.pending.answers, model.batch.pending.others, of: model, wall: time.wall)
}
""",
    ),
    Place(
        _CORE + "HubMachine.swift", "init", "before",
        "publisher = ModelPublisher(configuration, time: time)",
        """
var limits = configuration.limits
if Mutant.isOn(.allowLoops) { limits.maxHops = 255 }
proposals = ProposalQueue(
  Sequencer(
    limits: limits, maxUnconfirmedOutcomes: 1_024, spacing: RankSpacing(gap: configuration.listGap),
    owners: SharedOwners(configuration, start: birth.start)))
""",
    ),
    Place(
        _CORE + "HubMachine.swift", "func restore", "before",
        "if model.position.record > 0, model.position.epoch != hub.epoch {",
        "if Mutant.isOn(.forgetWriters) { hub.sessions.writersBefore.removeAll() }",
    ),
    Place(
        _CORE + "HubMachine.swift", "func admit", "before",
        "guard session.connection == connection else { return false }",
        """
if Mutant.isOn(.neverRenew) { return session.connection == connection }
if Mutant.isOn(.anyConnection) { session.expiresAt = now + session.leaseMilliseconds }
if Mutant.isOn(.anyConnection) { return true }
""",
    ),
    Place(
        _CORE + "Models/FieldSlots.swift", "func endDecisions", "before",
        "decisions.removeAll(keepingCapacity: decisions.count <= PendingBatch.roomKept)",
        "if Mutant.isOn(.keepDropped) { return }",
    ),
    Place(
        _CORE + "Models/ModelRemovals.swift", "func isGone", "before",
        "guard model.writers.seenNumbers.allSatisfy({ model.writers.lastStored(of: $0.key) >= $0.value }) else {",
        "if Mutant.isOn(.forgetNumbersEarly) { return true }",
    ),
    Place(
        _CORE + "Writes/ModelLog+Decisions.swift", "func dropBatch", "before",
        "let namesStored = storedNames",
        "if Mutant.isOn(.keepDropped) { return clearBatch() }",
    ),
    Place(
        _CORE + "Presence/Sequencer+Ephemeral.swift", "func checkHolder", "before",
        "guard let holder = model.holder(of: id), holder.tag != model.origin(ofWriter: writer).tag else { return }",
        "if Mutant.isOn(.anyHolder) { return }",
    ),
    Place(
        _CORE + "Recovery/ModelLog+Recovery.swift", "func adopt", "before",
        "batch.pending.decisions.append(Decision(seen: number, of: tag))",
        """
if Mutant.isOn(.raiseOffered) {
  let writer = writers.index(for: Origin(tag: tag, name: ""))
  batch.pending.touchedWriters.append(writer)
  writers.with(writer) { $0.lastDecided = number }
  batch.pending.decisions.append(Decision(origin: Origin(tag: tag, name: ""), number: number, outcome: nil))
  continue
}
""",
    ),
    Place(
        _CORE + "Recovery/ModelLog+Recovery.swift", "func recover", "instead of",
        "batch.pending.commits.beginCommit(origin: batch.pending.commits.origin(offerer), number: 0, hops: 0)",
        """
let isForged = Mutant.isOn(.acknowledgeRecovered)
let origin = isForged ? Origin(tag: together[0].tag, name: "") : offerer
batch.pending.commits.beginCommit(
  origin: batch.pending.commits.origin(origin), number: isForged ? together[0].number : 0, hops: 0)
""",
    ),
    Place(
        _CORE + "Sessions/HubMachine+Sessions.swift", "func fence", "instead of",
        "end(earlier, time, forgetting: false, releasing: false, &output)",
        "end(earlier, time, forgetting: false, releasing: Mutant.isOn(.goneAtReconnect), &output)",
    ),
    Place(
        _CORE + "Sessions/SessionTable.swift", "func refusal", "before",
        "if place.isLate(after: self.place) {",
        "if Mutant.isOn(.lateHelloFences) { return nil }",
    ),
    Place(
        _CORE + "Sessions/HubMachine+Sessions.swift", "func hello", "instead of",
        "knewIdentity: edge == nil ?",
        """
knewIdentity: edge == nil
  ? known?.hasReceivedWelcome == true || hub.hasNumbers(of: tag) || known != nil && Mutant.isOn(.forgottenOnce)
  : upstreamKnew ?? false,
""",
    ),
    Place(
        _CORE + "Sessions/HubMachine+Sessions.swift", "func refusal", "instead of",
        "guard hello.identity.isProven else {",
        "guard hello.identity.isProven || Mutant.isOn(.anySecret) else {",
    ),
    Place(
        _CORE + "Sessions/HubMachine+Sessions.swift", "func end", "instead of",
        "if releasing { presence.release(session.identity.tag, &hub, time) }",
        "if releasing, !Mutant.isOn(.outliveLease) { presence.release(session.identity.tag, &hub, time) }",
    ),
    Place(
        _CORE + "Sessions/SessionTable.swift", "func isSubscribed", "instead of",
        "subscriber.flatMap { subscribers[$0] }?.topics.contains(topic) ?? false",
        "Mutant.isOn(.answerUnsubscribed) || subscriber.flatMap { subscribers[$0] }?.topics.contains(topic) ?? false",
    ),
    Place(
        _CORE + "Sync/Catchup.swift", "func record", "before",
        "for field in changed where field < next { again.insert(field) }",
        "if Mutant.isOn(.forgetResend) { return }",
    ),
    Place(
        _CORE + "Sync/Catchup.swift", "func recordChanges", "before",
        "record(model.fieldsChanged(after: seen), after: seen)",
        "if Mutant.isOn(.forgetResend) { seen = model.version }",
    ),
    Place(
        _CORE + "HubMachine.swift", "func tick", "before",
        "if now > hub.lastTick + 3 * UInt64(hub.configuration.heartbeatMilliseconds) {",
        "if Mutant.isOn(.blameForOwnPause) { hub.lastTick = now }",
    ),
    Place(
        _CORE + "Sync/CatchupStreamer.swift", "func sendNext", "instead of",
        "let lastDecided = model.writers.lastStored(of: record.identity.tag)",
        "let lastDecided = Mutant.isOn(.catchUpWithoutLastDecided) ? 0 "
        ": model.writers.lastStored(of: record.identity.tag)",
    ),
    Place(
        _CORE + "Sync/HubMachine+Joins.swift", "func answer", "instead of",
        "let lastDecided = model.writers.lastStored(of: tag)",
        "let lastDecided = Mutant.isOn(.catchUpWithoutLastDecided) ? 0 : model.writers.lastStored(of: tag)",
    ),
    Place(
        _CORE + "Sync/HubMachine+Joins.swift", "func raiseLastDecided", "before",
        "let model = hub.models[index]",
        "if Mutant.isOn(.ignoreJoinedNumber) { return }",
    ),
    Place(
        _CORE + "Sync/HubMachine+Joins.swift", "func raiseLastDecided", "before",
        "model.batch.borrow()",
        "if Mutant.isOn(.raiseUnstored) { return }",
    ),
    Place(
        _CORE + "Recovery/RecoveryCoordinator.swift", "func believeIfAhead", "before",
        "guard join.isAhead(of: model, in: hub.epoch) else { return }",
        "if Mutant.isOn(.ignorePeerAhead) { return }",
    ),
    Place(
        _CORE + "Sync/ModelPublisher.swift", "func publish", "before",
        "announcer.announceFirstCommit(of: model, &hub, &output)",
        """
if Mutant.isOn(.noHeads) { heads.left[index] = nil }
if Mutant.isOn(.oneHead) { heads.left[index] = 1 }
""",
    ),
    Place(
        _CORE + "Verification/Barrier.swift", "func isComplete", "before",
        "if let count { return appliedInAll >= count }",
        "if Mutant.isOn(.endWaitsAtOnce) { return true }",
    ),
    Place(
        _CORE + "Writes/ProposalQueue+Approval.swift", "func receive", "instead of",
        "approval.isAccepted",
        "approval.isAccepted || Mutant.isOn(.ignoreOwner)",
    ),
    Place(
        _CORE + "Writes/ProposalQueue+Approval.swift", "func endSilence", "before",
        "disown(model, pendingApproval.owner, &hub, time)",
        "if Mutant.isOn(.silenceIsApproval) { model.approval.pending?.approval = "
        ".givenFor(pendingApproval.fields) }",
    ),
    Place(
        _CORE + "Writes/Sequencer.swift", "func decide", "instead of",
        "if !isNext { return answerOutOfTurn(proposal.number, model.writers.with(writer) { $0 }, &hub) }",
        """
let record = model.writers.with(writer) { $0 }
if !isNext, proposal.isVoid, Mutant.isOn(.expireDecided) { return .outcome(.expired) }
let isJump = proposal.number > record.lastDecided
let isAccepted = isJump ? Mutant.isOn(.acceptJumps) : Mutant.isOn(.repeatEffects)
if !isNext, !isAccepted { return answerOutOfTurn(proposal.number, record, &hub) }
""",
    ),
    Place(
        _CORE + "Writes/Sequencer.swift", "func decided", "before",
        "model.batch.pending.decisions.append(Decision(origin: origin, number: proposal.number, outcome: outcome))",
        "if Mutant.isOn(.refuseUnstored) { return .outcome(outcome) }",
    ),
    Place(
        _CORE + "Writes/Sequencer.swift", "func isSeen", "before",
        "guard let seen = model.writers.seenNumbers[tag], number <= seen else { return false }",
        "if Mutant.isOn(.repeatOffered) { return false }",
    ),
    Place(
        _CORE + "Writes/Sequencer.swift", "func check", "before",
        "guard let field = try field(conditions.id, conditions.name, in: model) else {",
        "if Mutant.isOn(.compareAcrossEpochs), conditions.epoch != epoch { continue }",
    ),
    Place(
        "Sources/BindingProtocol/Values/DescribedField.swift", "func widen", "instead of",
        "if isWider(other, bound) { members[name] = declared.members[name] }",
        "if Mutant.isOn(.mergeNarrows) || isWider(other, bound) { members[name] = declared.members[name] }",
    ),
    Place(
        "Sources/BindingProtocol/Values/DescribedField.swift", "func merge", "instead of",
        "let isNewer = declared.release(of: name) > release(of: name)",
        "let isNewer = Mutant.isOn(.lowerReleaseWins) "
        "? declared.release(of: name) < release(of: name) : declared.release(of: name) > release(of: name)",
    ),
    Place(
        _CORE + "Writes/DescriptionCheck.swift", "func describe", "instead of",
        "guard merge.isChange else { return 0 }",
        "guard merge.isChange || Mutant.isOn(.describeAlways) else { return 0 }",
    ),
    Place(
        _CORE + "Writes/Sequencer+Operations.swift", "func check", "before",
        "if rule.isAlias {",
        "if rule.isAlias, Mutant.isOn(.aliasWritten) { return }",
    ),
    Place(
        _CORE + "Writes/WriterRecord.swift", "func outcome", "before",
        "guard let run = runs[first...].first(where: { $0.contains(number) }) else { return nil }",
        "if Mutant.isOn(.forgetOutcomes) { return nil }",
    ),
    Place(
        _CORE + "Models/ModelPublisher+Renumbering.swift", "func endRenumbering", "before",
        "endSessions(in: index, &hub, &output)",
        "if Mutant.isOn(.renumberSilently) { return }",
    ),
    Place(
        _CORE + "Expiry/ExpiryTable.swift", "func renews", "before",
        "model.batch.pending.renewed.append(id)",
        "if Mutant.isOn(.equalSetIdle) { return true }",
    ),
    Place(
        _CORE + "Expiry/ExpiryTable.swift", "func renew", "before",
        "let wasOver = term.isOver",
        "if Mutant.isOn(.expireEarly) { return }",
    ),
]
