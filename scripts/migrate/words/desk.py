"""desk, errand and pen become worker, router, connection or mailbox, effect or request, and writer.

A desk in a text of a test or an example is one to put a lamp on.
"""

from .rewriting import Rule, code, names, parts

ALL = ("*",)
HUB = ("Sources/BindingHub/*.swift",)
PEER = ("Sources/BindingPeer/*.swift",)
WEB = ("Sources/BindingWeb/*.swift",)
LAB = ("Tests/Faults/bindlab/*.swift",)
FILES = {
    "Sources/BindingHub/Transport/StoreDesk.swift": "Sources/BindingHub/Transport/StoreWorker.swift",
    "Sources/BindingPeer/Runtime/PeerRuntime+Errands.swift": "Sources/BindingPeer/Runtime/PeerRuntime+Effects.swift",
    "Sources/BindingWeb/HTTP/FrontDesk.swift": "Sources/BindingWeb/HTTP/RequestRouter.swift",
    "Sources/BindingWeb/HTTP/RequestDesk.swift": "Sources/BindingWeb/HTTP/HTTPConnection.swift",
    "Tests/Faults/bindlab/HistoryPen.swift": "Tests/Faults/bindlab/HistoryWriter.swift",
}
RULES = [
    *names(
        {
            "StoreDesk": "StoreWorker", "FrontDesk": "RequestRouter", "RequestDesk": "HTTPConnection",
            "LinkDesk": "LinkMailbox", "OutboxPen": "JournalWriter", "HistoryPen": "HistoryWriter",
        }, ALL),
    # The hub: what its thread asks of the store's.
    *code({r"\bdesk\b": "storeWorker"}, HUB),
    *code({r"\bleave\(": "submit("}, ("*/StoreWorker.swift",)),
    *parts("errand", "request", HUB),
    *parts("errands", "requests", HUB),
    # The gateway: the answer to a request, and its connection.
    *code({
        r"\bfrontDesk\b": "router", r"\blet desk = HTTPConnection\b": "let connection = HTTPConnection",
        r"(?<=[,\[] )desk(?=\])": "connection", r"\bdesk\b": "router",
    }, WEB),
    # The peer: what follows from what a session wants, and where its link finds its part.
    Rule(r"\bErrands\b", "PeerEffects", PEER),
    Rule(r"\berrands\b", "effects", PEER),
    *code({r"(?<!\")\bdesk\b(?!\")": "mailbox"}, PEER),
    Rule(r"\bfinds it on its desk, if it has one\b", "finds it in its mailbox, if it has one", PEER),
    Rule(r"\b(the link, which has|a link without) a desk\b", r"\1 a mailbox", PEER),
    Rule(r"\bDoes what lies on the desk\b", "Does what lies in the mailbox", PEER),
    *code({r"\bpen\b": "journal"}, PEER),
    *code({r"\bpen\b": "writer"}, LAB),
]
