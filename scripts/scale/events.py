"""A simulation by discrete events: a queue of events in the order of their times, and servers with queues."""

from __future__ import annotations

import heapq
from typing import Any, Callable, List, Tuple


class Simulation:
    """The clock, and what is still to happen. Events of the same time happen in the order in which they were made."""

    def __init__(self) -> None:
        self.now = 0.0
        self._events: List[Tuple[float, int, Callable[..., None], Tuple[Any, ...]]] = []
        self._made = 0
        self.count = 0

    def at(self, time: float, what: Callable[..., None], *arguments: Any) -> None:
        self._made += 1
        heapq.heappush(self._events, (max(time, self.now), self._made, what, arguments))

    def after(self, seconds: float, what: Callable[..., None], *arguments: Any) -> None:
        self.at(self.now + seconds, what, *arguments)

    def run(self, until: float = float("inf")) -> None:
        """Lets happen what is due, up to this time."""
        while self._events and self._events[0][0] <= until:
            self.now, _, what, arguments = heapq.heappop(self._events)
            self.count += 1
            what(*arguments)
        if until != float("inf"):
            self.now = until


class Server:
    """Serves one request after the other, in the order of their arrival.

    A share of its time may belong to other work, which makes each service longer.
    """

    def __init__(self, simulation: Simulation, other_share: float = 0.0):
        self._simulation = simulation
        self._stretch = 1 / max(1 - other_share, 0.05)
        self._free_at = 0.0
        self.busy_seconds = 0.0

    def serve(self, seconds: float, then: Callable[..., None], *arguments: Any) -> None:
        seconds *= self._stretch
        self._free_at = max(self._free_at, self._simulation.now) + seconds
        self.busy_seconds += seconds
        self._simulation.at(self._free_at, then, *arguments)

    def stop_until(self, time: float) -> None:
        """Begins nothing before this time."""
        self._free_at = max(self._free_at, time)


class Drain:
    """A server that wakes, takes all that has arrived meanwhile, and handles it together, as a hub does."""

    def __init__(
        self, simulation: Simulation, handle: Callable[[List[Any]], None], seconds: Callable[[List[Any]], float],
        other_share: float = 0.0,
    ):
        self._simulation = simulation
        self._handle, self._seconds = handle, seconds
        self._stretch = 1 / max(1 - other_share, 0.05)
        self._waiting: List[Any] = []
        self._is_awake = False
        self.busy_seconds = 0.0
        self.turns = 0

    def add(self, item: Any) -> None:
        self._waiting.append(item)
        if not self._is_awake:
            self._is_awake = True
            self._turn()

    def _turn(self) -> None:
        taken, self._waiting = self._waiting, []
        seconds = self._seconds(taken) * self._stretch
        self.busy_seconds += seconds
        self.turns += 1
        self._simulation.after(seconds, self._end, taken)

    def _end(self, taken: List[Any]) -> None:
        self._handle(taken)
        if self._waiting:
            self._turn()
        else:
            self._is_awake = False


def percentile(values: List[float], share: float) -> float:
    """The smallest value that so large a share of the values does not exceed; 0 of none."""
    if not values:
        return 0.0
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]
