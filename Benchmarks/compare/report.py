"""The results: medians with their range, and ratios with their aims, as Markdown and as JSON."""

from __future__ import annotations

import os
import platform
from statistics import median
from typing import Any, Iterator

from cases import Aim, Case

DELAYS = ("p50", "p90", "p99", "p99.9", "max")
_NAMES = {"rate": "throughput", "snapshot": "time of a snapshot", "max": "longest delay of others",
          "growth": "growth of the files"}


class Results:
    """The figures of every round; None where a measurement failed."""

    def __init__(self) -> None:
        self.skipped: dict[str, str] = {}
        self.failed: list[str] = []
        # The results of scale.py.
        self.scale: dict[str, Any] = {}
        self._rounds: dict[tuple[str, str, str], list[dict[str, Any] | None]] = {}

    def add(self, case: Case, contender: str, figures: dict[str, Any] | None) -> None:
        self._rounds.setdefault((case.group, case.name, contender), []).append(figures)

    def rounds(self, case: Case, contender: str) -> list[dict[str, Any] | None]:
        return self._rounds.get((case.group, case.name, contender), [])

    def values(self, case: Case, contender: str, measure: str) -> list[float]:
        return [figures[measure] for figures in self.rounds(case, contender) if figures and measure in figures]

    def middle(self, case: Case, contender: str, measure: str) -> float | None:
        values = self.values(case, contender, measure)
        return median(values) if values else None

    def ratios(self, aim: Aim, case: Case) -> list[float]:
        """Our figure divided by the best of the others, or our figure alone if there are none, by round."""
        ratios = []
        others = [self.rounds(case, other) for other in aim.others if other not in self.skipped]
        for index, ours in enumerate(self.rounds(case, aim.ours)):
            against = [rounds[index] for rounds in others if index < len(rounds)]
            values = [figures[aim.measure] for figures in against if figures and figures.get(aim.measure)]
            if ours and aim.measure in ours and (values or not aim.others):
                ratios.append(ours[aim.measure] / (max(values) if aim.wants_more else min(values, default=1)))
        return ratios


def machine() -> dict[str, Any]:
    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
        model = names[0] if names else model
    except OSError:
        pass  # Not Linux.
    return {"processor": model, "cores": os.cpu_count(), "system": f"{platform.system()} {platform.release()}"}


def as_json(results: Results, cases: list[Case], aims: list[Aim], about: dict[str, Any]) -> dict[str, Any]:
    return {
        **about,
        "results": [
            {"group": case.group, "case": case.name, "subscribers": case.subscribers, "batch": case.batch,
             "bytes": case.bytes, "offeredRate": case.rate, "fields": case.fields,
             **({"seconds": case.seconds} if case.seconds else {}), "contender": contender,
             "rounds": results.rounds(case, contender)}
            for case in cases for contender in case.contenders if results.rounds(case, contender)],
        "aims": [
            {"case": case.name, "group": case.group, "measure": aim.measure, "ours": aim.ours,
             "others": list(aim.others), "ratios": ratios, "median": median(ratios) if ratios else None,
             "limit": aim.limit, "isMet": is_met(aim, ratios)}
            for aim, case, ratios in judged(results, cases, aims)],
        "skipped": results.skipped,
        "failed": results.failed,
    }


def judged(results: Results, cases: list[Case], aims: list[Aim]) -> Iterator[tuple[Aim, Case, list[float]]]:
    for aim in aims:
        for case in aim.cases:
            if case in cases:
                yield aim, case, results.ratios(aim, case)


def is_met(aim: Aim, ratios: list[float]) -> bool | None:
    if not ratios:
        return None
    return median(ratios) >= aim.limit if aim.wants_more else median(ratios) <= aim.limit


