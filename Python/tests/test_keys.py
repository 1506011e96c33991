"""Hubs with keys: what `bindpeer join` has saved is read, connections are encrypted, and keys may change."""
from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any, Dict, Optional
from unittest import mock

import zmq

from bindbus import BindbusError, KeysError, Peer
from bindbus.known_hubs import known_hub, update
from bindbus.route import HubRoute
from tests.support import DEADLINE, HubTestCase, binary, eventually


class KeyedUsers(HubTestCase):
    """A hub with keys on a free port, and users of different machines, each with a configuration folder of its own."""

    def start_hub(self) -> None:
        self.guest, self.host = Path(self.folder, "guest"), Path(self.folder, "host")
        self.run_as(self.host, "bindhub", "keys", "init")
        self.serve()
        environment = {"XDG_CONFIG_HOME": str(self.guest), "BINDPEER_HUB": ""}
        patch = mock.patch.dict(os.environ, environment)
        patch.start()
        self.addCleanup(patch.stop)

    def serve(self, port: int = 0) -> None:
        arguments = [binary("bindhub"), "serve", "--store", f"{self.folder}/store.sqlite", "--name", "shop",
                     "--listen", f"tcp://127.0.0.1:{port}", "--heartbeat", "250"]
        self.hub = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                    env={**self.environment, "XDG_CONFIG_HOME": str(self.host)})
        assert self.hub.stdout is not None
        line = self.hub.stdout.readline()
        self.assertIn("listening tcp://", line)
        self.port = int(re.findall(r":(\d+)", line)[0])

    def run_as(self, user: Path, program: str, *arguments: str, code: int = 0) -> str:
        done = subprocess.run([binary(program), *arguments], capture_output=True, text=True, timeout=DEADLINE,
                              env={**self.environment, "XDG_CONFIG_HOME": str(user), "BINDPEER_HUB": ""})
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout

    def join(self, name: str = "anna") -> None:
        file = Path(self.folder, f"invitation-{name}")
        file.write_text(self.run_as(self.host, "bindhub", "invite", name).split("\n")[0])
        self.run_as(self.guest, "bindpeer", "join", str(file))

    def named(self, hub: str = "shop") -> Peer:
        peer = Peer("py", hub=hub)
        self.addCleanup(peer.close, 0)
        return peer


