"""The committed values of one model at this peer."""
from __future__ import annotations

import struct
from typing import Dict, Iterable, List, NamedTuple, Optional

from .grammar import ABSENT, Body
from .names import element

_OFFERED_WRITERS = 4_096


class Field(NamedTuple):
    """A field as it was committed last."""

    value: Optional[bytes]
    version: int
    tag: bytes
    name: str
    number: int
    time: int


def fnv1a(data: bytes) -> int:
    """FNV-1a of 64 bits."""
    hashed = 14695981039346656037
    for byte in data:
        hashed = (hashed ^ byte) * 1099511628211 & 0xFFFFFFFFFFFFFFFF
    return hashed


class Replica:
    """Fields by name at a version of an epoch, and the numbers that the hub has given to names in this session."""

    def __init__(self) -> None:
        self.epoch = self.version = 0
        self.stamp = 0  # another one after each change
        self.fields: Dict[str, Field] = {}
        self.ids: List[str] = []
        self.id_of: Dict[str, int] = {}
        self.seen: Dict[bytes, int] = {}
        self._digests: Dict[str, int] = {}

    def value(self, name: str) -> Optional[bytes]:
        """The committed value of a field; None: it has none."""
        field = self.fields.get(name)
        return field.value if field else None

    def version_of(self, name: str) -> int:
        """The version at which the field was last committed; 0: it was never written, as far as is known."""
        field = self.fields.get(name)
        return field.version if field else 0

    def knows(self, names: Body, ids: Iterable[int]) -> bool:
        """Whether these ids are known once the new names are learned; learns them only then."""
        first, new = names["first"], names["names"]
        if first > len(self.ids) or any(id >= max(first + len(new), len(self.ids)) for id in ids):
            return False
        self.ids[first:first + len(new)] = new
        self.id_of.update({name: first + at for at, name in enumerate(new)})
        return True

    def forget_ids(self) -> None:
        """Forgets the numbers of names, which belong to a session."""
        self.ids, self.id_of = [], {}

    def see(self, tag: bytes, number: int) -> None:
        """A commit of this writer has this number."""
        if number > self.seen.get(tag, 0):
            self.seen.pop(tag, None)
            self.seen[tag] = number
            if len(self.seen) > _OFFERED_WRITERS:
                del self.seen[next(iter(self.seen))]

    def commit(self, name: str, field: Field) -> None:
        """Replaces a field."""
        self.fields[name] = field
        self._digests.pop(name, None)
        self.stamp += 1

    def keep_only(self, names: Iterable[str]) -> None:
        """Drops all other fields: a snapshot does not have them."""
        kept = set(names)
        self.fields = {name: field for name, field in self.fields.items() if name in kept}
        self._digests.clear()
        self.stamp += 1

    def digest(self) -> int:
        """The sum that the hub computes too (5.2-15)."""
        for name, field in self.fields.items():
            if name not in self._digests:
                text = name.encode() + b"\0" + struct.pack("<Q", field.version)
                self._digests[name] = 0 if field.value is None else fnv1a(text + field.value)
        return sum(self._digests.values()) & 0xFFFFFFFFFFFFFFFF

    def field_id(self, name: str) -> int:
        """The number of a name in this session, or 0xFFFFFFFF."""
        return self.id_of.get(name, ABSENT)

    def offers(self, request: int, topic: int, chunk_bytes: int, with_numbers: bool) -> List[Body]:
        """This replica for a hub that has lost its own, in chunks (7-3)."""
        chunks: List[List[Body]] = [[]]
        size = 0
        for name, field in self.fields.items():
            if size > chunk_bytes:
                chunks.append([])
                size = 0
            size += len(name) + len(field.value or b"") + 64
            chunks[-1].append({**field._asdict(), "origin": field.name, "name": name})
        offers = [{"request": request, "topic": topic, "epoch": self.epoch, "version": self.version, "chunk": at,
                   "last": int(at == len(chunks) - 1), "fields": fields} for at, fields in enumerate(chunks)]
        if with_numbers:
            offers[-1]["numbers"] = [{"tag": tag, "number": number} for tag, number in self.seen.items()]
        return offers


def is_shown(name: str) -> bool:
    """Whether programs see the field under its own name: not a description, an element or a slot."""
    return not name.startswith("@") and element(name) is None
