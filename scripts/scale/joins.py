"""Peers that come back after a loss: each of them is simulated.

A peer goes to a hub that it knows and has not tried in this round, at random. A hub serves connections and joins one
after the other. A peer that gets no welcome within 2 s goes to the next hub; the hub serves the connection that was
given up nevertheless. After a round of all hubs the peer pauses. A full hub refuses. A model that is not in the hub's
memory is loaded, once; an unanswered join is repeated every 3 s. A machine that is gone answers nothing, and a peer
notices it after 4 s of silence, then tries another for 2 s; a killed process is noticed at once.
"""

from __future__ import annotations

import random
from typing import Callable, Dict, List, NamedTuple, Sequence, Set

import constants as c
from events import Server, Simulation, percentile


class Options(NamedTuple):
    """The hubs, or the edges, and who comes back to them."""

    hubs: int
    lost: int
    peers: int
    models: int
    joined: int
    # The sessions that come back with each peer: an edge's, and those of its writers.
    sessions: int = 1
    most_sessions: int = c.MAX_SESSIONS
    # Whether machines are gone, and not only processes.
    is_silent: bool = False
    # The time for which one model that a hub does not have is loaded, from where all hubs of the cell load.
    load_seconds: float = c.LOAD
    # The hub's own work for it.
    take_in_seconds: float = c.CHANGE
    other_share: float = 0.0
    # After the loss nothing is loaded for so long, because etcd elects a leader.
    election_seconds: float = 0.0
    chooses_next: bool = False

    @property
    def longest(self) -> float:
        """When the simulation ends at the latest: soon, if the hubs have no room for all."""
        have_room = self.peers * self.sessions <= (self.hubs - self.lost) * self.most_sessions
        return 600.0 if have_room else 20.0


class Result(NamedTuple):
    """When peers were back, from the loss on: half of them, 99 %, all; and what it took."""

    moved: int
    back: int
    p50: float
    p99: float
    last: float
    # When all were welcomed; their models may still be loading.
    welcomed: float
    tries: int
    refusals: int
    timeouts: int
    loads: int
    fullest: int
    events: int


class Hub:
    """A hub, or an edge, as peers see it that come back."""

    def __init__(self, server: Server):
        self.server = server
        self.sessions = 0
        # Models in its memory, and the peers that wait for one.
        self.present: Set[int] = set()
        self.loading: Dict[int, List[Callable[[], None]]] = {}


class Peer:
    __slots__ = ("models", "tried", "pauses", "attempt", "missing", "welcomed_at", "back_at", "hub")

    def __init__(self, models: Sequence[int]):
        self.models = models
        self.tried: Set[int] = set()
        self.pauses = self.attempt = 0
        self.missing: Set[int] = set()
        self.welcomed_at = self.back_at = -1.0
        self.hub = -1


