"""How a program writes the fields of a model: verbs, policies and conditions."""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

from . import lists, names, values
from .errors import WriteError
from .holding import Holding
from .observing import current_hops
from .outcomes import Outcome
from .pending import Condition, FormWritten, Operation
from .pending_write import PendingWrite
from .reading import Reading

MergeFunction = Callable[[Any, Any, Any], Any]
Policy = Union[str, MergeFunction]
POLICIES = ("lastWrite", "compareAndSet", "text", "add", "max", "min", "union", "list")


class Writing(Reading):
    """The part of a model that writes."""

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
        return self._set(fields, conditions=conditions, policies=policies, offline=offline, defaults=defaults,
                         seen=seen)

    def _set(self, fields: Mapping[str, Any], *, conditions: Optional[Mapping[str, int]] = None,
             policies: Optional[Mapping[str, Policy]] = None, offline: Optional[Mapping[str, str]] = None,
             defaults: Optional[Mapping[str, Any]] = None, seen: Optional[Mapping[str, Any]] = None,
             forms: Optional[Mapping[str, FormWritten]] = None) -> PendingWrite:
        """`set`, with the forms for which values of fields were made whose type has changed."""
        with self._runtime.lock:
            fields, policies, offline, defaults, seen = (self._stored(each) for each in (
                fields, policies, offline, defaults, seen))
            operations: List[Operation] = []
            rules: Dict[str, str] = {}
            merges: Dict[str, MergeFunction] = {}
            for name, value in fields.items():
                policy = policies.get(name, "list" if self.is_list(name) else "lastWrite")
                if callable(policy):
                    rules[name], merges[name] = "merge", policy
                elif policy not in POLICIES:
                    raise WriteError(f"{policy!r} is no policy; write one of {', '.join(POLICIES)}, or a function")
                elif policy in ("compareAndSet", "text"):
                    rules[name] = "compare" if policy == "compareAndSet" else "text"
                base = seen.get(name, self.get(name, defaults.get(name)))
                operations += self._operations(name, value, policy, base)
            if not operations and fields:
                return self._unchanged(list(fields))
            texts = [{name: values.encode(value) for name, value in some.items()} for some in (defaults, seen)]
            return self._write(operations, list(fields), self._conditions(conditions), merges, rules=rules,
                               offline=offline, default=texts[0], saw=texts[1], forms=dict(forms or {}))

    def _stored(self, some: Optional[Mapping[str, Any]]) -> Dict[str, Any]:
        return {self.stored_name(name): value for name, value in (some or {}).items()}

    def _conditions(self, versions: Optional[Mapping[str, int]]) -> List[Condition]:
        epoch = self._sync.replica.epoch
        return [Condition(name, epoch, version) for name, version in self._stored(versions).items()]

    def _unchanged(self, fields: List[str]) -> PendingWrite:
        unchanged = PendingWrite(self.id, fields)
        unchanged.settle(Outcome("unchanged"))
        return unchanged

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

    def _write(self, operations: Sequence[Operation], fields: List[str], conditions: Sequence[Condition] = (),
               merges: Optional[Dict[str, MergeFunction]] = None, **options: Any) -> PendingWrite:
        if any(each.field == names.OWNER for each in operations):
            raise WriteError("@owner is not written by itself; own the model with: model.own(approve)")
        with self._runtime.lock:
            for name in fields:
                self._rejections.pop(name, None)
            return self._runtime.write(self.id, operations, fields, merges or {}, conditions=conditions,
                                       hops=current_hops(), **options)

    def _one(self, verb: str, name: str, value: Any) -> PendingWrite:
        with self._runtime.lock:
            name = self.stored_name(name)
            return self._write([Operation(verb, name, values.encode(value))], [name])

    def add(self, name: str, amount: Union[int, float]) -> PendingWrite:
        """Adds to a number at the hub, so that no addition is lost. Raises `WriteError`."""
        return self._one("add", name, amount)

    def maximum(self, name: str, value: Union[int, float]) -> PendingWrite:
        """Raises a number to at least this value, at the hub. Raises `WriteError`."""
        return self._one("max", name, value)

    def minimum(self, name: str, value: Union[int, float]) -> PendingWrite:
        """Lowers a number to at most this value, at the hub. Raises `WriteError`."""
        return self._one("min", name, value)

    def union(self, name: str, elements: Sequence[Any]) -> PendingWrite:
        """Adds the elements that a list lacks, at the hub. Raises `WriteError`."""
        return self._one("union", name, list(elements))

    def set_if_absent(self, fields: Mapping[str, Any]) -> PendingWrite:
        """Writes the fields that never had a value; the outcome is `unchanged` if all had. Raises `WriteError`."""
        with self._runtime.lock:
            fields = self._stored(fields)
            weak = [Operation("setIfAbsent", name, values.encode(value)) for name, value in fields.items()]
            return self._write(weak, list(fields))

    def delete(self, *fields: str, conditions: Optional[Mapping[str, int]] = None) -> PendingWrite:
        """Deletes fields as one commit. Raises `WriteError`."""
        with self._runtime.lock:
            stored = [self.stored_name(name) for name in fields]
            return self._write([Operation("delete", name) for name in stored], stored, self._conditions(conditions))

    def clear(self) -> PendingWrite:
        """Deletes all fields, and with them the model. Raises `WriteError`."""
        return self._write([Operation("clear", "")], list(self))

    # Fields that expire

    def renew(self, name: str) -> PendingWrite:
        """Says that the value which shows still holds: the time limit of a field that expires begins again.

        It costs no commit; its outcome is `unchanged`. It never overwrites: if another program has set the field
        meanwhile, or it has expired, the outcome is `conflict`. Raises `WriteError` if the field has no value.
        """
        return self._renew(self.stored_name(name), None)

    def _renew(self, name: str, default: Optional[bytes]) -> PendingWrite:
        with self._runtime.lock:
            replica, shown, conditions = self._sync.replica, self._sync.writes.shown(name), []  # type: Any, Any, Any
            if replica.value(name) is not None and name not in self._sync.writes.over:
                shown = replica.value(name)
                conditions = [Condition(name, replica.epoch, replica.version_of(name))]
            if shown is None and default is None:
                raise WriteError(f"{self.id}.{name} has no value to renew; set one first")
            return self._write([Operation("set", name, shown if shown is not None else default)], [name], conditions,
                               is_undoable=False)

    def hold(self, name: str, value: Any) -> Holding:
        """Sets a field that expires, and renews it at each quarter of its limit, until this program ends, or what this
        returns is released, which is a context manager. The hub then sets the field back within the limit.

        It never overwrites: if another program sets the field, or it has expired meanwhile, `is_held` becomes False,
        and `reason` says why. Raises `WriteError` for a field that does not expire.
        """
        with self._runtime.lock:
            name = self.stored_name(name)
            limit = self._sync.writes.expiring.limits.get(name)
            if limit is None:
                raise WriteError(f"{self.id}.{name} does not expire by its description; declare `expires`, or set it")
            return Holding(self, name, values.encode(value), limit.milliseconds / 4_000)
