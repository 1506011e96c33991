"""patience, within and atMost become timeout: how long something waits at most.

What a message carries is still called `withinMs` in protocol, vectors and codec. A range and a most of something else
than time keep `within` and `atMost`.
"""

from .rewriting import Rule, code, names

SWIFT = ("*.swift",)
TEXT = ("*.swift", "*.md")
PEER = ("Sources/BindingPeer/*.swift",)
BENCH = ("Tests/Bench/*.swift",)
EXIT = ("Sources/BindingPeer/*/ExitFlush.swift",)
SIMULATION = ("Tests/Simulation/*.swift",)
# Here a number of milliseconds is meant.
NUMBERS = ("Tests/BindingHubTests/BarrierTests.swift", "Tests/BindingHubTests/VerificationTests.swift",
           "Tests/BindingPeerTests/Core/AppliedTests.swift")
RULES = [
    # A point in time, not a limit.
    *code({r"\bpatience(?= = now\(\) \+ \d| else\b)": "deadline", r"(?<=now\(\) < )patience\b": "deadline"},
          ("Tests/Bench/Publish.swift", "Tests/Bench/ScaleLines.swift", "Tests/Bench/ScaleConnection.swift")),
    *code({r"\bWorld\.patience\b": "World.approvalTimeout", r"\bstatic let patience\b": "static let approvalTimeout"},
          SIMULATION),
    *names({"patience": "timeout", "patienceMilliseconds": "timeoutMilliseconds"}, (*TEXT, "*.c")),
    *code({r"\bwithin\b": "timeoutMilliseconds"}, NUMBERS),
    *code({r"\bwithin: within\b": "timeoutMilliseconds: timeout", r"\bwithin\b(?![:(])": "timeout"},
          ("Tests/Simulation/World+Barriers.swift",)),
    *code({r"\bwithin\b": "timeout"}, ("Sources/BindingHub/Core/Verification/HubMachine+*.swift",)),
    *code({r"\bwithin milliseconds: UInt64": "timeoutMilliseconds: UInt64",
           r"(?<!join\()\bmilliseconds\b": "timeoutMilliseconds"}, EXIT),
    *code({r"\bwithin(?=: options\b|: milliseconds\b)": "timeoutMilliseconds"}, PEER),
    *code({r"\bwithin milliseconds: UInt64, now\b": "timeoutMilliseconds: UInt64, now",
           r"\bmin\(milliseconds, UInt64": "min(timeoutMilliseconds, UInt64"},
          ("Sources/BindingPeer/*/Session+Applied.swift",)),
    Rule(r"- milliseconds: how long at most\b", "- timeoutMilliseconds: how long at most", PEER),
    *code({r"\bwithin milliseconds: Int\b": "timeoutMilliseconds: Int", r"\bwithin: 60_000\b":
           "timeoutMilliseconds: 60_000", r"\btimeoutMilliseconds: milliseconds\b":
           "timeoutMilliseconds: timeoutMilliseconds"}, ("Tests/Bench/HubSessions.swift",)),
    *code({r"\bwithinMilliseconds limit: Int64": "timeoutMilliseconds: Int64",
           r"\.milliseconds\(limit\)": ".milliseconds(timeoutMilliseconds)"}, ("Sources/BindingWeb/*/WebEntry.swift",)),
    *names({"withinMilliseconds": "timeoutMilliseconds"}, TEXT),
    # What is public.
    *code({r"\b(?:within|atMost) limit: (Duration|TimeSpan)\b": r"timeout: \1",
           r"\b(?:within|atMost): limit\b": "timeout: timeout", r"\bwait\(atMost: ": "wait(timeout: "}),
    *code({r"\blimit\b(?=\.wholeMilliseconds|\.map \{ makeTimer| limit:)": "timeout",
           r"\bafter limit: Duration\b": "after timeout: Duration"}, PEER),
    *code({r"`limit`": "`timeout`"}, tuple(f"Sources/BindingPeer/*/{name}.swift" for name in (
        "Peer+Models", "PendingWrite", "Peer", "Presence", "SharedModel", "PeerRuntime"))),
    Rule(r"- limit: how long at most\b", "- timeout: how long at most", PEER),
    *code({r"\blimit\.milliseconds\b": "timeout.milliseconds"}, ("Sources/bindpeer/Get.swift",)),
    Rule(r"\bwithin:(?=[ )])", "timeout:", TEXT),
]
