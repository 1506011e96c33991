"""Replicas on disk: a program shows the last known values before a hub answers."""
from __future__ import annotations

import os
import tempfile
import unittest
from pathlib import Path
from typing import Any, Dict, List, Tuple

from bindbus import KeepError, Model, Peer, WireError, model, ranged, values
from bindbus.kept_models import KeptModels, content_of
from bindbus.pending import Operation
from tests.simulated_peer import SimulatedPeer, World
from tests.support import HubTestCase, eventually


@model
class Lamp(Model):
    level: float = ranged(0.3, 0, 1)
    on: bool = False


class ProgramTests(HubTestCase):
    store = "store.sqlite"

    def setUp(self) -> None:
        super().setUp()
        self.keep = f"{self.folder}/kept"

    def kept(self, **options: Any) -> Peer:
        return self.peer("kiosk", keep=self.keep, **options)

    def live(self, level: float) -> None:
        """A program that sets the level and ends."""
        with self.kept() as peer:
            lamp = peer.share(Lamp, "hall/lamp", timeout=10)
            lamp.set(level=level).committed(10)

    def test_the_next_program_shows_the_last_values_at_once_as_stale_and_catches_up(self) -> None:
        self.live(0.8)
        self.kill_hub()
        peer = self.kept()
        lamp = peer.share(Lamp, "hall/lamp", timeout=20)  # returns at once
        self.assertEqual((lamp.level, lamp.status.is_current, lamp.field_status("level").kind), (0.8, False, "stale"))
        self.assertEqual((lamp.shared["on"], lamp.shared.version("level") > 0), (False, True))
        write = lamp.set(on=True)
        self.assertTrue(lamp.on)
        self.start_hub()
        self.assertEqual(write.outcome(20).kind, "committed")
        self.bindpeer("set", "hall/lamp.level=0.5")
        eventually(lambda: lamp.status.is_current and lamp.level == 0.5)

    def test_what_is_shown_is_what_was_complete_when_the_program_was_killed(self) -> None:
        program = self.program("import threading\n"
                               "from bindbus import Peer\n"
                               "model = Peer('short', keep='kept').model('m')\n"
                               "model.set({'a': 1}).committed(10)\n"
                               "threading.Event().wait()\n")
        eventually(lambda: any(name.startswith("m-") for name in os.listdir(self.keep)) if os.path.isdir(self.keep)
                   else False)
        program.kill()
        program.wait()
        self.kill_hub()
        self.assertEqual(self.kept().model("m")["a"], 1)

    def test_another_log_sets_what_was_kept_aside(self) -> None:
        self.live(0.8)
        self.kill_hub()
        for name in os.listdir(self.folder):
            if name.startswith("store"):
                os.unlink(f"{self.folder}/{name}")
        lamp = self.kept().share(Lamp, "hall/lamp")
        self.assertEqual(lamp.level, 0.8)
        self.start_hub()
        eventually(lambda: lamp.status.is_current)
        self.assertEqual(lamp.level, 0.3)

    def test_only_the_chosen_models_are_kept_and_one_process_has_the_folder(self) -> None:
        peer = self.kept(keep_only=["hall/", "door"])
        for id in ("hall/lamp", "door", "doors", "hall"):
            peer.model(id).set({"a": 1}).committed(10)
        with self.assertRaisesRegex(KeepError, "is in use by another process; give each peer a folder of its own"):
            self.kept()
        peer.close()
        names = {name.rpartition("-")[0] for name in os.listdir(self.keep) if name.endswith(".json")}
        self.assertEqual(names, {"hall.lamp", "door"})
        for name in os.listdir(self.keep):
            if name.endswith(".json"):
                self.assertEqual(os.stat(f"{self.keep}/{name}").st_mode & 0o777, 0o600)
        with self.assertRaises(WireError):
            self.kept(keep_only=["a b"])
        self.kept().close()  # nothing holds it any more


