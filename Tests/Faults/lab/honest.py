"""What honest peers wrote down during a soak: their latencies, and whether something acknowledged is lost."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any


def part(values: list[float], share: float) -> float:
    """The least value that this share of the values does not exceed."""
    return sorted(values)[max(0, math.ceil(len(values) * share) - 1)]


class History:
    """What one peer wrote down."""

    def __init__(self, path: Path):
        self.submitted: dict[int, dict[str, Any]] = {}
        self.outcomes: dict[int, dict[str, Any]] = {}
        self.finals: dict[str, dict[str, Any]] = {}
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                kind = line[line.find('"e":"') + 5 :]
                if kind.startswith(("submit", "outcome", "final")):
                    self.add(json.loads(line))

    def add(self, entry: dict[str, Any]) -> None:
        if entry["e"] == "submit":
            self.submitted[entry["w"]] = entry
        elif entry["e"] == "outcome":
            self.outcomes[entry["w"]] = entry
        else:
            self.finals[entry["m"]] = entry["values"]

    def latencies(self, period: tuple[int, int]) -> list[float]:
        """Milliseconds from each write of the period that was committed to its outcome."""
        return [
            (outcome["t"] - self.submitted[number]["t"]) / 1e6 for number, outcome in self.outcomes.items()
            if outcome["as"] == "committed" and period[0] <= self.submitted[number]["t"] < period[1]
        ]


def lost(histories: dict[str, History], models: tuple[str, ...]) -> list[str]:
    """Acknowledged writes that are missing in the end, and writes that ended otherwise than they must."""
    findings = []
    first = next(iter(histories.values())).finals
    for name, history in histories.items():
        if history.finals != first:
            findings.append(f"{name} shows other values than the first peer")
        missing = history.submitted.keys() - history.outcomes.keys()
        if missing:
            findings.append(f"{name}: {len(missing)} writes have no outcome")
        odd = {outcome["as"] for outcome in history.outcomes.values()} - {"committed", "superseded", "unchanged"}
        if odd:
            findings.append(f"{name}: writes ended as {sorted(odd)}")
    for model in models:
        added = sum(
            operation[2] for history in histories.values() for number, write in history.submitted.items()
            if write["m"] == model and history.outcomes.get(number, {}).get("as") in ("committed", "unchanged")
            for operation in write["ops"] if operation[0] == "add")
        if first.get(model, {}).get("count") != added:
            there = first.get(model, {}).get("count")
            findings.append(f"{model}: {added} was added and acknowledged, {there} is there")
        for name, history in histories.items():
            own = [
                (history.outcomes[number].get("version", 0), operation[2])
                for number, write in history.submitted.items()
                if write["m"] == model and history.outcomes.get(number, {}).get("as") == "committed"
                for operation in write["ops"] if operation[1] == f"own-{name}"
            ]
            if own and first.get(model, {}).get(f"own-{name}") != max(own)[1]:
                findings.append(f"{model}: the last acknowledged own-{name} is not there")
    return findings
