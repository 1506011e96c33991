"""Values as JSON text: from and to Python, equality without rounding, and the merges that a hub evaluates (6.3)."""
from __future__ import annotations

import base64
import binascii
import json
import math
import re
from typing import Any, Hashable, List, Optional, Tuple, Union, cast

from .errors import WriteError

_EXACT, _DEEPEST, _SPACE = 1 << 53, 128, " \t\n\r"
_CANONICAL = re.compile(r"(0|-?[1-9][0-9]*)\Z")
_HALF = re.compile("[\ud800-\udfff]")
_FLOATS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


class _Number(str):
    """A number as it is written."""


def _refuse(text: str) -> Any:
    raise ValueError(f'not JSON: {text}; write {{"$float":"{text}"}}')


_AS_WRITTEN = json.JSONDecoder(parse_int=_Number, parse_float=_Number, parse_constant=_refuse)


def _parsed(text: bytes) -> Any:
    """JSON with its numbers as they are written. Raises `ValueError` for what is not JSON by 2-8."""
    try:
        value = _AS_WRITTEN.decode(text.decode())
        _check(value, _DEEPEST)
    except RecursionError:
        raise ValueError("arrays and objects nest more than 128 deep") from None
    return value


def _check(value: Any, depth: int) -> None:
    if isinstance(value, str) and _HALF.search(value):
        raise ValueError("half of a surrogate pair")
    if isinstance(value, (list, dict)):
        if depth == 0:
            raise ValueError("arrays and objects nest more than 128 deep")
        for each in value if isinstance(value, list) else [*value, *value.values()]:
            _check(each, depth - 1)


def decode(text: bytes) -> Any:
    """The Python value of a JSON text; `$int`, `$float` and `$bytes` are int, float and bytes.

    Raises `ValueError` for what is not JSON.
    """
    return _python(_parsed(text))


def decoded(text: Optional[bytes]) -> Any:
    """The same for what a hub has sent: None for no value, and the text itself where it is not JSON."""
    try:
        return None if text is None else decode(text)
    except ValueError:
        return (text or b"").decode(errors="replace")


