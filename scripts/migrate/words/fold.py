"""fold becomes coalesce for what observers, peers and outboxes skip, and compact for the log of a store.

What scripts read keeps its name: `folded` of `--json`, the counters `foldedCommits` (its property is its name) and
`commitsFolded`, the vector `offline-edits-fold`. So do folders.
"""

from .rewriting import Rule, code, names

STORE = ("Sources/BindingStore/*.swift", "Tests/BindingStoreTests/*.swift")
COMPACTED = (*STORE, "Sources/BindingHub/*.swift", "Tests/BindingHubTests/*.swift")
COMPACTOR = (*COMPACTED, "Tests/Simulation/World+Store.swift")
TAIL = ("Tests/BindingStoreTests/TailTests.swift",)
BENCH = ("Tests/Bench/StoreBenchmark.swift",)
COALESCED = ("Sources/BindingModel/*", "Sources/BindingPeer/*.swift", "Sources/BindingWeb/*.swift",
             "Sources/bindpeer/*.swift", "Tests/*.swift")
FILES = {
    "Sources/BindingHub/Storage/ModelFold.swift": "Sources/BindingHub/Storage/ModelCompactor.swift",
    "Sources/BindingModel/Support/FoldingQueue.swift": "Sources/BindingModel/Support/CoalescingQueue.swift",
    "Sources/BindingStore/Upkeep/ModelFolding.swift": "Sources/BindingStore/Upkeep/ModelCompaction.swift",
    "Tests/BindingHubTests/ModelFoldTests.swift": "Tests/BindingHubTests/ModelCompactorTests.swift",
    "Tests/BindingPeerTests/Core/FoldingTests.swift": "Tests/BindingPeerTests/Core/CoalescingTests.swift",
    "Tests/BindingStoreTests/FoldingTests.swift": "Tests/BindingStoreTests/CompactionTests.swift",
}
RULES = [
    # The log of a store.
    *names(
        {
            "ModelFold": "ModelCompactor", "ModelFolding": "ModelCompaction", "ModelFoldTests": "ModelCompactorTests",
            "foldBytes": "compactionBytes", "unfolded": "uncompacted", "eachUnfolded": "eachUncompacted",
            "foldedModels": "compactedModels", "loadedFolded": "loadedCompacted", "foldedTwice": "compactedTwice",
            "foldedFirst": "compactedFirst", "foldingWaits": "compactionWaits", "firstFold": "firstCompaction",
        }, ("*.swift", "ARCHITECTURE.md")),
    *names({"FoldingTests": "CompactionTests"}, STORE),
    *code({r"\.folding\b": ".compacting", r"\bcase folding\(": "case compacting(",
           r"\bfunc folding\(\)": "func compacting()", r"\bfolding\b": "compaction"}, STORE),
    *code({r"\bfold\b": "compact"}, TAIL),
    *code({r"\bfold\b": "compaction", r"\bfolds\b": "compactors"}, BENCH),
    *code({r"\bfold\b": "compactor"}, COMPACTOR),
    *code({r"\bfolded\b": "compacted", r"\bisFolded\b": "isCompacted"}, COMPACTED),
    # What is skipped since something later takes its place.
    *names(
        {
            "FoldingQueue": "CoalescingQueue", "FoldingTests": "CoalescingTests", "foldedWrites": "coalescedWrites",
            "commitsFolded": "coalescedCommits", "checkFolded": "checkCoalesced", "foldedLists": "coalescedLists",
            "foldedOnMain": "coalescedOnMain", "markOfFolded": "markOfCoalesced", "notFolded": "notCoalesced",
            "fullFolds": "fullOutboxCoalesces", "manyFold": "manyCoalesce",
        }, ("*.swift", "*.md"), but=("Sources/BindingWeb/*/GatewayOutput.swift",)),
    *code({r"\bcommitsFolded\b": "coalescedCommits"}, ("Sources/BindingWeb/*/GatewayOutput.swift",)),
    *code({r"\bfolded\b": "coalesced", r"\bfold\b": "coalesce", r"\bisFolded\b": "isCoalesced",
           r"\bcase folding\b": "case coalescing", r"\.folding\b": ".coalescing",
           r"\bfunc folding\(": "func coalescing("}, COALESCED),
    Rule(r"- fold: makes of\b", "- coalesce: makes of", ("Sources/BindingModel/*.swift",)),
    *names({"foldSent": "coalesceSent", "foldPartly": "coalescePartly"}, ("Tests/Mutants/*.py",)),
    *names({"test_rule_2_one_write_in_flight_newer_ones_fold_and_the_last_arrives":
            "test_rule_2_one_write_in_flight_newer_ones_coalesce_and_the_last_arrives"}, ("Tests/Browser/*.py",)),
]
