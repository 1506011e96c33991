"""way becomes endpoint: where a hub listens and publishes; of a join it is the delivery, of a policy the strategy.

The protocol's names stay, `ways` of a welcome and `way` of a joined: documents, vectors and error texts have them.
Under way, one way and two ways are ordinary words, and so are the ways in which `bindlab leave` ends.
"""

from .rewriting import code

PEER = ("Sources/BindingPeer/*.swift",)
JOINS = (
    "Sources/BindingHub/*.swift", "Sources/BindingProtocol/*.swift", "Tests/BindingHubTests/*.swift",
    "Tests/BindingPeerTests/*.swift", "Tests/BindingProtocolTests/*.swift", "Tests/Bench/*.swift",
    "Tests/Simulation/*.swift",
)
FILES: dict[str, str] = {}
RULES = [
    *code({r"\benum Way\b": "enum Strategy", r"\blet way: Way\b": "let strategy: Strategy"}, PEER),
    *code({r"\bway\b": "strategy"}, PEER),
    *code({r"\bway\b": "delivery"}, JOINS),
    *code({r"\bWay\b": "HubEndpoint"}, but=("Tests/Faults/*",)),
    *code({r"\bways\b": "endpoints", r"\bwayName\b": "endpointName"}),
]
