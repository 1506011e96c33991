"""gate becomes transport: what feeds the hub's machine with frames; of an observer's pace it is the limiter.

The counters' names stay: `gate` in the status of a hub, `bindbus_hub_gate_...` among the metrics. A `GatedStore` of a
test has a gate as other programs have.
"""

from .rewriting import Rule, code, names

ALL = ("*",)
HUB = ("Sources/BindingHub/*.swift",)
LOOP = ("Sources/BindingHub/Transport/*.swift",)
CORE = ("Sources/BindingHub/Core/*.swift",)
PACE = ("Sources/BindingModel/*.swift", "Tests/BindingModelTests/PaceLimiterTests.swift")
FILES = {
    "Sources/BindingHub/Transport/GateCounters.swift": "Sources/BindingHub/Transport/TransportCounters.swift",
    "Sources/BindingHub/Transport/InProcessGate.swift": "Sources/BindingHub/Transport/InProcessClients.swift",
    "Sources/BindingHub/Transport/ZeroMQGate+Listening.swift":
        "Sources/BindingHub/Transport/ZeroMQTransport+Listening.swift",
    "Sources/BindingHub/Transport/ZeroMQGate+Sending.swift":
        "Sources/BindingHub/Transport/ZeroMQTransport+Sending.swift",
    "Sources/BindingHub/Transport/ZeroMQGate.swift": "Sources/BindingHub/Transport/ZeroMQTransport.swift",
    "Sources/BindingModel/Lanes/PaceGate.swift": "Sources/BindingModel/Lanes/PaceLimiter.swift",
    "Tests/BindingModelTests/PaceGateTests.swift": "Tests/BindingModelTests/PaceLimiterTests.swift",
}
RULES = [
    *names(
        {
            "ZeroMQGate": "ZeroMQTransport", "InProcessGate": "InProcessClients", "GateCounters": "TransportCounters",
            "PaceGate": "PaceLimiter", "PaceGateTests": "PaceLimiterTests",
        }, ALL),
    *code({r"\bmachine\.gate\b": "machine.transportCounters"}, LOOP),
    *code({r"\bgate\b": "transportCounters"}, CORE),
    *code({r"\bgate\b": "transport"}, LOOP),
    *code({r"\bgate\b": "limiter"}, PACE),
    Rule(r"\bThe gate for connections of this process\. Its\b", "The connections of this process. Their", HUB),
    Rule(r"\b(the|a|The) gate\b", r"\1 transport", (*HUB, "CONTRIBUTING.md")),
    Rule(r"\bneither moves the band nor closes the gate;", "neither moves the band nor delays another;", PACE),
    Rule(r"Sources/BindingHub/Gate\.swift", "Sources/BindingHub/Link.swift", ("scripts/rules/planted.py",)),
]
