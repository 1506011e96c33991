"""Which of several hubs a peer tries next."""
from __future__ import annotations

import random
import unittest
from collections import Counter
from typing import Any, List

from bindbus.pool import HubPool

HUBS = [f"tcp://10.0.0.{at}:7877" for at in range(1, 4)]


class PoolTests(unittest.TestCase):
    def setUp(self) -> None:
        self.chance = random.Random(1)

    def begun(self, addresses: List[str] = HUBS, **options: Any) -> HubPool:
        pool = HubPool(addresses, **options)
        pool.begin(self.chance)
        return pool

    def test_peers_begin_at_hubs_and_leave_a_lost_one_so_that_each_has_its_share(self) -> None:
        pools = [self.begun() for _ in range(600)]
        for count in Counter(pool.current for pool in pools).values():
            self.assertTrue(130 < count < 270, count)
        lost = [pool for pool in pools if pool.current == HUBS[0]]
        self.assertFalse(any(pool.leave(False, self.chance) for pool in lost))
        found = Counter(pool.current for pool in lost)
        self.assertEqual(set(found), set(HUBS[1:]))
        self.assertTrue(all(count > len(lost) / 3 for count in found.values()), found)

    def test_a_round_tries_each_hub_once_without_a_pause_and_the_next_one_begins_after_one(self) -> None:
        pool = self.begun()
        tried, pauses = [pool.current], []
        for _ in range(6):
            pauses.append(pool.fail(False, self.chance))
            tried.append(pool.current)
        self.assertEqual((set(tried[:3]), set(tried[3:6])), (set(HUBS), set(HUBS)))
        self.assertEqual(pauses, [False, False, True, False, False, True])

    def test_one_hub_is_tried_again_after_a_pause_each_time(self) -> None:
        for pool in (self.begun(HUBS[:1]), self.begun([])):
            self.assertTrue(pool.fail(False, self.chance) and pool.leave(False, self.chance))
            self.assertFalse(pool.has_several)

    def test_the_addresses_of_one_hub_are_tried_in_their_order(self) -> None:
        pool = self.begun(of_one_hub=True)
        tried = [pool.current]
        for _ in range(3):
            pool.fail(False, self.chance)
            tried.append(pool.current)
        self.assertEqual((tried, pool.has_several), ([*HUBS, HUBS[0]], False))

    def test_what_a_hub_names_is_learned_without_itself_and_repeats_and_the_next_list_takes_its_place(self) -> None:
        pool = self.begun(HUBS[:1])
        pool.learn([HUBS[0], HUBS[1], HUBS[1], HUBS[2]], True)
        self.assertEqual((pool.named, pool.has_several), (HUBS[1:], True))
        pool.learn([HUBS[2]], True)
        self.assertEqual(pool.named, HUBS[2:])
        pool.learn([HUBS[1]], False)  # one that refuses this peer only adds
        self.assertEqual(pool.named, [HUBS[2], HUBS[1]])
        for at in range(100):
            pool.learn([f"tcp://10.1.0.{at}:7877"], False)
        self.assertEqual(len(pool.named), 32)

    def test_a_hub_with_keys_leads_to_no_address_where_nothing_proves_which_hub_answers(self) -> None:
        pool = self.begun(HUBS[:1], has_keys=True)
        pool.learn(["ipc:///tmp/s", HUBS[1]], True)
        self.assertEqual(pool.named, [HUBS[1]])

    def test_a_hub_that_closes_is_left_for_one_that_it_has_named(self) -> None:
        for _ in range(20):
            pool = self.begun(HUBS[:2])
            pool.learn(HUBS[2:], True)
            self.assertFalse(pool.leave(True, self.chance))
            self.assertEqual(pool.current, HUBS[2])

    def test_remembered_hubs_are_tried_where_the_named_one_fails_and_are_no_choice_before_a_hub_tells(self) -> None:
        for _ in range(10):
            pool = self.begun(HUBS[:1], of_one_hub=True, has_keys=True, remembered=HUBS[1:])
            self.assertEqual((pool.current, pool.has_several), (HUBS[0], False))
            self.assertFalse(pool.fail(False, self.chance))
            self.assertIn(pool.current, HUBS[1:])

    def test_a_chain_of_hubs_that_each_name_another_one_ends_in_a_pause(self) -> None:
        pool, steps = self.begun(HUBS[:1]), 0
        pool.learn(["tcp://10.1.0.0:7877"], True)
        while not pool.fail(True, self.chance):
            steps += 1
            pool.learn([f"tcp://10.1.0.{steps}:7877"], True)
            self.assertLess(steps, 70)
        self.assertGreater(steps, 30)

    def test_a_hub_of_another_log_is_a_stranger_until_all_have_that_log(self) -> None:
        pool = self.begun(HUBS[:2])
        first = pool.current
        self.assertEqual(pool.compare(1, 2), (False, True))
        self.assertIn(f"the hub at {first} has the log 2, and this peer's is 1", pool.misfit)
        self.assertEqual(pool.compare(1, 2), (False, False))  # news once
        pool.fail(False, self.chance)
        self.assertEqual(pool.compare(1, 2), (True, True))
        pool.accept()
        self.assertEqual(pool.misfit, "")
        self.assertEqual(self.begun(HUBS[:1]).compare(1, 2), (True, True))
