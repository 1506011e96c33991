"""How full etcd becomes: records of a cell's models, which folds remove and compactions free.

The models of a cell are simulated as a sample of them, each of which stands for an equal share of all. Rates are the
same for all models, and all begin empty: the worst case, because then all become large at the same time.

Each hub folds one model after the other, by the rules of docs/reference/etcd-format.md: at a record of its own whose
number is a multiple of 256, and after 16 MiB of its own appends; where room is scarce also each model to which it has
appended 4 KiB, and as much as the last fold has, those with the most first. What a fold deletes is free only once
etcd's history is compacted. Models that are folded because they were loaded are left out.
"""

from __future__ import annotations

import math
import random
from collections import deque
from typing import Deque, List, NamedTuple, Optional, Tuple

import constants as c
import joins

SAMPLE, FEW = 300, 60
# The share of the quota up to which a cell is planned: writes are refused from 85 % on.
AIM = 0.80
STEPS = 7
# So many times the quota is written, or so many records of each model, whichever is first: scarcity comes and goes
# several times.
ROUNDS, MOST_RECORDS = 4, c.FOLD_KEPT + 4 * c.FOLD_INTERVAL


class Room(NamedTuple):
    """The most that was used of the quota; after how many seconds writes were refused (None: never), and what share of
    them was from then on; the records of a model that is written, on average when they were the most; and the share
    of etcd's time that folds take from the first of them on."""

    peak_share: float
    refused_after: Optional[float]
    records: float
    refused_share: float = 0.0
    fold_share: float = 0.0


class Cell(NamedTuple):
    """What is stored in a cell's etcd, and by how many hubs, of which so many write each model."""

    written_models: float
    other_models: float
    commits: float
    record_bytes: int
    fields: int
    quota: float
    hubs: int = 3
    writing_hubs: int = 1

    @property
    def record(self) -> int:
        """What a record takes in etcd."""
        return self.record_bytes + c.RECORD_OVERHEAD

    @property
    def chunk_bytes(self) -> int:
        return self.fields * c.FIELD_OWN_BYTES

    @property
    def fold(self) -> int:
        """What a fold takes in etcd."""
        return self.chunk_bytes + c.RECORD_OVERHEAD


class Fold(NamedTuple):
    """What the fold of a model with so many records costs: calls to etcd, their time in all, and etcd's own time."""

    calls: int
    seconds: float
    engine_seconds: float


def fold_of(cell: Cell, records: float) -> Fold:
    """No measurement: calls at the latency of one append, and etcd's time as if each record deleted were one put."""
    chunks = max(math.ceil(cell.chunk_bytes / c.FOLD_CHUNK), 1)
    calls = c.FOLD_CALLS + chunks
    load = joins.load_seconds(records * cell.record)
    deletion = records * c.ETCD_RECORD
    single = 1 / c.SINGLE_APPENDS
    # Writes: a lease, the chunks, their being put in force, and the lease's end, for which nobody waits.
    engine = load + c.LOAD + (3 + chunks) * single + deletion
    alone = calls * c.ETCD_ALONE + load - c.LOAD + deletion
    # Commits go on meanwhile, and the hubs share one etcd.
    left = 1 - min(cell.commits / c.SINGLE_APPENDS, 0.9)
    return Fold(calls, max(alone, cell.hubs * engine) / left, engine)


class Hub:
    """The folds of a hub: Sources/BindingHub/Storage/Shared/FoldQueue.swift."""

    def __init__(self, models: int, chunk_bytes: int):
        self.bytes = [0] * models
        self.last = [0] * models
        self._least = [c.FOLD_WORTHWHILE] * models
        self._chunk_bytes = chunk_bytes
        self._waiting: List[Tuple[int, int]] = []
        self._scarce: List[int] = []
        self._may_be_more = True
        # A model, the record up to which it is folded, and the time at which that is done.
        self.under_way: Optional[Tuple[int, int, float]] = None

    def room_changed(self) -> None:
        self._scarce.clear()
        self._may_be_more = True

    def stored(self, model: int, record: int, size: int, kept: int) -> None:
        self.bytes[model] += size
        self.last[model] = record
        self._may_be_more = self._may_be_more or self.bytes[model] >= self._least[model]
        if self.bytes[model] > c.FOLD_MOST_BYTES:
            self._order(model, record)
        elif record % c.FOLD_INTERVAL == 0 and record > kept:
            self._order(model, record - kept)

    def _order(self, model: int, record: int) -> None:
        self.bytes[model] = 0
        self._waiting = [order for order in self._waiting if order[0] != model] + [(model, record)]

    def next(self, is_scarce: bool) -> Optional[Tuple[int, int]]:
        if not self._waiting and is_scarce:
            self._order_largest()
        return self._waiting.pop(0) if self._waiting else None

    def _order_largest(self) -> None:
        if not self._scarce and self._may_be_more:
            self._may_be_more = False
            found = [model for model, size in enumerate(self.bytes) if size >= self._least[model]]
            self._scarce = sorted(found, key=lambda model: self.bytes[model])
        while self._scarce:
            model = self._scarce.pop()
            if self.bytes[model] >= self._least[model]:
                return self._order(model, self.last[model])

    def folded(self, model: int) -> None:
        self._least[model] = max(c.FOLD_WORTHWHILE, self._chunk_bytes)
        self.under_way = None


