"""Several hubs of one log: the session in simulated time, and programs whose hubs are killed and drained."""
from __future__ import annotations

import subprocess
import threading
import unittest
from typing import Any, Dict, List, Optional

from bindbus import Peer, values
from bindbus.overlay import Effect
from bindbus.pending import Operation
from tests.simulated_hub import SimulatedHub
from tests.simulated_peer import SimulatedPeer, World
from tests.simulated_store import Store
from tests.support import HubTestCase, binary, eventually

A, B = "tcp://10.0.0.1:7877", "tcp://10.0.0.2:7877"


class SeveralHubs(World):
    """A world of one peer with hubs at addresses; `hub` is the one that it is connected to."""

    def __init__(self) -> None:
        self.hubs: Dict[str, SimulatedHub] = {}
        super().__init__(1)
        self.kill_hub()

    def start(self, address: str, store: Optional[Store] = None, names: List[str] = []) -> SimulatedHub:
        hub = self.hubs[address] = SimulatedHub(store or self.store, self.chance)
        hub.named = names

        def beat() -> None:
            if self.hubs.get(address) is hub:
                hub.tick(self.now)
                self.at(self.now + 1_000, beat)

        self.at(self.now + 100, beat)
        return hub


class PeerOfSeveral(SimulatedPeer):
    opened: List[Any] = []

    def on_open(self, effect: Effect) -> None:
        self.opened = [*self.opened, (self.world.now, effect.a, effect.b)]
        assert isinstance(self.world, SeveralHubs)
        self.world.hub = self.world.hubs.get(effect.b)
        super().on_open(effect)


class SessionTests(unittest.TestCase):
    def setUp(self) -> None:
        self.world = SeveralHubs()

    def peer(self, *hubs: str) -> PeerOfSeveral:
        peer = PeerOfSeveral(self.world, "one", False, list(hubs))
        peer.session.join("m", 0)
        return peer

    def run_for(self, milliseconds: int) -> None:
        self.world.run(self.world.now + milliseconds)

    def write(self, peer: SimulatedPeer, value: Any, verb: str = "set") -> int:
        operation = Operation(verb, "a", values.encode(value))
        found: int = peer.turn(lambda: peer.session.write("m", [operation], self.world.now))
        return found

    def kill(self, peer: PeerOfSeveral) -> str:
        """Kills the hub that a peer uses."""
        address = peer.session.hubs.current
        self.world.hub = None
        del self.world.hubs[address]
        peer.cut()
        return address

    def test_a_lost_hub_is_replaced_at_once_by_another_one_where_the_session_goes_on_without_a_repeat(self) -> None:
        for address in (A, B):
            self.world.start(address)
        peer = self.peer(A, B)
        self.run_for(3_000)
        self.write(peer, 1, "add")
        self.run_for(1_000)
        self.world.loss = 1
        self.write(peer, 1, "add")
        self.world.loss = 0
        killed, at = self.kill(peer), self.world.now
        self.assertEqual(peer.opened[-1][:2], (at, 0))
        self.run_for(3_000)
        self.assertNotEqual(peer.session.hubs.current, killed)
        self.assertEqual([outcome.kind for outcome in peer.outcomes.values()], ["committed"] * 2)
        self.assertEqual(self.world.store.models["m"].fields["a"].value, b"2")

    def test_one_address_is_enough_as_a_welcome_is_followed_by_the_others(self) -> None:
        self.world.start(A, names=[A, B])
        peer = self.peer(A)
        self.run_for(2_000)
        self.world.start(B)
        self.kill(peer)
        self.run_for(2_000)
        self.assertEqual((peer.session.phase, peer.session.hubs.current), ("live", B))

    def test_a_hub_that_refuses_the_hello_and_names_another_one_is_left_at_once(self) -> None:
        hub = self.world.start(A, names=[B])
        hub.is_closing = True
        self.world.start(B)
        peer = self.peer(A)
        self.run_for(1_000)
        self.assertEqual((peer.session.phase, [address for _, _, address in peer.opened]), ("live", [A, B]))

    def test_hubs_that_welcome_and_close_at_once_are_not_asked_without_end(self) -> None:
        for address, other in ((A, B), (B, A)):
            self.world.start(address, names=[other]).closes_after_welcome = True
        for hubs in ([A], [A, B]):
            peer = self.peer(*hubs)
            self.run_for(30_000)
            self.assertTrue(10 < len(peer.opened) <= 100, len(peer.opened))
            peer.turn(lambda: peer.session.stop("the test is over"))

    def test_a_session_that_lapsed_says_hello_to_the_same_hub_again(self) -> None:
        for address in (A, B):
            self.world.start(address)
        peer = self.peer(A, B)
        self.run_for(3_000)
        used = peer.session.hubs.current
        for code in (2, 3):
            hub = self.world.hubs[used]
            hub.tell(hub.sessions[peer.connection or 0], "error", {"code": code, "fatal": 1, "text": "gone"})
            self.run_for(2_000)
            self.assertEqual((peer.session.phase, peer.session.hubs.current), ("live", used))

    def test_a_hub_of_another_log_is_left_at_once_and_no_write_is_sent_to_it_or_lost(self) -> None:
        self.world.start(A)
        peer = self.peer(A, B)
        self.run_for(5_000)
        self.write(peer, "old")
        self.run_for(1_000)
        strange = Store()
        strange.log = 0x20
        self.world.start(B, strange)
        self.kill(peer)
        write = self.write(peer, "new")
        self.run_for(3_000)
        self.assertIn("is no hub of the same log", peer.session.trouble)
        self.assertEqual((strange.models, peer.session.phase), ({}, "connecting"))
        self.world.start(A)
        self.run_for(5_000)
        self.assertEqual(peer.outcomes[peer.session.secret, write].kind, "committed")
        self.assertEqual((peer.session.hubs.current, peer.session.trouble), (A, ""))

    def test_once_every_hub_has_the_other_log_the_peer_goes_over_to_it(self) -> None:
        self.world.start(A)
        peer = self.peer(A, B)
        self.run_for(5_000)
        strange = Store()
        strange.log = 0x20
        self.kill(peer)
        write = self.write(peer, "new")
        for address in (A, B):
            self.world.start(address, strange)
        self.run_for(10_000)
        self.assertEqual((peer.session.phase, peer.session.log), ("live", 0x20))
        self.assertEqual(peer.outcomes[peer.session.secret, write].kind, "unknown")

    def test_names_that_another_session_was_told_are_not_taken(self) -> None:
        hub = self.world.start(A)
        peer = self.peer(A)
        self.run_for(2_000)
        session = hub.sessions[peer.connection or 0]
        frame = hub.frame("hubs", 0, {"session": session.id ^ 1, "hubs": [B]})
        peer.turn(lambda: peer.session.receive(frame, self.world.now))
        self.assertEqual(peer.session.hubs.named, [])
        frame = hub.frame("hubs", 0, {"session": session.id, "hubs": [B]})
        peer.turn(lambda: peer.session.receive(frame, self.world.now))
        self.assertEqual(peer.session.hubs.named, [B])


