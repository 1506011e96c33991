"""rescue becomes recovery: a hub that lacks what it acknowledged takes it from its peers.

The capability keeps its name, `rescue`: it is bytes that peers of earlier releases send.
"""

from .rewriting import Rule, names, parts

ALL = ("*",)
FILES = {
    "Sources/BindingHub/Core/Recovery/HubMachine+Rescue.swift":
        "Sources/BindingHub/Core/Recovery/HubMachine+Recovery.swift",
    "Sources/BindingHub/Core/Recovery/ModelLog+Rescue.swift":
        "Sources/BindingHub/Core/Recovery/ModelLog+Recovery.swift",
    "Sources/BindingHub/Core/Recovery/Rescue.swift": "Sources/BindingHub/Core/Recovery/Recovery.swift",
    "Tests/BindingHubTests/RescueTests.swift": "Tests/BindingHubTests/RecoveryTests.swift",
    "Tests/Simulation/Ledger+Rescues.swift": "Tests/Simulation/Ledger+Recovery.swift",
    "docs/decisions/2026-11-21-rescue-by-the-furthest-replica.md":
        "docs/decisions/2026-11-21-recovery-by-the-furthest-replica.md",
}
RULES = [
    Rule(r"Ledger\+Rescues\b", "Ledger+Recovery", ALL),
    *names({"rescueNoRemoved": "recoverNoRemoved", "mayRescue": "mayRecover"}, ALL),
    Rule(r'name: \.customLong\("no-rescue"\)', 'name: [.customLong("no-recovery"), .customLong("no-rescue")]',
         ("Sources/bindhub/Serve.swift",)),
    Rule(r"\bfunc rescue\b", "func recover", ALL),
    Rule(r"\.rescue\(", ".recover(", ALL),
    Rule(r"(?<![\w.])rescue\(", "recover(", ("*.swift",)),
    Rule(r"\ba hub rescues\b", "a hub recovers", ALL),
    Rule(r"(?<![A-Za-z\"'`-])rescue(?![a-z])", "recovery", ALL),
    Rule(r"(?<![A-Z])Rescue(?![a-z])", "Recovery", ALL),
    *parts("rescued", "recovered"),
    *parts("rescues", "recoveries"),
]
