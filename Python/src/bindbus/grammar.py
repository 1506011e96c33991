"""The pieces that messages consist of (protocol, section 2): each reads itself from bytes and writes itself to them."""
from __future__ import annotations

import struct
from typing import Any, Callable, Dict, Optional

from .errors import WireError

Body = Dict[str, Any]
ABSENT = 0xFFFFFFFF
FIRST_TOPIC = 0x01000001


class Reader:
    """Takes pieces off the front of a frame."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, count: int) -> bytes:
        """The next bytes."""
        if count > len(self.data) - self.at:
            raise WireError(f"the frame ends {count - (len(self.data) - self.at)} bytes early")
        self.at += count
        return self.data[self.at - count:self.at]

    def end(self) -> None:
        """Raises unless nothing is left."""
        if self.at != len(self.data):
            raise WireError(f"{len(self.data) - self.at} bytes follow the end")


class Codec:
    """A piece of the grammar."""

    def read(self, reader: Reader) -> Any:
        """Reads the piece, or raises `WireError`."""
        raise NotImplementedError

    def write(self, out: bytearray, value: Any) -> None:
        """Appends the piece."""
        raise NotImplementedError


class Number(Codec):
    """An unsigned little-endian number within bounds."""

    def __init__(self, form: str, low: int = 0, high: Optional[int] = None) -> None:
        self.form = struct.Struct("<" + form)
        self.low, self.high = low, (1 << 8 * self.form.size) - 1 if high is None else high

    def read(self, reader: Reader) -> int:
        value: int = self.form.unpack(reader.take(self.form.size))[0]
        if not self.low <= value <= self.high:
            raise WireError(f"{value} is not in {self.low}...{self.high}")
        return value

    def write(self, out: bytearray, value: int) -> None:
        out += self.form.pack(value)


class Raw(Codec):
    """A fixed number of bytes."""

    def __init__(self, count: int) -> None:
        self.count = count

    def read(self, reader: Reader) -> bytes:
        return reader.take(self.count)

    def write(self, out: bytearray, value: bytes) -> None:
        out += value


class Text(Codec):
    """UTF-8 after its length, checked."""

    def __init__(self, length: Number, check: Callable[[str], None] = lambda text: None) -> None:
        self.length, self.check = length, check

    def read(self, reader: Reader) -> str:
        try:
            text = reader.take(self.length.read(reader)).decode()
        except UnicodeDecodeError as error:
            raise WireError(f"not UTF-8: {error.reason}") from None
        self.check(text)
        return text

    def write(self, out: bytearray, value: str) -> None:
        data = value.encode()
        self.length.write(out, len(data))
        out += data


class Value(Codec):
    """JSON text, or None for no value."""

    def read(self, reader: Reader) -> Optional[bytes]:
        length = U32.read(reader)
        return None if length == ABSENT else reader.take(length)

    def write(self, out: bytearray, value: Optional[bytes]) -> None:
        U32.write(out, ABSENT if value is None else len(value))
        out += value or b""


class Many(Codec):
    """A list after its count. Every element takes a byte at least, so a false count ends with the frame."""

    def __init__(self, count: Number, element: Codec) -> None:
        self.count, self.element = count, element

    def read(self, reader: Reader) -> Any:
        count = self.count.read(reader)
        if count > len(reader.data) - reader.at:
            raise WireError(f"{count} elements are more than the frame holds")
        return [self.element.read(reader) for _ in range(count)]

    def write(self, out: bytearray, value: Any) -> None:
        self.count.write(out, len(value))
        for element in value:
            self.element.write(out, element)


class Record(Codec):
    """Members by name, in order. A member named `_…` adds its own members instead of one."""

    def __init__(self, check: Optional[Callable[[Body], None]] = None, **members: Codec) -> None:
        self.check, self.members = check, members

    def read(self, reader: Reader) -> Body:
        body: Body = {}
        for name, codec in self.members.items():
            try:
                value = codec.read(reader)
            except WireError as error:
                raise WireError(f"{name}: {error}") from None
            if name.startswith("_"):
                body.update(value)
            else:
                body[name] = value
        if self.check:
            self.check(body)
        return body

    def write(self, out: bytearray, value: Body) -> None:
        for name, codec in self.members.items():
            codec.write(out, value if name.startswith("_") else value[name])


class Writer(Codec):
    """Who wrote: tag and name, and the user where a hub with keys names one (5.2)."""

    def __init__(self, name: str = "name") -> None:
        self.name = name

    def read(self, reader: Reader) -> Body:
        tag, size = reader.take(8), U8.read(reader)
        if size == 0xFF:
            writer = {"tag": tag, self.name: TEXT8.read(reader), "user": TEXT8.read(reader)}
            if not writer["user"]:
                raise WireError("a user that is announced has a name")
            return writer
        reader.at -= 1
        return {"tag": tag, self.name: TEXT8.read(reader)}

    def write(self, out: bytearray, value: Body) -> None:
        out += value["tag"]
        if value.get("user"):
            out.append(0xFF)
        TEXT8.write(out, value[self.name])
        if value.get("user"):
            TEXT8.write(out, value["user"])


class FieldRef(Codec):
    """A field by its number, or by its name under the number 0xFFFFFFFF."""

    def read(self, reader: Reader) -> Body:
        id = U32.read(reader)
        return {"id": id, "name": TEXT8.read(reader)} if id == ABSENT else {"id": id}

    def write(self, out: bytearray, value: Body) -> None:
        U32.write(out, value["id"])
        if value["id"] == ABSENT:
            TEXT8.write(out, value["name"])


U8, U16, U32, U64 = Number("B"), Number("H"), Number("I"), Number("Q")
FLAG, TOPIC, FROM_ONE, FIELD = Number("B", 0, 1), Number("I", FIRST_TOPIC), Number("I", 1), Number("I", 0, ABSENT - 1)
TEXT8, TEXT16, VALUE, TAG = Text(U8), Text(U16), Value(), Raw(8)


def list8(element: Codec) -> Many:
    """A list with a count of one byte."""
    return Many(U8, element)


def list16(element: Codec) -> Many:
    """A list with a count of two bytes."""
    return Many(U16, element)


def list32(element: Codec) -> Many:
    """A list with a count of four bytes."""
    return Many(U32, element)
