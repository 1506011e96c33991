"""Models as dataclasses: their fields' types, ranges, defaults and policies, and the description made of them."""
from __future__ import annotations

import dataclasses
import threading
import typing
from typing import TYPE_CHECKING, Any, AsyncIterator, Callable, Dict, Mapping, Optional, Type, TypeVar

from . import names, values
from .errors import BindbusError, FieldError, ShareError, WireError
from .observing import Observer
from .pending import Operation
from .pending_write import PendingWrite
from .shared import POLICIES, Policy, SharedModel
from .statuses import FieldStatus, ModelStatus
from .typed import NONE, called, kind_of, plain_of, read_as

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:
    def dataclass_transform(**_: Any) -> Callable[[Any], Any]:
        """For type checkers."""
        return lambda made: made

Value = TypeVar("Value")
Any_ = TypeVar("Any_")


def field(default: Value, *, policy: Policy = "lastWrite", offline: str = "yields", max_length: Optional[int] = None,
          minimum: Any = None, maximum: Any = None, unit: str = "", title: str = "", help: str = "") -> Value:
    """A field of a model: `notes: str = field("", policy="text")`.

    `policy` and `offline` are those of `SharedModel.set`. `max_length` is in characters, `minimum` and `maximum` are
    included; a value beyond them raises `FieldError` when it is assigned. `unit`, `title` and `help` are for people.
    """
    rule = {"policy": policy, "offline": offline, "maxLength": max_length, "min": minimum, "max": maximum,
            "unit": unit or None, "title": title or None, "help": help or None}
    kept: Any = dataclasses.field(default_factory=lambda: _copy(default), metadata={"bindbus": rule})
    return typing.cast(Value, kept)


def ranged(default: Value, minimum: Value, maximum: Value, *, policy: Policy = "lastWrite", offline: str = "yields",
           unit: str = "", title: str = "", help: str = "") -> Value:
    """A number that lies between two others, both included: `level: float = ranged(0.3, 0, 1)`."""
    return field(default, policy=policy, offline=offline, minimum=minimum, maximum=maximum, unit=unit, title=title,
                 help=help)


def _copy(value: Any) -> Any:
    return type(value)(value) if isinstance(value, (list, dict)) else value


class Model:
    """What a shared instance of a `@model` class has besides its fields. `class Lamp(Model)` lets type checkers know of
    it; a class without this base gets it from `@model`, too."""

    @property
    def shared(self) -> SharedModel:
        """The same model without types. Raises `ShareError` if this instance was not shared."""
        found = self.__dict__.get("_shared")
        if found is None:
            raise ShareError(f"this {type(self).__name__} is not shared; use what peer.share returns")
        return typing.cast(SharedModel, found)

    def set(self, **fields: Any) -> PendingWrite:
        """Writes fields as one commit: `lamp.set(on=True, level=0.9)`. Raises `FieldError`; then nothing shows.

        What a field with a policy is based on is what this thread has read or written of it last: so between the two
        halves of `lamp.count += 1` nothing is lost.
        """
        write = declaration_of(type(self)).write(self.shared, fields, self._saw({}))
        self._saw(fields)
        return write

    def _saw(self, fields: Mapping[str, Any]) -> Dict[str, Any]:
        """What this thread has read or written last, with these fields now."""
        local = self.__dict__.setdefault("_local", threading.local())
        local.__dict__.update(fields)
        return typing.cast(Dict[str, Any], local.__dict__)

    def observe(self, name: str, receive: Callable[[Any], None]) -> Observer[Any]:
        """Calls `receive` with what the field shows now and at each change, on the peer's thread of observers, until
        `cancel()` of what this returns. Raises `FieldError` for what is no field."""
        self._look(name)
        return self.shared._observers.add(lambda: self._look(name), receive)

    def values(self, name: str) -> AsyncIterator[Any]:
        """`async for value in lamp.values("level")`: what shows now, then the newest at each change."""
        return self.shared._observers.values(lambda: self._look(name))

    def _look(self, name: str) -> Any:
        if name not in declaration_of(type(self)).fields:
            raise FieldError(f"{self.shared.id} has no field {name}")
        value = getattr(self, name)
        return repr(value), value

    @property
    def status(self) -> ModelStatus:
        """The model's state relative to the hub."""
        return self.shared.status

    def field_status(self, name: str) -> FieldStatus:
        """The state of what a field shows."""
        return self.shared.field_status(name)


