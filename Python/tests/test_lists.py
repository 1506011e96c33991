"""Lists: the vectors `list` of the protocol, and the least steps between two lists."""
from __future__ import annotations

import random
import unittest

from bindbus import lists
from tests import vectors


class ListTests(unittest.TestCase):
    def test_operations_have_the_result_of_the_hub(self) -> None:
        count = 0
        for name, vector in vectors.each("list"):
            with self.subTest(name):
                before = [(id, value) for id, value in vector["list"]]
                steps = [(verb, id, rest[0] if rest else None) for verb, id, *rest in vector["operations"]]
                if "refusal" in vector:
                    self.assertRaises(lists.StepError, lists.apply, before, steps)
                elif "conflict" in vector:
                    with self.assertRaises(lists.StepConflict) as caught:
                        lists.apply(before, steps)
                    self.assertEqual(f"cues@{caught.exception}", vector["conflict"])
                else:
                    after = before if vector.get("unchanged") else [(id, value) for id, value in vector["becomes"]]
                    self.assertEqual(lists.apply(before, steps), after)
                count += 1
        self.assertGreater(count, 25)

    def test_the_steps_between_two_lists_lead_from_one_to_the_other(self) -> None:
        for seed in range(500):
            chance = random.Random(seed)
            old, new = ([(str(id), chance.randrange(3)) for id in chance.sample(range(12), chance.randrange(12))]
                        for _ in range(2))
            steps = lists.difference(old, new)
            with self.subTest(seed=seed, old=old, new=new):
                self.assertEqual(lists.apply(old, steps), new)

    def test_moving_one_element_is_one_step(self) -> None:
        old = [(str(id), id) for id in range(9)]
        self.assertEqual([step[:2] for step in lists.difference(old, old[1:] + old[:1])], [("move", "0")])
