"""Where mutants of the peer are planted, and of what both sides share."""

from place import Place

_CORE = "Sources/BindingPeer/Core/"

PLACES = [
    Place(
        _CORE + "Barriers/Session+Applied.swift", "func report", "instead of",
        "let version = models[at: index].replica.version",
        """
let version = models[at: index].replica.version + (Mutant.isOn(.reportUnapplied) ? 1 : 0)
""",
    ),
    Place(
        _CORE + "Connection/Session+Link.swift", "func mayBeForgotten", "before",
        "guard !isResumed else { return true }",
        "if Mutant.isOn(.trustForgetful) { return false }",
    ),
    Place(
        _CORE + "Journal/Session+Keeping.swift", "func recordNumber", "before",
        "output.add(.keep(.numbered(write, pending.number ?? 0, conditions: pending.proposal.conditions)))",
        "if Mutant.isOn(.numberUnkept) { return }",
    ),
    Place(
        _CORE + "Journal/Session+Keeping.swift", "init", "instead of",
        "let identity = Identity(secret: run.identity.secret, name: run.identity.name)",
        """
var secret = run.identity.secret
if Mutant.isOn(.resendAsAnother) { secret.low ^= 2 }
let identity = Identity(secret: secret, name: run.identity.name)
""",
    ),
    Place(
        _CORE + "Presence/Session+Ephemeral.swift", "func claim", "before",
        "for (field, value) in model.claims.all where !model.outbox.isUnacknowledged(field) "
        "&& isMissing(field, value) {",
        "if Mutant.isOn(.neverClaim) { return }",
    ),
    Place(
        _CORE + "Session.swift", "func join", "after",
        "addCarriedToOverlay(of: id)",
        "if Mutant.isOn(.restartNumbers) { models[id]?.outbox.resume(after: 0) }",
    ),
    Place(
        _CORE + "Sync/PeerModel.swift", "func takeUpdate", "before",
        "let update = ModelUpdate(",
        "if Mutant.isOn(.forgetHops) { hops &-= 1 }",
    ),
    Place(
        _CORE + "Sync/Replica.swift", "func removeAll", "before",
        "for index in fields.indices",
        "if Mutant.isOn(.mergeSnapshot) { return }",
    ),
    Place(
        _CORE + "Sync/Session+Commits.swift", "func commits", "instead of",
        "if cursor.version <= models[at: index].replica.version {",
        "if cursor.version <= models[at: index].replica.version, !Mutant.isOn(.applyRepeats) {",
    ),
    Place(
        _CORE + "Sync/Session+Commits.swift", "func fits", "instead of",
        "let isPastGap = cursor.previous > version",
        "let isPastGap = cursor.previous > version && !Mutant.isOn(.applyPastGap)",
    ),
    Place(
        _CORE + "Sync/Session+Commits.swift", "func recordOwn", "before",
        "models[at: index].touch(models[at: index].outbox.hide(upTo: number))",
        "if Mutant.isOn(.overlayLowerOwn) { return }",
    ),
    Place(
        _CORE + "Sync/Session+Commits.swift", "func offer", "instead of",
        "let numbers = hubCan(Capability.recovery) ? seen : nil",
        "let numbers = hubCan(Capability.recovery) && !Mutant.isOn(.offerLastWriters) ? seen : nil",
    ),
    Place(
        _CORE + "Sync/Session+Reading.swift", "func handle", "before",
        "guard chunk.isLast else { return }",
        """
if Mutant.isOn(.applyFirstChunk), !chunk.isLast {
  return apply(models[at: index].chunks, at: index) ? becomeCurrent(at: index, now: now, &output) : ()
}
""",
    ),
    Place(
        _CORE + "Sync/PeerModel.swift", "func reach", "instead of",
        "touch(outbox.hide(upTo: lastDecided))",
        "touch(outbox.hide(upTo: Mutant.isOn(.ignoreLastDecided) ? 0 : lastDecided))",
    ),
    Place(
        _CORE + "Sync/Session+Reading.swift", "func becomeCurrent", "before",
        "if models[at: index].mayBeAnew {",
        """
if Mutant.isOn(.renumberResent) {
  for write in models[at: index].outbox.order { models[at: index].outbox.unnumber(write) }
}
""",
    ),
    Place(
        _CORE + "Sync/Session+Reading.swift", "func handle", "after",
        "owesAskHeads = true",
        "if Mutant.isOn(.ignoreMissedHeartbeat) { owesAskHeads = false }",
    ),
    Place(
        _CORE + "Writes/Outbox.swift", "var lowestUnacknowledged", "instead of",
        "byNumber.firstKey ?? lastNumber + 1",
        "Mutant.isOn(.confirmTooFar) ? (byNumber.firstKey ?? lastNumber) + 1 : byNumber.firstKey ?? lastNumber + 1",
    ),
    Place(
        _CORE + "Writes/Outbox.swift", "func update", "after",
        "body(&pending[at: index])",
        "if Mutant.isOn(.neverResend), pending[id]?.number != nil { pending[id]?.needsSending = false }",
    ),
    Place(
        _CORE + "Writes/Outbox.swift", "func replaced", "before",
        "if proposal.operations.count == 1 {",
        """
if Mutant.isOn(.coalesceSent) || Mutant.isOn(.coalescePartly) {
  return replacedWrongly(by: Swift.Set(proposal.operations.map(\\.field)))
}
""",
    ),
    Place(
        _CORE + "Writes/Outbox.swift", "", "before",
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
        _CORE + "Writes/Session+Conflicts.swift", "func prepare", "before",
        "models[at: index].outbox.update(write) { $0.proposal.conditions = conditions }",
        "if Mutant.isOn(.mergeUnconditionally) { conditions.removeAll() }",
    ),
    Place(
        _CORE + "Writes/Session+Conflicts.swift", "func merged", "before",
        "$0.seen[question.field] = .init(value: .value(question.theirs), epoch: epoch, version: version)",
        "if Mutant.isOn(.askForEver) { return }",
    ),
    Place(
        _CORE + "Writes/Session+Conflicts.swift", "func merged", "before",
        "models[at: index].touch(question.field)",
        """
if Mutant.isOn(.trustStaleMerge) {
  let now = models[at: index].replica.field(question.field)?.value
  models[at: index].outbox.update(write) {
    $0.seen[question.field] = .init(value: .value(now), epoch: epoch, version: version)
  }
}
""",
    ),
    Place(
        _CORE + "Writes/Session+Writing.swift", "func write", "instead of",
        "if keeps(modelAt: index) { output.add(.keep(.written(pending.kept(in: id)))) }",
        "if keeps(modelAt: index), !Mutant.isOn(.writeUnkept) { output.add(.keep(.written(pending.kept(in: id)))) }",
    ),
    Place(
        _CORE + "Writes/Session+Writing.swift", "func acknowledge", "before",
        "if models[at: index].holds(version, epoch) {",
        "if Mutant.isOn(.dropAcknowledged) { release(write, at: index) }",
    ),
    Place(
        _CORE + "Writes/Session+Writing.swift", "func end", "instead of",
        "if models[at: index].outbox[write]?.isSecondTry == true {",
        "if models[at: index].outbox[write]?.isSecondTry == true, !Mutant.isOn(.secondTryBelieved) {",
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
]
