"""Dataclasses as models, without a hub: types, ranges, defaults and errors that name the cure."""
from __future__ import annotations

import enum
import unittest
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple

from bindbus import BindbusError, FieldError, Model, Peer, ShareError, WriteError, field, model, ranged
from bindbus.models import declaration_of


class Colour(enum.Enum):
    RED, BLUE = "red", "blue"


@dataclass
class Place:
    room: str = ""
    floor: int = 0


@model
class Everything(Model):
    level: float = ranged(0.3, 0, 1, unit="lm")
    count: int = field(3, minimum=0)
    on: bool = False
    name: str = field("desk", max_length=5)
    colour: Colour = Colour.RED
    maybe: Optional[int] = None
    numbers: List[int] = field([])
    table: Dict[str, float] = field({"a": 1.5})
    place: Place = field(Place("hall", 2))
    raw: bytes = b"\x00"
    anything: Any = None


class ModelTests(unittest.TestCase):
    def setUp(self) -> None:
        self.peer = Peer("py", hub="ipc:///nonexistent/hub.sock")
        self.addCleanup(self.peer.close, 0)
        self.all = self.peer.share(Everything, "all", timeout=0)

    def test_a_field_shows_its_default_before_any_value(self) -> None:
        self.assertEqual((self.all.level, self.all.count, self.all.on, self.all.name), (0.3, 3, False, "desk"))
        self.assertEqual((self.all.colour, self.all.maybe, self.all.numbers), (Colour.RED, None, []))
        self.assertEqual((self.all.table, self.all.place, self.all.raw), ({"a": 1.5}, Place("hall", 2), b"\x00"))

    def test_an_assignment_shows_at_once_in_the_type_of_the_field(self) -> None:
        new = {"level": 1.0, "count": 7, "on": True, "name": "atrium"[:5], "colour": Colour.BLUE, "maybe": 4,
               "numbers": [1, 2], "table": {"b": 2.0}, "place": Place("attic", 3), "raw": b"\xff", "anything": [None]}
        for name, value in new.items():
            setattr(self.all, name, value)
        for name, value in new.items():
            self.assertEqual(getattr(self.all, name), value, name)
        self.assertEqual(self.all.shared["place"], {"room": "attic", "floor": 3})
        self.assertEqual(self.all.field_status("level").kind, "pending")

    def test_a_value_that_does_not_fit_is_refused_with_the_cure_before_anything_shows(self) -> None:
        for name, value, words in [
                ("level", 7, "Everything.level: 7 is not in 0...1; assign a value in that range, or widen it"),
                ("level", float("nan"), "is not in 0...1"), ("level", "x", "'x' is no float"),
                ("count", -1, "is not in 0..."), ("count", 1.5, "is no int"), ("count", True, "is no int"),
                ("name", "too long", "shorten it"), ("on", 1, "is no bool"), ("colour", "green", "is no Colour"),
                ("numbers", ["a"], "is no List"), ("maybe", "x", "is no Optional"), ("anything", object(), "JSON")]:
            with self.subTest(name=name, value=value):
                with self.assertRaises(ValueError) as caught:
                    setattr(self.all, name, value)
                self.assertIn(words, str(caught.exception))
                self.assertIsInstance(caught.exception, WriteError)
        self.assertEqual(self.all.status.unconfirmed, 0)
        with self.assertRaisesRegex(FieldError, "no field nam; its fields are level, count"):
            self.all.set(nam="x")

    def test_a_change_of_several_fields_shows_whole_or_not_at_all(self) -> None:
        with self.assertRaises(FieldError):
            self.all.set(count=9, level=2)
        self.assertEqual(self.all.count, 3)
        self.all.set(count=9, level=1)
        self.assertEqual((self.all.count, self.all.level), (9, 1.0))

    def test_the_description_says_what_the_fields_take(self) -> None:
        declaration = declaration_of(Everything)
        described = {name: each.description(1) for name, each in declaration.fields.items()}
        self.assertEqual(described["level"], {"type": "number", "min": 0, "max": 1, "default": 0.3, "unit": "lm",
                                              "order": 1})
        self.assertEqual(described["colour"]["choices"], ["red", "blue"])
        self.assertEqual([described[name]["type"] for name in ("count", "on", "name", "maybe", "numbers", "place")],
                         ["integer", "boolean", "string", "any", "array", "object"])

    def test_a_class_without_the_base_gets_it(self) -> None:
        @model
        class Plain:
            level: float = 0.5

        plain: Any = self.peer.share(Plain, "plain", timeout=0)
        plain.level = 0.75
        self.assertEqual((plain.level, plain.shared["level"], isinstance(plain, Plain)), (0.75, 0.75, True))
        self.assertEqual(Plain().level, 0.5)

    def test_a_class_that_cannot_be_shared_is_refused_with_the_cure(self) -> None:
        with self.assertRaisesRegex(BindbusError, "has no default; write one"):
            @model
            class WithoutDefault:
                level: float
        with self.assertRaisesRegex(BindbusError, "taken by Model; choose another"):
            @model
            class Taken:
                status: int = 0
        with self.assertRaisesRegex(BindbusError, "is not in 0...1"):
            @model
            class BadDefault:
                level: float = ranged(2, 0, 1)
        with self.assertRaisesRegex(BindbusError, "'sum' is no policy; write one of lastWrite"):
            @model
            class BadPolicy:
                level: int = field(2, policy="sum")
        with self.assertRaisesRegex(BindbusError, "write @model above the class"):
            self.peer.share(Place, "place")
        with self.assertRaisesRegex(ShareError, "use what peer.share returns"):
            Everything().shared

    def test_bad_names_addresses_and_proposals_are_refused_with_the_cure(self) -> None:
        untyped = self.peer.model("untyped")
        calls: List[Tuple[Any, str]] = [
                (lambda: self.peer.model("a b"), "write 1 to 200 of"), (lambda: self.peer.model("@ephemeral/x"), "@"),
                (lambda: Peer(hub="http://nowhere"), "write ipc:///path/hub.sock"),
                (lambda: untyped.set({}), "one at least"), (lambda: untyped.set({"a.b": 1}), "write 1 to 64 of"),
                (lambda: untyped.add("a", float("inf")), "finite"),
                (lambda: untyped.set({"a": "x" * 70_000}), "split it"),
                (lambda: untyped.union("a", [object()]), "JSON"),
                (lambda: untyped.set({f"f{at}": 1 for at in range(1_001)}), "fewer at once"),
                (lambda: untyped.set({"@owner": 1}), "own the model with: model.own"),
                (lambda: self.peer.model_ids("no-slash"), "ends in /")]
        for call, words in calls:
            with self.subTest(words), self.assertRaises(BindbusError) as caught:
                call()
            self.assertIn(words, str(caught.exception))

    def test_the_outbox_is_bounded(self) -> None:
        untyped = self.peer.model("untyped")
        with self.assertRaisesRegex(WriteError, "the outbox is full: .* start a hub"):
            for _ in range(200):
                untyped.add("count", 1)
                untyped.set({f"f{at}": "x" * 50_000 for at in range(3)}, conditions={"f0": 0})

    def test_a_closed_peer_refuses_everything_with_the_cure(self) -> None:
        write = self.all.set(level=0.5)
        self.assertEqual(self.peer.close(0), ["all.level"])
        self.assertEqual(write.outcome(1).kind, "unknown")
        with self.assertRaisesRegex(WriteError, "start a new one"):
            self.all.level = 0.75
        with self.assertRaisesRegex(ShareError, "start a new one"):
            self.peer.model("other")

    def test_a_write_that_was_never_sent_is_withdrawn(self) -> None:
        write = self.all.set(level=0.5)
        self.assertTrue(write.withdraw())
        self.assertEqual((write.outcome(1).kind, self.all.level), ("expired", 0.3))
        with self.assertRaises(TimeoutError):
            self.all.set(level=0.5).outcome(0)
