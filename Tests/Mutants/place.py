"""Where a mutant is planted."""

from __future__ import annotations

from typing import NamedTuple


class Place(NamedTuple):
    """`put` goes `how` ("before", "after", "instead of") the lines of `text`, which stand in `function` of `file`."""

    file: str
    function: str
    how: str
    text: str
    put: str
