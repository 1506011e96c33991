"""Commits of one cell: writes arrive at its hubs, which gather them by model and append them to etcd.

A hub wakes, handles all that has arrived, and sends a model's writes as one record; what arrives for the model
meanwhile is the next record. It has four transactions under way at most, of 63 models each. Etcd serves transactions
one after the other. A model that another hub has changed meanwhile is refused and decided again. While etcd elects a
leader nothing is served, and what was under way is sent again.

Writers are not simulated one by one: their writes arrive at random at the rate of all. What a hub does besides, for
heartbeats and for the commits of other hubs, takes a share of its processor.
"""

from __future__ import annotations

import random
from collections import deque
from typing import Deque, Dict, List, NamedTuple, Optional, Tuple

import constants as c
from events import Drain, Server, Simulation, percentile

# From the end of a transaction at the leader to its answer, and to what the other hubs are told of it.
ANSWER = c.ETCD_ALONE - c.ETCD_TRANSACTION - c.ETCD_RECORD


class Options(NamedTuple):
    """The load of a cell, and the election that strikes it."""

    hubs: int
    models: int
    rate: float
    seconds: float
    # The hubs at which a model has writers.
    writing_hubs: int = 1
    other_share: float = 0.0
    election_at: Optional[float] = None
    election_seconds: float = 0.0
    # While all hubs fold: etcd's time for each of the calls that a hub makes one after the other; 0: none folds.
    fold_call: float = 0.0


class Result(NamedTuple):
    """What became of the writes."""

    arrived: int
    acknowledged: int
    p50: float
    p99: float
    longest: float
    engine_share: float
    hub_share: float
    records_of_second: float
    transactions: int
    refused: int
    # The most writes that waited, and after the election how long until all that had waited were acknowledged.
    most_waiting: int
    caught_up: float
    events: int


class Batch:
    """The writes of one model that become one record."""

    __slots__ = ("model", "arrivals", "decided_at")

    def __init__(self, model: int, arrivals: List[float], decided_at: float):
        self.model, self.arrivals, self.decided_at = model, arrivals, decided_at


class Hub:
    """Decides the writes of its peers, and appends them."""

    def __init__(self, cell: CommitCell, number: int):
        self._cell = cell
        self.number = number
        self.drain = Drain(cell.simulation, self._handle, self._seconds, cell.options.other_share)
        self._gathered: Dict[int, List[float]] = {}
        self._open: Dict[int, bool] = {}
        self._queue: Deque[Batch] = deque()
        self._under_way = 0

    @staticmethod
    def _seconds(items: List[Tuple[str, object]]) -> float:
        return c.WAKE + c.CHANGE * sum(1 for kind, _ in items if kind == "write")

    def _handle(self, items: List[Tuple[str, object]]) -> None:
        for kind, item in items:
            if kind == "write":
                model, arrived = item
                self._gathered.setdefault(model, []).append(arrived)
                self._decide(model)
            else:
                self._settle(item, kind == "stored")
        self._pump()

    def _decide(self, model: int) -> None:
        if model not in self._open and model in self._gathered:
            self._open[model] = True
            self._queue.append(Batch(model, self._gathered.pop(model), self._cell.simulation.now))

    def _settle(self, batch: Batch, is_stored: bool) -> None:
        del self._open[batch.model]
        if is_stored:
            self._cell.acknowledge(batch)
        else:
            self._gathered[batch.model] = batch.arrivals + self._gathered.get(batch.model, [])
        self._decide(batch.model)

    def _pump(self) -> None:
        while self._queue and self._under_way < c.TRANSACTIONS_UNDER_WAY:
            batches: List[Batch] = []
            while self._queue and len(batches) < c.MODELS_OF_TRANSACTION:
                batch = self._queue.popleft()
                if self._cell.has_told(self, batch):
                    # The tail has shown another hub's record there: the batch is decided again without being sent.
                    self.drain.add(("moved", batch))
                else:
                    batches.append(batch)
            if batches:
                self._under_way += 1
                self._cell.append(self, batches)

    def answered(self, stored: List[Batch], moved: List[Batch], again: List[Batch]) -> None:
        """A transaction has its answer; what goes again is sent before all else."""
        self._under_way -= 1
        self._queue.extendleft(reversed(again))
        for batch in stored:
            self.drain.add(("stored", batch))
        for batch in moved:
            self.drain.add(("moved", batch))
        self._pump()


