"""What a simulated hub keeps: the logs of its models."""
from __future__ import annotations

import struct
from typing import Dict, List, NamedTuple, Optional, Set, Tuple

from bindbus.described import Described
from bindbus.expiry import Expiry, limits_of
from bindbus.grammar import Body
from bindbus.replica import fnv1a


class Stored(NamedTuple):
    value: Optional[bytes]
    version: int
    writer: Tuple[bytes, str]
    number: int
    time: int


class Commit(NamedTuple):
    writer: Tuple[bytes, str]
    number: int
    changes: Dict[str, Optional[bytes]]


class StoredModel:
    """A model's log."""

    def __init__(self) -> None:
        self.version = 0
        self.fields: Dict[str, Stored] = {}
        self.commits: List[Commit] = []
        self.states: List[Dict[str, Optional[bytes]]] = [{}]
        self.marks: Dict[bytes, int] = {}
        self.decisions: Dict[Tuple[bytes, int], Body] = {}
        self.renewed: Dict[str, int] = {}  # when the terms of fields that expire began

    @property
    def limits(self) -> Dict[str, Expiry]:
        """Those of the description."""
        description = self.fields.get("@description")
        return limits_of(Described(description.value if description else None).fields)

    def expired(self, now: int) -> Dict[str, Optional[bytes]]:
        """The defaults of the fields whose terms have ended."""
        return {name: limit.fallback for name, limit in self.limits.items() if name in self.fields
                and not limit.is_fallback(self.fields[name].value) and now >= self.renewed[name] + limit.milliseconds}

    def digest(self) -> int:
        return sum(fnv1a(name.encode() + b"\0" + struct.pack("<Q", field.version) + field.value)
                   for name, field in self.fields.items() if field.value is not None) & 0xFFFFFFFFFFFFFFFF


class Store:
    """What survives a hub's process."""

    def __init__(self) -> None:
        self.models: Dict[str, StoredModel] = {}
        self.known: Set[bytes] = set()
        self.log, self.epoch = 0x10, 0x100000007