def as_markdown(results: Results, cases: list[Case], aims: list[Aim], about: dict[str, Any]) -> str:
    where = about["machine"]
    lines = [
        f"{where['processor']}, {where['cores']} cores, {where['system']}; {about['date']}; {about['rounds']} rounds "
        f"of {about['seconds']:g} s; data on {about['fileSystem']}; load before {about['loadBefore']:.1f}, after "
        f"{about['loadAfter']:.1f}. "
        + ", ".join(f"{name} {version}" for name, version in about["versions"].items()) + ".",
        "Medians of the rounds, with the least and the greatest in brackets.",
    ]
    for group in dict.fromkeys(case.group for case in cases):
        own = [case for case in cases if case.group == group]
        if own[0].is_snapshot:
            for case in own:
                lines += ["", f"## {group}: {case.name}", "", *_snapshots(results, case)]
        elif own[0].rate:
            for case in own:
                lines += ["", f"## {group}: {case.name}, microseconds", "", *_delays(results, case)]
                lines += _files(results, case)
        else:
            lines += ["", f"## {group}, thousands of changes a second", "", *_rates(results, own)]
            for case in own:
                lines += _files(results, case)
    lines += _aims(results, cases, aims)
    if results.skipped:
        lines += ["", "## Skipped", "", *(f"- {name}: {why}" for name, why in results.skipped.items())]
    if results.failed:
        lines += ["", "## Failed", "", *(f"- {words}" for words in results.failed)]
    return "\n".join(lines) + "\n"


def table(heads: list[str], rows: list[list[str]]) -> list[str]:
    lines = ["| " + " | ".join(heads) + " |", "|---" + "|---:" * (len(heads) - 1) + "|"]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def spread(values: list[float], scale: float = 1) -> str:
    if not values:
        return "failed"
    middle, least, most = (_short(value / scale) for value in (median(values), min(values), max(values)))
    return f"{middle} ({least}–{most})" if len(values) > 1 else middle


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _missed(results: Results, case: Case, contender: str) -> str:
    share = max(results.values(case, contender, "missed"), default=0)
    return f", missed {share:.1%}" if share >= 0.0005 else ", missed a few" if share > 0 else ""


def _rates(results: Results, cases: list[Case]) -> list[str]:
    rows = []
    for contender in dict.fromkeys(contender for case in cases for contender in case.contenders):
        cells = [contender]
        for case in cases:
            if contender in results.skipped or contender not in case.contenders:
                cells.append("skipped" if contender in results.skipped else "–")
            else:
                values = results.values(case, contender, "rate")
                cells.append(spread(values, 1000) + _missed(results, case, contender))
        rows.append(cells)
    return table(["", *(case.column for case in cases)], rows)


def _snapshots(results: Results, case: Case) -> list[str]:
    heads = ["", "all of it there, ms", *(f"others: {part}, µs" for part in DELAYS)]
    rows = []
    for contender in case.contenders:
        cells = [spread(results.values(case, contender, measure)) for measure in ("snapshot", *DELAYS)]
        rows.append([contender, *(["skipped"] * len(cells) if contender in results.skipped else cells)])
    return table(heads, rows)


def _files(results: Results, case: Case) -> list[str]:
    rows = []
    for contender in case.contenders:
        for figures in results.rounds(case, contender):
            if figures and "peaks" in figures:
                sizes = [f"{size / 1e6:,.1f}" for size in figures["peaks"]]
                log = f"{max(figures['logs']) / 1e6:,.1f}" if "logs" in figures else ""
                rows.append([contender, *sizes, log, _short(figures["growth"]) if "growth" in figures else ""])
    if not rows:
        return []
    heads = ["", "1st quarter", "2nd", "3rd", "4th", "write-ahead log", "4th by 3rd"]
    return ["", f"The most that the files had in each quarter of the time, MB: {case.name}", "", *table(heads, rows)]


def _delays(results: Results, case: Case) -> list[str]:
    rows = []
    for contender in case.contenders:
        if contender in results.skipped:
            rows.append([contender, *["skipped"] * len(DELAYS), ""])
            continue
        rates = results.values(case, contender, "rate")
        got = f"{min(rates):,.0f}/s{_missed(results, case, contender)}" if rates else "failed"
        rows.append([contender, *(spread(results.values(case, contender, part)) for part in DELAYS), got])
    return table(["", *DELAYS, "came"], rows)


def _aims(results: Results, cases: list[Case], aims: list[Aim]) -> list[str]:
    rows = []
    for aim, case, ratios in judged(results, cases, aims):
        verdict = {None: "skipped", True: "met", False: "not met"}[is_met(aim, ratios)]
        sign, what = "≥" if aim.wants_more else "≤", _NAMES.get(aim.measure, aim.measure)
        others = f" by {' or '.join(aim.others)}" if aim.others else ""
        rows.append([f"{what}: {aim.ours}{others}", case.name, spread(ratios) if ratios else "–",
                     f"{sign} {aim.limit:g}", verdict])
    return ["", "## Aims", "", *table(["ratio", "case", "median", "aim", ""], rows)] if rows else []
