"""reveal becomes update: what an observer of a model is told at once, one for each drain that changed it."""

from .rewriting import Rule, names, parts

ALL = ("*",)
FILES = {
    "Sources/BindingPeer/Core/Sync/Reveal.swift": "Sources/BindingPeer/Core/Sync/ModelUpdate.swift",
    "Sources/BindingPeer/Core/Sync/RevealSteps.swift": "Sources/BindingPeer/Core/Sync/UpdateSteps.swift",
    "Tests/BindingPeerTests/Core/RevealStepsTests.swift": "Tests/BindingPeerTests/Core/UpdateStepsTests.swift",
}
RULES = [
    *names({"Reveal": "ModelUpdate", "HistoryReveal": "HistoryUpdate", "RevealFeed": "UpdateFeed"}, ALL),
    Rule(r"How what a peer's session reveals reaches\b", "How the updates of a peer's session reach", ALL),
    Rule(r"what it reveals\b", "its updates", ALL),
    Rule(r"\bis revealed\b", "is shown", ALL),
    Rule(r"\brevealed\b", "shown", ALL),
    *parts("reveal", "update"),
    *parts("reveals", "updates"),
    Rule(r"\b([Aa]) update\b", r"\1n update", ("*.swift", "*.md")),
]
