"""Glimpse, leftovers, heir and misfit become ModelSnapshot, orphaned fields, successor and violation."""

from .rewriting import names

SWIFT = ("*.swift", "Tests/Mutants/*.py", "ARCHITECTURE.md", "docs/*.md")
FILES = {"Sources/BindingPeer/Core/Glimpse.swift": "Sources/BindingPeer/Core/ModelSnapshot.swift"}
RULES = [
    *names({"Glimpse": "ModelSnapshot", "glimpse": "snapshot"}, SWIFT),
    *names(
        {
            "leftovers": "orphanedFields", "giveUpLeftovers": "giveUpOrphanedFields",
            "findLeftovers": "findOrphanedFields",
        }, SWIFT),
    *names({"heir": "successor", "heirIDs": "successorIDs", "tellHeir": "tellSuccessor"}, SWIFT),
    *names({"Misfit": "Violation", "misfit": "violation", "misfits": "violates"}, SWIFT),
]