def _python(value: Any) -> Any:
    if isinstance(value, _Number):
        return float(value) if set(value) & set(".eE") or value == "-0" else _integer(value)
    if isinstance(value, list):
        return [_python(each) for each in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        (name, content), = value.items()
        if isinstance(content, str) and not isinstance(content, _Number):
            if name == "$int" and _CANONICAL.match(content):
                return _integer(content)
            if name == "$float" and content in _FLOATS:
                return _FLOATS[content]
            if name == "$bytes":
                try:
                    return base64.b64decode(content, validate=True)
                except (binascii.Error, ValueError):
                    pass
    return {name: _python(each) for name, each in value.items()}


def _integer(digits: str) -> Union[int, float]:
    return int(digits) if len(digits) <= 4000 else float(digits)


def encode(value: Any) -> bytes:
    """The JSON text of None, bool, int, float, str, bytes, list, tuple, and dict with str keys.

    Raises `WriteError` for anything else.
    """
    try:
        text = json.dumps(_json(value, 0), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return text.encode()
    except UnicodeEncodeError:
        raise WriteError("the text has half of a surrogate pair, which UTF-8 cannot hold; remove it") from None


def _json(value: Any, depth: int) -> Any:
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return int(value) if abs(value) <= _EXACT else {"$int": str(int(value))}
    if isinstance(value, float):
        if math.isfinite(value):
            return float(value)
        return {"$float": "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"}
    if isinstance(value, (bytes, bytearray)):
        return {"$bytes": base64.b64encode(value).decode()}
    if depth >= _DEEPEST:
        raise WriteError("the value nests more than 128 deep; flatten it")
    if isinstance(value, (list, tuple)):
        return [_json(each, depth + 1) for each in value]
    if isinstance(value, dict):
        if not all(isinstance(name, str) for name in value):
            raise WriteError("a member's name is not a text; use str keys")
        return {str(name): _json(each, depth + 1) for name, each in value.items()}
    raise WriteError(f"a {type(value).__name__} has no JSON form; write a number, text, bool, None, list or dict")


# Equality (2-10)

def exact(text: bytes) -> Hashable:
    """A key that is equal for equal values, however they are written. Raises `ValueError` for what is not JSON."""
    return _key(_parsed(text))


def same(one: Optional[bytes], other: Optional[bytes]) -> bool:
    """Whether both are the same JSON value, or both no value."""
    if one == other or one is None or other is None:
        return one == other
    try:
        return exact(one) == exact(other)
    except ValueError:
        return False


def _key(value: Any) -> Hashable:
    if isinstance(value, _Number):
        return _digits(value)
    if isinstance(value, list):
        return "a", tuple(map(_key, value))
    if isinstance(value, dict):
        content = value.get("$int")
        if len(value) == 1 and isinstance(content, str) and not isinstance(content, _Number):
            if _CANONICAL.match(content):
                return _digits(content)
        return "o", frozenset((name, _key(each)) for name, each in value.items())
    return type(value).__name__, value


def _digits(number: str) -> Hashable:
    """Sign, digits without zeros around them, and exponent."""
    mantissa, _, exponent = number.lower().partition("e")
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    digits = (whole + fraction).lstrip("0")
    if not digits:
        return "n", 0
    if len(exponent.lstrip("+-").lstrip("0")) > 15:
        return "written", str(number)
    short = digits.rstrip("0")
    return "n", number[0] == "-", short, int(exponent or 0) - len(fraction) + len(digits) - len(short)


# Merges (6.3-5, 6.3-6)

def _number(text: bytes) -> Union[int, float, None]:
    try:
        value = decode(text)
    except ValueError:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        if text.lstrip()[:1] == b"{":
            return None
        value = _float(value)
    return value if not isinstance(value, float) or math.isfinite(value) else None


def _float(value: Union[int, float]) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def merge(verb: str, operand: bytes, current: Optional[bytes]) -> Optional[bytes]:
    """What `add`, `max`, `min` or `union` makes of a field; `current` itself where nothing changes.

    None where operand or field is not of the kind that the verb needs, or the sum is not finite.
    """
    if verb == "union":
        return _union(operand, current)
    change = _number(operand)
    if change is None or current is None:
        return None if change is None else operand
    base = _number(current)
    if base is None:
        return None
    if verb != "add":
        return operand if (base < change if verb == "max" else change < base) else current
    total = base + change
    if isinstance(total, int) and not -(1 << 63) <= total < 1 << 63:
        total = _float(total)
    if change == 0 or not math.isfinite(total):
        return current if change == 0 else None
    return current if total == base else encode(total)


def _union(operand: bytes, current: Optional[bytes]) -> Optional[bytes]:
    try:
        added, _ = _elements(operand)
        present, end = _elements(b"[]" if current is None else current)
    except ValueError:
        return None
    known, fresh = {exact(element) for element in present}, []
    for element in added:
        if exact(element) not in known:
            known.add(exact(element))
            fresh.append(element)
    if current is not None and not fresh:
        return current
    return (b"[" if current is None else current[:end]) + b",".join([b""][:bool(present)] + fresh) + b"]"


def _elements(text: bytes) -> Tuple[List[bytes], int]:
    """The texts of a list's elements, and where the last one ends."""
    if not isinstance(_parsed(text), list):
        raise ValueError("not a list")
    string, found = text.decode(), cast(List[bytes], [])
    at = end = string.index("[") + 1
    while True:
        while string[at] in _SPACE + ",":
            at += 1
        if string[at] == "]":
            return found, len(string[:end].encode())
        start, (_, at) = at, _AS_WRITTEN.raw_decode(string, at)
        found.append(string[start:at].encode())
        end = at
