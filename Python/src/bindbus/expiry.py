"""Fields that expire (protocol, 8.1): how long their values hold, and what shows when nothing is heard of the hub."""
from __future__ import annotations

from typing import Dict, Iterable, Mapping, NamedTuple, Optional, Tuple

from . import values

SHORTEST_MS, LONGEST_MS = 100, 604_800_000
MERGING = ("add", "max", "min", "union", "text", "list")


class Expiry(NamedTuple):
    """A field's time limit, and the default to which it falls back; None: no value."""

    milliseconds: int
    fallback: Optional[bytes]

    def is_fallback(self, value: Optional[bytes]) -> bool:
        """Whether a value is the one that the field falls back to, however it is written: it does not expire."""
        return values.same(value, self.fallback)

    def patience(self, heartbeat: int) -> int:
        """For how long after the hub was heard last a committed value shows: one late heartbeat is not the end."""
        return max(self.milliseconds, heartbeat * 5 // 2)


def limits_of(fields: Mapping[str, Mapping[str, object]]) -> Dict[str, Expiry]:
    """The limits of described fields. One that is malformed counts as absent."""
    found = {}
    for name, field in fields.items():
        limit = field.get("expires")
        if isinstance(limit, int) and not isinstance(limit, bool) and SHORTEST_MS <= limit <= LONGEST_MS:
            if not field.get("ephemeral") and field.get("policy") not in MERGING:
                found[name] = Expiry(limit, values.encode(field["default"]) if "default" in field else None)
    return found


class ExpiringFields:
    """The limits that the program declares and the description has, and the fields that show their default, since
    nothing was heard of the hub."""

    def __init__(self) -> None:
        self.declared: Dict[str, Expiry] = {}
        self.described: Dict[str, Expiry] = {}
        self.limits: Dict[str, Expiry] = {}
        self.stale: Dict[str, int] = {}  # since when

    def join(self) -> bool:
        """Where both have a limit the shorter counts, and the described default. Returns whether any has changed."""
        limits = {**self.declared, **self.described}
        for name in self.declared.keys() & self.described.keys():
            shorter = min(self.declared[name].milliseconds, self.described[name].milliseconds)
            limits[name] = limits[name]._replace(milliseconds=shorter)
        changed, self.limits = limits != self.limits, limits
        return changed

    def limit(self, operations: Iterable[Tuple[str, str, Optional[bytes]]]) -> Optional[int]:
        """How long a write of these fields may wait: the shortest limit of one; None: for ever. A default that is
        proposed at first does no harm later."""
        found = [limit.milliseconds for verb, field, value in operations
                 for limit in [self.limits.get(field)]
                 if limit and not (verb == "setIfAbsent" and limit.is_fallback(value))]
        return min(found, default=None)
