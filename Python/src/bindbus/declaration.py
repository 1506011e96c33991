"""The fields of a `@model` class together: how a share proposes them, and how a program writes several at once."""
from __future__ import annotations

import dataclasses
import logging
import typing
from typing import Any, Dict, List, Mapping, Tuple, Type

from . import names, values
from .declared import Declared
from .described import Described
from .errors import BindbusError, FieldError, MisfitsError, WireError
from .expiry import Expiry
from .owning import ApprovalRequest
from .pending import Condition, FormWritten, Operation
from .pending_write import PendingWrite
from .shared import SharedModel
from .typed import NONE, plain_of

log = logging.getLogger("bindbus")


class Declaration:
    """The fields of a `@model` class, as its shares propose them."""

    def __init__(self, cls: Type[Any], base: Type[Any], release: int) -> None:
        hints = typing.get_type_hints(cls)
        self.fields: Dict[str, Declared] = {}
        self.release = release
        for each in dataclasses.fields(cls):
            rule = each.metadata.get("bindbus", {})
            for name in (each.name, rule.get("was") or each.name):
                _check_name(cls.__name__, name)
            if hasattr(base, each.name):
                raise BindbusError(f"{cls.__name__}.{each.name}: the name is taken by Model; choose another one")
            if each.default is dataclasses.MISSING and each.default_factory is dataclasses.MISSING:
                raise BindbusError(f"{cls.__name__}.{each.name} has no default; write one: it shows before any value")
            default = each.default if each.default_factory is dataclasses.MISSING else each.default_factory()
            self.fields[each.name] = Declared(cls.__name__, each.name, hints[each.name], default, rule)
        if not self.fields:
            raise BindbusError(f"{cls.__name__} has no field; write one as `level: float = 0.3`")
        self.aliases = {name: each.stored_name for name, each in self.fields.items() if each.stored_name != name}
        self._check_aliases(cls.__name__)

    def _check_aliases(self, owner: str) -> None:
        stored = [each.stored_name for each in self.fields.values()]
        twice = next((name for name in stored if stored.count(name) > 1), None)
        if twice is not None:
            raise BindbusError(f"{owner}: two fields are stored as {twice}; give each a name of its own")
        swapped = next((name for name in self.aliases if name in stored), None)
        if swapped is not None:
            raise BindbusError(f"{owner}.{swapped}, which was {self.aliases[swapped]}, has the name under which "
                               "another field is stored; choose another name")

    # Writing

    def write(self, shared: SharedModel, fields: Mapping[str, Any],
              saw: Mapping[str, Any]) -> Tuple[PendingWrite, Dict[str, Any]]:
        """Writes fields by their policies; `saw` is what the writer saw of them. Also returns what it sees now."""
        unknown = [name for name in fields if name not in self.fields]
        if unknown:
            raise FieldError(f"{shared.id} has no field {unknown[0]}; its fields are {', '.join(self.fields)}")
        with shared._runtime.lock:
            described = shared._described
            stored = {name: self.fields[name].written(value, described) for name, value in fields.items()}
            changed = [self.fields[name] for name, value in stored.items()
                       if not self._is_stored(shared, name, value, described)]
            if not changed:
                return shared._unchanged(list(fields)), {}
            forms = {each.stored_name: FormWritten(each.form, each.reading(described) == "former")
                     for each in changed if each.stored is not None}
            write = shared._set(
                {each.stored_name: stored[each.name] for each in changed}, forms=forms,
                policies={each.stored_name: self._policy(each, described) for each in changed},
                offline={each.stored_name: each.rule.get("offline", "yields") for each in changed},
                defaults={each.stored_name: plain_of(each.default) for each in changed
                          if each.reading(described) == "declared"},
                seen={each.stored_name: plain_of(saw[each.name]) for each in changed if each.name in saw})
        return write, {each.name: stored[each.name] if each.reading(described) == "former" else fields[each.name]
                       for each in changed}

    def _policy(self, field: Declared, described: Described) -> Any:
        is_mapped = field.stored is not None and field.reading(described) == "former"
        return field.stored.merging(field.policy) if is_mapped and field.stored and callable(field.policy) else (
            field.policy)

    def _is_stored(self, shared: SharedModel, name: str, stored: Any, described: Described) -> bool:
        """Whether a write of a mapped value would write only what the mapping has lost, or nothing at all."""
        field, present = self.fields[name], shared.get(self.fields[name].stored_name, NONE)
        if present is NONE or field.stored is None or field.reading(described) != "former":
            return False
        return bool(present == stored or field.read(present, "former") == field.read(stored, "former"))

    def copy(self, cls: Type[Any], shared: SharedModel, request: ApprovalRequest) -> Any:
        """A detached instance with what another peer's write would leave; a value of another type shows the default."""
        copy = cls()
        with shared._runtime.lock:
            described, shown = shared._described, dict(shared.items())
        for name in request.deleted:
            shown.pop(name, None)
        shown.update(request.changes)
        for name, each in self.fields.items():
            found = each.read(shown[each.stored_name], each.reading(described)) if each.stored_name in shown else NONE
            if found is not NONE:
                setattr(copy, name, found)
        return copy

    # Describing

    def description(self) -> Dict[str, Any]:
        """The description as it is proposed."""
        mine: Dict[str, Any] = {
            "fields": {each.stored_name: each.description(at) for at, each in enumerate(self.fields.values(), 1)}}
        if self.aliases:
            mine["alias"] = self.aliases
        return {**mine, "release": self.release} if self.release else mine

    @property
    def limits(self) -> Dict[str, Expiry]:
        """The time limits of the fields that expire."""
        found = {each.stored_name: each.expiry for each in self.fields.values()}
        return {name: limit for name, limit in found.items() if limit is not None}

    def propose(self, shared: SharedModel) -> None:
        """Offers the declaration and the defaults to the hub, where both yield to what exists."""
        mine, described = self.description(), shared._described
        session, replica = shared._runtime.session, shared._sync.replica
        if self.limits and not session.can("expires"):
            log.warning("%s: this hub sets nothing back: %s may keep a value that nobody renews; update the hub",
                        shared.id, ", ".join(self.limits))
        if shared.rights.describe and self._adds(described):
            verb = "describe" if session.can("describe") else "setIfAbsent"
            shared._write([Operation(verb, names.DESCRIPTION, values.encode(mine))], [], is_undoable=False)
        missing = [each for each in self.fields.values()
                   if each.policy != "list" and each.stored_name not in replica.fields
                   and shared.rights.may_write(each.stored_name)
                   and described.forms.get(each.stored_name, each.form).present.type == each.form.present.type]
        plain = [_weak(each) for each in missing if each.stored is None]
        if plain:
            shared._write(plain, [], is_undoable=False)
        for each in missing:  # decided only under a description that has the new type
            if each.stored is not None and each.reading(described) == "declared":
                shared._write([_weak(each)], [], is_undoable=False,
                              forms={each.stored_name: FormWritten(each.form, False)})

    def _adds(self, described: Described) -> bool:
        """Whether the hub's description lacks something of this one. What has another type it does not merge."""
        release = described.json.get("release", 0)
        if any(described.aliases.get(name) != stored for name, stored in self.aliases.items()) or (
                isinstance(release, int) and release < self.release):
            return True
        for at, each in enumerate(self.fields.values(), 1):
            present = described.fields.get(each.stored_name)
            if present is None:
                return True
            is_same = described.forms[each.stored_name].present.means_same(each.form.present)
            if is_same and any(present.get(name, NONE) != value for name, value in each.description(at).items()):
                return True
        return False

    def replace(self, shared: SharedModel, keep_misfits: bool) -> PendingWrite:
        """Replaces the description by this one, and stores mapped values in their new type, in one commit."""
        with shared._runtime.lock:
            described, replica = shared._described, shared._sync.replica
            operations = [Operation("set", names.DESCRIPTION, values.encode(self.description()))]
            conditions = [Condition(names.DESCRIPTION, replica.epoch, replica.version_of(names.DESCRIPTION))]
            misfits: List[str] = []
            for each in self.fields.values():
                reading, text = each.reading(described), replica.value(each.stored_name)
                if reading == "former":  # one without a value must not get one of the former type meanwhile
                    conditions.append(Condition(each.stored_name, replica.epoch, replica.version_of(each.stored_name)))
                if text is None or each.policy == "list":
                    continue
                present = values.decoded(text)
                try:
                    kept = each.check(each.stored.mapped(present) if reading == "former" and each.stored else (
                        present if each.read(present, reading) is NONE else each.read(present, reading)))
                except FieldError as error:
                    misfits.append(f"{shared.id}.{each.stored_name}: {error}")
                    continue
                if reading == "former":
                    operations.append(Operation("set", each.stored_name, values.encode(kept)))
            if misfits and not keep_misfits:
                raise MisfitsError(misfits)
            return shared._write(operations, [], conditions=conditions, is_undoable=False)


def _check_name(owner: str, name: str) -> None:
    try:
        names.check_field(name)
    except WireError as error:
        raise BindbusError(f"{owner}: {error}") from None
    if "@" in name:
        raise BindbusError(f"{owner}: {name!r} is no field name: names with @ belong to the protocol")


def _weak(field: Declared) -> Operation:
    return Operation("setIfAbsent", field.stored_name, values.encode(plain_of(field.default)))
