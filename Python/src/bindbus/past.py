"""What a model offers besides its values: who is present, who owns it, its earlier commits, and barriers."""
from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Tuple

from . import names, values
from .errors import BarrierError, HistoryError
from .pending import Operation
from .pending_write import PendingWrite
from .runtime import Runtime

if TYPE_CHECKING:
    from .shared import SharedModel

_ENDS = {2: "an ephemeral model has no history; read that of its stored model", 3: "the model is not joined; try again",
         4: "this user lacks the right `history`; ask the hub's operator", 5: "the hub cannot read it now; try again"}


@dataclass(frozen=True)
class PresentPeer:
    """A peer that is in a model: the tag under which it writes, its name, when it came (seconds since 1970, by the
    hub's clock), and what it announced last."""

    tag: str
    name: str
    since: float
    announcement: Any = None


@dataclass(frozen=True)
class HistoryCommit:
    """An earlier commit: what it changed (`changes`), which fields it deleted, and whose values were `removed` from
    history. `time` is in seconds since 1970, by the hub's clock; `user` is empty at a hub without keys."""

    epoch: int
    version: int
    time: float
    writer: str
    user: str
    changes: Dict[str, Any]
    deleted: Tuple[str, ...] = ()
    removed: Tuple[str, ...] = ()


@dataclass(frozen=True)
class BarrierEnd:
    """How many sessions have applied the version, of how many; and the names of those that have not."""

    applied: int
    of: int
    missing: Tuple[str, ...]


class Extras:
    """Presence, owner, history and barriers of a model."""

    def __init__(self, runtime: Runtime, id: str) -> None:
        self._runtime, self.id = runtime, id

    @property
    def ephemeral(self) -> "SharedModel":
        """The ephemeral model beside this one."""
        raise NotImplementedError

    def announce(self, value: Any) -> PendingWrite:
        """Announces something about this peer to the others that look at the model's presence; None takes it back.

        It vanishes with this peer. Raises `WriteError`.
        """
        text = None if value is None else values.encode(value)
        return self.ephemeral._write([Operation("set" if text else "delete", names.ME, text)], [names.ME])

    def presence(self, timeout: float = 1.0) -> List[PresentPeer]:
        """The peers in this model, in order of arrival; those of a hub that is not reached are the last known ones.

        Waits for the first answer, for at most `timeout` seconds. Observe `model.ephemeral` to hear of changes.
        """
        ephemeral = self.ephemeral
        ephemeral.wait_current(timeout)
        with self._runtime.lock:
            sync = ephemeral._sync
            slots = [sync.writes.shown(name) for name in sync.writes.shown_names() if name.startswith(names.SLOT)]
        found = [values.decoded(slot) for slot in slots if slot is not None]
        return sorted((PresentPeer(slot["tag"], slot["name"], slot["since"] / 1_000, slot.get("says"))
                       for slot in found if isinstance(slot, dict) and {"tag", "name", "since"} <= slot.keys()),
                      key=lambda peer: (peer.since, peer.name, peer.tag))

    def owner(self, timeout: float = 1.0) -> Optional[str]:
        """The name of the peer that owns the model and is asked about every write; None: nobody owns it.

        Waits for the first answer, for at most `timeout` seconds.
        """
        self.ephemeral.wait_current(timeout)
        with self._runtime.lock:
            field = self.ephemeral._sync.replica.fields.get(names.OWNER)
        return field.name if field and field.value is not None else None

    def history(self, limit: int = 100, *, fields: Sequence[str] = (), writers: Sequence[str] = (),
                since: Optional[float] = None, until: Optional[float] = None,
                timeout: float = 5.0) -> List[HistoryCommit]:
        """The latest commits that the hub still has, newest first, at most `limit`.

        `fields` and `writers` choose commits, `since` and `until` are seconds since 1970 by the hub's clock. Waits for
        at most `timeout` seconds; raises `HistoryError` if there is no answer, or no history.
        """
        commits: List[HistoryCommit] = []
        through = 0
        while len(commits) < limit:
            body = {"flags": 0, "epoch": 0, "after": 0, "through": through, "since": int((since or 0) * 1_000),
                    "until": int((until or 0) * 1_000), "count": min(limit - len(commits), 1_000),
                    "fields": list(fields), "writers": list(writers)}
            page = self._runtime.ask("history", self.id, body, timeout)
            if page is None:
                raise HistoryError(f"{self.id}: no answer in {timeout} s; check that a hub with history is running")
            if page["end"] > 1:
                raise HistoryError(f"{self.id}: {_ENDS[page['end']]}")
            commits += map(_commit, page["commits"])
            through = page["next"]
            if page["end"] == 1 or not through:
                break
        return commits[:limit]

    def await_applied(self, version: int, count: int = 0, timeout: float = 5.0) -> BarrierEnd:
        """Waits until `count` sessions, this one included, have applied a version; 0: all that have joined the model.

        `timeout` is in seconds. Raises `BarrierError` when it passes, with the names of those that are missing, and
        when the hub has lost the version.
        """
        with self._runtime.lock:
            epoch = self._runtime.session.models[self.id].replica.epoch
        end = self._runtime.ask("await", self.id, {"epoch": epoch, "version": version, "count": count}, timeout)
        if end is None:
            raise BarrierError(f"{self.id}: the hub did not answer in {timeout} s; check the connection")
        if end["end"] != 1:
            why = {0: f"not applied in {timeout} s", 2: "too many waits at once; wait for some first",
                   3: "the hub has lost that version; write again", 4: "the model is not joined; try again"}[end["end"]]
            missing = ", ".join(end["missing"])
            raise BarrierError(f"{self.id}, version {version}: {why}" + (f"; missing: {missing}" if missing else ""))
        return BarrierEnd(end["applied"], end["of"], tuple(end["missing"]))

    async def ahistory(self, limit: int = 100, **options: Any) -> List[HistoryCommit]:
        """`history` for asyncio: does not block the event loop."""
        return await asyncio.to_thread(lambda: self.history(limit, **options))

    async def aawait_applied(self, version: int, count: int = 0, timeout: float = 5.0) -> BarrierEnd:
        """`await_applied` for asyncio: does not block the event loop."""
        return await asyncio.to_thread(self.await_applied, version, count, timeout)


def _commit(body: Dict[str, Any]) -> HistoryCommit:
    by_state: List[List[Any]] = [[], [], []]
    for change in body["changes"]:
        by_state[change["state"]].append(change)
    changes = {each["name"]: values.decoded(each["value"])
               for each in by_state[0]}
    deleted, removed = (tuple(each["name"] for each in by_state[state]) for state in (1, 2))
    return HistoryCommit(body["epoch"], body["version"], body["time"] / 1_000, body["origin"]["name"],
                         body["origin"].get("user", ""), changes, deleted, removed)