class FileTests(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="py-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.kept = KeptModels(self.folder, [""])
        self.addCleanup(self.kept.close)

    def file(self) -> Path:
        return next(path for path in Path(self.folder).iterdir() if path.suffix == ".json")

    def test_a_torn_or_foreign_file_counts_as_absent(self) -> None:
        self.kept.save("m", {"format": 1, "model": "m"})
        self.assertEqual(self.kept.load("m"), {"format": 1, "model": "m"})
        whole = self.file().read_bytes()
        for text in (whole[:-3], b"", b"zz", whole.replace(b'"m"', b'"n"'), b"00000000 {}"):
            self.file().write_bytes(text)
            with self.assertLogs("bindbus", "WARNING"):
                self.assertIsNone(self.kept.load("m"))
        for content in ({"format": 2, "model": "m"}, {"format": 1, "model": "n"}):
            self.kept.save("m", content)
            with self.assertLogs("bindbus", "WARNING"):
                self.assertIsNone(self.kept.load("m"))

    def test_names_that_differ_in_case_or_segments_have_files_of_their_own(self) -> None:
        for name in ("lamp", "Lamp", "a/b", "a-b"):
            self.kept.save(name, {"format": 1, "model": name})
        paths = [path.name.lower() for path in Path(self.folder).iterdir()]
        self.assertEqual(len(set(paths)), 5)  # with the lock
        self.assertEqual((self.kept.load("a/b") or {})["model"], "a/b")

    def test_too_much_is_not_kept_and_nothing_is_removed(self) -> None:
        self.kept.save("m", {"format": 1, "model": "m"})
        self.kept.save("m", {"text": "x" * (5 << 20)})
        self.assertIsNone(self.kept.load("m"))
        self.kept.save("m", None)
        self.assertFalse(self.kept.keeps("@ephemeral/m"))

    def test_a_folder_that_cannot_be_is_refused_with_the_cure(self) -> None:
        Path(self.folder, "file").write_text("")
        with self.assertRaisesRegex(KeepError, "choose another folder"):
            KeptModels(f"{self.folder}/file/kept", [""])


class SessionTests(unittest.TestCase):
    """Which replicas count for a hub (7-10)."""

    def setUp(self) -> None:
        self.world = World(1)
        writer = SimulatedPeer(self.world, "writer", False)
        writer.session.join("m", 0)
        self.run_for(5_000)
        writer.turn(lambda: writer.session.write("m", [Operation("set", "a", b"1")], self.world.now))
        self.run_for(2_000)
        sync = writer.session.models["m"]
        self.content: Dict[str, Any] = values.decode(values.encode(
            content_of(sync, writer.session.log, writer.session.context.tag, 0)))
        self.writer = writer

    def run_for(self, milliseconds: int) -> None:
        self.world.run(self.world.now + milliseconds)

    def restored(self, **changes: Any) -> Tuple[SimulatedPeer, List[Tuple[int, int]]]:
        """A peer that shows what was kept, and the epochs and versions that its first joins name."""
        peer, joins = SimulatedPeer(self.world, "kiosk", False), []  # type: SimulatedPeer, List[Tuple[int, int]]
        peer.session.load = lambda id: ({**self.content, **changes}, self.world.now - 60_000)
        sync = peer.session.join("m", self.world.now)
        self.assertEqual((sync.writes.shown("a"), sync.progress, sync.is_from_file), (b"1", "idle", True))
        hub = self.world.hub
        assert hub is not None
        on_join = hub.on_join

        def noted(session: Any, body: Any, now: int) -> None:
            if session.name == "kiosk":
                joins.append((body["joins"][0]["epoch"], body["joins"][0]["version"]))
            on_join(session, body, now)

        hub.on_join = noted  # type: ignore[method-assign]
        self.run_for(5_000)
        self.assertEqual((sync.writes.shown("a"), sync.progress, sync.is_from_file), (b"1", "current", False))
        return peer, joins

    def test_one_of_the_hubs_epoch_or_the_one_before_is_named_in_the_join(self) -> None:
        epoch = self.world.store.epoch
        self.assertEqual(self.restored()[1][0], (epoch, 1))
        before = epoch - (1 << 32)
        self.assertEqual(self.restored(epoch=before)[1][0], (before, 1))

    def test_an_older_one_shows_and_is_no_witness(self) -> None:
        self.world.store.epoch += 5 << 32
        self.world.kill_hub()
        self.world.start_hub()
        peer, joins = self.restored()
        self.assertEqual(joins[0], (0, 0))

    def test_an_older_one_is_not_offered(self) -> None:
        peer = SimulatedPeer(self.world, "kiosk", False)
        peer.session.load = lambda id: ({**self.content, "epoch": 1}, 0)
        sync = peer.session.join("m", self.world.now)
        sent: List[str] = []
        send = peer.session.send
        peer.session.send = lambda kind, body, now: (sent.append(kind), send(kind, body, now))  # type: ignore
        sync.is_from_file = sync.starts_over = True
        peer.session._on_askOffer(sync, {"request": 1, "topic": 0x01000001}, 0, 0)
        self.assertNotIn("offer", sent)
        sync.starts_over = False
        peer.session._on_askOffer(sync, {"request": 1, "topic": 0x01000001}, 0, 0)
        self.assertIn("offer", sent)

    def test_one_of_another_log_shows_until_a_hub_answers_and_is_dropped(self) -> None:
        self.assertEqual(self.restored(log=0x99)[1][0], (0, 0))

    def test_a_pending_addition_that_the_replica_holds_is_not_laid_over_it_twice(self) -> None:
        peer = SimulatedPeer(self.world, "kiosk", True)
        sync = peer.session.join("m", self.world.now)
        self.run_for(5_000)
        self.world.loss = 1
        peer.turn(lambda: peer.session.write("m", [Operation("add", "n", b"1")], self.world.now))
        self.world.loss = 0
        kept = dict(content_of(sync, peer.session.log, peer.session.context.tag, 0) or {}, mark=1)
        kept["fields"].append(["n", "1", 2, peer.session.context.tag.hex(), "kiosk", 1, 0])
        session = peer.session
        session.load = lambda id: (kept, 0)
        peer.crash()  # a new session, with what the outbox holds
        fresh = peer.session
        del fresh.models["m"]
        fresh.load = session.load
        assert peer.outbox is not None
        fresh.restore(peer.outbox, self.world.now, self.world.now)
        self.assertEqual(fresh.models["m"].writes.shown("n"), b"1")
