"""hand becomes pending batch: what a hub has decided of a model and not yet handed to its store."""

from .rewriting import Rule, names

HUB = ("Sources/BindingHub/*", "Tests/BindingHubTests/*", "Tests/Mutants/*", "Tests/Bench/*", "ARCHITECTURE.md")
FILES = {
    "Sources/BindingHub/Core/Writes/ModelLog+Hand.swift": "Sources/BindingHub/Core/Writes/ModelLog+PendingBatch.swift",
    "Sources/BindingHub/Core/Writes/SpareHands.swift": "Sources/BindingHub/Core/Writes/BatchPool.swift",
}
RULES = [
    Rule(r"\b([Tt]he|a) batch in hand\b", r"\1 pending batch", HUB),
    Rule(r"where the hands lie\b", "where the batches lie", HUB),
    Rule(r"\bthe commit in hand\b", "the present commit", HUB),
    Rule(r"\bin the hand of its model\b", "in the pending batch of its model", HUB),
    Rule(r"\bin the hand\b", "in the pending batch", HUB),
    Rule(r"\bin its hand\b", "in its pending batch", HUB),
    Rule(r"\bmodel's hand\b", "model's pending batch", HUB),
    Rule(r"\b([Tt]he|[Aa]) hand\b", r"\1 pending batch", HUB),
    Rule(r"\binto the hand\b", "into the pending batch", HUB),
    *names(
        {
            "SpareHands": "BatchPool", "spareHands": "batchPool", "Hand": "PendingBatch", "hand": "pendingBatch",
            "takeHand": "borrowBatch", "openHand": "openBatch", "hasHand": "hasPendingBatch", "dropHand": "dropBatch",
            "clearHand": "clearBatch",
        }, HUB, but=("*/HubLoop.swift",)),
    Rule(r"\bHands that\b", "Batches that", ("*/BatchPool.swift",)),
    Rule(r"\bhands\b", "batches", ("*/BatchPool.swift",)),
    Rule(r"\bspare\b", "pool", ("*/ModelLog.swift",)),
    Rule(r"\bspare: batchPool\b", "pool: batchPool", HUB),
    Rule(r"\bother threads pendingBatch to\b", "other threads hand to", HUB),
    Rule(r"\bby pendingBatch\b", "by hand", HUB),
    Rule(r"\bat pendingBatch\b", "at hand", HUB),
]
