"""Python peers with real hubs and peers of the project."""
from __future__ import annotations

import os
import shutil
import signal
import subprocess
from typing import Any, Dict, List

from bindbus import Model, Peer, ShareError, field, model, ranged
from tests.support import HubTestCase, binary, eventually, resources


@model
class Lamp(Model):
    level: float = ranged(0.3, 0, 1)
    on: bool = False
    count: int = field(0, policy="add")
    notes: str = field("", policy="text")
    cues: List[Dict[str, Any]] = field([], policy="list")


class TwoLanguagesTests(HubTestCase):
    def test_a_program_and_a_python_peer_read_each_others_values(self) -> None:
        lamp = self.peer().share(Lamp, "lamp", timeout=10)
        lamp.set(level=0.9, on=True).committed(10)
        self.assertIn("lamp.level = 0.9", self.bindpeer("get", "lamp"))
        self.bindpeer("set", "lamp.level=0.25")
        eventually(lambda: lamp.level == 0.25)
        self.assertIn("0...1", self.bindpeer("describe", "lamp"))

    def test_a_list_is_read_and_set_as_a_whole_by_both(self) -> None:
        lamp = self.peer().share(Lamp, "lamp", timeout=10)
        lamp.set(cues=[{"id": 7, "name": "Rain"}, {"id": 3, "name": "Dawn"}]).committed(10)
        self.bindpeer("set", 'lamp.cues+={"id":9,"name":"Night"}')
        self.bindpeer("set", "lamp.cues[id=7].name=Storm")
        expected = [{"id": 7, "name": "Storm"}, {"id": 3, "name": "Dawn"}, {"id": 9, "name": "Night"}]
        eventually(lambda: lamp.cues == expected)
        lamp.set(cues=[expected[2], expected[0]]).committed(10)
        self.assertIn('[{"id":9,"name":"Night"},{"id":7,"name":"Storm"}]', self.bindpeer("get", "lamp.cues"))

    def test_concurrent_writes_of_merging_fields_all_count(self) -> None:
        one, other = (self.peer(name).share(Lamp, "lamp", timeout=10) for name in ("one", "other"))
        one.set(notes="one two").committed(10)
        eventually(lambda: other.notes == "one two")
        writes = []
        for _ in range(20):
            one.count += 1
            other.count += 1
        writes += [one.set(notes="one big two"), other.set(notes="one two!")]
        for write in writes:
            write.committed(10)
        eventually(lambda: one.count == other.count == 40)
        eventually(lambda: one.notes == other.notes == "one big two!")

    def test_a_peer_of_which_a_program_keeps_only_the_model_is_closed_at_its_end_too(self) -> None:
        program = self.program("import atexit, gc\n"
                               "atexit.register(lambda: print(model._runtime.session.phase))\n"
                               "from bindbus import Peer\n"
                               "model = Peer('short').model('m')\n"
                               "gc.collect()\n")
        self.assertEqual(program.communicate(timeout=20)[0], "stopped\n")

    def test_large_values_and_many_fields_pass(self) -> None:
        one, other = self.peer("one").model("big"), self.peer("other").model("big")
        one.set({"blob": "x" * 60_000}).committed(10)
        for at in range(8):
            one.set({f"field{at}-{number}": [number] * 50 for number in range(100)}).committed(10)
        eventually(lambda: len(other) == 801 and other["blob"] == "x" * 60_000)
        late = self.peer("late").model("big")
        eventually(lambda: late.status.is_current)
        self.assertEqual(late.items(), one.items())


