"""Undo and redo of a program's own writes, with real hubs and other writers."""
from __future__ import annotations

import asyncio
import unittest
from typing import Any

from bindbus import Model, Peer, UndoResult, UndoStatus, WriteError, field, model, ranged, values
from bindbus.pending import Operation
from bindbus.undo import UndoBook
from tests.simulated_peer import SimulatedPeer, World
from tests.support import HubTestCase, eventually


@model
class Lamp(Model):
    level: float = ranged(0.3, 0, 1)
    note: str = field("", policy="text")
    uses: int = field(0, policy="add")
    on: bool = False


class UndoTests(HubTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.lamp = self.peer("mine").share(Lamp, "lamp", timeout=10)
        self.other = self.peer("other").share(Lamp, "lamp", timeout=10)
        eventually(lambda: not self.lamp.status.unconfirmed and not self.other.status.unconfirmed)
        self.undoing = self.lamp.undoing

    def undo(self) -> UndoResult:
        return self.undoing.undo(10)

    def test_a_set_is_undone_and_done_again(self) -> None:
        self.lamp.set(level=0.8).committed(10)
        self.assertEqual(self.undoing.status, UndoStatus(("level",), ()))
        self.assertEqual(self.undo(), UndoResult("done", ("level",)))
        self.assertEqual((self.lamp.level, self.undoing.status), (0.3, UndoStatus((), ("level",))))
        eventually(lambda: self.other.level == 0.3)
        self.assertEqual(self.undoing.redo(10).kind, "done")
        eventually(lambda: self.other.level == 0.8)
        self.assertEqual((self.undo().kind, self.lamp.level), ("done", 0.3))
        self.assertEqual(self.undo(), UndoResult("nothing"))

    def test_several_steps_are_taken_back_in_turn_and_a_write_ends_what_can_be_redone(self) -> None:
        for at, (name, value) in enumerate([("level", 0.4), ("on", True), ("level", 0.5)]):
            self.lamp.set(**{name: value}).committed(10)
        kinds = [self.undo().kind for _ in range(3)]
        self.assertEqual((kinds, self.lamp.level, self.lamp.on), (["done"] * 3, 0.3, False))
        self.undoing.redo(10)
        self.assertEqual(self.lamp.level, 0.4)
        self.lamp.set(on=True).committed(10)
        self.assertEqual(self.undoing.redo(10).kind, "nothing")
        self.assertEqual((self.undo().kind, self.undo().kind, self.lamp.level), ("done", "done", 0.3))

    def test_what_another_program_has_changed_is_not_overwritten(self) -> None:
        self.lamp.set(on=True).committed(10)
        self.lamp.set(level=0.8).committed(10)
        self.other.set(level=0.9).committed(10)
        eventually(lambda: self.lamp.level == 0.9)
        self.assertEqual(self.undo(), UndoResult("failed", reason="level was changed by other since"))
        self.assertEqual((self.undo().kind, self.lamp.on, self.lamp.level), ("done", False, 0.9))

    def test_what_the_hub_had_just_before_comes_back_and_not_what_this_program_saw(self) -> None:
        self.other.set(level=0.4).committed(10)
        self.lamp.set(level=0.5).committed(10)
        self.assertEqual((self.undo().kind, self.lamp.level), ("done", 0.4))

    def test_of_an_addition_the_amount_is_subtracted_and_of_a_text_the_words_of_others_stay(self) -> None:
        self.lamp.set(note="one two").committed(10)
        eventually(lambda: self.other.note == "one two")
        self.other.set(note="one big two").committed(10)
        self.lamp.uses += 2
        self.other.uses += 5
        eventually(lambda: self.lamp.uses == self.other.uses == 7 and self.lamp.note == "one big two")
        self.assertEqual(self.undo(), UndoResult("done", ("uses",)))
        eventually(lambda: self.other.uses == 5)
        self.assertEqual(self.undo().kind, "done")
        eventually(lambda: self.other.note.strip() == "big")
        self.assertEqual(self.undoing.redo(10).kind, "done")
        eventually(lambda: self.other.note == "one big two")

    def test_sets_of_one_field_soon_after_each_other_and_a_group_are_one_step(self) -> None:
        for at in range(10):
            self.lamp.level = at / 10
        eventually(lambda: not self.lamp.status.unconfirmed)
        self.assertEqual((self.undo().kind, self.lamp.level), ("done", 0.3))
        with self.undoing.group():
            self.lamp.set(level=0.9).committed(10)
            with self.undoing.group():
                self.lamp.set(on=True).committed(10)
        self.lamp.set(on=False).committed(10)
        self.assertEqual((self.undo().kind, self.lamp.on), ("done", True))
        self.assertEqual(self.undo(), UndoResult("done", ("level", "on")))
        self.assertEqual((self.lamp.level, self.lamp.on), (0.3, False))

    def test_a_created_field_is_deleted_and_a_deleted_one_comes_back(self) -> None:
        room = self.peer("mine").model("room")
        undoing = room.undoing
        room.set({"light": "warm"}).committed(10)
        with undoing.group():  # else one step, as it is soon after
            room.delete("light").committed(10)
        room.set({"a": 1, "b": 2}).committed(10)
        room.clear().committed(10)
        self.assertEqual((undoing.undo(10).kind, room.items()), ("done", [("a", 1), ("b", 2)]))
        undoing.undo(10)
        self.assertEqual((undoing.undo(10).kind, room.items()), ("done", [("light", "warm")]))
        self.assertEqual((undoing.undo(10).kind, room.items()), ("done", []))
        self.assertEqual((undoing.redo(10).kind, room["light"]), ("done", "warm"))

    def test_a_refused_write_and_an_ephemeral_model_make_no_step(self) -> None:
        self.assertEqual(self.lamp.shared.set({"level": 7}).outcome(10).kind, "refused")
        self.assertEqual(self.undo(), UndoResult("nothing"))
        with self.assertRaisesRegex(WriteError, "is ephemeral"):
            self.lamp.shared.ephemeral.undoing

    def test_fractions_that_were_added_may_be_rounded(self) -> None:
        room = self.peer("mine").model("room")
        undoing = room.undoing
        room.add("sum", 0.5).committed(10)
        self.assertEqual(undoing.undo(10), UndoResult("done", ("sum",), ("sum",)))
        self.assertEqual(room["sum"], 0)

    def test_it_waits_in_an_event_loop_too(self) -> None:
        async def main() -> Any:
            await self.lamp.set(level=0.8)
            return await self.undoing.aundo(10), await self.undoing.aredo(10)

        self.assertEqual([each.kind for each in asyncio.run(main())], ["done", "done"])
        self.assertEqual(self.lamp.level, 0.8)

    def test_a_step_whose_commit_arrived_with_others_is_asked_of_the_history(self) -> None:
        self.lamp.set(level=0.8).committed(10)
        book = self.lamp.shared._sync.writes.book
        assert book is not None
        book.undo[0].fields["level"].is_before_known = False
        book.undo[0].fields["level"].before = None
        self.assertEqual((self.undo().kind, self.lamp.level), ("done", 0.3))


class OfflineTests(unittest.TestCase):
    def test_what_was_not_sent_is_taken_back_at_once_and_can_be_done_again(self) -> None:
        with Peer("py", hub="ipc:///nonexistent/hub.sock") as peer:
            lamp = peer.share(Lamp, "lamp", timeout=0)
            undoing = lamp.undoing
            write = lamp.set(level=0.8)
            self.assertEqual(undoing.undo(1), UndoResult("done", ("level",)))
            self.assertEqual((lamp.level, write.outcome(1).kind, lamp.status.unconfirmed), (0.3, "superseded", 0))
            with self.assertRaises(TimeoutError):
                undoing.redo(0.01)
            self.assertEqual((lamp.level, lamp.status.unconfirmed), (0.8, 1))
            self.assertEqual((undoing.undo(1).kind, lamp.level), ("done", 0.3))
            peer.close(0)


class SessionTests(unittest.TestCase):
    """Writes and undos whose frames are lost, and a hub that restarts."""

    def setUp(self) -> None:
        self.world = World(1)
        self.one, self.other = (SimulatedPeer(self.world, name, name == "one") for name in ("one", "other"))
        for peer in (self.one, self.other):
            peer.session.join("m", 0)
        self.run_for(5_000)
        self.writes.book = UndoBook(self.one.session.context.tag)

    @property
    def writes(self) -> Any:
        return self.one.session.models["m"].writes

    def run_for(self, milliseconds: int) -> None:
        self.world.run(self.world.now + milliseconds)

    def write(self, peer: SimulatedPeer, value: Any) -> int:
        operation = Operation("set", "a", values.encode(value))
        found: int = peer.turn(lambda: peer.session.write("m", [operation], self.world.now))
        return found

    def undo(self, redoes: bool = False) -> Any:
        def begin() -> Any:
            found = self.writes.begin_restoring(redoes)
            if isinstance(found, str) or not found[1]:
                return found
            return self.one.session.write("m", found[1], self.world.now, rules=found[2], undoes=(found[0], redoes))
        return self.one.turn(begin)

    def kind(self, write: int) -> str:
        outcome = self.one.outcomes.get((self.one.session.secret, write))
        return outcome.kind if outcome else ""

    def stored(self) -> Any:
        return values.decoded(self.world.store.models["m"].fields["a"].value)

    def test_an_undo_of_a_write_that_is_under_way_shows_at_once_and_follows_it(self) -> None:
        self.write(self.one, 1)
        self.run_for(2_000)
        self.write(self.one, 2)
        write = self.undo()
        self.assertEqual(values.decoded(self.writes.shown("a")), 1)
        self.run_for(5_000)
        self.assertEqual((self.kind(write), self.stored()), ("committed", 1))
        again = self.undo(redoes=True)
        self.run_for(3_000)
        self.assertEqual((self.kind(again), self.stored()), ("committed", 2))

    def test_an_undo_of_what_another_peer_overwrites_meanwhile_is_a_conflict(self) -> None:
        self.write(self.one, 1)
        self.run_for(2_000)
        self.write(self.one, 2)
        self.run_for(2_000)
        topics, self.one.topics = self.one.topics, []
        self.write(self.other, 3)
        self.run_for(100)
        write = self.undo()
        self.run_for(100)
        self.one.topics = topics
        self.run_for(9_000)
        self.assertEqual((self.kind(write), self.stored(), self.writes.book.redo), ("conflict", 3, []))

    def test_a_commit_that_arrives_in_a_catch_up_is_not_known_before_and_fails_with_the_reason(self) -> None:
        self.write(self.other, 0)
        self.run_for(2_000)
        topics, self.one.topics = self.one.topics, []
        self.write(self.one, 1)
        self.run_for(300)
        self.one.cut()
        self.run_for(5_000)
        self.assertEqual((len(topics) > 0, self.stored()), (True, 1))
        self.assertIn("what a was before that write is not known here", self.undo())

    def test_after_a_new_epoch_what_stands_is_undone_and_what_was_lost_is_not(self) -> None:
        self.write(self.one, 1)
        self.run_for(2_000)
        self.write(self.one, 2)
        self.run_for(2_000)
        self.world.kill_hub()
        self.world.store.epoch = 0x200000001
        self.world.start_hub()
        self.run_for(9_000)
        write = self.undo()
        self.run_for(3_000)
        self.assertEqual((self.kind(write), self.stored()), ("committed", 1))
        self.world.kill_hub()
        self.world.store.epoch = 0x300000001
        stored = self.world.store.models["m"]
        stored.fields["a"] = stored.fields["a"]._replace(value=b"7", writer=(b"\2" * 8, "stranger"))
        stored.states[-1]["a"] = b"7"
        self.world.start_hub()
        self.run_for(9_000)
        self.assertIn("has begun a new epoch", self.undo(redoes=True))

    def test_an_undo_that_was_not_sent_is_not_kept_and_one_with_a_number_is(self) -> None:
        self.write(self.one, 1)
        self.run_for(2_000)
        assert self.one.outbox is not None
        self.one.connection = None
        self.one.turn(lambda: self.one.session.lost(self.world.now))
        write = self.undo()
        self.assertEqual((self.one.outbox.writes, self.kind(write)), ({}, ""))
        self.run_for(3_000)
        self.assertEqual(self.kind(write), "committed")
        self.world.loss = 1
        self.write(self.one, 5)
        self.run_for(1)
        secret, kept = self.one.session.secret, list(self.one.outbox.writes)
        self.world.loss = 0
        self.one.crash()
        self.run_for(9_000)
        self.assertEqual([self.one.outcomes[secret, each].kind for each in kept], ["committed"])

    def test_a_commit_that_the_hub_has_recovered_from_this_peer_is_no_commit_of_a_write_that_waits(self) -> None:
        self.world.kill_hub()
        write = self.write(self.one, 1)
        note = self.writes.book.notes[write]
        self.assertEqual((note.number, self.writes.book.write_of(0)), (0, 0))
        self.world.start_hub()
        self.run_for(5_000)
        self.assertEqual((self.kind(write), self.writes.book.notes, len(self.writes.book.undo)), ("committed", {}, 1))

    def test_the_oldest_steps_go_beyond_the_limits(self) -> None:
        for at in range(120):
            self.write(self.one, at)
            self.run_for(1_100)
        self.assertEqual(len(self.writes.book.undo), 100)
        self.write(self.one, "x" * 60_000)
        for at in range(12):
            self.run_for(1_100)
            self.write(self.one, str(at % 10) * 60_000)
        self.run_for(1_100)
        self.assertLess(len(self.writes.book.undo), 12)
