"""Fields that expire: the session in simulated time, and programs with a real hub."""
from __future__ import annotations

import unittest
from typing import Any, List

from bindbus import BindbusError, Model, Peer, WriteError, field, model, values
from bindbus.expiry import Expiry, limits_of
from bindbus.pending import Operation
from bindbus.replica import Field
from tests.simulated_peer import SimulatedPeer, World
from tests.support import HubTestCase, eventually

DESCRIPTION = {"fields": {"moving": {"type": "boolean", "default": False, "expires": 5_000}, "plain": {}}}


@model
class Machine(Model):
    is_moving: bool = field(False, expires=0.5)
    speed: int = field(0, expires=60)
    name: str = "mill"


class SessionTests(unittest.TestCase):
    def setUp(self) -> None:
        self.world = World(1)
        self.one, self.other = (SimulatedPeer(self.world, name, name == "one") for name in ("one", "other"))
        for peer in (self.one, self.other):
            peer.session.join("m", 0)
        self.write(self.other, "@description", DESCRIPTION)
        self.run_for(5_000)

    def run_for(self, milliseconds: int) -> None:
        self.world.run(self.world.now + milliseconds)

    def write(self, peer: SimulatedPeer, name: str, value: Any) -> int:
        operation = Operation("set", name, values.encode(value))
        found: int = peer.turn(lambda: peer.session.write("m", [operation], self.world.now))
        return found

    def shown(self, peer: SimulatedPeer, name: str = "moving") -> Any:
        return values.decoded(peer.session.models["m"].writes.shown(name))

    def kind(self, peer: SimulatedPeer, write: int) -> str:
        outcome = peer.outcomes.get((peer.session.secret, write))
        return outcome.kind if outcome else ""

    def kill_hub(self) -> None:
        self.world.kill_hub()
        for peer in self.world.peers:
            peer.turn(lambda: None)

    def test_a_value_that_is_not_renewed_falls_back_for_all(self) -> None:
        self.write(self.one, "moving", True)
        self.run_for(4_000)
        self.assertEqual((self.shown(self.one), self.shown(self.other)), (True, True))
        self.run_for(4_000)
        self.assertEqual((self.shown(self.one), self.shown(self.other)), (False, False))

    def test_the_same_value_again_renews_it_without_a_commit(self) -> None:
        self.write(self.one, "moving", True)
        self.run_for(2_000)
        version = self.world.store.models["m"].version
        for _ in range(5):
            write = self.write(self.one, "moving", True)
            self.run_for(3_000)
            self.assertEqual((self.kind(self.one, write), self.shown(self.other)), ("unchanged", True))
        self.assertEqual(self.world.store.models["m"].version, version)

    def test_the_default_shows_once_nothing_was_heard_of_the_hub_for_the_limit_and_the_value_again_after(self) -> None:
        self.write(self.one, "moving", True)
        self.write(self.one, "plain", "kept")
        self.run_for(2_000)
        heard = self.other.session.heard_at
        self.kill_hub()
        self.world.store.models["m"].renewed["moving"] = self.world.now + 60_000
        assert heard is not None
        self.world.run(heard + 4_900)
        self.assertTrue(self.shown(self.other))
        self.world.run(heard + 5_100)
        self.assertEqual((self.shown(self.other), self.shown(self.other, "plain")), (False, "kept"))
        self.world.start_hub()
        self.run_for(5_000)
        self.assertTrue(self.shown(self.other))

    def test_a_write_that_no_hub_took_in_time_expires_and_other_fields_wait(self) -> None:
        self.kill_hub()
        write, other = self.write(self.one, "moving", True), self.write(self.one, "plain", 1)
        self.assertTrue(self.shown(self.one))
        self.run_for(4_900)
        self.assertEqual(self.kind(self.one, write), "")
        self.run_for(200)
        self.assertEqual((self.kind(self.one, write), self.kind(self.one, other)), ("expired", ""))
        self.assertNotEqual(self.shown(self.one), True)
        self.world.start_hub()
        self.run_for(5_000)
        self.assertEqual(self.kind(self.one, other), "committed")
        self.assertNotIn("moving", self.world.store.models["m"].fields)

    def test_a_write_that_was_sent_and_is_too_old_is_not_applied_any_more(self) -> None:
        self.world.loss = 1
        write = self.write(self.one, "moving", True)
        self.assertEqual(self.one.session.models["m"].writes.pending[write].number, 1)
        self.world.loss = 0
        self.kill_hub()
        self.run_for(6_000)
        self.assertNotEqual(self.shown(self.one), True)
        self.assertEqual(self.kind(self.one, write), "")
        self.world.start_hub()
        self.run_for(8_000)
        self.assertEqual(self.kind(self.one, write), "expired")
        self.assertNotIn("moving", self.world.store.models["m"].fields)

    def test_an_outbox_keeps_the_number_of_such_a_write_and_not_the_write(self) -> None:
        self.write(self.one, "plain", 1)
        self.run_for(2_000)
        self.world.loss = 1
        self.write(self.one, "moving", True)
        self.write(self.one, "plain", 2)
        self.world.loss = 0
        assert self.one.outbox is not None
        self.assertEqual([each["operations"][0][1] for each in self.one.outbox.writes.values()], ["plain"])
        self.assertEqual(self.one.outbox.last_numbers, {"m": 3})
        tag = self.one.session.context.tag
        self.one.crash()
        after = self.write(self.one, "plain", 3)
        self.run_for(9_000)
        self.assertEqual((self.kind(self.one, after), self.shown(self.other, "plain")), ("committed", 3))
        self.assertEqual(self.world.store.models["m"].marks[tag], 4)

    def test_a_write_of_an_earlier_process_that_was_kept_before_its_limit_was_known_is_too_old(self) -> None:
        fresh = SimulatedPeer(self.world, "fresh", True)
        fresh.session.join("m", self.world.now)
        self.write(fresh, "moving", True)
        assert fresh.outbox is not None
        self.assertEqual(len(fresh.outbox.writes), 1)
        secret = fresh.session.secret
        fresh.crash()
        self.run_for(9_000)
        self.assertEqual([outcome.kind for (each, _), outcome in fresh.outcomes.items() if each == secret], ["expired"])
        self.assertFalse(fresh.outbox.writes)
        self.assertNotIn("moving", self.world.store.models["m"].fields)

    def test_malformed_limits_count_as_absent(self) -> None:
        for rule in ({"expires": 99}, {"expires": 604_800_001}, {"expires": "5"}, {"expires": True}, {"expires": 500.5},
                     {"expires": 500, "policy": "add"}, {"expires": 500, "ephemeral": True}, {}):
            self.assertEqual(limits_of({"a": rule}), {}, rule)
        self.assertEqual(limits_of({"a": {"expires": 500, "default": 1}}), {"a": Expiry(500, b"1")})


