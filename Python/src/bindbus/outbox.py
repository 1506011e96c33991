"""A file that keeps writes without an outcome, so that they survive the program (format in README.md)."""
from __future__ import annotations

import fcntl
import json
import os
import time
import zlib
from typing import Any, BinaryIO, Dict, Optional

from .errors import OutboxError
from .kept import FORMAT, KeptWrites

COMPACT_BYTES = 256 << 10


class Outbox:
    """Records appended as lines of JSON behind their checksums. A peer that finds unfinished writes goes on under the
    identity and the numbers that wrote them; else it begins anew. One process at a time has the file."""

    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(path)
        self._lock: Optional[BinaryIO] = None
        self._file: Optional[BinaryIO] = None
        self.kept = KeptWrites()
        self._is_dirty = False
        self._size = 0
        try:
            self._lock = open(self.path + ".lock", "ab")
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.close()
            raise OutboxError(f"{self.path} is in use by another process; give each peer a file of its own") from None
        except OSError as error:
            self.close()
            raise OutboxError(f"{self.path} cannot be used: {error.strerror}; choose another folder") from None
        try:
            self._read()
        except BaseException:
            self.close()
            raise

    def _read(self) -> None:
        try:
            with open(self.path, "rb") as file:
                lines = file.read().split(b"\n")
        except FileNotFoundError:
            return
        except OSError as error:
            raise OutboxError(f"{self.path} cannot be read: {error.strerror}; check its rights") from None
        records = [_parsed(line) for line in lines[:-1]]
        whole = next((at for at, record in enumerate(records) if record is None), len(records))
        # Only the end may be torn: a program died, or the power failed, while it was written.
        if any(record is not None for record in records[whole:]):
            raise OutboxError(f"{self.path} is damaged at line {whole + 1}, and whole records follow; move it away to "
                              "start without the writes that it keeps")
        for record in records[:whole]:
            if record and record.get("format", FORMAT) > FORMAT:
                raise OutboxError(f"{self.path} has format {record['format']}; update this package to read it")
            self.kept.apply(record or {})

    def begin(self, name: str) -> bytes:
        """Opens the file for a peer. Returns the secret of its identity."""
        secret = self.kept.begin(os.urandom(16), name)
        self._rewrite()
        return secret

    def append(self, record: Dict[str, Any]) -> None:
        """Adds a record. It survives the end of the process now, and a power loss once it is synced."""
        record = {"time": int(time.time() * 1_000), **record}
        self.kept.apply(record)
        self._put(record)
        if self._size > COMPACT_BYTES and self._size > 4 * sum(len(_line(each)) for each in self.kept.records()):
            self._rewrite()

    def _put(self, record: Dict[str, Any]) -> None:
        line = _line(record)
        if self._file is None:
            return
        try:
            written = os.write(self._file.fileno(), line)
            if written < len(line):
                os.ftruncate(self._file.fileno(), self._size)
                raise OSError(28, "No space left on device")
        except OSError as error:
            raise OutboxError(f"{self.path} cannot be written: {error.strerror}; make room on the disk") from None
        self._size += len(line)
        self._is_dirty = True

    def sync(self) -> None:
        """Returns once all records are on the disk."""
        if self._is_dirty and self._file is not None:
            try:
                os.fsync(self._file.fileno())
            except OSError as error:
                raise OutboxError(f"{self.path} cannot be synced: {error.strerror}; check the disk") from None
            self._is_dirty = False

    def _rewrite(self) -> None:
        """Replaces the file by the records that still count, in one step."""
        try:
            handle = os.open(self.path + ".new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.writelines(map(_line, self.kept.records()))
                file.flush()
                os.fsync(file.fileno())
            os.replace(self.path + ".new", self.path)
            folder = os.open(os.path.dirname(self.path), os.O_RDONLY)
            os.fsync(folder)
            os.close(folder)
            if self._file is not None:
                self._file.close()
            self._file = open(self.path, "ab", buffering=0)
            self._size, self._is_dirty = os.path.getsize(self.path), False
        except OSError as error:
            raise OutboxError(f"{self.path} cannot be written: {error.strerror}; make room on the disk") from None

    def close(self) -> None:
        """Gives the file free for another process."""
        for file in (self._file, self._lock):
            if file is not None:
                file.close()
        self._file = self._lock = None


def _line(record: Dict[str, Any]) -> bytes:
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _parsed(line: bytes) -> Optional[Dict[str, Any]]:
    checksum, _, text = line.partition(b" ")
    try:
        if len(checksum) != 8 or int(checksum, 16) != zlib.crc32(text):
            return None
        record = json.loads(text)
        return record if isinstance(record, dict) else None
    except ValueError:
        return None
