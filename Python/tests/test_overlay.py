"""What shows under pending writes, when the hub has decided some of them."""
from __future__ import annotations

import unittest
from typing import List, Optional

from bindbus import values
from bindbus.overlay import Context
from bindbus.pending import Operation, Pending
from bindbus.replica import Field
from bindbus.sync import ModelSync

TAG, EPOCH = b"\1" * 8, 7


class OverlayTests(unittest.TestCase):
    def setUp(self) -> None:
        self.sync = ModelSync("m", Context(TAG, False), 0, 0)
        self.writes, self.replica = self.sync.writes, self.sync.replica
        self.replica.epoch, self.replica.version = EPOCH, 5
        self.commit("a", "committed", 5)

    def commit(self, name: str, value: object, version: int) -> None:
        self.replica.commit(name, Field(values.encode(value), version, b"\2" * 8, "other", 1, 0))
        self.replica.version = version

    def write(self, id: int, value: object, verb: str = "set", name: str = "a", rule: str = "") -> Pending:
        write = Pending(id, "m", [Operation(verb, name, values.encode(value))], 0, rules={name: rule} if rule else {})
        self.writes.add(write)
        return write

    def shown(self, name: str = "a") -> object:
        return values.decoded(self.writes.shown(name))

    def outcomes(self) -> List[Optional[str]]:
        return [effect.b.kind for effect in self.sync.context.effects if effect.do == "settled"]

    def test_an_own_commit_hides_all_lower_numbers(self) -> None:
        for id, value in enumerate(("first", "second"), 1):
            self.writes.number(self.write(id, value), EPOCH)
        self.writes.note(2, TAG, EPOCH, 6)
        self.assertEqual((self.shown(), self.outcomes()), ("committed", ["committed"]))

    def test_the_mark_of_a_catch_up_hides_what_was_decided_of_it(self) -> None:
        self.writes.number(self.write(1, "refused"), EPOCH)
        self.assertEqual(self.shown(), "refused")
        self.sync.joined({"follows": 0, "version": 5, "epoch": EPOCH, "mark": 1}, 0, 0)
        self.assertEqual((self.shown(), self.outcomes()), ("committed", []))

    def test_a_pending_sum_is_laid_over_what_others_commit(self) -> None:
        self.write(1, 1, "add", "count")
        self.assertEqual(self.shown("count"), 1)
        self.commit("count", 10, 6)
        self.assertEqual(self.shown("count"), 11)
        self.write(2, 5, "add", "count")
        self.assertEqual(self.shown("count"), 16)

    def test_an_acknowledged_write_shows_until_its_version_arrives(self) -> None:
        self.writes.number(self.write(1, "mine"), EPOCH)
        self.writes.receive({"topic": 1, "number": 1, "kind": 1, "count": 1, "version": 9}, EPOCH, 0)
        self.assertEqual((self.shown(), self.outcomes()), ("mine", ["committed"]))
        self.commit("a", "between", 8)
        self.writes.reached(8)
        self.assertEqual(self.shown(), "mine")
        self.writes.reached(9)
        self.assertEqual((self.shown(), self.writes.pending), ("between", {}))

    def test_another_epoch_drops_what_was_acknowledged_in_the_one_before(self) -> None:
        self.writes.number(self.write(1, "mine"), EPOCH)
        self.writes.receive({"topic": 1, "number": 1, "kind": 1, "count": 1, "version": 9}, EPOCH, 0)
        self.sync.starts_over = True
        self.sync.joined({"follows": 0, "version": 0, "epoch": EPOCH + 1, "mark": 0}, 0, 0)
        self.assertEqual((self.shown(), self.writes.pending), (None, {}))

    def test_a_compared_write_over_an_own_one_waits_for_its_outcome(self) -> None:
        self.write(1, "first")
        second = self.write(2, "second", rule="compare")
        self.assertEqual(self.writes.prepare(second, 0), "wait")

    def test_a_hub_that_forgot_the_peer_gets_a_set_only_on_condition_of_what_its_writer_saw(self) -> None:
        write = self.write(1, "mine")
        self.writes.number(write, EPOCH)
        self.commit("a", "theirs", 6)
        self.writes.forget_numbers()
        self.assertEqual((write.number, write.conditions[0].version), (0, 5))
        self.writes.number(write, EPOCH)
        conflict = {"topic": 1, "number": 2, "kind": 4, "field": "a", "version": 6, "value": None, "name": "other"}
        self.writes.receive(conflict, EPOCH, 0)
        self.assertEqual(self.outcomes(), ["unknown"])

    def test_an_unchanged_merge_that_would_still_change_the_value_shows_until_the_next_commit(self) -> None:
        self.commit("high", 3, 6)
        self.writes.number(self.write(1, 5, "max", "high"), EPOCH)
        self.writes.receive({"topic": 1, "number": 1, "kind": 2}, EPOCH, 0)
        self.assertEqual((self.shown("high"), self.outcomes()), (5, ["unchanged"]))
        self.commit("high", 6, 7)
        self.writes.reached(7)
        self.assertEqual((self.shown("high"), self.writes.pending), (6, {}))