class DurableHubTests(HubTestCase):
    store = "hub.store"

    def test_writes_made_while_the_hub_is_dead_are_committed_by_the_next_one(self) -> None:
        peer = self.peer()
        lamp = peer.share(Lamp, "lamp", timeout=10)
        done = [lamp.set(count=lamp.count + 1) for _ in range(50)]
        self.kill_hub()
        eventually(lambda: peer.status.phase != "live")
        done += [lamp.set(count=lamp.count + 1) for _ in range(50)]
        lamp.level = 0.7
        self.assertEqual((lamp.count, lamp.level), (100, 0.7))
        self.assertEqual(lamp.field_status("level").kind, "pending")
        self.start_hub()
        for write in done:
            self.assertEqual(write.outcome(20).kind, "committed")
        eventually(lambda: lamp.field_status("level").kind == "current")
        self.assertIn("lamp.count = 100", self.bindpeer("get", "lamp"))

    def test_a_hub_that_is_killed_again_and_again_loses_and_repeats_nothing(self) -> None:
        counter = self.peer().model("m")
        other = self.peer("other").model("m")
        writes = []
        for _ in range(6):
            writes += [each.add("count", 1) for each in (counter, other) for _ in range(20)]
            writes[-1].outcome(20)
            self.kill_hub()
            writes += [each.add("count", 1) for each in (counter, other) for _ in range(5)]
            self.start_hub()
        for write in writes:
            self.assertEqual(write.outcome(20).kind, "committed")
        eventually(lambda: counter["count"] == other["count"] == len(writes))

    def test_the_outbox_of_a_killed_program_is_sent_once_by_the_next(self) -> None:
        text = ("from bindbus import Peer\n"
                "peer = Peer('kiosk', outbox='kiosk.outbox')\n"
                "model = peer.model('m')\n"
                "model.wait_current(20)\n"
                "print('ready', flush=True)\n"
                "for at in range(100000): model.add('count', 1).outcome(20); model.add('more', 1)\n")
        program = self.program(text)
        assert program.stdout is not None
        self.assertEqual(program.stdout.readline(), "ready\n")
        watcher = self.peer("watcher").model("m")
        eventually(lambda: watcher.get("count", 0) >= 20)
        os.kill(program.pid, signal.SIGKILL)
        program.wait()
        peer = self.peer("kiosk", outbox=f"{self.folder}/kiosk.outbox")
        left = peer.restored
        outcomes = [write.outcome(20) for write in left]
        self.assertLessEqual({outcome.kind for outcome in outcomes}, {"committed"})
        model = peer.model("m")
        eventually(lambda: model.status.is_current and model.status.unconfirmed == 0)
        history = model.history(100_000, timeout=20)
        adds = sum(len({"count", "more"} & commit.changes.keys()) for commit in history)
        self.assertEqual(model["count"] + model["more"], adds)
        self.assertIn(model["count"] - model["more"], (0, 1))
        self.assertEqual(peer.close(), [])

    def test_an_outbox_keeps_writes_made_without_a_hub_over_two_programs(self) -> None:
        self.kill_hub()
        text = ("from bindbus import Peer\n"
                "import os\n"
                "model = Peer('kiosk', outbox='kiosk.outbox').model('m')\n"
                "model.set({'level': 0.5}); model.add('count', 2); model.set({'level': 0.75})\n"
                "os.kill(os.getpid(), 9)\n")
        for _ in range(2):
            self.program(text).wait()
        self.start_hub()
        peer = self.peer("kiosk", outbox=f"{self.folder}/kiosk.outbox")
        self.assertEqual(peer.model("m")["level"], 0.75)
        for write in peer.restored:
            self.assertIn(write.outcome(20).kind, ("committed", "superseded"))
        self.assertEqual(peer.model("m")["count"], 4)


