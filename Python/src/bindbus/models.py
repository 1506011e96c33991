"""Models as dataclasses: their fields' types, ranges, defaults and policies, and the description made of them."""
from __future__ import annotations

import dataclasses
import threading
import typing
from typing import TYPE_CHECKING, Any, AsyncIterator, Callable, Dict, Mapping, Optional, Type, TypeVar, overload

from . import values
from .declaration import Declaration
from .declared import Declared
from .errors import BindbusError, FieldError, ShareError
from .holding import Holding
from .observing import Observer
from .owning import ApprovalRequest, Ownership
from .pending_write import PendingWrite
from .shared import SharedModel
from .statuses import FieldStatus, ModelStatus
from .stored_form import StoredForm
from .typed import NONE
from .undoing import Undoing
from .writing import Policy

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:
    def dataclass_transform(**_: Any) -> Callable[[Any], Any]:
        """For type checkers."""
        return lambda made: made

Value = TypeVar("Value")
Any_ = TypeVar("Any_")


def field(default: Value, *, policy: Policy = "lastWrite", offline: str = "yields", max_length: Optional[int] = None,
          minimum: Any = None, maximum: Any = None, unit: str = "", title: str = "", help: str = "",
          expires: Optional[float] = None, was: str = "", stored: Optional[StoredForm] = None) -> Value:
    """A field of a model: `notes: str = field("", policy="text")`.

    `policy` and `offline` are those of `SharedModel.set`. `max_length` is in characters, `minimum` and `maximum` are
    included; a value beyond them raises `FieldError` when it is assigned. `unit`, `title` and `help` are for people.
    `expires` is for how many seconds a value other than the default holds, 0.1 to 604800, unless it is renewed, by
    `renew`, `hold` or another assignment: then the hub sets the field back to its default. `was` is the name under
    which a renamed field is stored; it never changes, so a field that is renamed again names the first one. `stored` is
    the type in which earlier releases store it, if that was another one: see `mapped`.
    """
    rule = {"policy": policy, "offline": offline, "maxLength": max_length, "min": minimum, "max": maximum,
            "unit": unit or None, "title": title or None, "help": help or None, "expires": expires, "was": was,
            "stored": stored}
    kept: Any = dataclasses.field(default_factory=lambda: _copy(default), metadata={"bindbus": rule})
    return typing.cast(Value, kept)


