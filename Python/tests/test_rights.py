"""What a hub with rights lets this program do, and how the program learns it."""
from __future__ import annotations

import json
import os
import unittest
from pathlib import Path
from typing import Any, Dict, List

from bindbus import Model, Rights, model, ranged
from tests.simulated_peer import SimulatedPeer, World
from tests.support import HubTestCase, eventually


@model
class Lamp(Model):
    on: bool = False
    level: float = ranged(0.3, 0, 1)


class RightsTests(unittest.TestCase):
    def test_patterns_match_whole_names_and_elements_go_by_their_list(self) -> None:
        rights = Rights(False, False, False, ("lev*", "cues"), ("*",))
        self.assertEqual([rights.may_write(name) for name in ("level", "lev", "alevel", "cues@7", "@description")],
                         [True, True, False, True, False])
        self.assertTrue(rights.may_delete("anything"))
        self.assertFalse(rights.is_read_only)
        self.assertTrue(Rights(True, True, False, (), ()).is_read_only)
        self.assertFalse(Rights(False, False, True, (), ()).is_read_only)


class SessionTests(unittest.TestCase):
    def test_rights_hold_from_the_join_that_they_came_with_and_are_everything_after_one_without(self) -> None:
        world = World(1)
        peer = SimulatedPeer(world, "one", False)
        sync = peer.session.join("m", 0)
        assert world.hub is not None
        world.hub.rights["m"] = {"own": 0, "present": 1, "describe": 0, "write": ["a*"], "delete": []}
        self.assertEqual(sync.rights, Rights())
        world.run(5_000)
        self.assertEqual(sync.rights, Rights(False, True, False, ("a*",), ()))
        world.hub.tell(world.hub.sessions[peer.connection or 0], "rights", {
            "topic": sync.topic, "own": 1, "present": 1, "describe": 1, "write": ["*"], "delete": ["*"]})
        world.run(world.now + 1_000)
        self.assertEqual(sync.rights.write, ("a*",))  # no join was under way
        world.hub.rights.clear()
        peer.cut()
        world.run(world.now + 5_000)
        self.assertEqual(sync.rights, Rights())


class KeyedHubTests(HubTestCase):
    """A hub whose file of rights limits this user."""

    role: Dict[str, Any] = {}

    def setUp(self) -> None:
        self.limit_to({"read": ["*"]})

    def limit_to(self, role: Dict[str, Any]) -> None:
        self.role = role
        super().setUp()

    def start_hub(self) -> None:
        keys = Path(self.folder, "keys")
        self.options = ("--keys", str(keys))
        self.bindhub("keys", "init", "--keys", str(keys))
        access = {"bindbus": "access", "version": 1, "roles": {"role": self.role},
                  "members": {f"uid:{os.geteuid()}": ["role"]}}
        keys.joinpath("access.json").write_text(json.dumps(access))
        keys.joinpath("access.json").chmod(0o600)
        super().start_hub()


class ReadOnlyTests(KeyedHubTests):
    def test_a_program_that_may_only_read_writes_nothing_and_its_status_says_so(self) -> None:
        lamp = self.peer().share(Lamp, "lamp", timeout=10)
        eventually(lambda: lamp.status.is_read_only)
        self.assertEqual(lamp.shared.rights, Rights(False, False, False, (), ()))
        self.assertTrue(lamp.field_status("level").is_read_only)
        self.assertIn("read-only", str(lamp.field_status("level")))
        eventually(lambda: lamp.status.is_current and not lamp.status.unconfirmed)
        self.assertEqual((lamp.status.version, lamp.level), (0, 0.3))
        outcome = lamp.set(level=0.9).outcome(10)
        self.assertEqual((outcome.kind, outcome.code, lamp.level), ("refused", "notPermitted", 0.3))
        self.assertIn("lacks the right write", outcome.text)


class OneFieldTests(KeyedHubTests):
    def setUp(self) -> None:
        self.limit_to({"write": ["lamp.level"], "fanout": True})

    def test_a_program_that_may_write_one_field_describes_nothing_and_writes_that_default(self) -> None:
        lamp = self.peer().share(Lamp, "lamp", timeout=10)
        statuses: List[Any] = []
        lamp.shared.observe_status(statuses.append)
        eventually(lambda: lamp.shared.version("level"))
        self.assertEqual((lamp.status.is_read_only, lamp.field_status("level").is_read_only,
                          lamp.field_status("on").is_read_only), (False, False, True))
        lamp.set(level=0.5).committed(10)
        self.assertEqual((lamp.status.version, list(lamp.shared), lamp.shared.description), (2, ["level"], {}))
        self.assertEqual(lamp.set(on=True).outcome(10).code, "notPermitted")
        self.assertFalse(lamp.on)

    def test_a_model_that_it_may_not_read_is_refused(self) -> None:
        other = self.peer().model("other")
        self.assertFalse(other.wait_current(10))
        self.assertIn("lacks the right read", other.status.refusal)
        self.assertEqual(other.set({"a": 1}).outcome(10).code, "notPermitted")
