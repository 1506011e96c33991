"""door, guest and letter become in-process transport, client and message; of pages' requests it is access control.

A letter of a text stays a letter, and so does the model `door` of tests.
"""

from .rewriting import Rule, code, names

ALL = ("*",)
HUB = ("Sources/BindingHub/*.swift",)
WEB = ("Sources/BindingWeb/*.swift",)
MODEL = ("Sources/BindingModel/*.swift", "Tests/BindingModelTests/Pace*.swift")
PEERS = ("Sources/BindingPeer/*.swift", "Tests/BindingPeerTests/*.swift")
TESTS = ("Tests/BindingPeerTests/*.swift",)
FILES = {
    "Sources/BindingProtocol/Values/HubDoor.swift": "Sources/BindingProtocol/Values/InProcessTransport.swift",
    "Sources/BindingWeb/HTTP/FrontDoor.swift": "Sources/BindingWeb/HTTP/AccessControl.swift",
    "Tests/BindingPeerTests/GuardedDoor.swift": "Tests/BindingPeerTests/InterceptingTransport.swift",
}
RULES = [
    *names(
        {
            "HubDoor": "InProcessTransport", "HubDoorConnection": "HubConnection", "FrontDoor": "AccessControl",
            "GuardedDoor": "InterceptingTransport", "ShutDoor": "OfflineTransport", "LateDoor": "LateTransport",
        }, ALL),
    Rule(r"through a `InProcessTransport`", "through an `InProcessTransport`"),
    # Peers and their tests: where a hub of the same process is reached.
    *code({r"\bdoor\b": "transport"}, PEERS),
    *code({r"\btransport\.shut\(": "transport.cut(", r"\bfunc shut\(": "func cut(", r"\bisShut\b": "isCut"}, TESTS),
    Rule(
        r"\bA door to a hub of this process that a test can shut, and at which it can\b",
        "A transport to a hub of this process that a test can cut, and on which it can", TESTS),
    Rule(r"\bA door that nobody answers at until\b", "A transport without a hub until", TESTS),
    Rule(r"\bA door behind which nobody is\b", "A transport without a hub", ("Tests/Bench/*.swift",)),
    # The gateway: who may ask for pages, and the hub behind it.
    *code({r"\bdoor\b": "access"}, WEB),
    Rule(r"\bOpens the hub's door and lets\b", "Connects to the hub and lets", WEB),
    Rule(r"\bIt is a guest at the hub's door like a peer of\b", "It is a client of the hub like a peer of", WEB),
    Rule(r"\ba guest at a hub's door\b", "a client of a hub in the same process", ("CONTRIBUTING.md",)),
    # The hub: what other threads hand to its own.
    *code({r"\bguest\b": "client", r"\bguests\b": "clients", r"\bGuest\b": "Client"}, HUB),
    *code({r"\bletters = poller\b": "wakeups = poller", r"\bisReadable\(letters\)": "isReadable(wakeups)"}, HUB),
    *code({
        r"\bLetter\b": "Message", r"\bletters\b": "messages", r"\bletter\b": "message",
        r"\b(\w+)Letters\(\)": r"\1Messages()",
    }, HUB),
    Rule(r"\bFeeds one letter to the machine\b", "Feeds one message to the machine", HUB),
    *code({r"\bguest\b": "other"}, ("Tests/BindingHubTests/*.swift",)),
    *code({r"\bdoor\b": "listening"}, ("Tests/ProcessTests/Relay.swift",)),
    # A queue of an observer: what waits, and for how many changes it stands.
    *code({r"\bLetter\b": "Entry", r"\bletters\b": "entries", r"\bletter\b": "entry"}, MODEL),
]
