"""Places of the mutants of a log with shards."""

from place import Place

_SHARDS = "Sources/BindingHub/Storage/Shards/"

PLACES = [
    Place(
        _SHARDS + "ShardCall.swift", "func isOf", "instead of",
        "revision == 0 || revision >> bits == UInt64(shard)",
        "revision == 0 || revision >> bits == UInt64(shard) || Mutant.isOn(.cellMixesShards)",
    ),
    Place(
        _SHARDS + "ShardRouter.swift", "func append", "instead of",
        "guard place.target == nil else {",
        "guard place.target == nil || Mutant.isOn(.cellStoresHeld) else {",
    ),
    Place(
        _SHARDS + "ShardRouter.swift", "func answer", "instead of",
        "guard parts[shard]?.suspendedUntil == nil, place.shard == shard, questions[question] != nil else { return }",
        """
guard parts[shard]?.suspendedUntil == nil || Mutant.isOn(.cellBelievesMoved),
  place.shard == shard || Mutant.isOn(.cellBelievesMoved), questions[question] != nil
else { return }
""",
    ),
    Place(
        _SHARDS + "ShardRouter.swift", "func note", "before",
        "if parts[shard]?.elsewhere[head.model]",
        "if Mutant.isOn(.cellForgetsElsewhere) { return }",
    ),
    Place(
        "Sources/BindingHub/Storage/Shared/SharedMemoryLog.swift", "func append", "instead of",
        "guard fence == state.fence else { return batches.map { _ in .outdated } }",
        "guard fence == state.fence || Mutant.isOn(.cellStoresFenced) else { return batches.map { _ in .outdated } }",
    ),
]
