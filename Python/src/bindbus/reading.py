"""What a model shows: its fields by name, their versions and states, and observers of them."""
from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any, AsyncIterator, Callable, Dict, Iterator, List, Optional, Tuple

from . import names, values
from .described import Described
from .errors import ShareError
from .observing import Observer, Observers
from .outcomes import Outcome
from .past import Extras
from .replica import is_shown
from .rights import Rights
from .runtime import Runtime
from .statuses import FieldStatus, ModelStatus
from .sync import ModelSync


class Reading(Extras):
    """The part of a model that reads. Reads never wait: they show the local replica under this peer's own writes."""

    def __init__(self, runtime: Runtime, id: str) -> None:
        super().__init__(runtime, id)
        self._observers = Observers(runtime.lane, runtime.lock, self._take_hops)
        self._status_observers = Observers(runtime.lane, runtime.lock)
        self._rejections: Dict[str, Outcome] = {}

    @property
    def _sync(self) -> ModelSync:
        sync = self._runtime.session.models.get(self.id)
        if sync is None:
            raise ShareError(f"{self.id} was left; join it again with peer.model({self.id!r})")
        return sync

    def __getitem__(self, name: str) -> Any:
        """The value that shows; a list as one array. Raises `KeyError` if there is none."""
        with self._runtime.lock:
            name = self.stored_name(name)
            if self.is_list(name):
                return [value for _, value in self._sync.writes.shown_list(name)]
            text = self._sync.writes.shown(name)
        if text is None:
            raise KeyError(f"{self.id} has no field {name}; it was never written, or deleted")
        return values.decoded(text)

    def get(self, name: str, default: Any = None) -> Any:
        """The value that shows, or `default`."""
        try:
            return self[name]
        except KeyError:
            return default

    def __iter__(self) -> Iterator[str]:
        """The names of the fields that show a value, sorted."""
        with self._runtime.lock:
            found = {names.element(name) or (name,) for name in self._sync.writes.shown_names()}
            return iter(sorted({parts[0] for parts in found if is_shown(parts[0])}))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.stored_name(name) in list(self)

    def items(self) -> List[Tuple[str, Any]]:
        """The fields that show a value, and the values, of one moment."""
        with self._runtime.lock:
            return [(name, self[name]) for name in self]

    def version(self, name: Optional[str] = None) -> int:
        """The version at which a field was committed last (0: never), or that of the model; for `conditions`."""
        with self._runtime.lock:
            replica = self._sync.replica
            return replica.version if name is None else replica.version_of(self.stored_name(name))

    @property
    def description(self) -> Dict[str, Any]:
        """The declarations of the fields, as the hub has them; empty if there are none."""
        return Described(self._described.text).json

    @property
    def _described(self) -> Described:
        with self._runtime.lock:
            return self._sync.writes.described

    def stored_name(self, name: str) -> str:
        """The name under which a field is stored, given that name or another one that the description gives it."""
        return self._described.stored_name(name)

    def is_list(self, name: str) -> bool:
        """Whether the elements of the field are written one by one (policy `list`)."""
        head = self._sync.replica.value(name)
        if any(each.startswith(name + "@") for each in self._sync.writes.over):
            return True  # the description may be on its way
        described = self._described.fields.get(name, {})
        return head is not None and head.startswith(b'{"$list"') or described.get("policy") == "list"

    def wait_current(self, timeout: float) -> bool:
        """Waits until the model shows what the hub has, for at most `timeout` seconds. Returns whether it does; False
        at once if the hub does not let this peer join: `status.refusal` says why."""
        self._runtime.wait(lambda: self.status.is_current or bool(self.status.refusal), timeout)
        return self.status.is_current

    async def current(self, timeout: float) -> bool:
        """`wait_current` for asyncio: does not block the event loop."""
        return await asyncio.to_thread(self.wait_current, timeout)

    # Observing

    def observe(self, name: str, receive: Callable[[Any], None]) -> Observer[Any]:
        """Calls `receive` with what the field shows now (None: no value) and then at each change, the newest value
        only, on the peer's thread of observers, until `cancel()` of what this returns."""
        return self._observers.add(lambda: self._look(name), receive)

    def observe_all(self, receive: Callable[[Dict[str, Any]], None]) -> Observer[Dict[str, Any]]:
        """The same for all fields at once: what one commit changes is told together."""
        return self._observers.add(lambda: (dict(self.items()),) * 2, receive)

    def values(self, name: str) -> AsyncIterator[Any]:
        """`async for value in model.values("level")`: what shows now, then the newest at each change."""
        return self._observers.values(lambda: self._look(name))

    def _look(self, name: str) -> Tuple[Any, Any]:
        value = self.get(name)
        return values.encode(value), value

    @property
    def statuses(self) -> AsyncIterator[ModelStatus]:
        """`async for status in model.statuses`: the status now, then the newest at each change."""
        return self._status_observers.values(lambda: (self.status,) * 2)

    def observe_status(self, receive: Callable[[ModelStatus], None]) -> Observer[ModelStatus]:
        """Calls `receive` with the status now and at each change, on the peer's thread of observers."""
        return self._status_observers.add(lambda: (self.status,) * 2, receive)

    # States

    @property
    def status(self) -> ModelStatus:
        """The model's state relative to the hub."""
        with self._runtime.lock:
            sync, waiting = self._sync, self._sync.writes.unacknowledged()
            is_current = sync.progress == "current" and self._runtime.session.is_reached
            since = None if is_current else self._runtime.wall(sync.stale_since)
            return ModelStatus(sync.replica.version, is_current, since, len(waiting),
                               sum(1 for each in waiting if each.was_sent), sync.writes.retry_reason, sync.refusal,
                               sync.rights.is_read_only)

    @property
    def rights(self) -> Rights:
        """What the hub lets this program do in the model; everything until it has said otherwise. The hub decides each
        write all the same."""
        with self._runtime.lock:
            return self._sync.rights

    def field_status(self, name: str) -> FieldStatus:
        """The state of what a field shows."""
        with self._runtime.lock:
            name = self.stored_name(name)
            status = self._field_status(name)
            return status if self.rights.may_write(name) else replace(status, is_read_only=True)

    def _field_status(self, name: str) -> FieldStatus:
        sync, rejected = self._sync, self._rejections.get(name)
        version, own = sync.replica.version_of(name), sync.writes.unacknowledged(name)
        if own:
            reason = sync.writes.retry_reason
            return FieldStatus("waiting" if reason else "pending", version, reason,
                               self._runtime.wall(own[0].written_at))
        if rejected is not None:
            return FieldStatus("refused", version, str(rejected), None, rejected)
        status, expired = self.status, sync.writes.expiring.stale.get(name)
        if expired is not None:
            return FieldStatus("expired", version, "its time limit has passed since the hub was heard; its default "
                               "shows", self._runtime.wall(expired))
        return FieldStatus("current" if status.is_current else "stale", version, "", status.stale_since)

    def _take_hops(self) -> int:
        sync = self._runtime.session.models.get(self.id)
        hops = 0 if sync is None else sync.hops
        if sync is not None:
            sync.hops = 0
        return hops