class JoinedHubTests(KeyedUsers):
    def test_a_joined_hub_is_reached_by_its_name_and_knows_who_wrote(self) -> None:
        self.join()
        peer = self.named()
        lamp = peer.model("lamp")
        lamp.set({"level": 0.5}).committed(10)
        self.assertEqual(peer.status.hub, f"tcp://127.0.0.1:{self.port}")
        read = self.run_as(self.guest, "bindpeer", "--hub", "shop", "get", "lamp.level", "--meta")
        self.assertRegex(read, r"0\.5 .* by py-.* \(anna\)")
        self.assertEqual(lamp.history(1)[0].user, "anna")
        self.assertNotIn(known_hub("shop").secret, repr(known_hub("shop")) + repr(peer))

    def test_the_environment_names_it_too(self) -> None:
        self.join()
        with mock.patch.dict(os.environ, {"BINDPEER_HUB": "shop"}), Peer("py") as peer:
            self.assertTrue(peer.wait_live(10))

    def test_who_has_no_key_is_told_how_to_get_one(self) -> None:
        peer = self.named(f"tcp://127.0.0.1:{self.port}")
        eventually(lambda: "get an invitation and use it: bindpeer join" in peer.status.reason)
        self.assertNotEqual(peer.status.phase, "live")
        with self.assertRaisesRegex(KeysError, "no hub 'shop' is known here; get an invitation"):
            self.named()
        self.join()
        with self.assertRaisesRegex(KeysError, "no hub 'shopp' is known here, only shop; get an invitation"):
            self.named("shopp")

    def test_a_revoked_member_loses_the_hub_and_is_told_why(self) -> None:
        self.join()
        peer = self.named()
        self.assertTrue(peer.wait_live(10))
        self.run_as(self.host, "bindhub", "revoke", "anna")
        eventually(lambda: "it was revoked, or kicked for a time" in peer.status.reason)

    def test_a_hub_with_another_key_is_not_trusted(self) -> None:
        self.join()
        path = self.guest / "bindbus" / "hubs" / "shop.json"
        known = json.loads(path.read_text())
        path.write_text(json.dumps({**known, "key": zmq.curve_keypair()[0].decode()}))
        peer = self.named()
        eventually(lambda: "if its key has changed: bindpeer trust shop KEY" in peer.status.reason)
        path.write_text(json.dumps(known))  # as bindpeer trust does; read again for each connection
        self.assertTrue(peer.wait_live(10))

    def test_the_hubs_next_key_is_learned_saved_and_used_after_the_change(self) -> None:
        self.join()
        peer = self.named()
        lamp = peer.model("lamp")
        lamp.set({"level": 0.5}).committed(10)
        before = known_hub("shop")
        self.run_as(self.host, "bindhub", "keys", "rotate")
        eventually(lambda: known_hub("shop").next_key)
        following = known_hub("shop").next_key
        self.assertEqual(known_hub("shop").hub_key, before.hub_key)
        self.kill_hub()
        self.run_as(self.host, "bindhub", "keys", "rotate", "--now")
        self.serve(self.port)
        eventually(lambda: peer.status.phase == "live" and known_hub("shop").hub_key == following)
        lamp.set({"level": 0.75}).committed(10)
        self.assertIsNone(known_hub("shop").next_key)

    def test_this_users_own_key_may_change_while_a_program_runs(self) -> None:
        self.join()
        peer = self.named()
        lamp = peer.model("lamp")
        lamp.set({"level": 0.5}).committed(10)
        before = known_hub("shop").public
        self.run_as(self.guest, "bindpeer", "rotate", "shop")
        self.assertNotEqual(known_hub("shop").public, before)
        lamp.set({"level": 0.75}).committed(20)


