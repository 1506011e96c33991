"""Values: the vectors `merge` of the protocol, and Python's values as JSON."""
from __future__ import annotations

import math
import unittest

from bindbus import values
from bindbus.errors import WriteError
from tests import vectors


class ValueTests(unittest.TestCase):
    def test_a_merge_has_the_result_of_the_hub(self) -> None:
        count = 0
        for name, vector in vectors.each("merge"):
            with self.subTest(name):
                field = None if vector["field"] is None else vector["field"].encode()
                result = values.merge(vector["verb"], vector["operand"].encode(), field)
                if "refusal" in vector:
                    self.assertIsNone(result)
                elif vector.get("unchanged"):
                    self.assertEqual(result, field)
                else:
                    self.assertEqual(result, vector["becomes"].encode())
                count += 1
        self.assertGreater(count, 40)

    def test_a_value_survives_json(self) -> None:
        for value in (None, True, 0, -7, 2 ** 53, 2 ** 53 + 1, -2 ** 63, 0.1, 1e300, "é\u2028\"", b"\x00\xff",
                      [1, [2, {}]], {"a": None, "b": [b"x"]}, math.inf, -math.inf):
            with self.subTest(value=value):
                self.assertEqual(values.decode(values.encode(value)), value)
        self.assertTrue(math.isnan(values.decode(values.encode(math.nan))))
        self.assertEqual(values.encode(2 ** 53 + 1), b'{"$int":"9007199254740993"}')

    def test_what_json_cannot_say_is_refused_with_a_cure(self) -> None:
        for value in (object(), {1: 2}, "\ud800", {"a": {1, 2}}):
            with self.subTest(value=repr(value)), self.assertRaises(WriteError):
                values.encode(value)
        deep: object = 0
        for _ in range(129):
            deep = [deep]
        with self.assertRaisesRegex(WriteError, "128 deep; flatten"):
            values.encode(deep)

    def test_text_that_is_not_json_by_the_protocol_is_refused(self) -> None:
        for text in (b"NaN", b"[1,]", b'"\\ud800"', b"01", b"\xff", b"", b"[" * 129 + b"]" * 129):
            with self.subTest(text=text[:20]), self.assertRaises(ValueError):
                values.decode(text)

    def test_malformed_escapes_are_ordinary_objects(self) -> None:
        for text in (b'{"$int":"abc"}', b'{"$int":"01"}', b'{"$int":"-0"}', b'{"$float":"7"}', b'{"$bytes":"!"}'):
            with self.subTest(text=text):
                self.assertIsInstance(values.decode(text), dict)