class LostHubTests(HubTestCase):
    def test_a_hub_that_lost_its_memory_gets_the_values_back_from_a_python_replica(self) -> None:
        peer = self.peer()
        model = peer.model("m")
        model.set({"a": 1, "b": [1, 2], "gone": 0}).committed(10)
        model.delete("gone").committed(10)
        version = model.add("count", 5).committed(10)
        eventually(lambda: model.version() == version)  # the commit comes on another connection than its outcome
        self.kill_hub()
        model.add("count", 1)
        self.start_hub()
        eventually(lambda: model.status.is_current and not model.status.unconfirmed)
        self.assertEqual(dict(model.items()), {"a": 1, "b": [1, 2], "count": 6})
        self.assertEqual(self.bindpeer("get", "m"), "m.a = 1\nm.b = [1,2]\nm.count = 6\n")
        self.assertIn("equal", subprocess.run([binary("bindhub"), "verify", "--hub", self.address],
                                              capture_output=True, text=True, env=self.environment).stdout)

    def test_of_two_peers_with_copies_of_one_outbox_the_earlier_stops_and_nothing_is_done_twice(self) -> None:
        self.kill_hub()
        path = f"{self.folder}/one.outbox"
        first = self.peer("kiosk", outbox=path)
        first.model("m").add("count", 1)
        shutil.copy(path, path + ".copy")
        self.start_hub()
        eventually(lambda: first.model("m").status.is_current and not first.model("m").status.unconfirmed)
        heard = first._runtime.session.heartbeat_count  # with the next one the outcome is confirmed
        eventually(lambda: first._runtime.session.heartbeat_count >= heard + 2)
        second = self.peer("kiosk", outbox=path + ".copy")
        eventually(lambda: first.status.phase == "stopped")
        self.assertEqual(second.restored[0].outcome(20).text, "it was decided, and another process has its outcome")
        model = second.model("m")
        eventually(lambda: model.status.is_current and not model.status.unconfirmed)
        self.assertEqual(model["count"], 1)
        with self.assertRaisesRegex(ShareError, "start a new one"):
            first.model("other")


class EdgeTests(HubTestCase):
    def test_a_peer_at_an_edge_is_stale_while_the_edge_is_cut_off_and_its_writes_go_on_later(self) -> None:
        edge = f"ipc://{self.folder}/edge.sock"
        arguments = [binary("bindhub"), "serve", "--upstream", self.address, "--listen", edge, "--heartbeat", "250"]
        process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                   env=self.environment)
        self.addCleanup(self.end, process)
        peer = Peer("far", hub=edge)
        self.addCleanup(peer.close, 0)
        far, near = peer.share(Lamp, "lamp", timeout=20), self.peer("near").share(Lamp, "lamp", timeout=10)
        self.assertEqual(far.set(level=0.5).outcome(20).kind, "committed")
        eventually(lambda: near.level == 0.5)
        near.level = 0.6
        eventually(lambda: far.level == 0.6)
        assert self.hub is not None
        self.hub.send_signal(signal.SIGSTOP)
        eventually(lambda: not far.status.is_current)
        write = far.set(level=0.7)
        self.assertEqual(far.level, 0.7)
        self.hub.send_signal(signal.SIGCONT)
        self.assertEqual(write.outcome(20).kind, "committed")
        eventually(lambda: near.level == 0.7 and far.status.is_current)

    def end(self, process: "subprocess.Popen[str]") -> None:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


class FullDiskTests(HubTestCase):
    def test_a_write_that_the_outbox_cannot_take_is_refused_and_shows_nothing(self) -> None:
        self.kill_hub()
        program = self.program(
            "import resource\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\n"
            "from bindbus import Peer\n"
            "peer = Peer('kiosk', outbox='kiosk.outbox')\n"
            "model, count = peer.model('m'), 0\n"
            "try:\n"
            "    while True: model.add('count', 1); count += 1\n"
            "except ValueError as error: print(count, model['count'], error)\n"
            "peer.close(0)\n")
        count, shown, words = program.communicate(timeout=20)[0].split(" ", 2)
        self.assertEqual(count, shown)
        self.assertIn("make room on the disk; nothing was written", words)
        self.start_hub()
        peer = self.peer("kiosk", outbox=f"{self.folder}/kiosk.outbox")
        for write in peer.restored:
            self.assertEqual(write.outcome(20).kind, "committed")
        self.assertEqual(peer.model("m")["count"], int(count))


class ManyTimesTests(HubTestCase):
    def test_fifty_peers_one_after_the_other_leave_no_thread_and_no_descriptor(self) -> None:
        def live() -> None:
            with Peer("short", hub=self.address) as peer:
                lamp = peer.share(Lamp, "lamp", timeout=10)
                seen: List[Any] = []
                lamp.observe("level", seen.append)
                lamp.set(level=0.5).outcome(10)
                eventually(lambda: seen and seen[-1] == 0.5)

        live()
        before = resources()
        for _ in range(50):
            live()
        eventually(lambda: all(now <= then for now, then in zip(resources(), before)),
                   "descriptors and threads as before")
