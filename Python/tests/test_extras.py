"""Presence, ephemeral fields, the owner, history and barriers, with a real hub."""
from __future__ import annotations

import threading
from typing import Any, List

from bindbus import BarrierError, HistoryError
from bindbus.pending import Operation
from tests.support import HubTestCase, eventually


class ExtrasTests(HubTestCase):
    def test_peers_see_each_other_and_what_they_announce_until_they_leave(self) -> None:
        one, other = self.peer("one"), self.peer("other")
        here = other.model("room")
        mine = one.model("room")
        mine.announce({"page": 3}).committed(10)
        eventually(lambda: [each.name for each in here.presence(10)] in (["one", "other"], ["other", "one"]))
        eventually(lambda: {"page": 3} in [each.announcement for each in here.presence(10)])
        one.close()
        eventually(lambda: [each.name for each in here.presence(10)] == ["other"])

    def test_ephemeral_fields_come_back_after_a_restart_of_the_hub_and_vanish_with_their_peer(self) -> None:
        one, other = self.peer("one"), self.peer("other")
        mine, theirs = one.model("room").ephemeral, other.model("room").ephemeral
        mine.set({"cursor": 7}).committed(10)
        eventually(lambda: theirs.get("cursor") == 7)
        self.assertEqual(theirs.set({"cursor": 8}).outcome(10).code, "notOwner")
        self.kill_hub()
        self.start_hub()
        eventually(lambda: theirs.status.is_current and theirs.get("cursor") == 7)
        self.assertTrue(mine.set({"cursor": 9}).outcome(10).succeeded)
        eventually(lambda: theirs.get("cursor") == 9)
        one.close()
        eventually(lambda: "cursor" not in theirs)

    def test_the_owner_of_a_model_is_read(self) -> None:
        one, other = self.peer("one"), self.peer("other")
        model = other.model("door")
        self.assertIsNone(model.owner(10))
        owned = one.model("door")
        self.assertTrue(owned.wait_current(10) and owned.ephemeral.wait_current(10))
        one._runtime.write(owned.ephemeral.id, [Operation("set", "@owner", b"true")], ["@owner"], {}).committed(10)
        eventually(lambda: model.owner() == "one")
        # It is asked, and accepts what nobody in its program wants to check.
        self.assertEqual(model.set({"open": True}).outcome(10).kind, "committed")
        one.close()
        eventually(lambda: model.owner() is None)

    def test_history_has_earlier_commits_newest_first_over_several_pages(self) -> None:
        model = self.peer("py").model("m")
        for at in range(5):
            model.set({"a": at}).committed(10)
        model.delete("a").committed(10)
        self.bindpeer("set", "m.b=1")
        commits = model.history(100, timeout=10)
        self.assertEqual([commit.changes.get("a") for commit in commits[1:]], [None, 4, 3, 2, 1, 0])
        self.assertEqual((commits[1].deleted, commits[1].writer, commits[0].changes), (("a",), "py", {"b": 1}))
        self.assertEqual([each.version for each in model.history(2, fields=["a"], timeout=10)], [6, 5])
        for at in range(300):
            write = model.set({"long": "x" * 1_000, "at": at})
        write.outcome(20)
        some = model.history(300, fields=["long"], timeout=20)
        self.assertEqual([each.version for each in some], sorted((each.version for each in some), reverse=True))
        with self.assertRaisesRegex(HistoryError, "has no history; read that of its stored model"):
            model.ephemeral.wait_current(10)
            model.ephemeral.history(timeout=10)

    def test_a_barrier_ends_once_the_others_have_applied_a_version(self) -> None:
        one, other = self.peer("one").model("m"), self.peer("other").model("m")
        self.assertTrue(one.wait_current(10) and other.wait_current(10))
        version = one.set({"a": 1}).committed(10)
        end = one.await_applied(version, timeout=10)
        self.assertEqual((end.applied, end.of, other["a"]), (2, 2, 1))
        with self.assertRaisesRegex(BarrierError, "not applied in 0.2 s"):
            one.await_applied(version, count=9, timeout=0.2)

    def test_the_ids_of_models_below_a_prefix_are_listed(self) -> None:
        peer = self.peer()
        for id in ("shop/a", "shop/b", "other"):
            peer.model(id).set({"x": 1}).committed(10)
        self.assertEqual(peer.model_ids("shop/", 10), ["shop/a", "shop/b"])
        self.assertEqual(peer.model_ids("", 10), ["other", "shop/a", "shop/b"])
        peer.model("other").clear().committed(10)
        self.bindpeer("set", "shop/c.x=1")
        eventually(lambda: peer.model_ids("shop/") == ["shop/a", "shop/b", "shop/c"])


class ObserverTests(HubTestCase):
    def test_observers_are_told_on_one_thread_in_order_and_no_more_once_cancelled(self) -> None:
        model = self.peer("one").model("m")
        told: List[Any] = []
        observer = model.observe("a", lambda value: told.append((value, threading.current_thread().name)))
        eventually(lambda: told)
        for at in range(50):
            model.set({"a": at}).committed(10)
        eventually(lambda: told[-1][0] == 49)
        values = [value for value, _ in told[1:]]
        self.assertEqual(values, sorted(set(values)))
        self.assertEqual({name for _, name in told}, {"bindbus-one-observers"})
        observer.cancel()
        count = len(told)
        model.set({"a": 99}).committed(10)
        model.observe("a", lambda value: told.append(("later", "")))
        eventually(lambda: told[-1] == ("later", ""))
        self.assertEqual(len(told), count + 1)

    def test_one_commit_is_told_whole(self) -> None:
        one, other = self.peer("one").model("m"), self.peer("other").model("m")
        told: List[Any] = []
        other.observe_all(told.append)
        for at in range(50):
            one.set({"a": at, "b": -at}).committed(10)
        eventually(lambda: told and told[-1] == {"a": 49, "b": -49})
        self.assertTrue(all(not each or each["a"] == -each["b"] for each in told))

    def test_an_observer_that_raises_does_not_silence_the_others(self) -> None:
        model = self.peer("one").model("m")
        told: List[Any] = []

        def fail(value: Any) -> None:
            raise RuntimeError("a fault of the program")

        with self.assertLogs("bindbus", "ERROR"):
            model.observe("a", fail)
            model.observe("a", told.append)
            model.set({"a": 1}).committed(10)
            eventually(lambda: 1 in told)

    def test_two_programs_that_answer_each_other_without_end_are_stopped(self) -> None:
        one, other = self.peer("one").model("m"), self.peer("other").model("m")
        ends: List[str] = []

        def answer(model: Any, name: str) -> Any:
            def receive(value: Any) -> None:
                if value is not None:
                    try:
                        model.set({name: value + 1}).when_settled(
                            lambda outcome: ends.append(outcome.code) if outcome.kind == "refused" else None)
                    except ValueError as error:
                        ends.append(str(error))
            return receive

        one.observe("ping", answer(one, "pong"))
        other.observe("pong", answer(other, "ping"))
        one.set({"ping": 0})
        eventually(lambda: ends, "the chain is refused")
        self.assertIn("answer each other", ends[0])