class FileTests(unittest.TestCase):
    """Files of hubs that are not as they should be."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="py-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        public, secret = (each.decode() for each in zmq.curve_keypair())
        self.hub_key = zmq.curve_keypair()[0].decode()
        self.key = {"bindbus": "key", "version": 1, "of": "peer", "public": public, "secret": secret}
        self.json = {"bindbus": "hub", "version": 1, "key": self.hub_key, "addresses": ["tcp://h:7877"]}
        self.write(self.json, self.key)

    def write(self, hub: Optional[Dict[str, Any]] = None, key: Optional[Dict[str, Any]] = None) -> None:
        for name, content in (("shop.json", hub), ("shop.key", key)):
            if content is not None:
                Path(self.folder, name).write_text(json.dumps(content))
                Path(self.folder, name).chmod(0o600)

    def test_a_secret_that_others_can_read_is_refused_with_the_cure(self) -> None:
        Path(self.folder, "shop.key").chmod(0o640)
        with self.assertRaisesRegex(KeysError, "shop.key can be read by other users; .* replace it"):
            known_hub("shop", self.folder)
        Path(self.folder, "shop.key").chmod(0o600)
        Path(self.folder, "shop.json").chmod(0o666)
        with self.assertRaisesRegex(KeysError, "shop.json can be changed by other users"):
            known_hub("shop", self.folder)
        Path(self.folder, "shop.json").chmod(0o644)
        self.assertEqual(known_hub("shop", self.folder).hub_key, self.hub_key)

    def test_a_file_that_is_not_what_it_should_be_is_refused_with_the_cure(self) -> None:
        for hub, key, words in (
                ({"bindbus": "odd"}, None, "no complete file of a hub"),
                ({"version": 2}, None, "update this package"),
                ({"key": "short"}, None, "does not name the hub's key"), ({"key": 7}, None, "does not name the hub's"),
                ({"addresses": []}, None, "names no address"),
                ({"addresses": ["x"]}, None, "address that is none: 'x'"),
                ({"addresses": 3}, None, "address that is none: 3"), ({"others": [1]}, None, "address that is none: 1"),
                ({}, {"of": "hub"}, "no key of a peer"), ({}, {"secret": "x"}, "no key of a peer"),
                ({}, {"bindbus": "hub"}, "no complete file of a key"),
                ({}, {"public": self.hub_key}, "does not belong")):
            with self.subTest(words):
                self.write({**self.json, **hub}, {**self.key, **(key or {})})
                with self.assertRaises(KeysError) as caught:
                    known_hub("shop", self.folder)
                self.assertIn(words, str(caught.exception))
        Path(self.folder, "shop.json").write_text("{torn")
        with self.assertRaisesRegex(KeysError, "join the hub again: bindpeer join"):
            known_hub("shop", self.folder)
        Path(self.folder, "shop.key").unlink()
        self.write(self.json)
        with self.assertRaisesRegex(KeysError, "there is no key at"):
            known_hub("shop", self.folder)

    def test_names_that_cannot_be_and_addresses_that_are_none_are_refused_with_the_cure(self) -> None:
        for name in ("a b", "-shop", "x" * 65, ".."):
            with self.subTest(name), self.assertRaisesRegex(BindbusError, "no name of a hub: write ipc://"):
                known_hub(name, self.folder)
        for text in ("", "tcp://h", "ipc://", "tcp://a:1,b"):
            with self.subTest(text), self.assertRaises(BindbusError):
                HubRoute.to(text)

    def test_what_a_hub_tells_of_its_keys_counts_on_a_connection_of_a_key_that_is_trusted(self) -> None:
        hub, second, third = known_hub("shop", self.folder), *(zmq.curve_keypair()[0].decode() for _ in range(2))
        told = hub.learned_keys(self.hub_key, self.hub_key, second)
        self.assertEqual((told.hub_key, told.next_key, told.hub_keys), (self.hub_key, second, [self.hub_key, second]))
        changed = told.learned_keys(second, second, None)
        self.assertEqual(changed.hub_keys, [second])
        self.assertEqual(changed.learned_keys(self.hub_key, third, None), changed)  # an old key proves nothing more
        self.assertIsNone(hub.learned_keys(self.hub_key, self.hub_key, self.hub_key).next_key)
        update("shop", lambda known: known.learned_keys(self.hub_key, self.hub_key, second), self.folder)
        self.assertEqual(known_hub("shop", self.folder).next_key, second)
        self.assertEqual(Path(self.folder, "shop.json").stat().st_mode & 0o777, 0o600)

    def test_where_the_other_hubs_are_is_saved_for_a_later_process(self) -> None:
        hub, told = known_hub("shop", self.folder), ["tcp://b:1", "ipc:///x", "tcp://h:7877"]
        self.assertEqual(hub.learned_hubs(told, "tcp://h:7877").others, ("tcp://b:1",))
        update("shop", lambda known: known.learned_hubs(told, "tcp://c:1"), self.folder)
        known = known_hub("shop", self.folder)
        self.assertEqual(known.others, ("tcp://c:1", "tcp://b:1"))
        self.assertIs(known.learned_hubs(["tcp://c:1"], "tcp://b:1"), known)  # the same, in another order
        pool = HubRoute(["tcp://h:7877"], known).pool
        self.assertEqual((pool.addresses, pool.has_several), (["tcp://h:7877", "tcp://c:1", "tcp://b:1"], False))

    def test_both_keys_are_tried_once_at_an_address(self) -> None:
        known = known_hub("shop", self.folder).learned_keys(self.hub_key, self.hub_key, "n" * 40)
        route = HubRoute(["tcp://h:1"], known)
        proven = [(route.options("tcp://h:1") or [b""])[0]]
        self.assertTrue(route.try_other_key())
        proven.append((route.options("tcp://h:1") or [b""])[0])
        self.assertEqual((proven, route.try_other_key()), ([self.hub_key.encode(), b"n" * 40], False))
        self.assertIsNone(route.options("ipc:///s"))
        self.assertIsNone(HubRoute.to("tcp://h:1").options("tcp://h:1"))
        self.assertFalse(HubRoute.to("tcp://h:1").try_other_key())
