"""The results of scale.py as tables and plots, with their aims."""

from __future__ import annotations

from statistics import median
from typing import Any

from plots import Line, plot
from report import _short, spread, table
from scale import FORWARDER, HUB

# The aims: the maximum loss of throughput from one model to the most models, bytes per small field beyond its content,
# seconds until a hub with the most fields commits.
DROP, FIELD_BYTES, START_SECONDS = 0.25, 160, 2


def _of(rounds: list[dict[str, Any]], server: str, by: str, place: int, *path: str) -> list[float]:
    values = []
    for figures in rounds:
        if figures["server"] == server and figures[by] == place:
            for step in path:
                figures = figures[step]
            values.append(figures)
    return values


def _places(rounds: list[dict[str, Any]], by: str) -> list[int]:
    return sorted({figures[by] for figures in rounds})


def markdown(found: dict[str, Any]) -> list[str]:
    lines: list[str] = []
    for name, table in (("models", _models), ("peers", _peers), ("memory", _rest)):
        if name in found:
            lines += table(found)
    return lines + _aims(found)


def _models(found: dict[str, Any]) -> list[str]:
    rounds, rows = found["models"], []
    for server in (HUB, FORWARDER):
        for title, path, scale in (
            ("thousands of changes a second, as fast as may be", ("fast", "rate"), 1000),
            ("µs of the server's processor time for one of these", ("fast", "cost"), 1),
            (f"µs for one at {found['sizes']['pace']:,} a second", ("paced", "cost"), 1),
        ):
            places = _places(rounds, "models")
            cells = [spread([value / scale for value in _of(rounds, server, "models", place, *path)])
                     for place in places]
            rows.append([f"{server}: {title}", *cells])
    heads = ["", *(f"{place:,} model" + "s" * (place > 1) for place in _places(rounds, "models"))]
    return ["", "## scale: by models, one change in a message", "", *table(heads, rows)]


def _peers(found: dict[str, Any]) -> list[str]:
    rounds = found["peers"]
    places = _places(rounds, "peers")
    rows = [["changes a second", *(f"{_of(rounds, HUB, 'peers', place, 'rate')[0]:,.0f}" for place in places)]]
    for server in (HUB, FORWARDER):
        rows.append([f"{server}: µs of processor time for one change",
                     *(spread(_of(rounds, server, "peers", place, "cost")) for place in places)])
        rows.append([f"{server}: ns of that for each peer",
                     *(spread([value / place * 1000 for value in _of(rounds, server, "peers", place, "cost")])
                       for place in places)])
    return ["", "## scale: by peers, at a pace that both hold", "", *table(["", *(f"{p:,}" for p in places)], rows)]


def _rest(found: dict[str, Any]) -> list[str]:
    rows = []
    memory = found["memory"]
    for what in ("field", "model", "peer"):
        own = f", {found['memory']['fieldBytes']:.0f} of them its own" if what == "field" else ""
        rows.append([f"bytes of one more {what}{own}: private and written to; in memory",
                     f"{memory[what]['dirty']:,.0f}; {memory[what]['rss']:,.0f}"])
    if "join" in found:
        one = found["join"]
        rows.append([f"join of a model with {one['fields']:,} fields, ms; the hub's processor time, ms",
                     f"{spread([s * 1000 for s in one['seconds']])}; {spread([s * 1000 for s in one['processor']])}"])
    for one in found.get("start", []):
        rows.append([f"hub with {one['fields']:,} stored fields, start to first commit, s: killed before; ended before",
                     f"{one['killed']:.2f}; {one['ended']:.2f}"])
        rows.append(["the same, the hub's processor time, s",
                     f"{one['killedProcessor']:.2f}; {one['endedProcessor']:.2f}"])
    if "storm" in found:
        one = found["storm"]
        rows.append([f"{one['peers']:,} peers come back at once, s until the last has joined; the hub's processor, s",
                     f"{spread(one['seconds'])}; {spread(one['processor'])}"])
    for one in found.get("idle", []):
        rows.append([f"{one['peers']:,} peers that do nothing, share of a processor", f"{one['share']:.1%}"])
    return ["", "## scale: memory, joins, starts", "", *table(["", "figures"], rows)]


def judged(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Each aim with its figure."""
    aims = []
    if "models" in found:
        places = _places(found["models"], "models")
        for server in (HUB, FORWARDER):
            first, last = (median(_of(found["models"], server, "models", place, "fast", "rate"))
                           for place in (places[0], places[-1]))
            aims.append({"what": f"{server}: throughput lost from {places[0]} to {places[-1]:,} models",
                         "value": 1 - last / first, "limit": DROP if server == HUB else None})
            first, last = (median(_of(found["models"], server, "models", place, "paced", "cost"))
                           for place in (places[0], places[-1]))
            aims.append({"what": f"{server}: cost at a pace, {places[-1]:,} models by {places[0]}",
                         "value": last / first if first else 0, "limit": None})
    if "memory" in found:
        memory = found["memory"]
        aims.append({"what": "bytes of a field beyond its own", "limit": FIELD_BYTES,
                     "value": memory["field"]["dirty"] - memory["fieldBytes"]})
    if "start" in found:
        most = max(found["start"], key=lambda one: one["fields"])
        aims.append({"what": f"seconds to the first commit with {most['fields']:,} fields, killed before",
                     "value": most["killed"], "limit": START_SECONDS})
    return aims


def _aims(found: dict[str, Any]) -> list[str]:
    rows = [[aim["what"], _short(aim["value"]), "" if aim["limit"] is None else f"≤ {aim['limit']:g}",
             "" if aim["limit"] is None else "met" if aim["value"] <= aim["limit"] else "not met"]
            for aim in judged(found)]
    return ["", "## scale: aims", "", *table(["", "came out", "aim", ""], rows)] if rows else []


def drawings(found: dict[str, Any]) -> dict[str, str]:
    """SVG by file name; without cases that were not measured."""
    files = {}
    for by, title, path, vertical in (
        ("models", "What a change costs by models: one in a message, as fast as may be", ("fast", "cost"),
         "microseconds of the server's processor time for one change"),
        ("peers", "What a change costs by peers", ("cost",),
         "microseconds of the server's processor time for one change"),
    ):
        if by not in found:
            continue
        places = _places(found[by], by)
        lines = [Line(server, [_point(_of(found[by], server, by, place, *path)) for place in places])
                 for server in (HUB, FORWARDER)]
        if by == "models":
            lines += [Line(f"{server}, paced", [_point(_of(found[by], server, by, place, "paced", "cost"))
                                                for place in places]) for server in (HUB, FORWARDER)]
        files[f"scale-{by}.svg"] = plot(title, by, vertical, [f"{place:,}" for place in places], lines)
    return {name: text for name, text in files.items() if text}


def _point(values: list[float]) -> tuple[float, float, float] | None:
    values = [value for value in values if value > 0]
    return (median(values), min(values), max(values)) if values else None
