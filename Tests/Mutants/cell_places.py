"""Places of the mutants of hubs that share a log."""

from place import Place

_LOG = "Sources/BindingHub/Core/Shared/SharedLog.swift"
_WORK = "Sources/BindingHub/Core/Shared/SharedWork.swift"
_JOINS = "Sources/BindingHub/Core/Sync/HubMachine+Joins.swift"
_HOMES = "Sources/BindingHub/Core/Homes/"
_SETTLING = "Sources/BindingHub/Core/HubMachine+Settling.swift"

PLACES = [
    Place(
        "Sources/BindingHub/Storage/Shared/SharedMemoryLog.swift", "func append", "before",
        "guard model.head.revision == append.after else {",
        """
if Mutant.isOn(.cellAppendsBlindly) {
  let record = SharedRecord(batch, revision: revision)
  model.add(record)
  state.models[batch.model] = model
  stored.append(record)
  return .stored(revision)
}
""",
    ),
    Place(
        _SETTLING, "func settle", "after",
        "output.batches.append(batch)",
        """
if Mutant.isOn(.cellAcknowledgesOnSend), shared != nil {
  hub.sessions.enqueue(model.batch.pending.answers, model.batch.pending.others, of: model, wall: time.wall)
}
if Mutant.isOn(.cellPublishesUndecided), shared != nil { publisher.publish(batch, index, &hub, &output) }
""",
    ),
    Place(
        _LOG, "func take", "before",
        "// Only the same bytes again tell what became of it:",
        """
if Mutant.isOn(.cellTrustsRead) {
  let model = hub.models[index]
  for answer in model.batch.pending.answers {
    let refusal = WireOutcome.Rest.refused(Refusal(.doesNotFit, "it is not stored"))
    hub.sessions.enqueue(WireOutcome(topic: model.topic, number: answer.number, refusal), answer.session)
  }
  _ = model.batch.shared.endAppend()
  model.batch.isAppending = false
  hub.dropBatch(index)
  load(index, &output)
  return
}
""",
    ),
    Place(
        _JOINS, "func believe", "before",
        "if shared != nil {",
        """
if Mutant.isOn(.cellBelievesAhead), shared != nil {
  recovery.believeIfAhead(claims, session, model, &hub, &publisher, &output)
}
""",
    ),
    Place(
        _JOINS, "func believe", "instead",
        "if isNew { loadNew(index, &output) } else { loadIfBehind(claims, session, of: identity.tag, index, &output) }",
        """
if !isNew {
  loadIfBehind(claims, session, of: identity.tag, index, &output)
} else if !Mutant.isOn(.cellAnswersEmpty) {
  loadNew(index, &output)
}
""",
    ),
    Place(
        _SETTLING, "func apply", "before",
        "SharedWriters.end(batch.decisions, in: index, &hub)",
        """
if Mutant.isOn(.cellForgetsForeign) {
  let tags = model.writers.records.map(\\.origin.tag)
  var foreign: Set<Tag> = []
  for tag in tags where hub.sessions.identities[tag]?.session == nil { foreign.insert(tag) }
  model.forget(foreign)
}
""",
    ),
    Place(
        "Sources/BindingHub/Core/Writes/ModelLog+Decisions.swift", "func openBatch", "instead",
        """
batch.pending.commits.begin(
  epoch: epoch, previous: version, time: max(time, position.time), namesKnown: FieldID(fields.count))
""",
        """
batch.pending.commits.begin(
  epoch: epoch, previous: version, time: Mutant.isOn(.cellTimeGoesBack) ? time : max(time, position.time),
  namesKnown: FieldID(fields.count))
""",
    ),
    Place(
        _SETTLING, "func apply", "instead",
        "model.batch.lists.forget()",
        "if !Mutant.isOn(.cellKeepsListOrder) { model.batch.lists.forget() }",
    ),
    Place(
        _LOG, "func take", "before",
        "if let sent = model.batch.shared.sent, sent.record == batch.record {",
        """
if Mutant.isOn(.cellTakesBothAnswers), let sent = model.batch.shared.sent, sent.record == batch.record {
  hub.decideAgain(index)
  guard model.position.tail?.take(batch.record, revision: record.revision) == .apply else { return }
  return apply(batch, index, time, &output)
}
""",
    ),
    Place(
        "Sources/BindingHub/Storage/Shared/OpenAppends.swift", "func take", "before",
        "guard let append = open[record.batch.model], record.batch.record >= append.batch.batch.record else {",
        """
if Mutant.isOn(.cellTakesBothAnswers) {
  output.records.append(record)
  continue
}
""",
    ),
    Place(
        _WORK, "func loadIfBehind", "before",
        "if isBehindNumbers || join.isAhead(of: model, in: hub.epoch) {",
        "if Mutant.isOn(.cellIgnoresNumbers), isBehindNumbers { return }",
    ),
    Place(
        _JOINS, "func raiseLastDecided", "before",
        "if join.unacknowledged > 1 || model.writers.index(of: origin.tag) != nil {",
        "if Mutant.isOn(.cellIgnoresNumbers), shared != nil { return }",
    ),
    Place(
        _LOG, "func holds", "before",
        "output.sync =",
        "if Mutant.isOn(.cellForgetsHello) { return false }",
    ),
    Place(
        "Sources/BindingHub/Core/Models/ModelPublisher+Renumbering.swift", "func endSessions", "instead",
        "model.batch.waiting.removeAll()",
        "if !Mutant.isOn(.cellDecidesRemoved) || !hub.configuration.isShared { model.batch.waiting.removeAll() }",
    ),
    Place(
        _HOMES + "ForwardedProposals.swift", "func passWaiting", "before",
        "model.batch.shared.home.pass(passed, at: time.monotonic)",
        """
if Mutant.isOn(.cellHomeAnswersOnSend) {
  for one in passed {
    hub.sessions.enqueue(
      WireOutcome(topic: model.topic, number: one.number, .committed(count: 1, version: model.version + 1)),
      one.proposal.session)
  }
}
""",
    ),
    Place(
        _HOMES + "ForwardedProposals.swift", "func takeBack", "before",
        "model.batch.waiting.insert(contentsOf: proposals, at: 0)",
        "if Mutant.isOn(.cellHomeForgetsPassed) { return goOn(index, time, &output) }",
    ),
    Place(
        _HOMES + "SharedOwners.swift", "func isElsewhere", "before",
        "return recorded.map",
        "if Mutant.isOn(.cellOwnerUnasked) { return false }",
    ),
    Place(
        _HOMES + "SharedOwners.swift", "func isAwaited", "before",
        "return claim.map",
        "if Mutant.isOn(.cellOwnerUnawaited) { return false }",
    ),
    Place(
        _HOMES + "SharedOwners.swift", "func due", "before",
        "guard let recorded else {",
        "if Mutant.isOn(.cellOwnerForever), recorded?.hub != start { return nil }",
    ),
    Place(
        _HOMES + "ForwardedWriter.swift", "func decide", "after",
        "let approval = approval ??",
        "if Mutant.isOn(.cellOwnerTrusts), case .toBeAsked = approval {\n"
        "  return decide(proposal, of: writer, .given, in: index, &hub, time, &output)\n}",
    ),
]
