"""The final table: the results of each fault, run by run."""

from __future__ import annotations

import math
from statistics import median
from typing import Any

from scenarios import Scenario

HEADS = (
    "fault", "runs", "writes", "acknowledged", "lost", "repeated", "healed after, s: p50", "p99", "most", "pause, s")


def part(values: list[float], share: float) -> float:
    """Returns the least value that this share of the values does not exceed."""
    return sorted(values)[max(0, math.ceil(len(values) * share) - 1)]


class Table:
    def __init__(self) -> None:
        self.rows: dict[str, dict[str, Any]] = {}
        self.skipped: dict[str, str] = {}

    def skip(self, scenario: Scenario, reason: str) -> None:
        self.skipped[scenario.name] = reason

    def add(self, scenario: Scenario, figures: dict[str, Any] | None, healed: float | None) -> None:
        row = self.rows.setdefault(
            scenario.name, {"runs": 0, "broken": 0, "sums": {}, "healed": [], "pauses": [], "shares": []})
        row["runs"] += 1
        if figures is None or healed is None:
            row["broken"] += 1
            return
        for name in ("writes", "acknowledged", "lostWithHub", "repeatedAfterRestart", "findings"):
            row["sums"][name] = row["sums"].get(name, 0) + figures[name]
        row["healed"].append(healed)
        row["pauses"].append(figures["longestPause"] / 1e9)
        row["shares"].append(sorted(figures["acknowledgedBy"].values()))

    def show(self) -> None:
        print("| " + " | ".join(HEADS) + " |")
        print("|---" * len(HEADS) + "|")
        for name, row in self.rows.items():
            sums, healed = row["sums"], row["healed"]
            cells = [name, row["runs"]]
            if healed:
                cells += [sums["writes"], sums["acknowledged"], sums["lostWithHub"], sums["repeatedAfterRestart"]]
                cells += [f"{value:.2f}" for value in (median(healed), part(healed, 0.99), max(healed))]
                cells.append(f"{max(row['pauses']):.2f}")
            else:
                cells += ["-"] * (len(HEADS) - 2)
            print("| " + " | ".join(str(cell) for cell in cells) + " |")
        for name, row in self.rows.items():
            if row["broken"] or row["sums"].get("findings"):
                print(f"{name}: {row['broken']} runs did not end, {row['sums'].get('findings', 0)} findings")
            if name == "conflict storm":
                for shares in row["shares"]:
                    if shares:
                        print(f"{name}: commits of each of {len(shares)} peers: least {shares[0]}, "
                              f"median {median(shares):g}, most {shares[-1]}")
        for name, reason in self.skipped.items():
            print(f"{name}: skipped, {reason}")
