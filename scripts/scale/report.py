"""The tables of a plan."""

from __future__ import annotations

import math
from typing import List, NamedTuple, Sequence, Tuple

import constants as c
import fanout
import layout as planning
from scenarios import Findings, Recovery


class Limit(NamedTuple):
    """How much is used of what a part may have, after the loss of a region; and what gives more."""

    name: str
    share: float
    kind: str
    cure: str
    # The load at which it breaks, as a multiple of the present one, where that is not in proportion to what is used.
    breaks_at: float = 0.0


def table(rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown; the first row is its head."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |" for row in rows]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def number(value: float) -> str:
    return f"{value:,.0f}"


def share(value: float) -> str:
    return f"{value * 100:,.1f} %" if value < 0.0995 else f"{value * 100:,.0f} %"


def seconds(value: float) -> str:
    return f"{value * 1000:.1f} ms" if value < 0.0995 else f"{value:.2f} s" if value < 9.95 else f"{value:.0f} s"


def megabytes(value: float) -> str:
    return f"{value / c.MIB:,.0f} MiB" if value < 0.995 * c.GIB else f"{value / c.GIB:,.1f} GiB"


def long(value: float) -> str:
    return f"{value / 3600:,.1f} h" if value >= 3600 else seconds(value)


def power(value: float) -> str:
    exponent = len(f"{value:.0f}") - 1
    return f"10^{exponent}" if value == 10 ** exponent and exponent > 2 else number(value)


def title(found: Findings) -> str:
    workload = found.workload
    return f"{power(workload.peers)} peers, {power(workload.models)} models, {power(workload.commits)} commits/s"


def limits(found: Findings) -> List[Limit]:
    """That which breaks first comes first."""
    cell, hubs, edges = found.cell, found.cell.hubs_after_loss, found.cell.edges_after_loss
    known = [
        Limit("etcd's quota: writes are refused from 85 %", found.room.peak_share / c.FULL_SHARE, "quota, folds",
              "more cells, smaller values, fewer models that are written, a larger quota", found.room_factor),
        Limit("etcd's time", found.calm.engine_share + found.room.fold_share, "measured; folds assumed",
              "more cells; writers of a model at one hub"),
        Limit("sessions of a hub", cell.hub_sessions * hubs / c.MAX_SESSIONS, "constant", "more hubs, then more cells"),
        Limit("models in a hub's memory", cell.distinct(cell.peers / cell.layout.hubs * hubs) / c.MAX_MODELS,
              "constant", "more hubs or cells; peers that share models at one hub"),
        Limit("processor of a hub", found.calm.hub_share * hubs, "measured", "more hubs; edges for readers"),
        Limit("hubs on one log", cell.layout.hubs / c.HUBS_OF_LOG, "measured so far", "more cells, or edges"),
    ]
    if cell.has_edges:
        known += [
            Limit("sessions of an edge", cell.edge_sessions * edges / c.MAX_SESSIONS, "constant", "more edges"),
            Limit("models that an edge follows", cell.distinct(cell.edge_sessions * edges) / c.MAX_FOLLOWED,
                  "constant", "more edges; peers that share models at one edge"),
            Limit("processor of an edge", cell.edge_share * edges, "measured", "more edges"),
        ]
    return sorted(known, key=lambda limit: limit.breaks_at or (1 / limit.share if limit.share else math.inf))