def ranged(default: Value, minimum: Value, maximum: Value, *, policy: Policy = "lastWrite", offline: str = "yields",
           unit: str = "", title: str = "", help: str = "", expires: Optional[float] = None, was: str = "",
           stored: Optional[StoredForm] = None) -> Value:
    """A number that lies between two others, both included: `level: float = ranged(0.3, 0, 1)`."""
    return field(default, policy=policy, offline=offline, minimum=minimum, maximum=maximum, unit=unit, title=title,
                 help=help, expires=expires, was=was, stored=stored)


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
        write, sees = declaration_of(type(self)).write(self.shared, fields, self._saw({}))
        self._saw(sees)
        return write

    def renew(self, name: str) -> PendingWrite:
        """Says that the value of a field which expires still holds. Raises `WriteError`. See `SharedModel.renew`."""
        declared = self._declared(name)
        with self.shared._runtime.lock:
            default = declared.written(declared.default, self.shared._described)
            return self.shared._renew(declared.stored_name, values.encode(default))

    def hold(self, name: str, value: Any) -> Holding:
        """Sets a field that expires, and renews it until this program ends, or what this returns is released:
        `with machine.hold("is_moving", True): …`. See `SharedModel.hold`."""
        declared = self._declared(name)
        with self.shared._runtime.lock:
            return self.shared.hold(declared.stored_name, declared.written(value, self.shared._described))

    def validate(self, check: Callable[[Any, ApprovalRequest], None], timeout: Optional[float] = 5.0) -> Ownership:
        """Makes this peer the model's owner. `check` gets a copy of this instance as another peer's write would leave
        it, and the request; if it raises, the write is refused with the error's words. See `SharedModel.own`."""
        def approve(request: ApprovalRequest) -> Optional[str]:
            check(declaration_of(type(self)).copy(type(self).__mro__[1], self.shared, request), request)
            return None

        return self.shared.own(approve, timeout)

    @property
    def undoing(self) -> Undoing:
        """Undo and redo of this program's own writes to the model. See `SharedModel.undoing`."""
        return self.shared.undoing

    def replace_description(self, keep_misfits: bool = False) -> PendingWrite:
        """Replaces the model's description by this class's declaration: it may narrow, and leaves out fields that the
        class does not declare, which sharing never does. Fields whose type has changed are stored in the new one from
        then on, for all programs; those of the earlier release no longer show or write them.

        It is one commit, and a conflict if the description or a mapped value has changed meanwhile. Raises
        `MisfitsError` with the present values that do not fit; with `keep_misfits` they stay until they are written.
        """
        return declaration_of(type(self)).replace(self.shared, keep_misfits)

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
        self._declared(name)
        value = getattr(self, name)
        return repr(value), value

    @property
    def status(self) -> ModelStatus:
        """The model's state relative to the hub."""
        return self.shared.status

    def field_status(self, name: str) -> FieldStatus:
        """The state of what a field shows. Raises `FieldError` for what is no field."""
        declared = self._declared(name)
        with self.shared._runtime.lock:
            status = self.shared.field_status(declared.stored_name)
            stored = self.shared.get(declared.stored_name, NONE)
            problem = "" if stored is NONE else declared.problem(stored, declared.reading(self.shared._described))
        if problem and status.kind in ("current", "stale"):
            return dataclasses.replace(status, kind="unreadable", reason=problem, since=None)
        return status

    def _declared(self, name: str) -> Declared:
        found = declaration_of(type(self)).fields.get(name)
        if found is None:
            raise FieldError(f"{self.shared.id} has no field {name}; its fields are "
                             f"{', '.join(declaration_of(type(self)).fields)}")
        return found


@overload
def model(cls: Type[Any_]) -> Type[Any_]: ...


@overload
def model(*, release: int = 0) -> Callable[[Type[Any_]], Type[Any_]]: ...


@dataclass_transform()
def model(cls: Any = None, *, release: int = 0) -> Any:
    """Makes a class with annotated fields a dataclass that can be shared: `peer.share(Lamp, "lamp")`.

    Types are int, float, bool, str, bytes, enums, Optional, lists and dicts of JSON, and dataclasses. Every field has
    a default. `@model(release=2)` numbers the program's releases: what the description says for people is that of the
    highest one. Raises `BindbusError` that names a field which cannot be shared.
    """
    if cls is None:
        return lambda made: _made(made, release)
    return _made(cls, release)


def _made(cls: Type[Any], release: int) -> Type[Any]:
    if release < 0:
        raise BindbusError(f"{cls.__name__}: release {release} is below 0; number releases from 1 on")
    if not issubclass(cls, Model):
        members = {name: value for name, value in vars(cls).items() if name not in ("__dict__", "__weakref__")}
        cls = type(cls.__name__, (Model,), members)
    made = dataclasses.dataclass(eq=False)(cls)
    setattr(made, "_declaration", Declaration(made, Model, release))
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
    made = type(cls.__name__, (cls,), {name: _attribute(each) for name, each in declaration.fields.items()})
    instance: Any = object.__new__(made)
    instance.__dict__["_shared"] = shared
    return typing.cast(Any_, instance)


def _attribute(field: Declared) -> property:
    """The attribute of a shared instance that stands for a field."""
    def read(instance: Model) -> Any:
        shared, good = instance.shared, instance.__dict__.setdefault("_good", {})
        with shared._runtime.lock:
            stored = shared.get(field.stored_name, NONE)
            reading = "declared" if stored is NONE else field.reading(shared._described)
        found = NONE if stored is NONE else field.read(stored, reading)
        if found is not NONE:
            good[field.name] = stored, reading
        elif stored is not NONE and field.name in good:
            found = field.read(*good[field.name])
        value = _copy(field.default) if found is NONE else found
        instance._saw({field.name: stored if reading == "former" else value})
        return value

    def write(instance: Model, value: Any) -> None:
        instance.set(**{field.name: value})

    return property(read, write)
