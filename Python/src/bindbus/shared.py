"""A model without types: its fields by name."""
from __future__ import annotations

import asyncio
from typing import Any, AsyncIterator, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union, cast

from . import lists, names, values
from .errors import ShareError, WriteError
from .observing import Observer, Observers, current_hops
from .outcomes import Outcome
from .past import Extras
from .pending import Condition, Operation
from .pending_write import PendingWrite
from .replica import is_shown
from .runtime import Runtime
from .statuses import FieldStatus, ModelStatus
from .sync import ModelSync

MergeFunction = Callable[[Any, Any, Any], Any]
Policy = Union[str, MergeFunction]
POLICIES = ("lastWrite", "compareAndSet", "text", "add", "max", "min", "union", "list")


class SharedModel(Extras):
    """A model that this peer has joined: `model["level"]` reads what shows, `model.set({"level": 0.8})` writes.

    It may be used from any thread. Reads never wait: they show the local replica under this peer's own pending writes.
    Values are None, bool, int, float, str, bytes, lists and dicts with str keys.
    """

    def __init__(self, runtime: Runtime, id: str) -> None:
        super().__init__(runtime, id)
        self._observers = Observers(runtime.lane, runtime.lock, self._take_hops)
        self._status_observers = Observers(runtime.lane, runtime.lock)
        self._rejections: Dict[str, Outcome] = {}
        self._ephemeral: Optional[SharedModel] = None
        self.declare: Optional[Callable[[], None]] = None

    def __repr__(self) -> str:
        return f"<SharedModel {self.id}: {self.status}>"

    @property
    def _sync(self) -> ModelSync:
        sync = self._runtime.session.models.get(self.id)
        if sync is None:
            raise ShareError(f"{self.id} was left; join it again with peer.model({self.id!r})")
        return sync

    # Reading

    def __getitem__(self, name: str) -> Any:
        """The value that shows; a list as one array. Raises `KeyError` if there is none."""
        with self._runtime.lock:
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
        return isinstance(name, str) and name in list(self)

    def items(self) -> List[Tuple[str, Any]]:
        """The fields that show a value, and the values, of one moment."""
        with self._runtime.lock:
            return [(name, self[name]) for name in self]

    def version(self, name: Optional[str] = None) -> int:
        """The version at which a field was committed last (0: never), or that of the model; for `conditions`."""
        with self._runtime.lock:
            replica = self._sync.replica
            return replica.version if name is None else replica.version_of(name)

    @property
    def description(self) -> Dict[str, Any]:
        """The declarations of the fields, as the hub has them; empty if there are none."""
        with self._runtime.lock:
            text = self._sync.writes.shown(names.DESCRIPTION)
        found = {} if text is None else values.decoded(text)
        return found if isinstance(found, dict) and isinstance(found.get("fields", {}), dict) else {}

    def is_list(self, name: str) -> bool:
        """Whether the elements of the field are written one by one (policy `list`)."""
        head = self._sync.replica.value(name)
        if any(each.startswith(name + "@") for each in self._sync.writes.over):
            return True  # the description may be on its way
        described = self.description.get("fields", {}).get(name, {})
        return head is not None and head.startswith(b'{"$list"') or (
            isinstance(described, dict) and described.get("policy") == "list")

    def wait_current(self, timeout: float) -> bool:
        """Waits until the model shows what the hub has, for at most `timeout` seconds. Returns whether it does; False
        at once if the hub does not let this peer join: `status.refusal` says why."""
        self._runtime.wait(lambda: self.status.is_current or bool(self.status.refusal), timeout)
        return self.status.is_current

    # Writing

    def set(self, fields: Mapping[str, Any], *, conditions: Optional[Mapping[str, int]] = None,
            policies: Optional[Mapping[str, Policy]] = None, offline: Optional[Mapping[str, str]] = None,
            defaults: Optional[Mapping[str, Any]] = None, seen: Optional[Mapping[str, Any]] = None) -> PendingWrite:
        """Writes fields as one commit: all of them or none. It shows at once and never waits for the hub.

        `conditions` names fields with the version that each must still have (`model.version("level")`; 0: never
        written); if one has another, the outcome is `conflict`. `policies` says what becomes of each field when others
        write it meanwhile: `lastWrite` (the default), `compareAndSet`, `text`, `add`, `max`, `min`, `union`, `list`,
        or a function of what this program saw, what it wrote and what is committed, which returns the value that the
        two become; it runs on the thread of observers, perhaps often. `offline` says what becomes of a plain set that
        waited 10 s or longer for a hub while others wrote the field: `yields` (the default), `wins` or `drops`.
        `defaults` has what fields without a value show, `seen` the values that this write is based on, by default what
        shows now. Raises `WriteError`; then nothing of it shows.
        """
        with self._runtime.lock:
            operations: List[Operation] = []
            rules: Dict[str, str] = {}
            merges: Dict[str, MergeFunction] = {}
            for name, value in fields.items():
                policy = (policies or {}).get(name, "list" if self.is_list(name) else "lastWrite")
                if callable(policy):
                    rules[name], merges[name] = "merge", policy
                elif policy not in POLICIES:
                    raise WriteError(f"{policy!r} is no policy; write one of {', '.join(POLICIES)}, or a function")
                elif policy in ("compareAndSet", "text"):
                    rules[name] = "compare" if policy == "compareAndSet" else "text"
                base = (seen or {}).get(name, self.get(name, (defaults or {}).get(name)))
                operations += self._operations(name, value, policy, base)
            if not operations and fields:
                unchanged = PendingWrite(self.id, list(fields))
                unchanged.settle(Outcome("unchanged"))
                return unchanged
            texts = [{name: values.encode(value) for name, value in (some or {}).items()} for some in (defaults, seen)]
            return self._write(operations, list(fields), conditions, merges, rules=rules, offline=dict(offline or {}),
                               default=texts[0], saw=texts[1])

    def _operations(self, name: str, value: Any, policy: Policy, base: Any) -> List[Operation]:
        if policy == "list":
            if not isinstance(value, (list, tuple)):
                raise WriteError(f"{self.id}.{name} is a list; assign a list")
            steps = lists.difference(self._sync.writes.shown_list(name), lists.identified(name, value))
            return [Operation(verb, f"{name}@{id}", None if verb == "delete" else values.encode(operand))
                    for verb, id, operand in steps]
        if policy == "add":
            return [Operation("add", name, values.encode(value - (base or 0)))]
        if policy == "union":
            return [Operation("union", name, values.encode([each for each in value if each not in (base or [])]))]
        return [Operation(str(policy) if policy in ("max", "min") else "set", name, values.encode(value))]

    def _write(self, operations: Sequence[Operation], fields: List[str], conditions: Optional[Mapping[str, int]] = None,
               merges: Optional[Dict[str, MergeFunction]] = None, **options: Any) -> PendingWrite:
        if any(each.field == names.OWNER for each in operations):
            raise WriteError("this package reads @owner only; let a program in Swift own the model")
        with self._runtime.lock:
            epoch = self._sync.replica.epoch
            wanted = [Condition(name, epoch, version) for name, version in (conditions or {}).items()]
            for name in fields:
                self._rejections.pop(name, None)
            return self._runtime.write(self.id, operations, fields, merges or {}, conditions=wanted,
                                       hops=current_hops(), **options)

    def add(self, name: str, amount: Union[int, float]) -> PendingWrite:
        """Adds to a number at the hub, so that no addition is lost. Raises `WriteError`."""
        return self._write([Operation("add", name, values.encode(amount))], [name])

    def maximum(self, name: str, value: Union[int, float]) -> PendingWrite:
        """Raises a number to at least this value, at the hub. Raises `WriteError`."""
        return self._write([Operation("max", name, values.encode(value))], [name])

    def minimum(self, name: str, value: Union[int, float]) -> PendingWrite:
        """Lowers a number to at most this value, at the hub. Raises `WriteError`."""
        return self._write([Operation("min", name, values.encode(value))], [name])

    def union(self, name: str, elements: Sequence[Any]) -> PendingWrite:
        """Adds the elements that a list lacks, at the hub. Raises `WriteError`."""
        return self._write([Operation("union", name, values.encode(list(elements)))], [name])

    def set_if_absent(self, fields: Mapping[str, Any]) -> PendingWrite:
        """Writes the fields that never had a value; the outcome is `unchanged` if all had. Raises `WriteError`."""
        weak = [Operation("setIfAbsent", name, values.encode(value)) for name, value in fields.items()]
        return self._write(weak, list(fields))

    def delete(self, *fields: str, conditions: Optional[Mapping[str, int]] = None) -> PendingWrite:
        """Deletes fields as one commit. Raises `WriteError`."""
        return self._write([Operation("delete", name) for name in fields], list(fields), conditions)

    def clear(self) -> PendingWrite:
        """Deletes all fields, and with them the model. Raises `WriteError`."""
        return self._write([Operation("clear", "")], list(self))

    def leave(self) -> None:
        """Follows the model no longer, once all its writes have their outcomes."""
        with self._runtime.lock:
            self._sync.is_left = True
        self._runtime.wake()

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

    @property
    def status(self) -> ModelStatus:
        """The model's state relative to the hub."""
        with self._runtime.lock:
            sync, waiting = self._sync, self._sync.writes.unacknowledged()
            is_current = sync.progress == "current" and self._runtime.session.is_reached
            since = None if is_current else self._runtime.wall(sync.stale_since)
            return ModelStatus(sync.replica.version, is_current, since, len(waiting),
                               sum(1 for each in waiting if each.was_sent), sync.writes.retry_reason, sync.refusal)

    def field_status(self, name: str) -> FieldStatus:
        """The state of what a field shows."""
        with self._runtime.lock:
            sync, rejected = self._sync, self._rejections.get(name)
            version, own = sync.replica.version_of(name), sync.writes.unacknowledged(name)
            if own:
                reason = sync.writes.retry_reason
                return FieldStatus("waiting" if reason else "pending", version, reason,
                                   self._runtime.wall(own[0].written_at))
            if rejected is not None:
                return FieldStatus("refused", version, str(rejected), None, rejected)
            status = self.status
            return FieldStatus("current" if status.is_current else "stale", version, "", status.stale_since)

    # For the peer

    def _take_hops(self) -> int:
        sync = self._runtime.session.models.get(self.id)
        hops = 0 if sync is None else sync.hops
        if sync is not None:
            sync.hops = 0
        return hops

    def changed(self) -> None:
        """Something may show otherwise. For the peer."""
        if self.id in self._runtime.session.models:
            if self.declare is not None and self._sync.progress == "current":
                declare, self.declare = self.declare, None
                declare()
            self._observers.changed()
            self._status_observers.changed()

    def settled(self, fields: List[str], outcome: Outcome) -> None:
        """A write has its outcome. For the peer."""
        if outcome.kind in ("refused", "conflict", "expired", "unknown"):
            self._rejections.update({name: outcome for name in fields})

    @property
    def ephemeral(self) -> "SharedModel":
        """The ephemeral model beside this one: its fields belong to the peer that wrote them, and vanish with it."""
        with self._runtime.lock:
            if self._ephemeral is None:
                self._ephemeral = cast(SharedModel, self._runtime.model(names.EPHEMERAL + self.id))
            return self._ephemeral

    async def current(self, timeout: float) -> bool:
        """`wait_current` for asyncio: does not block the event loop."""
        return await asyncio.to_thread(self.wait_current, timeout)
