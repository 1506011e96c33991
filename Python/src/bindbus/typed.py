"""Python's types as JSON's: what type a field has in a description, and values in both directions."""
from __future__ import annotations

import dataclasses
import enum
import typing
from typing import Any, List, Union

NONE = object()  # no value of the type


def kind_of(hint: Any) -> Any:
    """The type of §8, and the choices."""
    origin = typing.get_origin(hint)
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        choices = [each.value for each in hint]
        return ("string" if all(isinstance(each, str) for each in choices) else "any"), choices
    if origin in (list, tuple) or hint in (list, tuple):
        return "array", []
    if origin is dict or hint in (dict, bytes) or dataclasses.is_dataclass(hint):
        return "object", []
    return {bool: "boolean", int: "integer", float: "number", str: "string"}.get(hint, "any"), []


def called(hint: Any) -> str:
    """The name of a type, for people."""
    return getattr(hint, "__name__", str(hint).replace("typing.", ""))


def plain_of(value: Any) -> Any:
    """The JSON value of a Python value: members instead of dataclasses, values instead of enums."""
    if isinstance(value, enum.Enum):
        return value.value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain_of(getattr(value, each.name)) for each in dataclasses.fields(value)}
    if isinstance(value, (list, tuple)):
        return [plain_of(each) for each in value]
    return {name: plain_of(each) for name, each in value.items()} if isinstance(value, dict) else value


def read_as(hint: Any, value: Any) -> Any:
    """The value of a type for a JSON value; `NONE` if it is none of that type."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is Union or type(hint).__name__ == "UnionType":
        return next((found for found in (read_as(each, value) for each in inner) if found is not NONE), NONE)
    if hint in (Any, object):
        return value
    if hint is type(None):
        return None if value is None else NONE
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return next((each for each in hint if each.value == value), NONE)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return _read_dataclass(hint, value)
    if hint is float:
        return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else NONE
    if hint is int:
        whole = isinstance(value, float) and value.is_integer()
        return int(value) if whole or isinstance(value, int) and not isinstance(value, bool) else NONE
    kind = origin or hint
    if kind in (list, tuple, dict) and isinstance(value, (list, dict)) and isinstance(value, dict) == (kind is dict):
        return _read_collection(kind, inner, value)
    return value if isinstance(hint, type) and isinstance(value, hint) else NONE


def _read_collection(kind: Any, inner: Any, value: Any) -> Any:
    if kind is dict:
        read = {name: read_as(inner[1], each) if inner else each for name, each in value.items()}
        return NONE if any(each is NONE for each in read.values()) else read
    some: List[Any] = [read_as(inner[0], each) if inner else each for each in value]
    return NONE if any(each is NONE for each in some) else kind(some)


def _read_dataclass(hint: Any, value: Any) -> Any:
    if not isinstance(value, dict):
        return NONE
    hints = typing.get_type_hints(hint)
    read = {name: read_as(hints[name], each) for name, each in value.items() if name in hints}
    try:
        return NONE if any(each is NONE for each in read.values()) else hint(**read)
    except TypeError:
        return NONE
