"""What is to be served, and by how many cells, hubs and edges."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import Iterator, Optional

import constants as c
import room

# A hub and an etcd are planned to be busy for so much of the time, and a hub, once a region is lost, to have so much of
# its sessions and to be busy for so much.
BUSY_AIM, SESSIONS_AIM, BUSY_AFTER_LOSS = 0.5, 0.95, 0.8
# Edges open the session of a writer upstream until it has written nothing for so long (docs/operate/edges.md).
WRITER_SECONDS = 30.0
FEWEST_HUBS = 3


@dataclass(frozen=True)
class Workload:
    """What is to be served. Peers, models and writes are spread evenly over the cells."""

    peers: int
    models: int
    commits: float
    joined: int = 20
    fields: int = 10
    record_bytes: int = 512
    written: float = 1.0
    writers: float = 1.0
    quota: float = 8 * c.GIB
    regions: int = 3

    @property
    def joined_models(self) -> int:
        return min(self.joined, self.models)

    @property
    def readers(self) -> float:
        """How many peers a model has."""
        return self.peers * self.joined_models / self.models


@dataclass(frozen=True)
class Layout:
    """Cells, the hubs of each, and the edges below them; without edges peers are at the hubs."""

    cells: int
    hubs: int
    edges: int = 0

    @property
    def processes(self) -> int:
        return self.cells * (3 + self.hubs + self.edges)


class Cell:
    """The load of one cell of a layout, by arithmetic: what needs no queue."""

    def __init__(self, workload: Workload, layout: Layout):
        self.workload, self.layout = workload, layout
        self.peers = workload.peers / layout.cells
        self.models = max(workload.models / layout.cells, 1)
        self.commits = workload.commits / layout.cells
        self.joined = min(workload.joined_models, max(int(self.models), 1))
        self.has_edges = layout.edges > 0

    def distinct(self, peers: float) -> float:
        """How many models so many peers have joined together, at random."""
        return self.models * -math.expm1(-peers * self.joined / self.models)

    @property
    def edge_sessions(self) -> float:
        return self.peers / self.layout.edges if self.has_edges else 0.0

    @property
    def edge_models(self) -> float:
        return self.distinct(self.edge_sessions)

    @property
    def open_writers(self) -> float:
        """Peers whose sessions the edges hold open upstream."""
        writers = self.peers * self.workload.writers
        return writers * -math.expm1(-WRITER_SECONDS * self.commits / writers) if writers else 0.0

    @property
    def hub_sessions(self) -> float:
        below = self.layout.edges + self.open_writers if self.has_edges else self.peers
        return below / self.layout.hubs

    @property
    def hub_models(self) -> float:
        return self.distinct(self.peers / self.layout.hubs)

    @property
    def copies(self) -> float:
        """Copies of commits that all hubs of the cell send in a second."""
        readers = self.peers * self.joined / self.models
        if not self.has_edges:
            return self.commits * readers
        return self.commits * self.layout.edges * -math.expm1(-readers / self.layout.edges)

    @property
    def other_share(self) -> float:
        """What a hub needs of a processor besides the commits of its own peers: heartbeats, and the log's tail."""
        of_others = self.commits * (1 - 1 / self.layout.hubs)
        return self.hub_sessions * c.IDLE_PEER + of_others * c.CHANGE + self.copies / self.layout.hubs * c.COPY

    @property
    def hub_share(self) -> float:
        return self.other_share + self.commits / self.layout.hubs * (c.WAKE + c.CHANGE)

    @property
    def edge_share(self) -> float:
        if not self.has_edges:
            return 0.0
        received = self.copies / self.layout.edges
        sent = self.commits * self.peers * self.joined / self.models / self.layout.edges
        return self.edge_sessions * c.IDLE_PEER + received * (c.WAKE + c.CHANGE) + sent * c.COPY

    @property
    def hub_bytes(self) -> float:
        model = c.MODEL_BYTES + self.workload.fields * c.FIELD_BYTES
        return c.HUB_BYTES + self.hub_sessions * c.PEER_BYTES + self.hub_models * model

    @property
    def edge_bytes(self) -> float:
        model = c.MODEL_BYTES + self.workload.fields * c.FIELD_BYTES
        return c.HUB_BYTES + self.edge_sessions * c.PEER_BYTES + 2 * self.edge_models * model

    @property
    def etcd_bytes_of_second(self) -> float:
        return self.commits * (self.workload.record_bytes + c.RECORD_OVERHEAD + c.HEAD_BYTES)

    @property
    def etcd(self) -> room.Cell:
        written = self.models * self.workload.written
        return room.Cell(
            written, self.models - written, self.commits, self.workload.record_bytes, self.workload.fields,
            self.workload.quota, self.layout.hubs, self.writing_hubs)

    @property
    def writing_hubs(self) -> int:
        """The hubs at which a model has writers."""
        return max(min(round(self.workload.readers * self.workload.writers), self.layout.hubs), 1)

    @property
    def hubs_after_loss(self) -> float:
        """By how much the load of a hub grows where a region is lost."""
        return self.layout.hubs / (self.layout.hubs - self.lost_hubs)

    @property
    def edges_after_loss(self) -> float:
        return self.layout.edges / (self.layout.edges - self.lost_edges) if self.has_edges else 1.0

    @property
    def lost_hubs(self) -> int:
        """The hubs of a region; one at least is left."""
        return min(math.ceil(self.layout.hubs / self.workload.regions), self.layout.hubs - 1)

    @property
    def lost_edges(self) -> int:
        return min(math.ceil(self.layout.edges / self.workload.regions), max(self.layout.edges - 1, 0))