class CommitCell:
    """The hubs of a cell and its etcd."""

    def __init__(self, options: Options, rng: random.Random):
        self.options, self._rng = options, rng
        self.simulation = Simulation()
        self._engine = Server(self.simulation)
        self._hubs = [Hub(self, number) for number in range(options.hubs)]
        # Of each model, which hub changed it last, and when.
        self._changed: Dict[int, Tuple[int, float]] = {}
        self._latencies: List[float] = []
        self._arrived = self._acknowledged = self._most_waiting = 0
        self._records = self._transactions = self._refused = 0
        begins = options.election_at
        self._outage = (begins, begins + options.election_seconds) if begins is not None else None
        self._caught_up = 0.0

    def run(self) -> Result:
        options = self.options
        self._schedule_arrival()
        if options.fold_call:
            for hub in range(options.hubs):
                self.simulation.at(c.ETCD_ALONE * hub / options.hubs, self._fold)
        if self._outage:
            self.simulation.at(self._outage[0], self._engine.stop_until, self._outage[1])
        # Arrivals end at the last second; then everything is acknowledged.
        self.simulation.run()
        latencies = self._latencies
        return Result(
            self._arrived, self._acknowledged, percentile(latencies, 0.5), percentile(latencies, 0.99),
            max(latencies, default=0.0), self._engine.busy_seconds / options.seconds,
            max(hub.drain.busy_seconds for hub in self._hubs) / options.seconds * (1 - options.other_share)
            + options.other_share,
            self._records / options.seconds, self._transactions, self._refused, self._most_waiting, self._caught_up,
            self.simulation.count)

    def _fold(self) -> None:
        """A call of a hub that folds; the next one leaves when this one is answered."""
        if self.simulation.now < self.options.seconds:
            self._engine.serve(self.options.fold_call, self.simulation.after, ANSWER, self._fold)

    def _schedule_arrival(self) -> None:
        at = self.simulation.now + self._rng.expovariate(self.options.rate)
        if at <= self.options.seconds:
            self.simulation.at(at, self._arrive)

    def _arrive(self) -> None:
        self._arrived += 1
        self._most_waiting = max(self._most_waiting, self._arrived - self._acknowledged)
        model, hubs = self._rng.randrange(self.options.models), len(self._hubs)
        first = model * 2_654_435_761 % 4_294_967_296 * hubs >> 32
        number = (first + self._rng.randrange(min(self.options.writing_hubs, hubs))) % hubs
        self._hubs[number].drain.add(("write", (model, self.simulation.now)))
        self._schedule_arrival()

    # The engine.

    def append(self, hub: Hub, batches: List[Batch]) -> None:
        self._transactions += 1
        seconds = c.ETCD_TRANSACTION + c.ETCD_RECORD * len(batches)
        self._engine.serve(seconds, self._served, hub, batches)

    def _served(self, hub: Hub, batches: List[Batch]) -> None:
        now = self.simulation.now
        if self._outage and self._outage[0] <= now < self._outage[1]:
            # The leader is gone before it has answered: the same bytes go to the next one.
            self._engine.stop_until(self._outage[1])
            return self.append(hub, batches)
        wait = ANSWER
        moved = [batch for batch in batches if self._has_moved(hub, batch)]
        if moved:
            self._refused += 1
            lost = set(id(batch) for batch in moved)
            rest = [batch for batch in batches if id(batch) not in lost]
            return self.simulation.after(wait, hub.answered, [], moved, rest)
        self._records += len(batches)
        for batch in batches:
            self._changed[batch.model] = (hub.number, now)
        self.simulation.after(wait, hub.answered, batches, [], [])

    def _has_moved(self, hub: Hub, batch: Batch) -> bool:
        """Whether another hub has changed the model, of which this hub had not heard when it decided."""
        number, at = self._changed.get(batch.model, (hub.number, 0.0))
        return number != hub.number and at + ANSWER > batch.decided_at

    def has_told(self, hub: Hub, batch: Batch) -> bool:
        """Whether this hub has heard since of such a change."""
        at = self._changed.get(batch.model, (hub.number, 0.0))[1]
        return self._has_moved(hub, batch) and at + ANSWER <= self.simulation.now

    def acknowledge(self, batch: Batch) -> None:
        now = self.simulation.now
        self._acknowledged += len(batch.arrivals)
        for arrived in batch.arrivals:
            self._latencies.append(now - arrived + c.HOP)
        if self._outage and min(batch.arrivals) <= self._outage[1]:
            self._caught_up = max(self._caught_up, now - self._outage[1])


def simulated(options: Options, rng: random.Random) -> Result:
    return CommitCell(options, rng).run()