def plans(all_found: Sequence[Findings], rest: Sequence[Tuple[int, planning.Layout]]) -> str:
    """What is needed, and the load of each part. `rest`: cells for the room alone, and the plan by measured costs."""
    rows: List[List[str]] = [["", *(title(found) for found in all_found)]]

    def row(name: str, *cells: str) -> None:
        rows.append([name, *cells])

    row("**cells** (3 nodes of etcd each)", *(number(found.layout.cells) for found in all_found))
    row("**hubs**, in a cell and in all", *(
        f"{found.layout.hubs}; {number(found.layout.hubs * found.layout.cells)}" for found in all_found))
    row("**edges**", *(number(found.layout.edges * found.layout.cells) for found in all_found))
    row("binding: what breaks first", *(limits(found)[0].name.split(":")[0] for found in all_found))
    row("alone: cells for etcd's quota", *(number(cells) for cells, _ in rest))
    row("alone: cells for etcd's time", *(number(planning.by_records(found.workload)) for found in all_found))
    row("alone: hubs for 1,000 sessions each", *(
        number(planning.by_sessions(found.workload)) for found in all_found))
    row("by measured costs alone: cells, hubs", *(
        f"{number(other.cells)}; {number(other.cells * other.hubs)}" for _, other in rest))
    row("a hub: sessions", *(number(found.cell.hub_sessions) for found in all_found))
    row("a hub: models in memory", *(number(found.cell.hub_models) for found in all_found))
    row("a hub: memory", *(megabytes(found.cell.hub_bytes) for found in all_found))
    row("a hub: processor", *(share(found.calm.hub_share) for found in all_found))
    if any(found.cell.has_edges for found in all_found):
        row("an edge: sessions", *(number(found.cell.edge_sessions) for found in all_found))
        row("an edge: models followed", *(number(found.cell.edge_models) for found in all_found))
        row("an edge: memory", *(megabytes(found.cell.edge_bytes) for found in all_found))
        row("an edge: processor", *(share(found.cell.edge_share) for found in all_found))
    row("an etcd: records/s, bytes/s", *(
        f"{number(found.calm.records_of_second)}; {number(found.cell.etcd_bytes_of_second / 1000)} kB"
        for found in all_found))
    row("an etcd: its time", *(share(found.calm.engine_share) for found in all_found))
    row("an etcd: its time for folds, on average", *(share(found.room.fold_share) for found in all_found))
    row("an etcd: its time while all hubs fold", *(
        share(found.folding.engine_share) if found.folding else "–" for found in all_found))
    row("an etcd: most used of the quota", *(share(found.room.peak_share) for found in all_found))
    row("writes refused (storeFull) after", *(
        "never" if found.room.refused_after is None
        else f"{long(found.room.refused_after)}, then {share(found.room.refused_share)} of them"
        for found in all_found))
    row("a commit: p50, p99", *(
        f"{seconds(found.calm.p50)}, {seconds(found.calm.p99)}" for found in all_found))
    row("a commit while all hubs fold: p50, p99", *(
        f"{seconds(found.folding.p50)}, {seconds(found.folding.p99)}" if found.folding else "–"
        for found in all_found))
    return table(rows)


def breaking(found: Findings) -> str:
    """What breaks first, in order."""
    rows = [["", f"breaks first: {title(found)}", "used", "kind", "breaks at, times the load", "what gives more"]]
    for place, limit in enumerate(limits(found), 1):
        breaks_at = limit.breaks_at or (1 / limit.share if limit.share else 0.0)
        factor = f"{breaks_at:,.1f}" if breaks_at else "never"
        rows.append([str(place), limit.name, share(limit.share), limit.kind, factor, limit.cure])
    return table(rows)


def hot(rows: Sequence[Tuple[str, planning.Layout, planning.Workload, fanout.Result]]) -> str:
    lines = [["one model, one writer", "edges", "readers of an edge", "an edge: processor", "a hub: processor",
              "a reader has it after: p50", "p99", "latest", "commits a turn", "copies sent, of"]]
    for name, layout, workload, found in rows:
        lines.append([
            name, f"{number(layout.edges)} at {layout.hubs} hubs", number(workload.peers / layout.edges),
            share(found.edge_share), share(found.hub_share), seconds(found.p50), seconds(found.p99),
            seconds(found.longest), f"{found.together:.2f}",
            f"{number(found.copies)} of {number(found.commits * workload.peers)}"])
    return table(lines)


def losses(rows: Sequence[Tuple[str, Recovery]]) -> str:
    lines = [["lost", "plan", "peers or edges moved", "models loaded or asked for", "all are welcomed elsewhere",
              "half have their models", "all have them"]]
    for name, one in rows:
        times = [seconds(time) if one.back else "–" for time in (one.welcomed, one.p50, one.last)]
        if one.back < one.moved:
            times[-1] = f"{number(one.moved - one.back)} do not"
        lines.append([one.name, name, number(one.moved), number(one.loads), *times])
    return table(lines)


def waits(all_found: Sequence[Findings]) -> str:
    rows = [["lost", "plan", "no leader for", "writes that waited, in a cell", "longest wait of a write",
             "caught up after", "acknowledged, of"]]
    for found in all_found:
        for one in found.waits:
            rows.append([
                one.name, title(found), seconds(one.election), number(one.most_waiting), seconds(one.longest),
                seconds(one.caught_up), f"{number(one.acknowledged)} of {number(one.arrived)}"])
    return table(rows)