@dataclass_transform()
def model(cls: Type[Any_]) -> Type[Any_]:
    """Makes a class with annotated fields a dataclass that can be shared: `peer.share(Lamp, "lamp")`.

    Types are int, float, bool, str, bytes, enums, Optional, lists and dicts of JSON, and dataclasses. Every field has
    a default. Raises `BindbusError` that names a field which cannot be shared.
    """
    if not issubclass(cls, Model):
        members = {name: value for name, value in vars(cls).items() if name not in ("__dict__", "__weakref__")}
        cls = typing.cast(Type[Any_], type(cls.__name__, (Model,), members))
    made = dataclasses.dataclass(eq=False)(cls)
    setattr(made, "_declaration", Declaration(made))
    return made


def declaration_of(cls: Any) -> "Declaration":
    """The declaration of a `@model` class. Raises `BindbusError` for another class."""
    declaration = getattr(cls, "_declaration", None)
    if not isinstance(declaration, Declaration):
        raise BindbusError(f"{cls.__name__} is no model; write @model above the class")
    return declaration


def shared_instance(cls: Type[Any_], shared: SharedModel) -> Any_:
    """An instance whose fields are those of a joined model."""
    declaration = declaration_of(cls)
    made = type(cls.__name__, (cls,), {name: declaration.property(name) for name in declaration.fields})
    instance: Any = object.__new__(made)
    instance.__dict__["_shared"] = shared
    return typing.cast(Any_, instance)


class Declared:
    """One field: its type, default and rule."""

    def __init__(self, owner: str, name: str, hint: Any, default: Any, rule: Mapping[str, Any]) -> None:
        self.owner, self.name, self.hint, self.default, self.rule = owner, name, hint, default, dict(rule)
        self.policy: Policy = rule.get("policy", "lastWrite")
        if not callable(self.policy) and self.policy not in POLICIES:
            raise BindbusError(f"{owner}.{name}: {self.policy!r} is no policy; write one of {', '.join(POLICIES)}")
        if self.policy == "list" and default:
            raise BindbusError(f"{owner}.{name}: the default of a list is empty; insert elements once it is shared")
        self.check(default)

    def description(self, order: int) -> Dict[str, Any]:
        """The field as the model's description has it (protocol, 8)."""
        kind, choices = kind_of(self.hint)
        if self.policy == "list":  # the rule of a list is that of its elements
            inner = typing.get_args(self.hint)
            kind = kind_of(inner[0])[0] if inner else "any"
        members = {"type": kind, "min": self.rule.get("min"), "max": self.rule.get("max"), "choices": choices or None,
                   "maxLength": self.rule.get("maxLength"), "unit": self.rule.get("unit"),
                   "default": plain_of(self.default), "title": self.rule.get("title"), "help": self.rule.get("help"),
                   "policy": "merge" if callable(self.policy) else None if self.policy == "lastWrite" else self.policy,
                   "order": order}
        return {name: value for name, value in members.items() if value is not None}

    def check(self, value: Any) -> Any:
        """The JSON value of a Python value. Raises `FieldError` if it does not fit the declaration."""
        plain, low, high = plain_of(value), self.rule.get("min"), self.rule.get("max")
        if isinstance(plain, float) and self.hint is int and plain.is_integer():
            plain = int(plain)
        where = f"{self.owner}.{self.name}"
        if read_as(self.hint, plain) is NONE:
            raise FieldError(f"{where}: {value!r} is no {called(self.hint)}; assign one, or declare another type")
        if isinstance(plain, (int, float)) and not isinstance(plain, bool):
            if low is not None and not plain >= low or high is not None and not plain <= high:
                bounds = f"{'' if low is None else low}...{'' if high is None else high}"
                raise FieldError(f"{where}: {value!r} is not in {bounds}; assign a value in that range, or widen it in "
                                 f"{self.owner}")
        length = self.rule.get("maxLength")
        if length is not None and isinstance(plain, str) and len(plain) > length:
            raise FieldError(f"{where}: the text has {len(plain)} characters; at most {length} are allowed: shorten "
                             f"it, or raise max_length in {self.owner}")
        values.encode(plain)
        return plain

    def read(self, value: Any) -> Any:
        """The Python value of a JSON value; the default where it is not of this type."""
        found = read_as(self.hint, value)
        return _copy(self.default) if found is NONE else found


