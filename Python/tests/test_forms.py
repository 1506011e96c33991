"""What a declaration may be of renamed fields and changed types, and what becomes of writes that wait meanwhile."""
from __future__ import annotations

import unittest
from typing import Any, Optional

from bindbus import BindbusError, FieldError, Peer, field, mapped, model, values
from bindbus.described import Described, FieldForm, Form
from bindbus.pending import FormWritten, Operation
from tests.simulated_peer import SimulatedPeer, World
from tests.test_releases import Coarse


class PendingFormTests(unittest.TestCase):
    """A write that waits while the description is replaced."""

    OLD = {"fields": {"a": {"type": "integer", "unit": "%"}}}
    NEW = {"fields": {"a": {"type": "number", "formerly": {"type": "integer", "unit": "%"}}}}
    FORM = FieldForm(Form("number"), Form("integer", "%"))

    def setUp(self) -> None:
        self.world = World(1)
        self.one, self.other = (SimulatedPeer(self.world, name, name == "one") for name in ("one", "other"))
        for peer in (self.one, self.other):
            peer.session.join("m", 0)
        self.describe(self.OLD)
        self.run_for(5_000)

    def run_for(self, milliseconds: int) -> None:
        self.world.run(self.world.now + milliseconds)

    def describe(self, description: Any) -> None:
        operation = Operation("set", "@description", values.encode(description))
        self.other.turn(lambda: self.other.session.write("m", [operation], self.world.now))

    def write(self, is_mapped: bool, rules: Optional[Any] = None) -> int:
        operation, forms = Operation("set", "a", b"1"), {"a": FormWritten(self.FORM, is_mapped)}
        found: int = self.one.turn(lambda: self.one.session.write("m", [operation], self.world.now, rules=rules,
                                                                  forms=forms))
        return found

    def outcome(self, write: int) -> Any:
        return self.one.outcomes.get((self.one.session.secret, write))

    def cut(self) -> None:
        self.one.connection = None
        self.one.turn(lambda: self.one.session.lost(self.world.now))

    def late(self, description: Any) -> int:
        """A write that is sent when the hub has another description already, which its writer has not seen."""
        topics, self.one.topics = self.one.topics, []
        self.describe(description)
        self.run_for(100)
        write = self.write(True)
        self.run_for(50)
        self.one.topics = topics
        return write

    def test_one_of_the_described_form_is_committed_on_condition_that_it_stays(self) -> None:
        write = self.write(True)
        self.run_for(2_000)
        self.assertEqual(self.outcome(write).kind, "committed")

    def test_one_of_another_form_is_refused_and_never_sent(self) -> None:
        write = self.write(False)
        self.run_for(2_000)
        self.assertEqual((self.outcome(write).kind, self.outcome(write).code), ("refused", "doesNotFit"))
        self.assertEqual(self.outcome(write).text,
                         "m.a: 1 was written as number, and the field is now stored as integer in %")
        self.assertNotIn("a", self.world.store.models["m"].fields)

    def test_one_that_was_never_sent_ends_when_the_description_is_replaced(self) -> None:
        self.cut()
        write = self.write(True)
        self.describe(self.NEW)
        self.run_for(10_000)
        self.assertEqual((self.outcome(write).kind, self.outcome(write).code), ("refused", "doesNotFit"))
        self.assertIsNone(self.one.session.models["m"].writes.shown("a"))

    def test_one_that_was_sent_late_is_a_conflict_at_the_hub_and_then_refused(self) -> None:
        write = self.late(self.NEW)
        self.run_for(10_000)
        self.assertEqual((self.outcome(write).kind, self.outcome(write).code), ("refused", "doesNotFit"))
        self.assertNotIn("a", self.world.store.models["m"].fields)

    def test_one_goes_again_if_the_description_changes_and_keeps_the_form(self) -> None:
        write = self.late({"fields": {**self.OLD["fields"], "b": {}}})
        self.run_for(10_000)
        self.assertEqual(self.outcome(write).kind, "committed")

    def test_one_survives_the_program_with_its_form(self) -> None:
        self.cut()
        write = self.write(True)
        secret = self.one.session.secret
        self.one.crash()
        self.assertEqual(self.one.session.models["m"].writes.pending[write].forms,
                         {"a": FormWritten(self.FORM, True)})
        self.describe(self.NEW)
        self.run_for(10_000)
        self.assertEqual(self.one.outcomes[secret, write].code, "doesNotFit")


class DeclaredTests(unittest.TestCase):
    def test_a_declaration_that_cannot_be_is_refused_with_the_cure(self) -> None:
        def swapped() -> Any:
            @model
            class Swapped:
                a: int = field(1, was="b")
                b: int = field(2, was="c")
            return Swapped

        def twice() -> Any:
            @model
            class Twice:
                a: int = field(1, was="b")
                b: int = 2
            return Twice

        def computing() -> Any:
            @model
            class Computing:
                level: int = field(0, policy="add", stored=mapped(str, int, str))
            return Computing

        def unchanged() -> Any:
            @model
            class Unchanged:
                level: int = field(0, stored=mapped(int, lambda one: one, lambda one: one))
            return Unchanged

        def negative() -> Any:
            @model(release=-1)
            class Negative:
                level: int = 0
            return Negative

        def malformed() -> Any:
            @model
            class Malformed:
                level: int = field(0, was="a.b")
            return Malformed

        for declare, words in ((swapped, "choose another name"), (twice, "stored as b; give each a name of its own"),
                               (computing, "use lastWrite, compareAndSet or a function"), (malformed, "write 1 to 64"),
                               (unchanged, "give each a unit of its own"), (negative, "number releases from 1 on")):
            with self.subTest(words), self.assertRaises(BindbusError) as caught:
                declare()
            self.assertIn(words, str(caught.exception))

    def test_a_mapping_that_returns_another_type_is_refused_with_the_cure(self) -> None:
        with Peer("py", hub="ipc:///nonexistent/hub.sock") as peer:
            coarse = peer.share(Coarse, "coarse", timeout=0)
            coarse.shared.set({"@description": {"fields": {"level": {"type": "integer", "unit": "‰"}}}})
            with self.assertRaisesRegex(FieldError, "101 cannot be stored: more than 100 %"):
                coarse.level = 101
            self.assertEqual(coarse.status.unconfirmed, 1)
            peer.close(0)

    def test_malformed_parts_of_a_description_count_as_absent(self) -> None:
        for text in (b"[]", b"{no json", b'{"fields":[]}', b'{"alias":3}', b'{"fields":{"a":3},"alias":{"b":4}}', None):
            described = Described(text)
            self.assertEqual((described.fields, described.aliases, described.forms), ({}, {}, {}), text)
        odd = Described(b'{"fields":{"a":{"type":"odd","unit":3,"formerly":"x"}},"alias":{"a":"b","c":"a","@x":"a"}}')
        self.assertEqual(odd.forms, {"a": FieldForm(Form())})
        self.assertEqual(odd.aliases, {"c": "a"})