class ProgramTests(HubTestCase):
    def beats(self, machine: Machine) -> int:
        """How many heartbeats the peer of a model has heard, four a second."""
        return machine.shared._runtime.session.heartbeat_count

    def test_a_field_falls_back_when_nobody_renews_it_and_a_hold_renews_it(self) -> None:
        machine = self.peer("panel").share(Machine, "mill", timeout=10)
        other = self.peer("other").share(Machine, "mill", timeout=10)
        seen: List[Any] = []
        other.observe("is_moving", seen.append)
        with machine.hold("is_moving", True) as held:
            eventually(lambda: other.is_moving)
            version = other.shared.version()
            eventually(lambda: held._write.done and held._write.outcome(0).kind == "unchanged")
            beats = self.beats(machine) + 8  # two seconds, of a limit of half a one
            eventually(lambda: self.beats(machine) >= beats)
            self.assertEqual((held.is_held, other.is_moving, other.shared.version()), (True, True, version))
        eventually(lambda: not other.is_moving and not machine.is_moving)
        self.assertEqual((held.is_held, held.reason), (False, "it was released"))
        eventually(lambda: len(seen) > 2)
        self.assertEqual(seen, [False, True, False])
        self.assertIn("500", self.bindpeer("describe", "mill", "--json"))

    def test_a_hold_never_overwrites_what_others_set(self) -> None:
        machine = self.peer("panel").share(Machine, "mill", timeout=10)
        held = machine.hold("is_moving", True)
        eventually(lambda: self.hub and machine.shared["is_moving"] is True and not machine.status.unconfirmed)
        self.bindpeer("set", "mill.is_moving=false")
        eventually(lambda: not held.is_held)
        self.assertIn("by", held.reason)
        self.assertFalse(machine.is_moving)

    def test_a_renewal_keeps_the_writer_and_the_version_or_is_a_conflict(self) -> None:
        machine = self.peer("panel").share(Machine, "mill", timeout=10)
        other = self.peer("other").share(Machine, "mill", timeout=10)
        version = machine.set(speed=5).committed(10)
        eventually(lambda: other.speed == 5)
        self.assertEqual(other.renew("speed").outcome(10).kind, "unchanged")
        self.assertEqual(other.shared.version("speed"), version)
        with self.assertRaisesRegex(WriteError, "has no value to renew; set one first"):
            other.shared.renew("missing")
        with self.assertRaisesRegex(WriteError, "does not expire by its description"):
            other.hold("name", "drill")

    def test_a_killed_program_holds_nothing(self) -> None:
        machine = self.peer("panel").share(Machine, "mill", timeout=10)
        eventually(lambda: not machine.status.unconfirmed)
        program = self.program("import threading\n"
                               "from bindbus import Peer\n"
                               "machine = Peer('short').model('mill')\n"
                               "machine.wait_current(10)\n"
                               "held = machine.hold('is_moving', True)\n"
                               "threading.Event().wait()\n")
        eventually(lambda: machine.is_moving)
        version = machine.shared.version()
        renewed = self.beats(machine) + 4
        eventually(lambda: self.beats(machine) >= renewed)
        self.assertEqual((machine.is_moving, machine.shared.version()), (True, version))
        program.kill()
        eventually(lambda: machine.is_moving is False)

    def test_without_a_hub_the_default_shows_and_the_status_says_so(self) -> None:
        machine = self.peer("panel").share(Machine, "mill", timeout=10)
        machine.set(is_moving=True, speed=5).committed(10)
        self.kill_hub()
        eventually(lambda: machine.field_status("is_moving").kind == "expired")
        self.assertEqual((machine.is_moving, machine.speed), (False, 5))
        self.assertEqual(machine.field_status("speed").kind, "stale")
        write = machine.set(is_moving=True)
        self.assertTrue(machine.is_moving)
        self.assertEqual(write.outcome(10).kind, "expired")
        self.assertFalse(machine.is_moving)


