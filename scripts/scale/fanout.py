"""A hot model: one writer's commits go from a hub to the cell's other hubs, to the edges, and to all their readers.

Each hub and edge is simulated. A turn of an edge takes what has arrived, and sends it to each of its readers, one
after the other: the first copy of a turn costs a reader's socket, further ones little. The time at which a reader gets
a commit is taken at the first, at the last and at some readers between.
"""

from __future__ import annotations

import random
from typing import List, NamedTuple

import constants as c
from events import Drain, Simulation, percentile

SAMPLES = 4


class Options(NamedTuple):
    hubs: int
    edges: int
    readers: int
    rate: float
    seconds: float


class Result(NamedTuple):
    """What an edge and a hub need of a processor, and how late readers are; copies that were sent."""

    edge_share: float
    hub_share: float
    p50: float
    p99: float
    longest: float
    together: float
    commits: int
    copies: int
    events: int


class Relay:
    """A hub or an edge, which sends each commit to those below it."""

    def __init__(self, tree: Tree, below: List[Relay], readers: int, other_share: float):
        self._tree, self._below, self._readers = tree, below, readers
        self.drain = Drain(tree.simulation, self._handle, self._seconds, other_share)
        self.received = 0

    def _seconds(self, commits: List[float]) -> float:
        targets = len(self._below) + self._readers
        return c.WAKE + len(commits) * c.CHANGE + targets * (c.COPY + (len(commits) - 1) * c.COPY_TOGETHER)

    def _handle(self, commits: List[float]) -> None:
        self.received += len(commits)
        for commit in commits:
            for relay in self._below:
                self._tree.simulation.after(c.HOP, relay.drain.add, commit)
        if self._readers:
            self._tree.deliver(commits, self._readers, self._seconds(commits))


class Tree:
    """The hubs of a cell and all edges below them."""

    def __init__(self, options: Options, rng: random.Random):
        self.options, self._rng = options, rng
        self.simulation = Simulation()
        self._delays: List[float] = []
        self._copies = 0
        share, more = divmod(options.readers, options.edges)
        self._edges = []
        for number in range(options.edges):
            readers = share + (number < more)
            self._edges.append(Relay(self, [], readers, readers * c.IDLE_PEER))
        self._hubs = []
        for number in range(options.hubs):
            below = self._edges[number::options.hubs]
            self._hubs.append(Relay(self, below, 0, len(below) * c.IDLE_PEER))

    def run(self) -> Result:
        options, commits, at = self.options, 0, 0.0
        while True:
            at += self._rng.expovariate(options.rate)
            if at > options.seconds:
                break
            commits += 1
            for number, hub in enumerate(self._hubs):
                # The writer's hub publishes once etcd has stored it, the others once etcd has told them.
                self.simulation.at(at + c.HOP + c.ETCD_ALONE + (c.HOP if number else 0), hub.drain.add, at)
        self.simulation.run()
        drains = [edge.drain for edge in self._edges]
        edge_share = max(drain.busy_seconds for drain in drains) / options.seconds
        turns = sum(drain.turns for drain in drains)
        return Result(
            edge_share, max(hub.drain.busy_seconds for hub in self._hubs) / options.seconds,
            percentile(self._delays, 0.5), percentile(self._delays, 0.99), max(self._delays, default=0.0),
            sum(edge.received for edge in self._edges) / max(turns, 1), commits, self._copies,
            self.simulation.count)

    def deliver(self, commits: List[float], readers: int, seconds: float) -> None:
        """The readers of an edge have these commits, the last one just now."""
        self._copies += len(commits) * readers
        for commit in commits:
            for sample in range(SAMPLES):
                early = seconds * (1 - (sample + 1) / SAMPLES)
                self._delays.append(self.simulation.now - early - commit + c.HOP)


def simulated(options: Options, rng: random.Random) -> Result:
    return Tree(options, rng).run()
