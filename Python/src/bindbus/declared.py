"""What a field of a `@model` class declares: its type, default and rule, and in which form its values are stored."""
from __future__ import annotations

import typing
from typing import Any, Dict, Mapping, Optional

from . import values
from .described import Described, FieldForm, Form
from .errors import BindbusError, FieldError
from .expiry import LONGEST_MS, MERGING, SHORTEST_MS, Expiry, limits_of
from .stored_form import StoredForm
from .typed import NONE, called, kind_of, plain_of, read_as
from .writing import POLICIES, Policy


class Declared:
    """One field: its type, default and rule."""

    def __init__(self, owner: str, name: str, hint: Any, default: Any, rule: Mapping[str, Any]) -> None:
        self.owner, self.name, self.hint, self.default, self.rule = owner, name, hint, default, dict(rule)
        self.stored_name: str = rule.get("was") or name
        self.stored: Optional[StoredForm] = rule.get("stored")
        self.policy: Policy = rule.get("policy", "lastWrite")
        self.form = FieldForm(Form(self._kind()[0], rule.get("unit")), self.stored.form if self.stored else None)
        if not callable(self.policy) and self.policy not in POLICIES:
            raise BindbusError(f"{self.where}: {self.policy!r} is no policy; write one of {', '.join(POLICIES)}")
        if self.policy == "list" and default:
            raise BindbusError(f"{self.where}: the default of a list is empty; insert elements once it is shared")
        if self.stored is not None:
            self._check_stored(self.stored)
        if rule.get("expires") is not None:
            self._check_expiry(rule["expires"])
        self.check(default)

    @property
    def where(self) -> str:
        """The field for people."""
        return f"{self.owner}.{self.name}"

    def _check_stored(self, stored: StoredForm) -> None:
        if not callable(self.policy) and self.policy not in ("lastWrite", "compareAndSet"):
            raise BindbusError(f"{self.where} has a former type and the policy {self.policy}, which computes with "
                               "stored values; use lastWrite, compareAndSet or a function")
        if stored.form.means_same(self.form.present):
            raise BindbusError(f"{self.where} is stored as {stored.form.words} in both releases; give each a unit of "
                               "its own, or change the type")

    def _check_expiry(self, seconds: float) -> None:
        if not SHORTEST_MS <= seconds * 1_000 <= LONGEST_MS:
            raise BindbusError(f"{self.where}: expires is {seconds} s; write 0.1 to 604800 (7 days)")
        if self.policy in MERGING:
            raise BindbusError(f"{self.where}: a field that expires is set, not merged; use another policy than "
                               f"{self.policy}")

    @property
    def expiry(self) -> Optional[Expiry]:
        """The field's time limit; None: it has none."""
        return limits_of({"": self.description(0)}).get("")

    def _kind(self) -> Any:
        if self.policy != "list":
            return kind_of(self.hint)
        inner = typing.get_args(self.hint)  # the rule of a list is that of its elements
        return kind_of(inner[0])[0] if inner else "any", kind_of(self.hint)[1]

    def description(self, order: int) -> Dict[str, Any]:
        """The field as the model's description has it (protocol, 8)."""
        kind, choices = self._kind()
        members = {"type": kind, "min": self.rule.get("min"), "max": self.rule.get("max"), "choices": choices or None,
                   "maxLength": self.rule.get("maxLength"), "unit": self.rule.get("unit"),
                   "default": plain_of(self.default), "title": self.rule.get("title"), "help": self.rule.get("help"),
                   "policy": "merge" if callable(self.policy) else None if self.policy == "lastWrite" else self.policy,
                   "expires": None if self.rule.get("expires") is None else round(self.rule["expires"] * 1_000),
                   "order": order, "formerly": self.form.former.json if self.form.former else None}
        return {name: value for name, value in members.items() if value is not None}

    # Values

    def check(self, value: Any) -> Any:
        """The JSON value of a Python value. Raises `FieldError` if it does not fit the declaration."""
        plain, low, high = plain_of(value), self.rule.get("min"), self.rule.get("max")
        if isinstance(plain, float) and self.hint is int and plain.is_integer():
            plain = int(plain)
        if read_as(self.hint, plain) is NONE:
            raise FieldError(f"{self.where}: {value!r} is no {called(self.hint)}; assign one, or declare another type")
        if isinstance(plain, (int, float)) and not isinstance(plain, bool):
            if low is not None and not plain >= low or high is not None and not plain <= high:
                bounds = f"{'' if low is None else low}...{'' if high is None else high}"
                raise FieldError(f"{self.where}: {value!r} is not in {bounds}; assign a value in that range, or widen "
                                 f"it in {self.owner}")
        length = self.rule.get("maxLength")
        if length is not None and isinstance(plain, str) and len(plain) > length:
            raise FieldError(f"{self.where}: the text has {len(plain)} characters; at most {length} are allowed: "
                             f"shorten it, or raise max_length in {self.owner}")
        values.encode(plain)
        return plain

    def reading(self, described: Described) -> str:
        """How stored values are read under a description: as `declared`, in the `former` type, or not at all, since a
        later release has `replaced` it."""
        form = described.forms.get(self.stored_name)
        if form is None:
            return "declared"
        if self.form.is_mapped_from(form):
            return "former"
        return "replaced" if self.form.is_replaced_by(form) else "declared"

    def read(self, stored: Any, reading: str) -> Any:
        """The Python value of a stored JSON value; `NONE` where it is not of this type."""
        if reading == "replaced":
            return NONE
        if reading == "former" and self.stored is not None:
            found = self.stored.read(stored)
            return found if found is NONE else read_as(self.hint, plain_of(found))
        return read_as(self.hint, stored)

    def written(self, value: Any, described: Described) -> Any:
        """The JSON value to store. Raises `FieldError` if the value does not fit this declaration, or a later release
        stores the field in another type."""
        plain, reading = self.check(value), self.reading(described)
        if reading == "replaced":
            form = described.forms[self.stored_name].present
            raise FieldError(f"{self.where}: a later release has stored the field as {form.words}; this program's "
                             f"{self.form.present.words} would mean something else: update the program")
        if reading == "declared" or self.stored is None:
            return plain
        try:
            return self.stored.write(read_as(self.hint, plain))
        except FieldError as error:
            raise FieldError(f"{self.where}: {error}") from None

    def problem(self, stored: Any, reading: str) -> str:
        """Why a stored value is not shown; empty if it is."""
        if self.read(stored, reading) is not NONE:
            return ""
        if reading == "replaced":
            return "a later release stores the field in another type; update the program"
        kind = self.stored.hint if reading == "former" and self.stored else self.hint
        return f"the stored value {stored!r} is no {called(kind)}, or cannot be mapped; what was read last shows"