class Declaration:
    """The fields of a `@model` class, as its shares propose them."""

    def __init__(self, cls: Type[Any]) -> None:
        hints = typing.get_type_hints(cls)
        self.fields: Dict[str, Declared] = {}
        for each in dataclasses.fields(cls):
            try:
                names.check_field(each.name)
            except WireError as error:
                raise BindbusError(f"{cls.__name__}: {error}") from None
            if hasattr(Model, each.name):
                raise BindbusError(f"{cls.__name__}.{each.name}: the name is taken by Model; choose another one")
            if each.default is dataclasses.MISSING and each.default_factory is dataclasses.MISSING:
                raise BindbusError(f"{cls.__name__}.{each.name} has no default; write one: it shows before any value")
            default = each.default if each.default_factory is dataclasses.MISSING else each.default_factory()
            self.fields[each.name] = Declared(cls.__name__, each.name, hints[each.name], default,
                                              each.metadata.get("bindbus", {}))
        if not self.fields:
            raise BindbusError(f"{cls.__name__} has no field; write one as `level: float = 0.3`")

    def property(self, name: str) -> property:
        """The attribute of a shared instance that stands for a field."""
        declared = self.fields[name]

        def read(instance: Model) -> Any:
            value = instance.shared.get(name, NONE)
            value = _copy(declared.default) if value is NONE else declared.read(value)
            instance._saw({name: value})
            return value

        def write(instance: Model, value: Any) -> None:
            instance.set(**{name: value})

        return property(read, write)

    def write(self, shared: SharedModel, fields: Mapping[str, Any], saw: Mapping[str, Any]) -> PendingWrite:
        """Writes fields by their policies; `saw` is what the writer saw of them."""
        unknown = [name for name in fields if name not in self.fields]
        if unknown:
            raise FieldError(f"{shared.id} has no field {unknown[0]}; its fields are {', '.join(self.fields)}")
        some = {name: self.fields[name] for name in fields}
        return shared.set({name: some[name].check(value) for name, value in fields.items()},
                          policies={name: each.policy for name, each in some.items()},
                          offline={name: each.rule.get("offline", "yields") for name, each in some.items()},
                          defaults={name: plain_of(each.default) for name, each in some.items()},
                          seen={name: plain_of(saw[name]) for name in some if name in saw})

    def propose(self, shared: SharedModel) -> None:
        """Offers the declaration and the defaults to the hub, where both yield to what exists."""
        mine = {name: each.description(at) for at, (name, each) in enumerate(self.fields.items(), 1)}
        fields = shared.description.get("fields", {})
        present = {name: each for name, each in fields.items() if isinstance(each, dict)}
        session, replica = shared._runtime.session, shared._sync.replica
        if any(present.get(name, {}).get(member, NONE) != value
               for name, each in mine.items() for member, value in each.items()):
            verb = "describe" if session.can("describe") else "setIfAbsent"
            shared._write([Operation(verb, names.DESCRIPTION, values.encode({"fields": mine}))], [])
        weak = [Operation("setIfAbsent", name, values.encode(plain_of(each.default)))
                for name, each in self.fields.items() if each.policy != "list" and name not in replica.fields
                and present.get(name, mine[name]).get("type") == mine[name]["type"]]
        if weak:
            shared._write(weak, [])
