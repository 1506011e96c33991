"""How what shows relates to what the hub has."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from .outcomes import Outcome


@dataclass(frozen=True)
class PeerStatus:
    """`phase` is `offline`, `connecting`, `welcoming`, `live` or `stopped`; `reason` says why it is not live.

    `stale_since` is the wall time, in seconds since 1970, at which a hub was last heard; None while the peer is live.
    """

    phase: str
    hub: str
    reason: str = ""
    stale_since: Optional[float] = None

    def __str__(self) -> str:
        return f"{self.phase}, hub {self.hub}" + (f": {self.reason}" if self.reason else "")


@dataclass(frozen=True)
class ModelStatus:
    """The state of a model. `is_current`: the values are complete and the hub is connected; else they may be stale
    since `stale_since`, in seconds since 1970. `unconfirmed` counts this peer's writes without an outcome, `in_flight`
    those of them that were sent; `waiting` is the hub's reason to defer them, `refusal` why it does not let this peer
    join the model. `is_read_only`: the hub lets this peer read the model and change nothing in it."""

    version: int
    is_current: bool
    stale_since: Optional[float] = None
    unconfirmed: int = 0
    in_flight: int = 0
    waiting: str = ""
    refusal: str = ""
    is_read_only: bool = False


@dataclass(frozen=True)
class FieldStatus:
    """`kind` is `current`; `pending`, while a write of this peer shows that the hub has not committed; `waiting`, when
    the hub has deferred it, for `reason`; `stale` since `since`, in seconds since 1970; `refused`, when the last write
    was not applied, for `reason`, with its `outcome`; `expired` since `since`, when the default shows of a field with a
    time limit, since the hub was not heard for so long; or `unreadable`, when the stored value is not of the declared
    type, for `reason`. `version` is that of the committed value. `is_read_only`: the hub does not let this peer write
    the field."""

    kind: str
    version: int
    reason: str = ""
    since: Optional[float] = None
    outcome: Optional[Outcome] = None
    is_read_only: bool = False

    def __str__(self) -> str:
        words = f"{self.kind}, version {self.version}" + (f": {self.reason}" if self.reason else "")
        return words + ("; read-only" if self.is_read_only else "")
