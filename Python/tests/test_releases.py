"""Programs of two releases that share one model: fields that were renamed, and fields whose type was changed."""
from __future__ import annotations

from typing import Any, List, Type

from bindbus import FieldError, MisfitsError, Model, field, mapped, model, ranged
from tests.support import HubTestCase, eventually

TONES = ["warm", "cold", "day"]


@model(release=1)
class First(Model):
    brightness: int = ranged(30, 0, 100, unit="%", title="Level")
    tone: str = "warm"
    note: str = "a"


@model(release=2)
class Renamed(Model):
    level: int = ranged(50, 0, 200, unit="%", title="Brightness", was="brightness")
    note: str = "a"


@model(release=2)
class Second(Model):
    level: float = ranged(0.3, 0, 1, was="brightness", stored=mapped(
        int, lambda percent: percent / 100, lambda level: round(level * 100), unit="%"))
    tone: int = field(0, stored=mapped(str, TONES.index, lambda at: TONES[min(max(at, 0), 2)]))
    note: str = "a"


@model
class Fine(Model):
    level: int = field(337, unit="‰")
    other: int = 0


def tenfold(level: int) -> int:
    if level > 100:
        raise ValueError("more than 100 %")
    return level * 10


@model
class Coarse(Model):
    level: int = field(30, unit="%", stored=mapped(int, lambda level: level // 10, tenfold, unit="‰"))
    other: int = 0


@model
class Merged(Model):
    level: int = field(30, unit="%", stored=mapped(int, lambda level: level // 10, tenfold, unit="‰"),
                       policy=lambda base, mine, theirs: theirs + mine - base)


class RenamedTests(HubTestCase):
    def test_both_releases_and_the_terminal_read_and_write_one_field_under_two_names(self) -> None:
        first = self.peer("first").share(First, "lamp", timeout=10)
        second = self.peer("second").share(Renamed, "lamp", timeout=10)
        second.set(level=150).committed(10)
        eventually(lambda: first.brightness == 150)
        self.assertEqual(second.shared["brightness"], 150)
        first.set(brightness=7).committed(10)
        eventually(lambda: second.level == 7)
        self.bindpeer("set", "lamp.level=8")
        eventually(lambda: second.level == 8 and first.brightness == 8)
        described = second.shared.description
        self.assertEqual((described["alias"], described["release"]), ({"level": "brightness"}, 2))
        self.assertEqual(described["fields"]["brightness"]["title"], "Brightness")
        self.assertEqual(described["fields"]["brightness"]["max"], 200)

    def test_a_model_that_the_later_release_shares_first_has_the_stored_name(self) -> None:
        second = self.peer("second").share(Renamed, "lamp", timeout=10)
        second.set(level=9).committed(10)
        first = self.peer("first").share(First, "lamp", timeout=10)
        eventually(lambda: first.brightness == 9)
        self.assertNotIn("level", list(second.shared))

    def test_a_program_without_types_reads_and_writes_under_both_names(self) -> None:
        self.peer("second").share(Renamed, "lamp", timeout=10).set(level=9).committed(10)
        lamp = self.peer("tool").model("lamp")
        self.assertTrue(lamp.wait_current(10))
        eventually(lambda: lamp.stored_name("level") == "brightness")
        seen: List[Any] = []
        lamp.observe("level", seen.append)
        version = lamp.set({"level": 10}, conditions={"level": lamp.version("level")}).committed(10)
        lamp.add("level", 1).committed(10)
        self.assertEqual((lamp["level"], lamp["brightness"], lamp.version("brightness")), (11, 11, version + 1))
        eventually(lambda: seen and seen[-1] == 11)
        self.assertTrue("level" in lamp and "brightness" in lamp and "brightnes" not in lamp)
        self.assertEqual(lamp.set({"level": 1}, conditions={"level": version}).outcome(10).kind, "conflict")
        self.assertEqual(lamp.field_status("level").kind, "refused")
        lamp.delete("level").committed(10)
        self.assertNotIn("brightness", lamp)

    def test_sharing_again_proposes_nothing(self) -> None:
        one = self.peer("second").share(Renamed, "lamp", timeout=10)
        eventually(lambda: not one.status.unconfirmed and one.shared.description)
        version = one.shared.version()
        other = self.peer("again").share(Renamed, "lamp", timeout=10)
        eventually(lambda: not other.status.unconfirmed)
        self.assertEqual(one.shared.version(), version)


class ChangedTypeTests(HubTestCase):
    def both(self, first: Type[Any] = First, second: Type[Any] = Second) -> Any:
        one = self.peer("first").share(first, "lamp", timeout=10)
        eventually(lambda: not one.status.unconfirmed)
        other = self.peer("second").share(second, "lamp", timeout=10)
        eventually(lambda: not other.status.unconfirmed)
        return one, other

    def test_both_releases_read_and_write_the_old_type_until_it_is_replaced(self) -> None:
        first, second = self.both()
        self.assertEqual((second.level, second.tone), (0.3, 0))
        second.set(level=0.506).committed(10)
        self.assertEqual(second.level, 0.51)
        eventually(lambda: first.brightness == 51)
        first.set(brightness=7).committed(10)
        eventually(lambda: second.level == 0.07)
        second.set(tone=2).committed(10)
        eventually(lambda: first.tone == "day")
        described = first.shared.description["fields"]["brightness"]
        self.assertEqual((described["type"], described["unit"], described["max"]), ("integer", "%", 100))
        self.assertEqual((second.field_status("level").kind, second.field_status("tone").kind), ("current", "current"))

    def test_a_new_model_is_stored_in_the_new_type(self) -> None:
        second = self.peer("second").share(Second, "lamp", timeout=10)
        second.set(level=0.5).committed(10)
        eventually(lambda: second.shared.get("tone") == 0)
        self.assertEqual(second.shared["brightness"], 0.5)
        self.assertEqual(second.shared.description["fields"]["brightness"]["formerly"],
                         {"type": "integer", "unit": "%"})

    def test_what_a_mapping_loses_is_not_written_back(self) -> None:
        fine, coarse = self.both(Fine, Coarse)
        self.assertEqual(coarse.level, 33)
        version = coarse.shared.version()
        self.assertEqual(coarse.set(level=33).outcome(10).kind, "unchanged")
        coarse.set(level=33, other=5).committed(10)
        self.assertEqual((coarse.shared["level"], coarse.shared.version()), (337, version + 1))
        coarse.level += 1
        eventually(lambda: fine.level == 340)

    def test_a_write_has_to_fit_this_declaration_and_the_stored_one(self) -> None:
        _, second = self.both()
        with self.assertRaisesRegex(FieldError, "Second.level: 1.5 is not in 0...1"):
            second.level = 1.5
        second.shared.set({"@description": {"fields": {"brightness": {"type": "integer", "unit": "%", "max": 80}}}}
                          ).committed(10)
        outcome = second.set(level=0.9).outcome(10)
        self.assertEqual((outcome.kind, outcome.code), ("refused", "doesNotFit"))
        self.assertEqual(second.level, 0.3)

    def test_what_back_refuses_is_not_written_and_what_forward_refuses_does_not_show(self) -> None:
        first, second = self.both()
        first.set(tone="blue").committed(10)
        eventually(lambda: second.field_status("tone").kind == "unreadable")
        self.assertEqual(second.tone, 0)
        self.assertIn("'blue' is no str, or cannot be mapped", second.field_status("tone").reason)
        second.set(tone=7).committed(10)
        eventually(lambda: (first.tone, second.tone) == ("day", 2))

    def test_merge_functions_get_values_of_the_new_type(self) -> None:
        fine, merged = self.both(Fine, Merged)
        for _ in range(20):
            merged.level += 1
            merged.shared._runtime.wait(lambda: not merged.status.unconfirmed, 10)
        eventually(lambda: fine.level == 530)

    def test_a_replacement_stores_all_values_in_the_new_type_at_once(self) -> None:
        first, second = self.both()
        second.set(level=0.5).committed(10)
        eventually(lambda: first.brightness == 50)
        version = second.shared.version()
        replaced = second.replace_description()
        second.level = 1.0
        self.assertEqual(replaced.committed(10), version + 1)
        eventually(lambda: second.shared["brightness"] == 1 and second.shared["tone"] == 0)
        described = second.shared.description["fields"]["brightness"]
        self.assertEqual((described["type"], described["max"], "unit" in described), ("number", 1, False))
        eventually(lambda: first.field_status("brightness").kind == "unreadable")
        self.assertEqual(first.brightness, 50)  # what it has read last
        with self.assertRaisesRegex(FieldError, "has stored the field as number; this program's integer in % would"):
            first.brightness = 3
        again = self.peer("third").share(First, "lamp", timeout=10)
        self.assertEqual((again.brightness, second.level), (30, 1.0))
        eventually(lambda: not again.status.unconfirmed)
        self.assertEqual(second.shared.description["fields"]["brightness"]["type"], "number")

    def test_a_replacement_names_the_values_that_do_not_fit_and_changes_nothing(self) -> None:
        first, second = self.both()
        first.set(tone="blue").committed(10)
        eventually(lambda: second.shared["tone"] == "blue")
        version = second.shared.version()
        with self.assertRaises(MisfitsError) as caught:
            second.replace_description()
        self.assertEqual(len(caught.exception.values), 1)
        self.assertIn("lamp.tone: 'blue' cannot be mapped", caught.exception.values[0])
        self.assertEqual(second.shared.version(), version)
        second.replace_description(keep_misfits=True).committed(10)
        self.assertEqual((second.shared["tone"], second.level), ("blue", 0.3))
        second.set(tone=1).committed(10)
        self.assertEqual(second.shared["tone"], 1)

    def test_the_terminal_sees_the_stored_form(self) -> None:
        _, second = self.both()
        second.set(level=0.42).committed(10)
        self.assertIn("lamp.brightness = 42", self.bindpeer("get", "lamp"))
