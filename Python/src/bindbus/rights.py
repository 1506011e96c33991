"""What a hub lets this program do in a model (protocol, 15.5). For people and forms: the hub decides each write."""
from __future__ import annotations

import fnmatch
from dataclasses import dataclass
from typing import Tuple

from .grammar import Body
from .names import DESCRIPTION


@dataclass(frozen=True)
class Rights:
    """What this program may do in a model: `own` it, be `present` with announcements and ephemeral fields, `describe`
    it, and `write` and `delete` the fields that these patterns match, in which `*` stands for any characters."""

    own: bool = True
    present: bool = True
    describe: bool = True
    write: Tuple[str, ...] = ("*",)
    delete: Tuple[str, ...] = ("*",)

    def may_write(self, field: str) -> bool:
        """Whether it may write a field, by its stored name. An element goes by its list."""
        return self.describe if field == DESCRIPTION else _matches(self.write, field)

    def may_delete(self, field: str) -> bool:
        """Whether it may delete a field, by its stored name."""
        return self.describe if field == DESCRIPTION else _matches(self.delete, field)

    @property
    def is_read_only(self) -> bool:
        """Whether it may change nothing that is stored."""
        return not (self.write or self.delete or self.describe)


def rights_of(body: Body) -> Rights:
    """The rights that a message names."""
    return Rights(bool(body["own"]), bool(body["present"]), bool(body["describe"]), tuple(body["write"]),
                  tuple(body["delete"]))


def _matches(patterns: Tuple[str, ...], field: str) -> bool:
    whole = field.partition("@")[0]
    return any(fnmatch.fnmatchcase(whole, pattern) for pattern in patterns)
