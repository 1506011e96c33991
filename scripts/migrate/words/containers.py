"""Keyed, Ordered, Rising and Fifo become IndexedMap, SortedArrayMap, MonotonicQueue and Deque."""

from .rewriting import Rule, names

ALL = ("*.swift", "ARCHITECTURE.md", "docs/*.md")
FILES = {
    "Sources/BindingModel/Support/Fifo.swift": "Sources/BindingModel/Support/Deque.swift",
    "Sources/BindingPeer/Core/Collections/Keyed.swift": "Sources/BindingPeer/Core/Collections/IndexedMap.swift",
    "Sources/BindingPeer/Core/Collections/Ordered.swift": "Sources/BindingPeer/Core/Collections/SortedArrayMap.swift",
    "Sources/BindingPeer/Core/Collections/Rising.swift": "Sources/BindingPeer/Core/Collections/MonotonicQueue.swift",
    "Tests/BindingPeerTests/Core/OrderedTests.swift": "Tests/BindingPeerTests/Core/SortedArrayMapTests.swift",
}
_PROSE = ("*/SharedModel+Ephemeral.swift", "*/OrderedTests.swift", "*/SortedArrayMapTests.swift")
RULES = [
    *names({"Fifo": "Deque", "Keyed": "IndexedMap", "OrderedTests": "SortedArrayMapTests"}, ALL),
    *names({"Ordered": "SortedArrayMap", "Rising": "MonotonicQueue"}, ALL, but=_PROSE),
    Rule(r"\bOrdered<", "SortedArrayMap<", ("*/SortedArrayMapTests.swift",)),
]
