"""A peer that writes as fast as the hub accepts: flood.py HUB MODEL FIRST COUNT.

It uses the Python peer, which needs pyzmq, and therefore runs in a separate process. It sends proposals in groups; each
is a commit of 1 kB to one of 1,000 fields.
"""

from __future__ import annotations

import json
import struct
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "Examples/python"))

from bindbus import ABSENT, Peer, text, value  # noqa: E402

FIELDS, GROUP, LIMIT_SECONDS = 1_000, 200, 120
FILLING = "0123456789abcdef" * 64


class Flood(Peer):
    def __init__(self, address: str, model: str, first: int, count: int):
        self.first, self.count, self.sent = first, count, 0
        super().__init__(address, model, lambda change: None)
        self.pending = (1, {})  # There is something without outcome until the end, so heartbeats make it ask again.

    def content(self, number: int) -> dict:
        at = self.first + number - 1
        return {f"f{at % FIELDS}": f"{at} {FILLING}"[:1024]} | ({"last": at} if number == self.count else {})

    def propose(self) -> None:
        if not self.current or self.mark >= self.count:
            return
        self.sent = min(self.mark + GROUP, self.count)
        proposals = b""
        for number in range(self.mark + 1, self.sent + 1):
            fields = self.content(number)
            proposals += struct.pack("<IIIIH", self.topic, number, self.mark, 0, len(fields))
            for name, new in fields.items():
                proposals += struct.pack("<BI", 0, ABSENT) + text(name) + value(json.dumps(new).encode())
        self.send(3, struct.pack("<H", self.sent - self.mark) + proposals)

    def settle(self, number: int, **outcome) -> None:
        if outcome.get("outcome") == "refused":
            sys.exit(f"refused: {outcome}")
        self.mark = max(self.mark, number)
        if self.mark >= self.sent:
            self.propose()


def main() -> None:
    address, model, first, count = sys.argv[1:]
    flood = Flood(address, model, int(first), int(count))
    end = time.monotonic() + LIMIT_SECONDS
    while flood.mark < flood.count:
        if time.monotonic() > end:
            sys.exit(f"{flood.mark} of {flood.count} commits in {LIMIT_SECONDS} s")
        flood.run(0.25)


if __name__ == "__main__":
    main()
