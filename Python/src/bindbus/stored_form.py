"""Fields whose type is another one than in an earlier release: their values are mapped, in both directions."""
from __future__ import annotations

from typing import Any, Callable

from .described import Form
from .errors import FieldError
from .typed import NONE, called, kind_of, plain_of, read_as


class StoredForm:
    """The type in which earlier releases store a field, and how its values become this release's, and back."""

    def __init__(self, hint: Any, forward: Callable[[Any], Any], back: Callable[[Any], Any], unit: str) -> None:
        self.hint, self.forward, self.back = hint, forward, back
        self.form = Form(kind_of(hint)[0], unit or None)

    def read(self, stored: Any) -> Any:
        """The value for a stored one; `NONE` if that is not of the former type, or `forward` refuses it."""
        try:
            return self.mapped(stored)
        except FieldError:
            return NONE

    def mapped(self, stored: Any) -> Any:
        """The value for a stored one. Raises `FieldError` whose text follows the field's name."""
        former = read_as(self.hint, stored)
        if former is NONE:
            raise FieldError(f"{stored!r} is no {called(self.hint)}")
        try:
            return self.forward(former)
        except Exception as error:  # whatever the program's function says is why
            raise FieldError(f"{stored!r} cannot be mapped: {error}") from None

    def write(self, value: Any) -> Any:
        """The JSON value that is stored for a value. Raises `FieldError` whose text follows the field's name."""
        try:
            former = plain_of(self.back(value))
        except Exception as error:
            raise FieldError(f"{value!r} cannot be stored: {error}") from None
        if read_as(self.hint, former) is NONE:
            raise FieldError(f"{value!r} is stored as {called(self.hint)}; {former!r} is none: return one from back")
        return former

    def merging(self, merge: Callable[[Any, Any, Any], Any]) -> Callable[[Any, Any, Any], Any]:
        """A merge function for stored values."""
        def merged(*stored: Any) -> Any:
            return self.write(merge(*(None if each is None else self.mapped(each) for each in stored)))

        return merged


def mapped(hint: Any, forward: Callable[[Any], Any], back: Callable[[Any], Any], unit: str = "") -> StoredForm:
    """The type in which earlier releases store a field whose own type is another one, for `stored=` of a field:

        level: float = ranged(0.3, 0, 1, stored=mapped(int, lambda percent: percent / 100,
                                                       lambda level: round(level * 100), unit="%"))

    `forward` gives the field's value for a stored one, `back` the stored one for a value; both only compute, on any
    thread, perhaps often, and may raise. While the model's description has the former type, the program reads and
    writes values of that type; what the mapping loses is never written back. `replace_description` stores all values in
    the new type. Where the type stays the same, both releases need a `unit`, and the two differ.
    """
    return StoredForm(hint, forward, back, unit)
