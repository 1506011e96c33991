"""Frames: the vectors `wire` and `bad` of the protocol."""
from __future__ import annotations

import random
import struct
import unittest

from bindbus import messages
from bindbus.errors import WireError
from bindbus.grammar import Reader
from tests import vectors


class WireTests(unittest.TestCase):
    def test_a_frame_of_a_hub_is_read_into_its_content(self) -> None:
        count = 0
        for name, vector in vectors.each("wire", "hub to peer"):
            with self.subTest(name):
                frame = bytes.fromhex(vector["hex"])
                read = messages.decode(frame)
                header, body = vector["content"]["header"], vector["content"]["body"]
                self.assertEqual((read.kind, read.topic, read.start), (vector["message"], header["topic"],
                                                                       header["start"]))
                self.assertEqual(vectors.shown("", read.body, body), body)
                if read.kind != "past":  # a peer never writes one
                    out = bytearray()
                    messages.DOWNSTREAM[frame[4]][2].write(out, vectors.meant("", body, read.body))
                    self.assertEqual(out.hex(), frame[9:].hex())
                count += 1
        self.assertGreater(count, 40)

    def test_the_content_of_a_message_to_a_hub_is_written_into_its_frame(self) -> None:
        count = 0
        for name, vector in vectors.each("wire", "peer to hub"):
            with self.subTest(name):
                frame = bytes.fromhex(vector["hex"])
                kind, session, start = struct.unpack_from("<BQI", frame)
                reader = Reader(frame)
                reader.at = 13
                like = messages.UPSTREAM[kind][1].read(reader)
                reader.end()
                header, body = vector["content"]["header"], vector["content"]["body"]
                self.assertEqual((str(session), start), (header["session"], header["start"]))
                self.assertEqual(vectors.shown("", like, body), body)
                written = messages.encode(vector["message"], session, start, vectors.meant("", body, like))
                self.assertEqual(written.hex(), frame.hex())
                count += 1
        self.assertGreater(count, 30)

    def test_a_bad_frame_of_a_hub_is_refused(self) -> None:
        count = 0
        for name, vector in vectors.each("bad", "hub to peer"):
            with self.subTest(name, problem=vector["problem"]):
                with self.assertRaises(WireError):
                    messages.decode(bytes.fromhex(vector["hex"]))
            count += 1
        self.assertGreater(count, 45)

    def test_every_shortened_frame_of_a_hub_is_refused(self) -> None:
        for name, vector in vectors.each("wire", "hub to peer"):
            frame = bytes.fromhex(vector["hex"])
            for length in range(len(frame)):
                with self.subTest(name, length=length), self.assertRaises(WireError):
                    messages.decode(frame[:length])

    def test_any_bytes_are_read_or_refused_and_nothing_else(self) -> None:
        chance = random.Random(5)
        frames = [bytes.fromhex(vector["hex"]) for _, vector in vectors.each("wire", "hub to peer")]
        for _ in range(20_000):
            frame = bytearray(chance.choice(frames))
            for _ in range(chance.randrange(1, 4)):
                frame[chance.randrange(len(frame))] = chance.choice([0, 1, 255, chance.randrange(256)])
            try:
                messages.decode(bytes(frame))
            except WireError:
                pass
