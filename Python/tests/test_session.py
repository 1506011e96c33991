"""The session alone, with an honest hub and no faults but those that a test makes."""
from __future__ import annotations

import unittest
from typing import Dict, List, Optional, Tuple

from bindbus import values
from bindbus.outcomes import Outcome
from bindbus.pending import Operation
from tests.simulated_peer import SimulatedPeer, World


class SessionTests(unittest.TestCase):
    def setUp(self) -> None:
        self.world = World(1)
        self.one, self.other = (SimulatedPeer(self.world, name, False) for name in ("one", "other"))
        for peer in (self.one, self.other):
            peer.session.join("m", 0)
        self.world.run(5_000)

    def write(self, peer: SimulatedPeer, field: str, value: object, rule: str = "", offline: str = "",
              verb: str = "set") -> int:
        operation = Operation(verb, field, values.encode(value) if verb != "delete" else None)
        rules, late = ({field: rule} if rule else {}), ({field: offline} if offline else {})
        found: int = peer.turn(lambda: peer.session.write("m", [operation], self.world.now, (), rules, late))
        return found

    def run_for(self, milliseconds: int) -> None:
        self.world.run(self.world.now + milliseconds)

    def outcome(self, peer: SimulatedPeer, write: int) -> Optional[Outcome]:
        return peer.outcomes.get((peer.session.secret, write))

    def kind(self, peer: SimulatedPeer, write: int) -> str:
        outcome = self.outcome(peer, write)
        return outcome.kind if outcome else ""

    def shown(self, peer: SimulatedPeer, field: str) -> object:
        text = peer.session.models["m"].writes.shown(field)
        return None if text is None else values.decode(text)

    def offline(self, milliseconds: int, value: object, other: object, **options: str) -> int:
        """The first peer writes without a hub, the other one with it, and the first comes back later."""
        self.write(self.one, "a", "before")
        self.run_for(2_000)
        self.one.connection, self.one.session.pause = None, 50
        self.world.peers.remove(self.one)
        hub, self.world.hub = self.world.hub, None
        self.one.turn(lambda: self.one.session.lost(self.world.now))
        write = self.write(self.one, "a", value, **options)
        self.world.run(self.world.now)
        self.world.hub = hub
        blocked, self.one.on_open = self.one.on_open, lambda effect: None  # type: ignore[method-assign]
        self.run_for(10)
        self.write(self.other, "a", other)
        self.run_for(milliseconds)
        self.one.on_open = blocked  # type: ignore[method-assign]
        self.world.peers.append(self.one)
        self.one.turn(lambda: self.one.session.reopen("again", self.world.now))
        self.run_for(8_000)
        return write

    def test_a_young_offline_set_overwrites_an_old_one_yields(self) -> None:
        self.assertEqual(self.kind(self.one, self.offline(2_000, "mine", "theirs")), "committed")
        write = self.offline(12_000, "mine", "theirs")
        self.assertEqual((self.kind(self.one, write), self.shown(self.one, "a")), ("conflict", "theirs"))

    def test_an_old_offline_set_wins_or_is_dropped_as_its_field_says(self) -> None:
        write = self.offline(12_000, "mine", "theirs", offline="wins")
        self.assertEqual((self.kind(self.one, write), self.shown(self.other, "a")), ("committed", "mine"))
        write = self.offline(12_000, "mine", "theirs", offline="drops")
        self.assertEqual((self.kind(self.one, write), self.shown(self.one, "a")), ("expired", "theirs"))

    def test_compare_and_set_is_a_conflict_if_others_wrote_at_any_time(self) -> None:
        write = self.offline(100, "mine", "theirs", rule="compare")
        outcome = self.outcome(self.one, write)
        self.assertEqual(outcome and (outcome.kind, outcome.value, outcome.writer), ("conflict", "theirs", "other"))

    def test_both_words_of_a_text_survive(self) -> None:
        write = self.offline(12_000, "before one", "two before", rule="text")
        self.assertEqual((self.kind(self.one, write), self.shown(self.other, "a")), ("committed", "two before one"))

    def test_a_merge_function_decides_what_two_values_become(self) -> None:
        self.one.merge = lambda texts: values.encode("+".join(values.decode(text) for text in texts))
        write = self.offline(100, "mine", "theirs", rule="merge")
        self.assertEqual((self.kind(self.one, write), self.shown(self.other, "a")), ("committed", "before+mine+theirs"))
        self.one.merge = lambda texts: None
        self.assertEqual(self.kind(self.one, self.offline(100, "mine", "theirs", rule="merge")), "conflict")

    def test_unsent_sets_of_one_field_supersede_each_other(self) -> None:
        self.world.kill_hub()
        writes = [self.write(self.one, "a", at) for at in range(5)]
        self.world.start_hub()
        self.run_for(8_000)
        self.assertEqual([self.kind(self.one, write) for write in writes], ["superseded"] * 4 + ["committed"])

    def test_a_pending_set_is_not_moved_by_others_and_does_not_flicker(self) -> None:
        write = self.write(self.one, "a", "mine")
        shown: List[object] = []
        for _ in range(3_000):
            self.run_for(1)
            shown.append(self.shown(self.one, "a"))
        self.assertEqual((set(shown), self.kind(self.one, write)), ({"mine"}, "committed"))

    def test_a_refused_write_falls_back_to_the_committed_value(self) -> None:
        self.write(self.other, "a", "text")
        self.run_for(2_000)
        write = self.write(self.one, "a", 1, verb="add")
        self.run_for(2_000)
        outcome = self.outcome(self.one, write)
        self.assertEqual(outcome and (outcome.kind, outcome.code), ("refused", "notANumber"))
        self.assertEqual(self.shown(self.one, "a"), "text")

    def test_a_withdrawn_write_that_was_lost_is_not_applied(self) -> None:
        self.world.loss = 1
        write = self.write(self.one, "a", "mine")
        self.world.loss = 0
        self.one.turn(lambda: self.one.session.withdraw(write))
        self.run_for(5_000)
        self.assertEqual((self.kind(self.one, write), self.shown(self.other, "a")), ("expired", None))

    def test_a_lost_number_makes_the_hub_ask_for_it_and_all_arrive_in_order(self) -> None:
        self.world.loss = 1
        writes = [self.write(self.one, "a", 0)]
        self.world.loss = 0
        writes += [self.write(self.one, f"b{at}", at) for at in range(5)]
        self.run_for(500)
        versions = [outcome.version for outcome in (self.outcome(self.one, write) for write in writes) if outcome]
        self.assertEqual(versions, [1, 2, 3, 4, 5, 6])

    def test_a_hub_that_forgot_the_peer_gets_plain_sets_on_condition_and_nothing_twice(self) -> None:
        self.write(self.one, "a", "first")
        self.run_for(2_000)
        self.world.loss = 1
        kept, counted = self.write(self.one, "b", "set"), self.write(self.one, "count", 1, verb="add")
        self.world.loss = 0
        self.world.kill_hub()
        self.one.session.first_number = {"now": self.world.now - 604_800_000, "hub": 0}
        tag = self.one.session.context.tag
        self.world.store.known.discard(tag)
        self.world.store.models["m"].marks.pop(tag, None)
        self.world.start_hub()
        self.run_for(8_000)
        self.assertEqual((self.kind(self.one, kept), self.kind(self.one, counted)), ("committed", "unknown"))

    def restored(self) -> Tuple[SimulatedPeer, int]:
        """A peer whose write was decided, and whose outcome another process with a copy of its outbox has confirmed."""
        peer = SimulatedPeer(self.world, "kiosk", True)
        peer.session.join("m", self.world.now)
        self.run_for(5_000)
        self.world.loss = 1
        write = self.write(peer, "a", "mine")
        self.world.loss = 0
        self.world.store.models["m"].marks[peer.session.context.tag] = 1
        peer.crash()
        return peer, write

    def test_a_restored_write_that_the_hub_answers_no_more_ends_as_unknown_after_six_heartbeats(self) -> None:
        peer, write = self.restored()
        self.run_for(5_500)
        self.assertIsNone(self.outcome(peer, write))
        self.run_for(4_000)
        outcome = self.outcome(peer, write)
        self.assertEqual(outcome and outcome.text, "it was decided, and another process has its outcome")

    def test_a_restored_write_that_the_hub_defers_waits_until_it_may_be_sent_again(self) -> None:
        peer, write = self.restored()
        self.run_for(3_000)
        hub, topic = self.world.hub, peer.session.models["m"].topic
        assert hub is not None and peer.connection is not None
        hub.tell(hub.sessions[peer.connection], "outcomes", {"epoch": self.world.store.epoch, "outcomes": [
            {"topic": topic, "number": 1, "kind": 7, "code": 1, "pauseMs": 20_000}]})
        self.run_for(20_000)
        self.assertIsNone(self.outcome(peer, write))
        self.run_for(10_000)
        self.assertEqual(self.kind(peer, write), "unknown")

    def test_another_log_ends_writes_as_unknown_and_starts_replicas_over(self) -> None:
        self.write(self.one, "a", "old")
        self.run_for(2_000)
        self.world.kill_hub()
        write = self.write(self.one, "a", "pending")
        self.world.store.models.clear()
        self.world.store.log, self.world.store.epoch = 0x20, 0x300000001
        self.world.start_hub()
        self.run_for(8_000)
        self.assertEqual((self.kind(self.one, write), self.shown(self.one, "a")), ("unknown", None))
        after = self.write(self.one, "a", "new")
        self.run_for(2_000)
        self.assertEqual((self.kind(self.one, after), self.shown(self.other, "a")), ("committed", "new"))

    def test_a_missing_last_commit_is_found_by_the_heads(self) -> None:
        topics: Dict[SimulatedPeer, List[bytes]] = {self.other: list(self.other.topics)}
        self.other.topics[:] = [topic for topic in self.other.topics if topic[3] == 0]
        self.write(self.one, "a", "unseen")
        self.run_for(100)
        self.assertIsNone(self.shown(self.other, "a"))
        self.other.topics[:] = topics[self.other]
        self.run_for(12_000)
        self.assertEqual(self.shown(self.other, "a"), "unseen")

    def test_a_replica_that_differs_at_the_same_version_is_fetched_again(self) -> None:
        self.write(self.one, "a", "right")
        self.run_for(5_000)
        sync = self.other.session.models["m"]
        sync.replica.commit("a", sync.replica.fields["a"]._replace(value=b'"wrong"'))
        self.run_for(12_000)
        self.assertEqual(self.shown(self.other, "a"), "right")
        self.assertEqual(sync.healed, 1)