class DeclarationTests(unittest.TestCase):
    def test_a_limit_that_cannot_be_is_refused_with_the_cure(self) -> None:
        for options, words in (({"expires": 0.05}, "write 0.1 to 604800"), ({"expires": 7e5}, "write 0.1 to 604800"),
                               ({"expires": 5, "policy": "add"}, "is set, not merged; use another policy than add")):
            with self.subTest(words), self.assertRaises(BindbusError) as caught:
                @model
                class Bad:
                    count: int = field(0, **options)
            self.assertIn(words, str(caught.exception))

    def test_the_declared_limit_holds_before_any_hub(self) -> None:
        with Peer("py", hub="ipc:///nonexistent/hub.sock") as peer:
            machine = peer.share(Machine, "mill", timeout=0)
            write = machine.set(is_moving=True)
            self.assertEqual((machine.is_moving, write.outcome(10).kind, machine.is_moving), (True, "expired", False))
            peer.close(0)

    def test_a_renewal_beside_a_write_whose_commit_is_on_its_way_sends_its_value_again(self) -> None:
        with Peer("py", hub="ipc:///nonexistent/hub.sock") as peer:
            machine = peer.share(Machine, "mill", timeout=0)
            sync = machine.shared._sync
            with machine.shared._runtime.lock:
                sync.replica.epoch, sync.replica.version, sync.was_current = 7, 3, True
                sync.replica.commit("speed", Field(b"1", 3, bytes(8), "other", 1, 0))
                machine.set(speed=5)
                (write,) = sync.writes.unacknowledged("speed")
                sync.writes.number(write, 7)
                sync.writes.receive({"topic": 1, "number": 1, "kind": 1, "count": 1, "version": 4}, 7, 0)
                self.assertEqual(sync.writes.unacknowledged("speed"), [])
                machine.renew("speed")
                (renewal,) = sync.writes.unacknowledged("speed")
                self.assertEqual((renewal.operations, renewal.conditions), ([Operation("set", "speed", b"5")], []))
            peer.close(0)
