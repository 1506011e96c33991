"""Recompresses a browser's screenshot: the same picture in fewer bytes."""

from __future__ import annotations

import struct
import zlib

SIGNATURE = b"\x89PNG\r\n\x1a\n"


def smaller(picture: bytes) -> bytes:
    """Recompresses a picture of 8 bits per channel, without interlacing: drops optional chunks and uses zlib's best
    level. Screenshots have flat areas, so rows compress best without PNG's filters."""
    chunks = list(_chunks(picture))
    header = next(data for kind, data in chunks if kind == b"IHDR")
    width, height, depth, colour, _, _, interlace = struct.unpack(">IIBBBBB", header)
    channels = {2: 3, 6: 4}.get(colour)
    if depth != 8 or interlace or channels is None:
        return picture
    rows = _unfiltered(zlib.decompress(b"".join(data for kind, data in chunks if kind == b"IDAT")), width, channels)
    packer = zlib.compressobj(9, zlib.DEFLATED, 15, 9)
    body = b"".join(packer.compress(b"\0" + row) for row in rows) + packer.flush()
    packed = SIGNATURE + _chunk(b"IHDR", header) + _chunk(b"IDAT", body) + _chunk(b"IEND", b"")
    return packed if len(packed) < len(picture) else picture


def _chunks(picture: bytes):
    place = len(SIGNATURE)
    while place < len(picture):
        (length,) = struct.unpack_from(">I", picture, place)
        yield picture[place + 4:place + 8], picture[place + 8:place + 8 + length]
        place += 12 + length


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _unfiltered(data: bytes, width: int, step: int) -> list[bytes]:
    """Returns the rows of a picture with PNG's filters (left, up, average, Paeth) undone."""
    length = width * step
    above, rows = bytearray(length), []
    for start in range(0, len(data), length + 1):
        kind, row = data[start], bytearray(data[start + 1:start + 1 + length])
        for place in range(length if kind else 0):
            left = row[place - step] if place >= step else 0
            corner = above[place - step] if place >= step else 0
            row[place] = (row[place] + _predicted(kind, left, above[place], corner)) & 0xFF
        rows.append(bytes(row))
        above = row
    return rows


def _predicted(kind: int, left: int, above: int, corner: int) -> int:
    if kind == 1:
        return left
    if kind == 2:
        return above
    if kind == 3:
        return (left + above) // 2
    guess = left + above - corner
    return min((left, above, corner), key=lambda one: abs(guess - one))
