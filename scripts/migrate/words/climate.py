"""climate, Ledger and Scribe become FaultProfile, Oracle and HistoryBuilder: the simulation's words."""

from .rewriting import names

SIMULATION = ("Tests/Simulation/*", "Tests/SimulationTests/*", "docs/design/simulation.md")
FILES = {
    "Tests/Simulation/Climate.swift": "Tests/Simulation/FaultProfile.swift",
    "Tests/Simulation/Climate+Company.swift": "Tests/Simulation/FaultProfile+Company.swift",
    "Tests/Simulation/Ledger.swift": "Tests/Simulation/Oracle.swift",
    "Tests/Simulation/Ledger+Checks.swift": "Tests/Simulation/Oracle+Checks.swift",
    "Tests/Simulation/Ledger+Recovery.swift": "Tests/Simulation/Oracle+Recovery.swift",
    "Tests/Simulation/Ledger+Renumbering.swift": "Tests/Simulation/Oracle+Renumbering.swift",
    "Tests/Simulation/LineLedger.swift": "Tests/Simulation/EphemeralOracle.swift",
}
RULES = [
    *names({"Climate": "FaultProfile", "climate": "profile", "climates": "profiles"}, SIMULATION),
    *names({"Ledger": "Oracle", "ledger": "oracle", "LineLedger": "EphemeralOracle"}, SIMULATION),
    *names({"Scribe": "HistoryBuilder", "scribe": "builder"}, ("Tests/HistoryTests/*", *SIMULATION)),
]