def fits(cell: Cell, with_constants: bool) -> bool:
    """Whether hubs and edges carry their load, also once a region is lost."""
    layout = cell.layout
    after, edges_after = cell.hubs_after_loss, cell.edges_after_loss
    if max(cell.hub_share, cell.edge_share) > BUSY_AIM or cell.hub_share * after > BUSY_AFTER_LOSS:
        return False
    if cell.edge_share * edges_after > BUSY_AFTER_LOSS:
        return False
    if not with_constants:
        return True
    if max(cell.hub_sessions * after, cell.edge_sessions * edges_after) > c.MAX_SESSIONS * SESSIONS_AIM:
        return False
    if cell.has_edges and cell.distinct(cell.edge_sessions * edges_after) > c.MAX_FOLLOWED * SESSIONS_AIM:
        return False
    return cell.distinct(cell.peers / layout.hubs * after) <= c.MAX_MODELS * SESSIONS_AIM


def by_room(workload: Workload, most_models: float) -> int:
    """The cells whose quota has room for the models."""
    return max(math.ceil(workload.models / most_models), 1)


def by_engine(workload: Workload, for_room: int, seed: str) -> int:
    """The cells that etcd needs: for the room of the models, and for its time, of which folds take a share too."""
    cells = max(by_records(workload), for_room)
    while True:
        etcd = Cell(workload, Layout(cells, FEWEST_HUBS)).etcd
        folds = room.simulated(etcd, random.Random(seed), room.FEW).fold_share
        if etcd.commits / c.SINGLE_APPENDS + folds <= BUSY_AIM or cells >= workload.models:
            return cells
        cells += max(cells // 10, 1)


def by_records(workload: Workload) -> int:
    """The cells that etcd needs for its time: where it is not busy, most records are a transaction of their own."""
    return math.ceil(workload.commits / (c.SINGLE_APPENDS * BUSY_AIM))


def by_last_records(workload: Workload) -> int:
    """The cells whose quota has room for the heads and the last record of each model, if all else were folded."""
    model = c.HEAD_BYTES + 2 * (workload.record_bytes + c.RECORD_OVERHEAD) + workload.fields * c.FIELD_OWN_BYTES
    return math.ceil(workload.models * model / (workload.quota * c.SCARCE_SHARE))


def by_sessions(workload: Workload) -> int:
    """The hubs that the sessions of all peers need, with those of a region to spare."""
    left = 1 - 1 / workload.regions if workload.regions > 1 else 1.0
    return math.ceil(workload.peers / (c.MAX_SESSIONS * SESSIONS_AIM * left))


def fewest_edges(workload: Workload, cells: int, hubs: int, with_constants: bool) -> Optional[Layout]:
    low, high = 1, 2
    while not fits(Cell(workload, Layout(cells, hubs, high)), with_constants):
        if high > max(workload.peers, 2):
            return None
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        if fits(Cell(workload, Layout(cells, hubs, middle)), with_constants):
            high = middle
        else:
            low = middle
    return Layout(cells, hubs, max(high, FEWEST_HUBS))


def candidates(workload: Workload, cells: int, with_constants: bool) -> Iterator[Layout]:
    """Layouts of at least so many cells that carry the workload."""
    for hubs in range(FEWEST_HUBS, c.HUBS_OF_LOG + 1):
        count = cells
        while count <= min(workload.models, workload.peers) and count < cells * 4_096:
            if fits(Cell(workload, Layout(count, hubs)), with_constants):
                yield Layout(count, hubs)
                break
            count += max(count // 50, 1)
        edges = fewest_edges(workload, cells, hubs, with_constants)
        if edges is not None:
            yield edges


def with_edges(workload: Workload, cells: int, with_constants: bool = True) -> Optional[Layout]:
    """The layout with the fewest processes in which all peers are at edges."""
    found = (fewest_edges(workload, cells, hubs, with_constants) for hubs in range(FEWEST_HUBS, c.HUBS_OF_LOG + 1))
    return min((one for one in found if one), key=lambda layout: layout.processes, default=None)


def plan(workload: Workload, cells: int, with_constants: bool = True) -> Optional[Layout]:
    """The layout with the fewest processes; None: nothing carries the workload."""
    return min(candidates(workload, cells, with_constants), key=lambda layout: layout.processes, default=None)


def hot(readers: int, rate: float) -> Workload:
    """One model that all peers read and one writes."""
    return Workload(peers=readers, models=1, commits=rate, joined=1, writers=1 / max(readers, 1))
