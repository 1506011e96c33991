"""Undo of what a program did to elements of lists, with real hubs and other writers."""
from __future__ import annotations

import unittest
from typing import Any, Dict, List

from bindbus import Model, Peer, field, model, values
from bindbus.undo_lists import place_in, restoring
from bindbus.undo_steps import UndoField
from tests.support import HubTestCase, eventually


@model
class Show(Model):
    title: str = ""
    cues: List[Dict[str, Any]] = field([], policy="list")


def cues(*ids: int) -> List[Dict[str, Any]]:
    return [{"id": id, "name": f"cue {id}"} for id in ids]


class RestoringTests(unittest.TestCase):
    def element(self, id: str, value: Any, after: Any = None, before: Any = None, is_moved: bool = False) -> UndoField:
        text = None if value is None else values.encode({"at": 7, "is": value})
        return UndoField(f"l@{id}", "set", text, place=(after, before), is_moved=is_moved)

    def steps(self, order: str, *fields: UndoField) -> List[Any]:
        operations = restoring([(id, id) for id in order], list(fields))
        return [(each.verb, each.field[2:], values.decoded(each.value)) for each in operations]

    def test_an_element_comes_back_to_its_neighbours_or_as_near_as_they_are(self) -> None:
        self.assertEqual(self.steps("ac", self.element("b", "b", "a", "c")),
                         [("insert", "b", {"after": "a", "before": "c", "is": "b"})])
        self.assertEqual(self.steps("xc", self.element("b", "b", "a", "c")),
                         [("insert", "b", {"after": "x", "before": "c", "is": "b"})])
        self.assertEqual(self.steps("xy", self.element("b", "b", None, "c")),
                         [("insert", "b", {"before": "x", "is": "b"})])
        self.assertEqual(self.steps("xy", self.element("b", "b", "a", "c")),
                         [("insert", "b", {"after": "y", "is": "b"})])

    def test_what_stood_behind_another_one_comes_back_after_it(self) -> None:
        self.assertEqual([step[:2] for step in self.steps(
            "d", self.element("c", "c", "b", "d"), self.element("b", "b", "a", "c"),
            self.element("a", "a", None, "b"))], [("insert", "a"), ("insert", "b"), ("insert", "c")])
        circle = self.steps("", self.element("a", "a", "b"), self.element("b", "b", "a"))
        self.assertEqual(len(circle), 2)

    def test_only_what_differs_is_written(self) -> None:
        self.assertEqual(self.steps("ab", self.element("a", "a", None, "b")), [])
        self.assertEqual(self.steps("ab", self.element("a", "old", None, "b")), [("replace", "a", "old")])
        self.assertEqual(self.steps("ba", self.element("a", "a", None, "b", True)), [("move", "a", {"before": "b"})])
        self.assertEqual(self.steps("ab", self.element("a", None), self.element("x", None)), [("delete", "a", None)])
        self.assertEqual(place_in([("a", 1), ("b", 2)], "x"), (None, None))


class ListTests(HubTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.show = self.peer("mine").share(Show, "show", timeout=10)
        self.show.set(cues=cues(1, 2, 3, 4)).committed(10)
        self.other = self.peer("other").share(Show, "show", timeout=10)
        eventually(lambda: self.shown(self.other) == [1, 2, 3, 4])
        self.undoing = self.show.undoing

    def shown(self, show: Show) -> List[int]:
        return [each["id"] for each in show.cues]

    def assign(self, *ids: int) -> None:
        self.show.set(cues=cues(*ids)).committed(10)
        eventually(lambda: not self.show.status.unconfirmed)

    def test_insertions_removals_and_moves_are_taken_back_and_done_again(self) -> None:
        for ids in ((1, 9, 2, 3, 4), (2, 3, 4), (4, 1, 2, 3), (1, 3)):
            with self.subTest(ids):
                self.assign(*ids)
                self.assertEqual((self.undoing.undo(10).kind, self.shown(self.show)), ("done", [1, 2, 3, 4]))
                self.assertEqual((self.undoing.redo(10).kind, self.shown(self.show)), ("done", list(ids)))
                self.assertEqual((self.undoing.undo(10).kind, self.shown(self.show)), ("done", [1, 2, 3, 4]))
        eventually(lambda: self.shown(self.other) == [1, 2, 3, 4])

    def test_what_others_insert_stays_and_what_they_have_changed_is_not_overwritten(self) -> None:
        self.assign(1, 3, 4)
        self.other.set(cues=cues(1, 8, 3, 4)).committed(10)
        eventually(lambda: self.shown(self.show) == [1, 8, 3, 4])
        self.assertEqual((self.undoing.undo(10).kind, self.shown(self.show)), ("done", [1, 2, 8, 3, 4]))
        changed = self.show.cues
        changed[0]["name"] = "mine"
        self.show.set(cues=changed).committed(10)
        eventually(lambda: self.other.cues[0]["name"] == "mine")
        theirs = self.other.cues
        theirs[0]["name"] = "theirs"
        self.other.set(cues=theirs).committed(10)
        eventually(lambda: self.show.cues[0]["name"] == "theirs")
        self.assertIn("was changed by other since", self.undoing.undo(10).reason)
        self.assertEqual(self.show.cues[0]["name"], "theirs")

    def test_a_list_that_was_deleted_and_a_model_that_was_removed_come_back_whole(self) -> None:
        self.show.set(title="Rain").committed(10)
        self.show.shared.delete("cues").committed(10)
        self.assertEqual(self.shown(self.show), [])
        self.assertEqual((self.undoing.undo(10).kind, self.shown(self.show)), ("done", [1, 2, 3, 4]))
        self.show.shared.clear().committed(10)
        self.assertEqual((self.undoing.undo(10).kind, self.shown(self.show), self.show.title),
                         ("done", [1, 2, 3, 4], "Rain"))
        eventually(lambda: self.shown(self.other) == [1, 2, 3, 4] and self.other.title == "Rain")

    def test_several_steps_with_a_list_and_other_fields_are_taken_back_in_turn(self) -> None:
        with self.undoing.group():
            self.show.set(title="Dawn").committed(10)
            self.assign(1, 2, 5, 3, 4)
        self.assign(1, 5, 2, 3, 4)
        self.assertEqual((self.undoing.undo(10).kind, self.shown(self.show)), ("done", [1, 2, 5, 3, 4]))
        self.assertEqual((self.undoing.undo(10).kind, self.shown(self.show), self.show.title),
                         ("done", [1, 2, 3, 4], ""))

    def test_what_was_not_sent_is_taken_back_and_done_again_without_a_hub(self) -> None:
        with Peer("py", hub="ipc:///nonexistent/hub.sock") as peer:
            show = peer.share(Show, "show", timeout=0)
            undoing = show.undoing
            show.cues = cues(1, 2)
            show.cues = cues(2, 1)
            self.assertEqual((undoing.undo(1).kind, self.shown(show)), ("done", [1, 2]))
            self.assertEqual((undoing.undo(1).kind, self.shown(show)), ("done", []))
            for ids in ([1, 2], [2, 1]):
                with self.assertRaises(TimeoutError):
                    undoing.redo(0.01)
                self.assertEqual(self.shown(show), ids)
            peer.close(0)
