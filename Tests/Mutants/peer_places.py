"""Places of the mutants of the peer, and of the code that both sides share."""

from place import Place

_CORE = "Sources/BindingPeer/Core/"

PLACES = [
    Place(
        _CORE + "Sync/ReplicaKeeping.swift", "func hideContained", "before",
        "for (tag, number) in keeping.marks { touch(writes.hide(carriedBy: tag, upTo: number)) }",
        "if Mutant.isOn(.overlayTwice) { return }",
    ),
    Place(
        _CORE + "Sync/ReplicaKeeping.swift", "func decideWhetherWitness", "before",
        "guard keeping.isFromFile else { return }",
        "if Mutant.isOn(.staleWitness) { return }",
    ),
    Place(
        _CORE + "Writes/ModelSync+Outcomes.swift", "func settle", "instead of",
        "let deferred = context.defersOutcomes && (keeping.isOn || context.isResumed) ? writes.number(of: write) : nil",
        """
let defers = context.defersOutcomes && !Mutant.isOn(.recordUncontained)
let deferred = defers && (keeping.isOn || context.isResumed) ? writes.number(of: write) : nil
""",
    ),
    Place(
        _CORE + "Sync/Replica.swift", "func takeUnkept", "instead of",
        "name: field.name, value: field.value, version: field.version, origin: field.origin, number: field.number,",
        """
name: field.name, value: Mutant.isOn(.keepShown) ? field.shown ?? field.value : field.value, version: field.version,
origin: field.origin, number: field.number,
""",
    ),
    Place(
        _CORE + "Lists/ListIndex.swift", "func update", "instead of",
        "for (old, new) in placed { move(old, new, isShown: isCommitted && wasCommitted) }",
        """
for (old, new) in placed {
  let isMissed = Mutant.isOn(.staleListOrder) && old != nil && new != nil
  move(old, new, isShown: isCommitted && wasCommitted && !isMissed)
}
""",
    ),
    Place(
        _CORE + "Lists/ListIndex.swift", "func update", "instead of",
        "for key in replaced {",
        "for key in replaced where !Mutant.isOn(.staleListElement) {",
    ),
    Place(
        _CORE + "Barriers/AppliedReporter.swift", "func takeReached", "instead of",
        "let version = models[at: index].replica.version",
        """
let version = models[at: index].replica.version + (Mutant.isOn(.reportUnapplied) ? 1 : 0)
""",
    ),
    Place(
        _CORE + "Writes/NumberingHistory.swift", "func mayBeForgotten", "before",
        "guard let first else { return false }",
        "if Mutant.isOn(.trustForgetful) { return false }",
    ),
    Place(
        _CORE + "Writes/ModelSync+Writes.swift", "func recordNumber", "before",
        "effects.journal.append(.numbered(write, pending.number ?? 0, conditions: pending.proposal.conditions))",
        "if Mutant.isOn(.numberUnkept) { return }",
    ),
    Place(
        _CORE + "Session.swift", "init", "instead of",
        "let identity = Identity(secret: run.identity.secret, name: run.identity.name)",
        """
var secret = run.identity.secret
if Mutant.isOn(.resendAsAnother) { secret.low ^= 2 }
let identity = Identity(secret: secret, name: run.identity.name)
""",
    ),
    Place(
        _CORE + "Presence/Claims.swift", "func proposals", "before",
        "for (field, value) in all where !writes.isUnacknowledged(field) && isMissing(field, value) {",
        "if Mutant.isOn(.neverClaim) { return [] }",
    ),
    Place(
        _CORE + "Session.swift", "func join", "before",
        "models[id] = model",
        "if Mutant.isOn(.restartNumbers) { model.writes.resume(after: 0) }",
    ),
    Place(
        _CORE + "Sync/UpdateBuilder.swift", "func take", "before",
        "let update = ModelUpdate(",
        "if Mutant.isOn(.forgetHops) { hops &-= 1 }",
    ),
    Place(
        _CORE + "Sync/Replica.swift", "func removeAll", "before",
        "for index in fields.indices",
        "if Mutant.isOn(.mergeSnapshot) { return }",
    ),
    Place(
        _CORE + "Sync/ModelSync+Following.swift", "func apply", "instead of",
        "if cursor.version <= replica.version {",
        "if cursor.version <= replica.version, !Mutant.isOn(.applyRepeats) {",
    ),
    Place(
        _CORE + "Sync/ModelSync+Following.swift", "func fits", "instead of",
        "let isPastGap = cursor.previous > version",
        "let isPastGap = cursor.previous > version && !Mutant.isOn(.applyPastGap)",
    ),
    Place(
        _CORE + "Sync/ModelSync+Following.swift", "func recordNumber", "before",
        "touch(writes.hide(upTo: number))",
        "if Mutant.isOn(.overlayLowerOwn) { return }",
    ),
    Place(
        _CORE + "Sync/Replica+Offer.swift", "func offers", "instead of",
        "let latest = seen.latest()",
        "let latest = Mutant.isOn(.offerLastWriters) ? nil : seen.latest()",
    ),
    Place(
        _CORE + "Sync/ModelSync+Following.swift", "func receive", "before",
        "guard chunk.isLast else { return false }",
        """
if Mutant.isOn(.applyFirstChunk), !chunk.isLast {
  guard apply(catchup.chunks, &context) else { return false }
  becomeCurrent(after: heartbeat, now: now, &context, &effects)
  return true
}
""",
    ),
    Place(
        _CORE + "Sync/ModelSync+Following.swift", "func reach", "instead of",
        "touch(writes.hide(upTo: lastDecided))",
        "touch(writes.hide(upTo: Mutant.isOn(.ignoreLastDecided) ? 0 : lastDecided))",
    ),
    Place(
        _CORE + "Sync/ModelSync+Following.swift", "func becomeCurrent", "before",
        "if claims.mayBeAnew {",
        "if Mutant.isOn(.renumberResent) { for write in writes.order { writes.unnumber(write) } }",
    ),
    Place(
        _CORE + "Connection/ConnectionMachine.swift", "func receive", "after",
        "owesAskHeads = true",
        "if Mutant.isOn(.ignoreMissedHeartbeat) { owesAskHeads = false }",
    ),
    Place(
        _CORE + "Writes/WriteQueue.swift", "var lowestUnacknowledged", "instead of",
        "byNumber.firstKey ?? lastNumber + 1",
        "Mutant.isOn(.confirmTooFar) ? (byNumber.firstKey ?? lastNumber) + 1 : byNumber.firstKey ?? lastNumber + 1",
    ),
    Place(
        _CORE + "Writes/WriteQueue.swift", "func update", "after",
        "body(&pending[at: index])",
        "if Mutant.isOn(.neverResend), pending[id]?.number != nil { pending[id]?.sending.isDue = false }",
    ),
    Place(
        _CORE + "Writes/WriteQueue.swift", "func replaced", "before",
        "if proposal.operations.count == 1 {",
        """
if Mutant.isOn(.coalesceSent) || Mutant.isOn(.coalescePartly) {
  return replacedWrongly(by: Swift.Set(proposal.operations.map(\\.field)))
}
""",
    ),
    Place(
        _CORE + "Writes/WriteQueue.swift", "", "before",
        "mutating func toSend(room: Int) -> [WriteID] {",
        """
private func replacedWrongly(by fields: Swift.Set<String>) -> [WriteID] {
  Swift.Set(fields.compactMap { over[$0]?.last }).filter { id in
    guard let write = pending[id], write.proposal.isPlainSet, write.isUnacknowledged else { return false }
    if Mutant.isOn(.coalescePartly) { return write.number == nil }
    return write.proposal.operations.allSatisfy { fields.contains($0.field) }
  }.sorted()
}
""",
    ),
    Place(
        _CORE + "Writes/ConflictResolver.swift", "func prepareRuled", "before",
        "write.proposal.conditions = conditions",
        "if Mutant.isOn(.mergeUnconditionally) { conditions.removeAll() }",
    ),
    Place(
        _CORE + "Writes/ModelSync+Writes.swift", "func merged", "before",
        "$0.seen[question.field] = .init(value: .value(question.theirs), epoch: epoch, version: version)",
        "if Mutant.isOn(.askForEver) { return }",
    ),
    Place(
        _CORE + "Writes/ModelSync+Writes.swift", "func merged", "before",
        "touch(question.field)",
        """
if Mutant.isOn(.trustStaleMerge) {
  let now = replica.field(question.field)?.value
  writes.update(write) {
    $0.seen[question.field] = .init(value: .value(now), epoch: epoch, version: version)
  }
}
""",
    ),
    Place(
        _CORE + "Writes/ModelSync+Writes.swift", "func write", "instead of",
        "if keeps(context) { effects.journal.append(.written(pending.kept(in: id))) }",
        "if keeps(context), !Mutant.isOn(.writeUnkept) { effects.journal.append(.written(pending.kept(in: id))) }",
    ),
    Place(
        _CORE + "Writes/ModelSync+Outcomes.swift", "func acknowledge", "before",
        "if holds(version, epoch) { release(write) } else { writes.decide(write, at: version) }",
        "if Mutant.isOn(.dropAcknowledged) { release(write) }",
    ),
    Place(
        _CORE + "Writes/ModelSync+Outcomes.swift", "func end", "instead of",
        "if writes[write]?.sending.isSecondTry == true {",
        "if writes[write]?.sending.isSecondTry == true, !Mutant.isOn(.secondTryBelieved) {",
    ),
    Place(
        _CORE + "Writes/TextMerge.swift", "", "before",
        "enum TextMerge {",
        "import BindingProtocol",
    ),
    Place(
        _CORE + "Writes/TextMerge.swift", "func isTwice", "before",
        "if let former { return current.words.isPart(of: former.words) }",
        "if Mutant.isOn(.dropWords), let former, !former.words.isEmpty { return true }",
    ),
    Place(
        "Sources/BindingProtocol/Values/Merge.swift", "func union", "instead of",
        "let present = current ?? emptyList",
        "let present = Mutant.isOn(.unionReplaces) ? emptyList : current ?? emptyList",
    ),
    Place(
        _CORE + "Sync/Replica.swift", "func forgetIDs", "before",
        "for index in indexByID { fields[index].id = nil }",
        "if Mutant.isOn(.keepFieldNumbers) { return }",
    ),
    Place(
        _CORE + "Sync/ModelSync.swift", "func giveUp", "instead of",
        "for write in writes.order {",
        "for write in Mutant.isOn(.waitWithoutRight) ? [] : writes.order {",
    ),
    Place(
        _CORE + "Sync/ModelSync.swift", "func giveUp", "instead of",
        "let wasSent = pending.number != nil || pending.sending.wasSent || pending.sending.isSecondTry",
        "let wasSent = !Mutant.isOn(.refuseSent) && (pending.number != nil || pending.sending.isSecondTry)",
    ),
    Place(
        _CORE + "Sync/ModelSync.swift", "func giveUp", "before",
        "catchup.removeAll()",
        "if Mutant.isOn(.keepUnread) { return }",
    ),
    Place(
        _CORE + "Expiry/ExpiringFields.swift", "func lapse", "before",
        "let late = expiring.lapses.take(at: now)",
        "if Mutant.isOn(.lateWritesCount) { return }",
    ),
    Place(
        _CORE + "Expiry/ExpiringFields.swift", "func expire", "instead of",
        "!limit.isFallback(replica.fields[index].value) && replica.fields[index].value != nil",
        """
!Mutant.isOn(.neverStale) && !limit.isFallback(replica.fields[index].value) && replica.fields[index].value != nil
""",
    ),
    Place(
        _CORE + "Undo/UndoBook+Restoring.swift", "func finalize", "before",
        "if let failure = obstacle(to: step, in: replica, isPending: { _ in false }, isOwn: isOwn) { return failure }",
        "if Mutant.isOn(.undoUnconditionally) { return nil }",
    ),
    Place(
        _CORE + "Undo/UndoBook+Recording.swift", "func commit", "instead of",
        "(before, beforeAt, isBeforeKnown) = (value, point, true)",
        "(before, beforeAt, isBeforeKnown) = (Mutant.isOn(.undoToWhatWasSeen) ? before : value, point, true)",
    ),
    Place(
        _CORE + "Undo/UndoBook+Recording.swift", "func record", "instead of",
        "removeRedo()",
        "if !Mutant.isOn(.keepRedo) { removeRedo() }",
    ),
    Place(
        _CORE + "Undo/UndoBook+Restoring.swift", "func rebase", "instead of",
        "if last.left != UndoField.Left(present?.value) {",
        "if last.left != UndoField.Left(present?.value), !Mutant.isOn(.undoOverEpoch) {",
    ),
    Place(
        _CORE + "Undo/UndoBook+Recording.swift", "func fold", "instead of",
        "(beforeAt, isBeforeKnown) = (nil, false)",
        "(beforeAt, isBeforeKnown) = (nil, Mutant.isOn(.undoFoldedAsSeen))",
    ),
    Place(
        _CORE + "Undo/UndoBook+Recording.swift", "func commit", "instead of",
        "let follows = at == point",
        "let follows = at == point || Mutant.isOn(.undoAcrossOthers)",
    ),
]
