"""The losses and loads that a plan is simulated with.

The cells of a plan share nothing and have the same load. So a few of them are simulated, each with random numbers of
its own, and the worst of these is what is shown; `all_cells` simulates each.
"""

from __future__ import annotations

import math
import random
from typing import Callable, Dict, List, NamedTuple, Optional, Tuple, TypeVar

import commits
import constants as c
import fanout
import joins
import room
from layout import Cell, Layout, Workload

R = TypeVar("R")
# Who comes back to whom, in a cell whose etcd is so full.
Storm = Callable[[room.Room], joins.Options]
# What is simulated of a cell's commits: so many seconds, and the time at which its leader is lost.
CALM_COMMITS, ELECTION_AT = 4_000, 1.0


class Choice(NamedTuple):
    """How much is simulated."""

    seed: int
    cells: int
    all_cells: bool = False


class Recovery(NamedTuple):
    """One row of the table of losses: the worst of the simulated cells."""

    name: str
    moved: int
    back: int
    p50: float
    last: float
    welcomed: float
    loads: int
    timeouts: int


class Waits(NamedTuple):
    """Writes while etcd elects a leader: the worst of the simulated cells."""

    name: str
    arrived: int
    acknowledged: int
    election: float
    longest: float
    most_waiting: int
    caught_up: float


class Findings(NamedTuple):
    workload: Workload
    layout: Layout
    cell: Cell
    room: room.Room
    # By how much models and commits may grow until etcd has no room, with the same cells.
    room_factor: float
    calm: commits.Result
    # The same while all hubs fold; None: they never do for want of room.
    folding: Optional[commits.Result]
    recoveries: List[Recovery]
    waits: List[Waits]
    cells: int
    events: int


def _of_each(choice: Choice, cells: int, name: str, what: Callable[[random.Random], R]) -> List[R]:
    count = cells if choice.all_cells else min(choice.cells, cells)
    return [what(random.Random(f"{choice.seed}/{name}/{number}")) for number in range(count)]


def run(workload: Workload, layout: Layout, choice: Choice) -> Findings:
    """Simulates a layout in calm and with all losses."""
    cell = Cell(workload, layout)
    name = f"{workload.peers}/{workload.models}/{workload.commits}"
    full = room.simulated(cell.etcd, random.Random(f"{choice.seed}/{name}/room"))
    most = room.most_models(cell.etcd, f"{choice.seed}/{name}/most", c.FULL_SHARE)
    calm_seconds = min(max(CALM_COMMITS / cell.commits, 2.0), 60.0)
    calm = _of_each(choice, layout.cells, name, lambda rng: commits.simulated(_commits(cell, calm_seconds), rng))
    worst = max(calm, key=lambda result: result.p99)
    folding = None
    if full.peak_share >= c.SCARCE_SHARE:
        cost = room.fold_of(cell.etcd, full.records)
        options = _commits(cell, calm_seconds)._replace(fold_call=cost.engine_seconds / cost.calls)
        folding = commits.simulated(options, random.Random(f"{choice.seed}/{name}/folding"))
    storms = [_recovery(cell, full, choice, name, *storm) for storm in _storms(cell)]
    waits = [_waits(cell, choice, name, *kind) for kind in (
        ("etcd leader", lambda rng: rng.uniform(*c.ELECTION)),
        ("etcd leader, rarely", lambda rng: rng.uniform(*c.SLOW_ELECTION)),
        ("etcd leader, nodes near each other", lambda rng: rng.uniform(*c.NEAR_ELECTION)))]
    events = sum(result.events for result in calm)
    events += sum(count for _, count in storms) + sum(count for _, count in waits)
    simulated = layout.cells if choice.all_cells else min(choice.cells, layout.cells)
    return Findings(
        workload, layout, cell, full, most / cell.models, worst, folding, [one for one, _ in storms],
        [one for one, _ in waits], simulated, events)


def _commits(cell: Cell, seconds: float, election_seconds: float = 0.0) -> commits.Options:
    workload = cell.workload
    return commits.Options(
        hubs=cell.layout.hubs, models=max(math.ceil(cell.models * workload.written), 1), rate=cell.commits,
        seconds=seconds, writing_hubs=cell.writing_hubs,
        other_share=min(cell.other_share, 0.9), election_at=ELECTION_AT if election_seconds else None,
        election_seconds=election_seconds)


# Losses of hubs and edges.


def _storms(cell: Cell) -> List[Tuple[str, List[Storm]]]:
    """The losses: of each, who comes back to whom."""
    lost = cell.lost_hubs
    if not cell.has_edges:
        return [
            ("hub killed", [lambda full: _to_hubs(cell, full, 1, False)]),
            ("hub's machine gone", [lambda full: _to_hubs(cell, full, 1, True)]),
            ("region gone", [lambda full: _to_hubs(cell, full, lost, True)]),
        ]
    return [
        ("edge killed", [lambda full: _to_edges(cell, 1, False)]),
        ("hub killed", [lambda full: _to_hubs(cell, full, 1, False)]),
        ("hub's machine gone", [lambda full: _to_hubs(cell, full, 1, True)]),
        ("region gone", [lambda full: _to_hubs(cell, full, lost, True), lambda full: _to_edges(cell, 0, True)]),
    ]


