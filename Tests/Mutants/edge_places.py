"""Places of the mutants of edges."""

from place import Place

_SESSION = "Sources/BindingHub/Core/Edge/EdgeSession.swift"
_BARRIERS = "Sources/BindingHub/Core/Verification/BarrierTable.swift"
_EVENTS = "Sources/BindingHub/Core/Edge/UplinkEvent.swift"
_UPLINK = "Sources/BindingEdge/Core/"
_COUNTS = "Sources/BindingHub/Core/Verification/BarrierTable+Hubs.swift"

PLACES = [
    Place(
        _SESSION, "func follow", "before",
        "let isPresence = edge?.isPresence(index, session, hub) == true",
        """
if Mutant.isOn(.edgeStaleLatest), record.wantsLatest { return }
if Mutant.isOn(.edgeAnswersResuming), !record.wantsLatest { return }
""",
    ),
    Place(
        _SESSION, "func mayAnswer", "before",
        "let isAhead =",
        "if Mutant.isOn(.edgeAnswersResuming), edge?.sessions[session]?.wantsLatest != true { return true }",
    ),
    Place(
        _SESSION, "func mayAnswer", "before",
        "guard let version = version(joined.version, of: joined.epoch, in: index), version <= model.version else {",
        """
if Mutant.isOn(.edgeMarkEarly), let origin = hub.sessions[session]?.identity {
  model.writers.with(model.writers.index(for: origin)) { $0.raise(to: joined.lastDecided) }
  return true
}
""",
    ),
    Place(
        _SESSION, "func passOn", "after",
        "edge?.requests.append(.greet(session, hello))",
        """
if Mutant.isOn(.edgeAcknowledges) {
  for run in runs {
    guard let index = hub.models.index(named: run.model) else { continue }
    for (offset, proposal) in run.proposals.enumerated() {
      let version = hub.models[index].version + 1 + Version(offset)
      hub.sessions.enqueue(
        WireOutcome(
          topic: hub.models[index].topic, number: proposal.number, .committed(count: 1, version: version)), session)
    }
  }
}
""",
    ),
    Place(
        _BARRIERS, "func begin", "before",
        "if hub.counts(id) {",
        """
if Mutant.isOn(.edgeCountsAsOne), hub.counts(id) {
  barrier.waiting.insert(id)
  continue
}
""",
    ),
    Place(
        _COUNTS, "func goOn", "before",
        "for number in numbers {",
        "if Mutant.isOn(.edgeCountsNoMore) { return }",
    ),
    Place(
        _EVENTS, "func endPresent", "before",
        "let models =",
        "if Mutant.isOn(.edgeKeepsPresent) { return }",
    ),
    Place(
        _UPLINK + "UplinkWriters.swift", "var hasWork", "instead of",
        "isAwaited || isPresent || models.values.contains { $0.wanted != nil || !$0.queue.isEmpty }",
        """
isAwaited || isPresent && !Mutant.isOn(.edgeForgetsPresent)
  || models.values.contains { $0.wanted != nil || !$0.queue.isEmpty }
""",
    ),
    Place(
        _UPLINK + "Uplink+Writing.swift", "func greet", "instead of",
        "let opening = HelloPlace(of: writer.hello).opening ?? session.opening",
        """
let isAgain = isAgain && !Mutant.isOn(.edgeFencesMoved)
let said = HelloPlace(of: writer.hello).opening
let opening = Mutant.isOn(.edgeFencesMoved) ? session.opening : said ?? session.opening
""",
    ),
]
