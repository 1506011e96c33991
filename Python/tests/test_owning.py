"""Owning a model, with real hubs: the owner approves or refuses what others write."""
from __future__ import annotations

import signal
import threading
import unittest
from typing import Any, List

from bindbus import ApprovalRequest, Model, Peer, RejectionError, WriteError, model, ranged
from bindbus.owning import answered
from tests.support import HubTestCase, eventually

BODY = {"topic": 0x01000001, "token": 7, "tag": b"\1" * 8, "origin": "panel", "user": "anna",
        "fields": [{"name": "level", "value": b"0.5"}, {"name": "on", "value": None}]}


@model
class Lamp(Model):
    level: float = ranged(0.3, 0, 1)
    on: bool = False


class AnswerTests(unittest.TestCase):
    def test_the_owner_sees_what_would_be_written_and_by_whom(self) -> None:
        seen: List[ApprovalRequest] = []

        def approve(request: ApprovalRequest) -> None:
            seen.append(request)

        self.assertEqual(answered(approve, "lamp", BODY), {"topic": 0x01000001, "token": 7, "accept": 1, "text": ""})
        self.assertEqual(seen, [ApprovalRequest("lamp", {"level": 0.5}, ("on",), "panel", "01" * 8, "anna")])

    def test_a_reason_an_error_and_a_long_text_refuse_it_and_nobody_accepts_it(self) -> None:
        self.assertEqual(answered(lambda _: "not now", "lamp", BODY)["text"], "not now")
        self.assertEqual(answered(lambda _: "", "lamp", BODY)["accept"], 0)

        def fail(request: ApprovalRequest) -> None:
            raise ValueError("turn it on first")

        self.assertEqual((answered(fail, "lamp", BODY)["accept"], answered(fail, "lamp", BODY)["text"]),
                         (0, "turn it on first"))
        self.assertEqual(len(answered(lambda _: "é" * 900, "lamp", BODY)["text"].encode()), 1_000)
        self.assertEqual(answered(None, "lamp", BODY)["accept"], 1)


class OwnerTests(HubTestCase):
    def test_the_owner_approves_and_refuses_what_other_programs_write(self) -> None:
        mine, other = self.peer("owner").model("room"), self.peer("other").model("room")
        with mine.own(lambda request: None if request.changes.get("people", 0) <= 5 else "five at most") as ownership:
            other.set({"people": 3}).committed(10)
            outcome = other.set({"people": 7}).outcome(10)
            self.assertEqual((outcome.kind, outcome.code), ("refused", "refusedByOwner"))
            self.assertIn("five at most", outcome.text)
            mine.set({"people": 9}).committed(10)  # its own writes need no approval
            self.assertTrue(ownership.is_held)
            self.assertEqual(other.owner(10), "owner")
            eventually(lambda: other["people"] == 9)
            self.assertNotIn("five", self.bindpeer("set", "room.people=4"))
        other.set({"people": 8}).committed(10)
        ownership.release()
        self.assertFalse(ownership.is_held)
        self.assertIsNone(other.owner(10))

    def test_a_check_of_a_class_sees_the_model_as_the_write_would_leave_it(self) -> None:
        lamp = self.peer("owner").share(Lamp, "lamp", timeout=10)
        other = self.peer("other").share(Lamp, "lamp", timeout=10)
        eventually(lambda: not lamp.status.unconfirmed and not other.status.unconfirmed)
        seen: List[Any] = []

        def check(new: Lamp, request: ApprovalRequest) -> None:
            seen.append((new.on, new.level, request.writer))
            if not new.on:
                raise ValueError("turn it on first")

        with lamp.validate(check):
            self.assertIn("turn it on first", other.set(level=0.5).outcome(10).text)
            other.set(level=0.5, on=True).committed(10)
        self.assertEqual(seen, [(False, 0.5, "other"), (True, 0.5, "other")])
        eventually(lambda: lamp.level == 0.5)

    def test_a_model_has_one_owner_at_most(self) -> None:
        mine, other = self.peer("owner").model("room"), self.peer("other").model("room")
        ownership = mine.own(lambda _: None)
        with self.assertRaisesRegex(WriteError, "owns room already; release that ownership first"):
            mine.own(lambda _: None)
        with self.assertRaises(RejectionError) as caught:
            other.own(lambda _: None)
        self.assertEqual(caught.exception.outcome.code, "notOwner")
        ownership.release()
        eventually(lambda: other.owner(10) is None)
        with other.own(lambda _: "no"):
            self.assertEqual(mine.set({"a": 1}).outcome(10).code, "refusedByOwner")
        with self.assertRaisesRegex(WriteError, r"own the model with: model.own\(approve\)"):
            mine.ephemeral.set({"@owner": "me"})

    def test_a_silent_owner_loses_the_model_and_comes_back_by_itself(self) -> None:
        mine, other = self.peer("owner").model("room"), self.peer("other").model("room")
        goes_on = threading.Event()
        self.addCleanup(goes_on.set)

        def approve(request: ApprovalRequest) -> None:
            goes_on.wait(20)

        ownership = mine.own(approve)
        self.assertEqual(other.set({"a": 1}).outcome(20).code, "ownerSilent")
        goes_on.set()
        eventually(lambda: ownership.is_held)
        other.set({"a": 2}).committed(20)

    def test_a_model_of_an_owner_that_is_killed_is_nobodys_after_its_lease(self) -> None:
        program = self.program("import threading\n"
                               "from bindbus import Peer\n"
                               "with Peer('short').model('room').own(lambda _: 'never'):\n"
                               "    threading.Event().wait()\n")
        room = self.peer("other").model("room")
        eventually(lambda: room.owner(10) == "short")
        self.assertEqual(room.set({"a": 1}).outcome(20).code, "refusedByOwner")
        program.send_signal(signal.SIGKILL)
        self.assertIn(room.set({"a": 2}).outcome(20).code, ("ownerSilent", ""))
        eventually(lambda: room.owner(10) is None)
        room.set({"a": 3}).committed(20)

    def test_without_a_hub_a_claim_times_out_and_is_given_up(self) -> None:
        with Peer("py", hub="ipc:///nonexistent/hub.sock") as peer:
            room = peer.model("room")
            with self.assertRaises(TimeoutError):
                room.own(lambda _: None, timeout=0.05)
            self.assertIsNone(room.approve)
            peer.close(0)
