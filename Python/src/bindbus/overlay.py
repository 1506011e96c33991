"""A model's pending writes over its committed values: what shows."""
from __future__ import annotations

from typing import Any, Dict, Iterable, List, NamedTuple, Optional

from . import lists, values
from .described import Described, LastDescribed
from .expiry import ExpiringFields
from .names import DESCRIPTION, element
from .pending import LIST_VERBS, Operation, Pending, Seen
from .replica import Replica
from .undo import UndoBook
from .undo_lists import Place, place_in


class Effect(NamedTuple):
    """Something that the session wants done: the name of an action and what it is about."""

    do: str
    a: Any = None
    b: Any = None
    c: Any = None


class Context:
    """What all models of a session share."""

    def __init__(self, tag: bytes, keeps: bool) -> None:
        self.tag, self.keeps = tag, keeps
        self.effects: List[Effect] = []
        self.count = self.size = 0  # of all pending writes

    def emit(self, do: str, a: Any = None, b: Any = None, c: Any = None) -> None:
        """Requests an effect."""
        self.effects.append(Effect(do, a, b, c))


class Overlay:
    """The pending writes of one model, and which of them lie over which field."""

    def __init__(self, model: str, replica: Replica, context: Context) -> None:
        self.model, self.replica, self.context = model, replica, context
        self.pending: Dict[int, Pending] = {}
        self.by_number: Dict[int, int] = {}
        self.over: Dict[str, List[int]] = {}
        self.last_number = 0
        self.last_conditional = 0  # no write before it is superseded, since its condition may refer to that
        self.arriving: List[Pending] = []  # committed writes whose version the replica has not reached
        self._cache: Dict[str, Optional[bytes]] = {}
        self._cached_at = (0, 0)
        self._stamp = 0
        self.expiring = ExpiringFields()
        self.book: Optional[UndoBook] = None  # none, unless the program asks for undo
        self._shown_description, self._description = LastDescribed(), LastDescribed()

    @property
    def described(self) -> Described:
        """The description that shows."""
        return self._shown_description.read(self.shown(DESCRIPTION))

    @property
    def committed_description(self) -> Described:
        """The description that the hub has."""
        return self._description.read(self.replica.value(DESCRIPTION))

    def touch(self) -> None:
        """What shows may have changed."""
        self._stamp += 1
        self.context.emit("changed", self.model)

    def base(self, name: str) -> Optional[bytes]:
        """What shows where no pending write lies over it: the committed value, or a default that stands for it."""
        limit = self.expiring.limits.get(name) if name in self.expiring.stale else None
        return limit.fallback if limit else self.replica.value(name)

    def shown(self, name: str) -> Optional[bytes]:
        """The committed value under the pending writes of this peer, oldest first."""
        ids = self.over.get(name)
        if not ids:
            return self.base(name)
        if self._cached_at != (self.replica.stamp, self._stamp):
            self._cache, self._cached_at = {}, (self.replica.stamp, self._stamp)
        if name not in self._cache:
            self._cache[name] = self.base(name)
            for id in ids:
                self._lay(self.pending[id], name)
        return self._cache[name]

    def _lay(self, write: Pending, name: str) -> None:
        """Lays a write over what the cache has of a field."""
        for operation in () if write.is_hidden else write.overlay:
            if operation.field == name:
                self._cache[name] = write.over(operation, self._cache[name], self.replica.version_of(name))

    def shown_names(self) -> List[str]:
        """The names of the fields that show a value, those of elements and of the protocol included."""
        return [name for name in {**self.replica.fields, **self.over} if self.shown(name) is not None]

    def shown_list(self, name: str) -> lists.Elements:
        """The elements of a list under the pending steps of this peer."""
        elements = lists.assemble(name, {each: field.value for each, field in self.replica.fields.items()})
        for write in self.pending.values():
            for operation in () if write.is_hidden else write.overlay:
                parts = element(operation.field)
                if parts and parts[0] == name and (operation.verb in LIST_VERBS or operation.verb == "delete"):
                    operand = values.decoded(operation.value)
                    try:
                        elements = lists.apply(elements, [(operation.verb, parts[1], operand)])
                    except ValueError:
                        pass  # the hub will decide
        return elements

    def places(self, fields: Iterable[str]) -> Dict[str, Place]:
        """Between which others the elements of lists stand that are among fields."""
        named = {name: parts for name in fields for parts in [element(name)] if parts}
        shown = {listed: self.shown_list(listed) for listed in {parts[0] for parts in named.values()}}
        return {name: place_in(shown[listed], id) for name, (listed, id) in named.items()}

    def unacknowledged(self, name: Optional[str] = None) -> List[Pending]:
        """The writes without an outcome, of one field or of all, oldest first."""
        ids = self.pending if name is None else self.over.get(name, ())
        return [self.pending[id] for id in ids if self.pending[id].committed_at is None]

    def add(self, write: Pending) -> None:
        """Lays a write over the model. One that is not restored learns what its writer saw."""
        if not write.overlay:
            write.overlay = self._overlay(write.operations)
        for operation in write.overlay:
            if operation.field not in write.seen:
                write.seen[operation.field] = Seen(self.replica.value(operation.field), self.replica.epoch,
                                                   self.replica.version_of(operation.field))
            over = self.over.setdefault(operation.field, [])
            if over[-1:] != [write.id]:
                over.append(write.id)
        self.pending[write.id] = write
        for name in {operation.field for operation in write.overlay} & self._cache.keys():
            self._lay(write, name)  # if the cache is old it is made anew anyway
        write.counted, write.limit = write.size, self.expiring.limit(write.overlay)
        self.context.count, self.context.size = self.context.count + 1, self.context.size + write.counted
        if write.conditions:
            self.last_conditional = write.id
        if write.number:
            self.by_number[write.number] = write.id
            self.last_number = max(self.last_number, write.number)
        self.context.emit("changed", self.model)

    def _overlay(self, operations: List[Operation]) -> List[Operation]:
        overlay: List[Operation] = []
        for each in operations:
            if each.verb == "clear":
                overlay += [Operation("delete", name) for name in {**self.replica.fields, **self.over}]
                continue
            overlay.append(each)
            if each.verb == "delete" and not element(each.field):
                elements = [name for name in self.replica.fields if name.startswith(each.field + "@")]
                overlay += [Operation("delete", name) for name in elements]
        return overlay

    def release(self, write: Pending) -> None:
        """Removes a write from the overlay."""
        del self.pending[write.id]
        self.context.count, self.context.size = self.context.count - 1, self.context.size - write.counted
        if write.number and self.by_number.get(write.number) == write.id:
            del self.by_number[write.number]
        for name in {operation.field for operation in write.overlay}:
            self.over[name].remove(write.id)
            if not self.over[name]:
                del self.over[name]
        self.touch()
