"""A hub that also sends frames which break the protocol: they are dropped and counted, and change nothing."""
from __future__ import annotations

import os
import random
import struct
import tempfile
import threading
import time
import unittest
from typing import Dict, List

import zmq

from bindbus import Peer
from tests import vectors
from tests.simulated_hub import SimulatedHub
from tests.simulated_store import Store
from tests.support import eventually


class LyingHub(threading.Thread):
    """An honest hub behind real sockets, which says what it is told to say besides."""

    def __init__(self, folder: str) -> None:
        super().__init__(daemon=True)
        self.context = zmq.Context()
        self.router, self.xpub = self.context.socket(zmq.ROUTER), self.context.socket(zmq.XPUB)
        self.address = f"ipc://{folder}/liar.sock"
        self.router.bind(self.address)
        self.xpub.bind(self.address + ".pub")
        self.hub = SimulatedHub(Store(), random.Random(1))
        path = self.address[6:]
        self.hub.ways = [{"request": f"ipc:{path}", "publish": f"ipc:{path}.pub"}]
        self.routes: Dict[int, bytes] = {}
        self.lies: List[List[bytes]] = []
        self.ended = threading.Event()

    def run(self) -> None:
        begun = next_beat = time.monotonic()
        while not self.ended.is_set():
            now = int((time.monotonic() - begun) * 1_000)
            for socket in zmq.select([self.router, self.xpub], [], [], 0.02)[0]:
                parts = socket.recv_multipart()
                if socket is self.router:
                    route = next((id for id, known in self.routes.items() if known == parts[0]), len(self.routes) + 1)
                    self.routes[route] = parts[0]
                    self.hub.receive(route, parts[1], now)
                elif parts[0][:1] == b"\1":
                    self.hub.subscribe(max(self.routes, default=1), parts[0][1:], now)
            if time.monotonic() >= next_beat:
                next_beat += 0.25
                self.hub.tick(now)
            said, self.hub.out = self.hub.out, []
            for connection, _, frame in said:
                if connection is None:
                    self.xpub.send(frame)
                else:
                    self.router.send_multipart([self.routes[connection], frame])
            while self.lies:
                lie = self.lies.pop(0)
                self.xpub.send_multipart(lie)
                self.router.send_multipart([self.routes[max(self.routes)], *lie])
        self.context.destroy(0)

    def end(self) -> None:
        self.ended.set()
        self.join()


class LiarTests(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="py-")
        self.addCleanup(folder.cleanup)
        self.liar = LyingHub(folder.name)
        self.liar.start()
        self.addCleanup(self.liar.end)
        self.peer = Peer("py", hub=self.liar.address)
        self.addCleanup(self.peer.close, 0)

    def lie(self, frames: List[List[bytes]]) -> None:
        self.liar.lies += frames
        eventually(lambda: not self.liar.lies)

    def dropped(self) -> int:
        return sum(self.peer._runtime.session.counters.values())

    def test_frames_that_break_the_grammar_are_dropped_and_counted_and_change_nothing(self) -> None:
        model = self.peer.model("m")
        model.set({"level": 0.5}).committed(10)
        before = model.items(), model.version()
        session, start = self.peer._runtime.session.session, self.liar.hub.start
        frames: List[List[bytes]] = []
        for _, vector in vectors.each("bad", "hub to peer"):
            frame = bytes.fromhex(vector["hex"]).replace(struct.pack("<Q", 0x8877665544332211),
                                                         struct.pack("<Q", session))
            frames.append([frame.replace(bytes.fromhex("d4c3b2a1"), struct.pack("<I", start))])
        chance = random.Random(7)
        frames += [[b""], [b"\0"], [b"\1\0\0\1", b"two frames"], [b"\1\0\0\1" + b"x" * 2_000_000]]
        frames += [[b"\1\0\0\1" + chance.randbytes(chance.randrange(60))] for _ in range(200)]
        self.lie(frames)
        eventually(lambda: self.dropped() >= len(frames), "each dropped on one connection at least")
        self.assertEqual((model.items(), model.version()), before)
        self.assertEqual(self.peer.status.phase, "live")
        model.set({"level": 0.75}).committed(10)
        self.assertEqual(model["level"], 0.75)

    def test_frames_of_other_sessions_and_starts_change_nothing(self) -> None:
        model = self.peer.model("m")
        model.set({"level": 0.5}).committed(10)
        before = model.items()
        frames = [[bytes.fromhex(vector["hex"])] for _, vector in vectors.each("wire", "hub to peer")]
        self.lie(frames)
        eventually(lambda: self.dropped() >= len(frames))
        self.assertEqual(model.items(), before)
        self.assertEqual(self.peer.status.phase, "live")

    def test_a_value_that_is_no_json_is_shown_as_text_and_harms_nothing_else(self) -> None:
        model = self.peer.model("m")
        told: List[object] = []
        model.observe("level", told.append)
        version = model.set({"level": 0.5}).committed(10)
        hub = self.liar.hub
        stored = hub.store.models["m"]
        lie = hub.frame("commits", hub.topics["m"], {
            "epoch": hub.store.epoch, "previous": version, "time": 0, "origins": [{"tag": bytes(8), "name": "liar"}],
            "names": {"first": len(hub.ids["m"]), "names": []}, "commits": [{"origin": 0, "number": 0, "hops": 0,
             "changes": [{"field": hub.ids["m"].index("level"), "value": b"{no json"}]}]})
        self.lie([[lie]])
        eventually(lambda: "{no json" in told)
        self.assertEqual(stored.version, version)
        self.peer.model("n").set({"a": 1}).committed(10)

    def test_a_hub_that_vanishes_is_looked_for_without_an_end_of_descriptors(self) -> None:
        self.peer.model("m").set({"level": 0.5}).committed(10)
        self.liar.end()
        eventually(lambda: self.peer.status.phase != "live")
        self.assertTrue(self.peer.status.reason)
        before = len(os.listdir("/proc/self/fd"))
        opened = self.peer._runtime.session.opening
        model = self.peer.model("m")
        for at in range(100):
            model.set({"level": at / 100})
        self.assertEqual(model["level"], 0.99)
        eventually(lambda: len(os.listdir("/proc/self/fd")) <= before + 8)
        self.assertGreaterEqual(self.peer._runtime.session.opening, opened)
