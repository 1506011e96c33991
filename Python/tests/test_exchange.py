"""A whole conversation with a new hub: the vector `exchange` of the protocol."""
from __future__ import annotations

import json
import random
import struct
import unittest
from typing import List

from bindbus import messages
from bindbus.connection import DRAFT
from bindbus.grammar import Reader
from bindbus.pending import Operation
from bindbus.session import Session
from tests import vectors


class FixedNumbers(random.Random):
    """Draws the session number of the vector."""

    def randrange(self, *bounds: int) -> int:  # type: ignore[override]
        return 0x8877665544332211


class ExchangeTests(unittest.TestCase):
    def test_a_peer_speaks_as_the_conversation_with_a_new_hub_does(self) -> None:
        script = json.loads((vectors.FOLDER / "exchange" / "first-write.json").read_text())
        session = Session(bytes.fromhex(script["secret"]), "kitchen", 1, 0)
        session.chance = FixedNumbers()
        session.join("lamp", 0)
        session.tick(0)
        session.opened(0)
        now = 0
        sent: List[bytes] = []
        subscribed: List[bytes] = []
        kinds = {kind: name for kind, (name, _) in messages.UPSTREAM.items()}

        def flush() -> None:
            session.flush(now)
            for effect in session.take_effects():
                if effect.do == "send" and kinds[effect.a[0]] != "askHeads":  # the vector leaves it out
                    sent.append(effect.a)
                elif effect.do == "listen":
                    subscribed.extend([b"\0" + struct.pack("<Q", effect.a), b"\1\0\0\0"])
                elif effect.do == "subscribe":
                    subscribed.append(struct.pack(">I", effect.a))

        flush()
        for step in script["steps"]:
            frame = bytes.fromhex(step.get("hex", ""))
            with self.subTest(step["does"], message=step.get("message")):
                if step["does"] in ("hears", "reads"):
                    session.receive(frame, now)
                    flush()
                elif step["does"] == "subscribes":
                    self.assertEqual(subscribed.pop(0).hex(), step["hex"])
                elif step["does"] == "waits":
                    now += step["milliseconds"]
                else:
                    if step["message"] == "propose":
                        session.write("lamp", [Operation("set", "level", b"0.8")], now)
                        flush()
                    elif step["message"] == "leave":
                        session.close(now)
                        flush()
                        sent[:] = [each for each in sent if kinds[each[0]] != "alive"]  # once more, nothing new
                    said = sent.pop(0)
                    if step["message"] == "hello":
                        said, frame = self.without_capabilities(said), self.without_capabilities(frame)
                    self.assertEqual(said.hex(), frame.hex())
        self.assertEqual(session.phase, "stopped")

    def test_the_draft_is_that_of_the_protocol_page(self) -> None:
        self.assertIn(DRAFT, (vectors.FOLDER.parent / "protocol.md").read_text())

    def without_capabilities(self, frame: bytes) -> bytes:
        reader = Reader(frame)
        reader.at = 13
        body = messages.UPSTREAM[1][1].read(reader)
        return messages.encode("hello", struct.unpack_from("<Q", frame, 1)[0], 0, {**body, "capabilities": []})