class Filling:
    """A cell's etcd while its models are written."""

    def __init__(self, cell: Cell, rng: random.Random, sample: int):
        self._cell, self._rng = cell, rng
        self._models = min(sample, max(int(cell.written_models), 1))
        self._weight = max(cell.written_models, 1) / self._models
        # Of each model, its records ever, those that folds deleted, and whether it has a fold.
        self._records, self._deleted, self._has_fold = ([0] * self._models for _ in range(3))
        self._hubs = [Hub(self._models, cell.chunk_bytes) for _ in range(cell.hubs)]
        # Former heads, and what folds have deleted, are in the file until they are compacted away.
        self._history: Deque[Tuple[float, float]] = deque()
        self._used = cell.other_models * (c.HEAD_BYTES + cell.record) + cell.written_models * c.HEAD_BYTES
        self._live = self._refused = self._tries = 0
        self._is_scarce = False
        self._now = self._engine_seconds = 0.0
        self._first_fold: Optional[float] = None

    def run(self, most_share: Optional[float]) -> Room:
        """Writes on. If a share is given, ends with the first write from which on so much of the quota is used."""
        cell, weight = self._cell, self._weight
        step = weight / max(cell.commits, 1e-9)
        written, peak, refused_after, most_live = 0.0, self._used, None, 0
        count = 0
        while written < ROUNDS * cell.quota and count < self._models * MOST_RECORDS:
            count += 1
            self._now += step
            self._go_on()
            share = self._used / cell.quota
            peak = max(peak, self._used)
            # Hubs that may have something to fold now.
            eager: List[Hub] = []
            if self._is_scarce != (share >= c.SCARCE_SHARE):
                self._is_scarce = not self._is_scarce
                eager = self._hubs
                for hub in self._hubs:
                    hub.room_changed()
            if share >= (most_share or c.FULL_SHARE):
                refused_after = self._now if refused_after is None else refused_after
                if most_share:
                    break
                self._refused += 1
            else:
                hub = self._append()
                eager = eager or [hub]
                written += weight * (cell.record + c.HEAD_BYTES)
            self._tries += refused_after is not None
            most_live = max(most_live, self._live)
            for hub in eager:
                if hub.under_way is None:
                    self._begin(hub, self._now)
        since = self._now - (self._now if self._first_fold is None else self._first_fold)
        return Room(
            peak / cell.quota, refused_after, most_live / self._models, self._refused / max(self._tries, 1),
            self._engine_seconds / since if since > 0 else 0.0)

    def _append(self) -> Hub:
        cell, model = self._cell, int(self._rng.random() * self._models)
        hub = self._hubs[(model + int(self._rng.random() * cell.writing_hubs)) % cell.hubs]
        self._records[model] += 1
        self._live += 1
        self._used += self._weight * (cell.record + c.HEAD_BYTES)
        self._history.append((self._now, self._weight * c.HEAD_BYTES))
        hub.stored(model, self._records[model], cell.record_bytes, 0 if self._is_scarce else c.FOLD_KEPT)
        return hub

    def _begin(self, hub: Hub, now: float) -> None:
        order = hub.next(self._is_scarce)
        if order is not None:
            self._first_fold = now if self._first_fold is None else self._first_fold
            cost = fold_of(self._cell, max(order[1] - 1 - self._deleted[order[0]], 0))
            self._engine_seconds += cost.engine_seconds * self._weight
            hub.under_way = (*order, now + cost.seconds * self._weight)

    def _go_on(self) -> None:
        """Ends the folds that are done by now, and frees what is compacted."""
        for hub in self._hubs:
            while hub.under_way is not None and hub.under_way[2] <= self._now:
                model, record, at = hub.under_way
                self._fold(model, record)
                hub.folded(model)
                self._begin(hub, at)
        kept_for = c.HISTORY_STEP + (c.SCARCE_HISTORY_SECONDS if self._is_scarce else c.HISTORY_SECONDS)
        while self._history and self._history[0][0] <= self._now - kept_for:
            self._used -= self._history.popleft()[1]

    def _fold(self, model: int, record: int) -> None:
        """The last record of a fold stays. Its chunks are stored twice: under a lease, and once they are in force."""
        cell, weight = self._cell, self._weight
        deleted = max(record - 1 - self._deleted[model], 0)
        self._deleted[model] += deleted
        self._live -= deleted
        # A deletion is stored itself.
        own = deleted * c.RECORD_OVERHEAD
        self._used += weight * (2 * cell.fold + own)
        freed = deleted * cell.record + own + cell.fold * (2 if self._has_fold[model] else 1)
        self._has_fold[model] = 1
        self._history.append((self._now, weight * freed))


def simulated(cell: Cell, rng: random.Random, sample: int = SAMPLE, most_share: Optional[float] = None) -> Room:
    """Fills the models until scarcity has come several times, or a given share of etcd's quota is used."""
    return Filling(cell, rng, sample).run(most_share)


def scaled(cell: Cell, factor: float) -> Cell:
    """So many times the models, with commits in proportion."""
    return cell._replace(
        written_models=cell.written_models * factor, other_models=cell.other_models * factor,
        commits=cell.commits * factor)


def most_models(cell: Cell, seed: str, most_share: float = AIM) -> float:
    """The most models of a cell, with commits in proportion, whose peak stays below a share of the quota."""
    def fits(factor: float) -> bool:
        return simulated(scaled(cell, factor), random.Random(seed), FEW, most_share).refused_after is None

    # With so many models there is room for heads, folds and last records, and for nothing else.
    least = cell.written_models * (c.HEAD_BYTES + cell.record + cell.fold)
    least += cell.other_models * (c.HEAD_BYTES + cell.record)
    high = most_share * cell.quota / least
    low = high / 16
    for _ in range(6):
        if fits(low):
            break
        low, high = low / 16, low
    for _ in range(STEPS):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if fits(middle) else (low, middle)
    return (cell.written_models + cell.other_models) * low
