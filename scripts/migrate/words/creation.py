"""Peers, hubs and gateways are created by name, configuration and logger, and histories recorded by bindlab.

A table cannot tell an address from a hub in the same process, nor move an argument into a configuration: `HINTS` name
the lines that need a hand.
"""

from .rewriting import Hint, Rule, code

TEXT = ("*.swift", "*.md")
# The state machine of a peer still has options in milliseconds.
CORE = ("Sources/*", "Tests/BindingPeerTests/*", "Tests/Simulation*", "Tests/Bench/*", "Tests/Faults/*")
# The arguments of a call up to the label, with at most two levels of parentheses in them.
_BEFORE = r"((?:[^()]|\((?:[^()]|\([^()]*\))*\))*?)"
_CREATED = rf"\b(Peer|Hub|WebGateway)\({_BEFORE}"

RULES = [
    *code({r"(?<!struct )\bHubOptions\b": "Hub.Configuration",
           r"(?<!struct )\bWebOptions\b": "WebGateway.Configuration"}, TEXT),
    *code({r"\bSessionOptions\b": "Peer.Configuration"}, TEXT, CORE),
    # Not only code: texts may be among the arguments before the label.
    Rule(rf"{_CREATED}\boptions:", r"\1(\2configuration:", TEXT, CORE),
    Rule(rf"{_CREATED}\blog:", r"\1(\2logger:", TEXT, CORE),
    Rule(rf"\bPeer\({_BEFORE}\bhubs: (\[[^\[\]]*\]|[\w.]+)(?=[,)])", r"Peer(\1hub: .at(\2)", TEXT, CORE),
]
HINTS = [
    Hint(rf"\bPeer\({_BEFORE}\bhubs:", "pass the addresses as hub: .at(addresses)", TEXT, CORE),
    Hint(rf"\bPeer\({_BEFORE}\boutbox:", "set outbox of the Peer.Configuration", TEXT, CORE),
    Hint(rf"\bPeer\({_BEFORE}\bhub: (?!\.|\"|nil\b)",
         "a hub in the same process is hub: .inProcess(hub), addresses are hub: .at(addresses)", TEXT, CORE),
    Hint(r"\bhistoryPath\b|\bserve\b[^\n]* --history\b",
         "record histories with `bindlab serve`, a program of the tests", ("*",), ("Sources/*", "Tests/*", "docs/*")),
    Hint(r"\bHistoryStore\b", "it is a part of bindlab, a program of the tests", TEXT, CORE),
]
