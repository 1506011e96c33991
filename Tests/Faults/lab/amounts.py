"""How much hostile traffic a soak sends."""

from __future__ import annotations

from typing import NamedTuple


class Amounts(NamedTuple):
    """What a run sends, and for how long."""

    total: int
    handshakes: int
    quiet_seconds: float
    hostile_seconds: float
    judges_time: bool


SHORT = Amounts(40_000, 2_000, 4.0, 20.0, False)
LONG_SECONDS = 600


def long(seconds: int) -> Amounts:
    """A million frames, connections and requests in ten minutes, as many a second in other times."""
    return Amounts(seconds * 5_000 // 3, seconds * 250 // 3, min(60.0, seconds / 4), float(seconds), True)
