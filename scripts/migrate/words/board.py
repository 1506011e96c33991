"""board and watchers become broadcaster and observers: where a status is told, and to whom.

Dashboards, keyboards and a watcher of a command (`bindpeer watch`) keep their names.
"""

from .rewriting import code, names

PEER = ("Sources/BindingPeer/*.swift",)
PEERS = (*PEER, "Tests/BindingPeerTests/*.swift")
FILES: dict[str, str] = {}
RULES = [
    *names(
        {
            "StatusBoard": "StatusBroadcaster", "ShownBoards": "ShownBroadcasters",
            "shownBoards": "shownBroadcasters", "statusBoard": "statusBroadcaster",
        }),
    *code({r"\bboard\b": "broadcaster", r"\bboards\b": "broadcasters"}, PEER),
    *code({r"\bWatchers\b": "Observers", r"\bwatchers\b": "observers"}, PEER),
    *code({
        r"\bisWatched\b": "isObserved", r"\bwasWatched\b": "wasObserved", r"\bisPeerWatched\b": "isPeerObserved",
        r"\bwatchedModels\b": "observedModels",
    }, PEERS),
    *code({r"\bwatched\b": "observed", r"\bwatch\(": "register("}, PEER),
]
