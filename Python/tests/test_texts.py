"""Merges of texts: the vectors `text` of the protocol."""
from __future__ import annotations

import json
import unittest

from bindbus.texts import merge_texts
from tests import vectors


class TextTests(unittest.TestCase):
    def test_two_edits_merge_into_the_text_that_all_peers_show(self) -> None:
        rows = json.loads((vectors.FOLDER / "text" / "merges.json").read_text())
        self.assertGreater(len(rows), 800)
        for row in rows:
            with self.subTest(base=row["base"], first=row["first"], second=row["second"]):
                self.assertEqual(merge_texts(row["base"], row["first"], row["second"]), row["becomes"])
