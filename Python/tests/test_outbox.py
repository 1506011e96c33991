"""The file of an outbox: torn ends, damage, and who may have it."""
from __future__ import annotations

import os
import tempfile
import unittest
from typing import Any, Dict

from bindbus.errors import OutboxError
from bindbus.outbox import Outbox


def written(id: int, number: int = 0) -> Dict[str, Any]:
    return {"kind": "numbered" if number else "written", "write": id, "model": "m", "number": number, "hops": 0,
            "rules": {}, "offline": {}, "epoch": 5, "second": False, "operations": [["set", "a", "1"]],
            "conditions": [], "seen": {"a": [None, 5, 0, False, None]}}


class OutboxTests(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="py-")
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "outbox")

    def open(self) -> Outbox:
        outbox = Outbox(self.path)
        self.addCleanup(outbox.close)
        return outbox

    def filled(self) -> bytes:
        outbox = self.open()
        secret = outbox.begin("kiosk")
        for record in (written(1), written(1, number=1), written(2), {"kind": "welcomed", "log": 1, "epoch": 5},
                       {"kind": "decided", "write": 1, "outcome": "committed"}, {"kind": "withdrawn", "write": 2}):
            outbox.append(record)
        outbox.sync()
        outbox.close()
        return secret

    def test_unfinished_writes_go_on_under_the_identity_and_numbers_that_made_them(self) -> None:
        secret = self.filled()
        outbox = self.open()
        self.assertEqual(outbox.begin("kiosk"), secret)
        left = outbox.kept.unfinished(0, 1 << 60)
        self.assertEqual([(each.id, each.number, each.is_void, each.is_old) for each in left], [(2, 0, True, True)])
        self.assertEqual((outbox.kept.last_numbers, outbox.kept.last_write, outbox.kept.epoch), ({"m": 1}, 2, 5))

    def test_a_finished_outbox_begins_under_a_new_identity(self) -> None:
        secret = self.filled()
        outbox = self.open()
        outbox.append({"kind": "decided", "write": 2, "outcome": "expired"})
        self.assertNotEqual(outbox.begin("kiosk"), secret)
        self.assertEqual(outbox.kept.last_numbers, {})

    def test_a_torn_end_is_cut_off_wherever_it_tears(self) -> None:
        self.filled()
        with open(self.path, "rb") as file:
            whole = file.read()
        last = whole.rstrip(b"\n").rindex(b"\n") + 1
        for length in range(last, len(whole)):
            with open(self.path, "wb") as file:
                file.write(whole[:length])
            outbox = Outbox(self.path)
            self.assertEqual([each.is_void for each in outbox.kept.unfinished(0, 0)], [False])
            outbox.close()

    def test_damage_in_the_middle_is_refused_with_the_cure(self) -> None:
        self.filled()
        with open(self.path, "r+b") as file:
            file.seek(40)
            file.write(b"#")
        with self.assertRaisesRegex(OutboxError, "damaged at line 1, .* move it away"):
            Outbox(self.path)

    def test_one_process_at_a_time_has_the_file(self) -> None:
        self.open()
        with self.assertRaisesRegex(OutboxError, "in use by another process; give each peer a file of its own"):
            Outbox(self.path)

    def test_a_file_that_cannot_be_used_is_refused_with_the_cure(self) -> None:
        with self.assertRaisesRegex(OutboxError, "choose another folder"):
            Outbox("/proc/nothing/outbox")

    def test_the_file_is_rewritten_when_its_history_is_long(self) -> None:
        outbox = self.open()
        outbox.begin("kiosk")
        for id in range(1, 3_000):
            outbox.append(written(id))
            outbox.append({"kind": "decided", "write": id, "outcome": "committed"})
        self.assertLess(os.path.getsize(self.path), 300_000)
        self.assertEqual(os.stat(self.path).st_mode & 0o777, 0o600)
