"""Where a mutant is planted."""

from __future__ import annotations

from typing import NamedTuple


class Place(NamedTuple):
    """Inserts `put` before, after or instead of (`how`) the lines `text` in `function` of `file`."""

    file: str
    function: str
    how: str
    text: str
    put: str
