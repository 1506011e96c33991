"""crowd, behind and roomy become congested, lagging and writable: connections that take less than they are sent.

The counter of the status keeps its name, `behindConnections`. A peer behind a version of a model is an ordinary
word, and so is the crowd of peers in a benchmark or an attack.
"""

from .rewriting import Rule, code, names

ALL = ("*",)
HUB = ("Sources/BindingHub/*.swift",)
HUBS = (*HUB, "Tests/BindingHubTests/*.swift")
PEERS = ("Sources/BindingPeer/*.swift", "Tests/BindingPeerTests/*.swift")
FILES = {
    "Sources/BindingHub/Core/Sync/HubMachine+Behind.swift": "Sources/BindingHub/Core/Sync/HubMachine+Congestion.swift",
    "Tests/BindingHubTests/BehindTests.swift": "Tests/BindingHubTests/CongestionTests.swift",
}
RULES = [
    Rule(r"\bHubMachine\+Behind\b", "HubMachine+Congestion", ALL),
    *names({"BehindTests": "CongestionTests"}, ALL),
    # Connections at which messages wait.
    *code({r"\bisCrowded\b": "isCongested", r"(?<=\.)crowd\(": "becameCongested(",
           r"\bfunc crowd\(": "func becameCongested("}, HUBS),
    *code({r"\bmachine\.hasRoom\(": "machine.becameWritable(",
           r"\bfunc hasRoom\((?=_ connection\b)": "func becameWritable("}, HUBS),
    *code({r"\broomy\b": "writable"}, HUB),
    *code({r"(?<!func )\bbehind\b(?!\()": "congestedConnections"}, HUB),
    *code({r"\bfunc crowded\(": "func congested("}, HUBS),
    # Those of them that were not told all.
    *code({r"\bisBehind\b": "isLagging", r"\bbehindConnections\b": "laggingConnections"}, HUB),
    # Identities that had to make room.
    *code({r"\bfunc crowdedOut\(": "func evicted(", r"\bcrowdedOut\b": "evictedLastSeen"}, HUBS),
    # An outbox that cannot be written.
    *code({r"\bisKeepingBehind\b": "isJournalLagging", r"\bwasBehind\b": "wasLagging"}, PEERS),
    *code({r"\bfunc behind\(": "func laggingJournal("}, ("Tests/BindingPeerTests/Outbox/*.swift",)),
]
