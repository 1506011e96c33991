"""The plots of one run, and the figures in each."""

from __future__ import annotations

from statistics import median

from cases import GROWTH, RELAYED, Case
from plots import Line, plot
from report import DELAYS, Results


def drawings(results: Results, cases: list[Case]) -> dict[str, str]:
    """SVG by file name; without cases that were not measured."""
    files = {}
    growing = sorted(
        (case for case in cases if case.group in (RELAYED, GROWTH) and case.batch == 1 and case.bytes == 32),
        key=lambda case: case.subscribers)
    if growing:
        places = [str(case.subscribers) for case in growing]
        for name, title, vertical, measure in (
            ("throughput.svg", "Throughput by subscribers", "changes a second that every subscriber got", "rate"),
            ("cost.svg", "What a change costs the server", "microseconds of processor time for one change", "cost"),
        ):
            lines = [Line(contender, [_point(results, case, contender, measure) for case in growing])
                     for contender in growing[0].contenders]
            files[name] = plot(f"{title}: single changes of 32 bytes", "subscribers", vertical, places, lines)
    for case in cases:
        if case.rate and not case.is_snapshot:
            lines = [Line(contender, [_point(results, case, contender, part) for part in DELAYS])
                     for contender in case.contenders]
            many = f"-{case.fields}-fields" if case.fields != 16 else ""
            files[f"latency-{case.rate}{many}.svg"] = plot(
                f"Latency: {case.name.replace('/s', ' changes a second')}",
                "percentile of all changes",
                "microseconds from when a change was due until a subscriber had it", list(DELAYS), lines)
    return {name: text for name, text in files.items() if text}


def _point(results: Results, case: Case, contender: str, measure: str) -> tuple[float, float, float] | None:
    values = [value for value in results.values(case, contender, measure) if value > 0]
    return (median(values), min(values), max(values)) if values else None