def _to_hubs(cell: Cell, full: room.Room, lost: int, is_silent: bool) -> joins.Options:
    """Peers, or edges with the sessions of their writers, go to other hubs."""
    layout, record = cell.layout, cell.workload.record_bytes + c.RECORD_OVERHEAD
    below, joined, sessions = math.ceil(cell.peers), cell.joined, 1
    if cell.has_edges:
        below, joined = layout.edges, max(round(cell.edge_models), 1)
        sessions = 1 + round(cell.open_writers / layout.edges)
    records = full.records * cell.workload.written
    # A leader in the region that is lost, or on the machine, is the worst case.
    return joins.Options(
        hubs=layout.hubs, lost=min(lost, layout.hubs - 1), peers=below, models=math.ceil(cell.models), joined=joined,
        sessions=sessions, is_silent=is_silent, load_seconds=joins.load_seconds(records * record),
        take_in_seconds=c.CHANGE * max(records, 1), other_share=min(cell.hub_share, 0.9),
        election_seconds=c.ELECTION[1] if is_silent else 0.0)


def _to_edges(cell: Cell, lost: int, is_silent: bool) -> joins.Options:
    """Peers go to other edges, of those that know each other; what one does not follow it asks its hub for."""
    group = min(cell.layout.edges, c.MAX_SIBLINGS + 1)
    lost = lost or min(math.ceil(group / cell.workload.regions), group - 1)
    return joins.Options(
        hubs=group, lost=lost, peers=math.ceil(cell.edge_sessions * group), models=math.ceil(cell.models),
        joined=cell.joined, is_silent=is_silent, load_seconds=c.JOIN_MODEL, take_in_seconds=c.CHANGE,
        other_share=min(cell.edge_share, 0.9))


def _recovery(
    cell: Cell, full: room.Room, choice: Choice, name: str, loss: str,
    storms: List[Storm],
) -> Tuple[Recovery, int]:
    results = [
        result for number, storm in enumerate(storms) for result in _of_each(
            choice, cell.layout.cells, f"{name}/{loss}/{number}", lambda rng: joins.simulated(storm(full), rng))]
    slowest = max(results, key=lambda result: result.last if result.back == result.moved else math.inf)
    return Recovery(
        loss, slowest.moved, slowest.back, slowest.p50, slowest.last, slowest.welcomed, slowest.loads,
        slowest.timeouts), sum(result.events for result in results)


def _waits(
    cell: Cell, choice: Choice, name: str, loss: str, election: Callable[[random.Random], float]
) -> Tuple[Waits, int]:
    def one(rng: random.Random) -> Tuple[float, commits.Result]:
        seconds = election(rng)
        return seconds, commits.simulated(_commits(cell, ELECTION_AT + seconds + 1, seconds), rng)

    results = _of_each(choice, cell.layout.cells, f"{name}/{loss}", one)
    seconds, worst = max(results, key=lambda result: result[1].longest)
    return Waits(
        loss, worst.arrived, worst.acknowledged, seconds, worst.longest, worst.most_waiting,
        worst.caught_up), sum(result.events for _, result in results)


# A hot model.


def hot(
    workload: Workload, layout: Layout, choice: Choice, seconds: float
) -> Tuple[fanout.Result, List[Recovery]]:
    """Simulates all edges of a hot model, and losses among 33 of them, which know each other."""
    rng = random.Random(f"{choice.seed}/hot/{workload.commits}/{layout.edges}")
    options = fanout.Options(layout.hubs, layout.edges, workload.peers, workload.commits, seconds)
    cell = Cell(workload, layout)
    # A plan by the processor alone has more sessions than an edge may have.
    most = max(c.MAX_SESSIONS, 2 * math.ceil(cell.edge_sessions), 2 * math.ceil(cell.hub_sessions))
    record = room.Room(0.0, None, c.FOLD_KEPT)
    storms = [
        ("edge killed", _to_edges(cell, 1, False)), ("hub killed", _to_hubs(cell, record, 1, False)),
        ("region gone: its edges' peers", _to_edges(cell, 0, True))]
    recoveries = []
    for loss, storm in storms:
        one = joins.simulated(storm._replace(most_sessions=most), rng)
        recoveries.append(
            Recovery(loss, one.moved, one.back, one.p50, one.last, one.welcomed, one.loads, one.timeouts))
    return fanout.simulated(options, rng), recoveries


def measured(seed: int) -> Dict[str, Tuple[str, str]]:
    """What was measured of whole systems, and what is simulated of the same."""
    rng = random.Random(f"{seed}/measured")
    one = joins.simulated(joins.Options(hubs=2, lost=1, peers=1_000, models=1, joined=1), rng)
    # Measured were hubs that share two cores with etcd and the peers. The simulated others have 500 idle peers each.
    storm = joins.Options(hubs=3, lost=1, peers=1_500, models=20, joined=20)
    two = joins.simulated(storm, rng)
    waits = sorted(
        commits.simulated(commits.Options(3, 1, 200.0, 4.0, 3, 0.0, 1.0, seconds), rng).longest
        for seconds in (rng.uniform(*c.NEAR_ELECTION) for _ in range(20)))
    hot = commits.simulated(commits.Options(3, 1, 1_000.0, 5.0, 3), rng)
    low, high = c.MEASURED_REFUSED
    median, longest = c.MEASURED_LEADER
    return {
        "500 peers come back to one hub": (f"{c.MEASURED_STORM:.2f} s", f"{one.last:.2f} s"),
        "500 peers of a killed hub are at two others": (f"{c.MEASURED_CLUSTER_STORM:.2f} s", f"{two.last:.2f} s"),
        "leader killed, nodes near each other: longest wait, median and longest of 20": (
            f"{median:.2f}, {longest:.2f} s", f"{waits[len(waits) // 2]:.2f}, {waits[-1]:.2f} s"),
        "three hubs write one model: transactions refused": (
            f"{low * 100:.0f} to {high * 100:.0f} %", f"{hot.refused / max(hot.transactions, 1) * 100:.0f} %"),
    }
