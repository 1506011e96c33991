"""A session in simulated time and a network that loses, delays and repeats its frames."""
from __future__ import annotations

import heapq
import random
import struct
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from bindbus.kept import KeptWrites
from bindbus.messages import HEARTBEATS
from bindbus.outcomes import Outcome
from bindbus.overlay import Effect
from bindbus.pool import HubPool
from bindbus.session import Session
from tests.simulated_hub import SimulatedHub
from tests.simulated_store import Store


HELLO = 0x01


class World:
    """A hub, its peers, the network between them, and one clock."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.now = 0
        self.events: List[Tuple[int, int, Callable[[], None]]] = []
        self.count = 0
        self.store = Store()
        self.hub: Optional[SimulatedHub] = None
        self.peers: List[SimulatedPeer] = []
        self.connections = 0
        self.loss = 0.0
        self.last_arrival: Dict[Any, int] = {}
        self.start_hub()

    def at(self, when: int, do: Callable[[], None]) -> None:
        self.count += 1
        heapq.heappush(self.events, (max(when, self.now), self.count, do))

    def run(self, until: int) -> None:
        while self.events and self.events[0][0] <= until:
            self.now, _, do = heapq.heappop(self.events)
            do()
            self.settle()
        self.now = until

    def settle(self) -> None:
        """Carries what the hub has said onto the network."""
        if self.hub is None:
            return
        said, self.hub.out = self.hub.out, []
        for connection, topic, frame in said:
            for peer in self.peers:
                if peer.connection is None:
                    continue
                if connection == peer.connection:
                    self.carry((peer.connection, "down"), peer.hears(peer.connection, frame))
                elif connection is None and topic in peer.topics:
                    self.carry((peer.connection, "published"), peer.hears(peer.connection, frame), repeats=True)

    def carry(self, way: Any, deliver: Callable[[], None], repeats: bool = False) -> None:
        """One frame over a connection: in order, late, perhaps lost, perhaps repeated."""
        if self.chance.random() < self.loss:
            return
        delay = self.chance.choice([1, 2, 3, 20, 400 if self.loss else 4])
        when = max(self.now + delay, self.last_arrival.get(way, 0))
        self.last_arrival[way] = when
        self.at(when, deliver)
        if repeats and self.chance.random() < self.loss:
            self.at(when + self.chance.randrange(3_000), deliver)

    def start_hub(self) -> None:
        self.hub = hub = SimulatedHub(self.store, self.chance)

        def beat() -> None:
            if self.hub is hub:
                hub.tick(self.now)
                self.at(self.now + 1_000, beat)

        self.at(self.now + self.chance.randrange(1_000), beat)

    def kill_hub(self) -> None:
        self.hub = None
        for peer in self.peers:
            peer.cut()


class SimulatedPeer:
    """One program: its session, perhaps an outbox that survives it, and what became of its writes."""

    def __init__(self, world: World, name: str, has_outbox: bool, hubs: Sequence[str] = ()) -> None:
        self.world, self.name, self.hubs = world, name, hubs
        self.outbox = KeptWrites() if has_outbox else None
        self.connection: Optional[int] = None
        self.topics: List[bytes] = []
        self.outcomes: Dict[Tuple[bytes, int], Outcome] = {}
        self.merge: Callable[[Any], Optional[bytes]] = lambda texts: None
        self.run = 0
        self.begin()
        world.peers.append(self)
        self.tick(self.run)

    def begin(self) -> None:
        self.run += 1
        secret = self.world.chance.randbytes(16)
        if self.outbox is not None:
            secret = self.outbox.begin(secret, self.name)
        self.session = Session(secret, self.name, self.world.chance.getrandbits(60), self.world.now,
                               self.outbox is not None, HubPool(self.hubs))
        if self.outbox is not None:
            self.session.restore(self.outbox, self.world.now, self.world.now)

    def crash(self) -> None:
        """The program dies, and begins again with what its outbox holds."""
        self.connection = None
        self.begin()
        self.session.join("m", self.world.now)
        self.tick(self.run)

    def tick(self, run: int) -> None:
        if run == self.run:
            self.turn(lambda: self.session.tick(self.world.now))
            self.world.at(max(self.session.next_deadline(self.world.now), self.world.now + 1), lambda: self.tick(run))

    def turn(self, do: Callable[[], Any]) -> Any:
        result = do()
        self.session.flush(self.world.now)
        for effect in self.session.take_effects():
            getattr(self, f"on_{effect.do}", lambda _: None)(effect)
        return result

    def hears(self, connection: int, frame: bytes) -> Callable[[], None]:
        def deliver() -> None:
            if self.connection == connection:
                self.turn(lambda: self.session.receive(frame, self.world.now))
        return deliver

    def cut(self) -> None:
        """The connection is lost, with all that is under way on it."""
        if self.connection is not None:
            self.connection = None
            self.turn(lambda: self.session.lost(self.world.now))

    # Effects

    def on_open(self, effect: Effect) -> None:
        run = self.run
        self.connection = None

        def connect() -> None:
            if run != self.run or self.connection is not None:
                return
            if self.world.hub is None:
                self.turn(lambda: self.session.lost(self.world.now))
                return
            self.world.connections += 1
            self.connection, self.topics = self.world.connections, []
            self.turn(lambda: self.session.opened(self.world.now))

        self.world.at(self.world.now + effect.a + 1, connect)

    def on_send(self, effect: Effect) -> None:
        hub, connection, run = self.world.hub, self.connection, self.run
        if hub is not None and connection is not None:
            def arrive() -> None:
                # A hub would take the hello of a program that was killed for that of a later one, and fence the next.
                is_of_the_dead = run != self.run and effect.a[0] == HELLO
                if self.world.hub is hub and hub is not None and connection is not None and not is_of_the_dead:
                    hub.receive(connection, effect.a, self.world.now)

            self.world.carry((connection, "up"), arrive)

    def on_listen(self, effect: Effect) -> None:
        self.topics = [struct.pack(">I", HEARTBEATS)]

    def on_subscribe(self, effect: Effect) -> None:
        hub, connection, topic = self.world.hub, self.connection, struct.pack(">I", effect.a)

        def arrive() -> None:
            if self.world.hub is hub and hub is not None and self.connection == connection and connection is not None:
                self.topics.append(topic)
                hub.subscribe(connection, topic, self.world.now)

        self.world.at(self.world.now + self.world.chance.randrange(1, 30), arrive)

    def on_journal(self, effect: Effect) -> None:
        if self.outbox is not None:
            self.outbox.apply({"time": self.world.now, **effect.a})

    def on_settled(self, effect: Effect) -> None:
        key = (self.session.secret, effect.a)
        assert key not in self.outcomes, f"the outcome of write {effect.a} of {self.name} was reported twice"
        self.outcomes[key] = effect.b

    def on_merge(self, effect: Effect) -> None:
        run = self.run

        def answer() -> None:
            if run == self.run:
                self.turn(lambda: self.session.merged(effect.a, effect.b, effect.c[2], self.merge(effect.c)))

        self.world.at(self.world.now + self.world.chance.randrange(1, 50), answer)
