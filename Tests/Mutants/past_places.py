"""Places of the mutants of history."""

from place import Place

_QUERY = "Sources/BindingHub/Storage/HistoryQuery.swift"
_QUEUE = "Sources/BindingHub/Core/History/HistoryQueue.swift"

PLACES = [
    Place(
        _QUERY, "func add", "instead of",
        "answer.next = query.isOldestFirst ? commit.version - 1 : commit.version",
        """
var next = query.isOldestFirst ? commit.version - 1 : commit.version
if Mutant.isOn(.skipAtPageEnd) { next = query.isOldestFirst ? next + 1 : next - 1 }
if Mutant.isOn(.doubleAtPageEnd) { next = query.isOldestFirst ? next - 1 : next + 1 }
answer.next = next
""",
    ),
    Place(
        _QUERY, "func commits", "instead of",
        "guard query.epoch == 0 || query.epoch == cursor.epoch, query.since <= cursor.time,",
        "guard query.epoch == 0 || query.epoch == cursor.epoch || Mutant.isOn(.anyEpoch), query.since <= cursor.time,",
    ),
    Place(
        _QUEUE, "init", "instead of",
        "from = model.position.deltasFrom",
        "from = Mutant.isOn(.tellRenumbered) ? 0 : model.position.deltasFrom",
    ),
    Place(
        _QUEUE, "func fill", "instead of",
        "horizon = min(isRenumbered ? query.from : answer.oldest, head) + 1",
        "horizon = Mutant.isOn(.endlessPast) ? 1 : min(isRenumbered ? query.from : answer.oldest, head) + 1",
    ),
]