class ProcessTests(HubTestCase):
    """A hub that decides, and edges of it that name each other."""

    def edge(self, name: str, other: str) -> "subprocess.Popen[str]":
        arguments = [binary("bindhub"), "serve", "--upstream", self.address, "--listen", self.at(name),
                     "--sibling", self.at(other), "--heartbeat", "250"]
        edge = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                env=self.environment)

        def end() -> None:
            edge.kill()
            edge.wait()
            assert edge.stdout is not None
            edge.stdout.close()

        self.addCleanup(end)
        assert edge.stdout is not None
        self.assertIn("listening", edge.stdout.readline())
        return edge

    def at(self, name: str) -> str:
        return f"ipc://{self.folder}/{name}.sock"

    def test_writers_go_on_at_the_other_hub_and_each_acknowledged_write_is_counted_once(self) -> None:
        edges = {name: self.edge(name, other) for name, other in (("a", "b"), ("b", "a"))}
        peers = [Peer(f"writer{at}", hub=self.at("a")) for at in range(3)]  # one address is enough
        ended, counts = threading.Event(), [0] * 3

        def write(at: int) -> None:
            model = peers[at].model("counter")
            while not ended.is_set():
                model.add("count", 1).committed(20)
                counts[at] += 1

        writers = [threading.Thread(target=write, args=(at,)) for at in range(3)]
        for writer in writers:
            writer.start()

        def go_on() -> None:
            before = list(counts)
            eventually(lambda: all(now >= then + 20 for now, then in zip(counts, before)), "all writers go on")

        go_on()
        for gone, stays in (("a", "b"), ("b", "a")):
            edges[gone].kill()
            edges[gone].wait()
            go_on()
            self.assertEqual({peer.status.hub for peer in peers}, {self.at(stays)})
            edges[gone] = self.edge(gone, stays)
        eventually(lambda: all(len(peer._runtime.session.hubs.addresses) == 2 for peer in peers))
        self.bindhub("drain", self.at("a"), "--within", "20s")
        go_on()
        self.assertEqual({peer.status.hub for peer in peers}, {self.at("b")})
        ended.set()
        for writer in writers:
            writer.join()
        for peer in peers:
            self.assertEqual(peer.close(), [])
        self.assertEqual(self.bindpeer("get", "counter.count", "--raw").strip(), str(sum(counts)))

    def test_of_several_addresses_one_that_answers_is_found(self) -> None:
        with Peer("py", hub=f"{self.at('gone')},{self.address}") as peer:
            self.assertTrue(peer.wait_live(10))
            self.assertEqual(peer.status.hub, self.address)