class Storm:
    """Peers that come back."""

    def __init__(self, options: Options, rng: random.Random):
        self.options, self._rng = options, rng
        self.simulation = Simulation()
        self._loader = Server(self.simulation)
        self._loader.stop_until(options.election_seconds)
        self._hubs = [Hub(Server(self.simulation, options.other_share)) for _ in range(options.hubs)]
        self._tries = self._refusals = self._timeouts = self._loads = 0
        self._moved: List[Peer] = []
        for number in range(options.peers):
            models = [rng.randrange(options.models) for _ in range(options.joined)]
            at = number % options.hubs
            if at >= options.lost:
                self._hubs[at].sessions += options.sessions
                self._hubs[at].present.update(models)
            else:
                peer = Peer(models)
                peer.tried.add(at)
                self._moved.append(peer)

    def run(self) -> Result:
        options = self.options
        for peer in self._moved:
            # The last heartbeat arrived up to a second before the loss.
            noticed = c.SILENCE - self._rng.random() * c.HEARTBEAT if options.is_silent else 0.0
            self.simulation.at(noticed, self._choose, peer)
        self.simulation.run(options.longest)
        back = [peer.back_at for peer in self._moved if peer.back_at >= 0]
        welcomed = [peer.welcomed_at for peer in self._moved if peer.back_at >= 0]
        return Result(
            len(self._moved), len(back), percentile(back, 0.5), percentile(back, 0.99), max(back, default=0.0),
            max(welcomed, default=0.0), self._tries, self._refusals, self._timeouts, self._loads,
            max(hub.sessions for hub in self._hubs), self.simulation.count)

    # Connections.

    def _choose(self, peer: Peer) -> None:
        """Goes to the next hub of the round; after the last one it pauses, and begins another round."""
        open_hubs = [number for number in range(self.options.hubs) if number not in peer.tried]
        if not open_hubs:
            whole = min(c.LONGEST_PAUSE, c.SHORTEST_PAUSE * (1 << min(peer.pauses, 16)))
            peer.pauses += 1
            peer.tried.clear()
            self.simulation.after(self._rng.uniform(whole / 2, whole), self._choose, peer)
            return
        chosen = open_hubs[0] if self.options.chooses_next else open_hubs[self._rng.randrange(len(open_hubs))]
        peer.tried.add(chosen)
        peer.attempt += 1
        self._tries += 1
        if chosen < self.options.lost:
            # A machine that is gone does not refuse the connection.
            self.simulation.after(c.CONNECT_TIMEOUT if self.options.is_silent else c.HOP, self._choose, peer)
            return
        hub = self._hubs[chosen]
        hub.server.serve(c.CONNECT * self.options.sessions, self._connected, peer, hub, chosen, peer.attempt)
        self.simulation.after(c.WELCOME_TIMEOUT, self._give_up, peer, peer.attempt)

    def _give_up(self, peer: Peer, attempt: int) -> None:
        if peer.attempt == attempt and peer.hub < 0:
            self._timeouts += 1
            self._choose(peer)

    def _connected(self, peer: Peer, hub: Hub, number: int, attempt: int) -> None:
        if peer.attempt != attempt or peer.hub >= 0:
            return
        if hub.sessions + self.options.sessions > self.options.most_sessions:
            self._refusals += 1
            return self._choose(peer)
        hub.sessions += self.options.sessions
        peer.hub = number
        peer.welcomed_at = self.simulation.now
        peer.missing = set(peer.models)
        # The first model's join is a part of what a connection costs.
        hub.server.serve(c.JOIN_MODEL * (len(peer.missing) - 1), self._join, peer, hub)

    # Models.

    def _join(self, peer: Peer, hub: Hub) -> None:
        for model in sorted(peer.missing):
            if model in hub.present:
                self._joined(peer, model)
            elif model in hub.loading:
                hub.loading[model].append(lambda model=model: self._joined(peer, model))
            else:
                hub.loading[model] = [lambda model=model: self._joined(peer, model)]
                self._loads += 1
                self._loader.serve(self.options.load_seconds, self._arrived, hub, model)
        if peer.missing:
            self.simulation.after(c.JOIN_TIMEOUT, self._repeat, peer, hub)

    def _repeat(self, peer: Peer, hub: Hub) -> None:
        """What was asked for already costs the hub the join only: it loads a model once."""
        if peer.missing:
            hub.server.serve(c.JOIN_MODEL * len(peer.missing), lambda: None)
            self.simulation.after(c.JOIN_TIMEOUT, self._repeat, peer, hub)

    def _arrived(self, hub: Hub, model: int) -> None:
        hub.server.serve(self.options.take_in_seconds, self._loaded, hub, model)

    def _loaded(self, hub: Hub, model: int) -> None:
        hub.present.add(model)
        for then in hub.loading.pop(model):
            then()

    def _joined(self, peer: Peer, model: int) -> None:
        peer.missing.discard(model)
        if not peer.missing and peer.back_at < 0:
            peer.back_at = self.simulation.now


def simulated(options: Options, rng: random.Random) -> Result:
    return Storm(options, rng).run()


def load_seconds(model_bytes: float) -> float:
    """The time for which etcd is busy with one model that is loaded."""
    return c.LOAD + c.LOAD_KIB * model_bytes / c.KIB
