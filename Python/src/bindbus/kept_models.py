"""A folder that keeps the last known values of models, so that the next program shows them before a hub answers."""
from __future__ import annotations

import fcntl
import json
import logging
import os
import threading
import time
import zlib
from typing import Any, BinaryIO, Callable, Dict, Iterable, Optional, Sequence, Set

from .errors import KeepError
from .names import EPHEMERAL
from .replica import Field
from .sync import ModelSync

FORMAT, PAUSE_SECONDS, MOST_BYTES = 1, 1.0, 4 << 20
log = logging.getLogger("bindbus")
Content = Dict[str, Any]


class KeptModels:
    """One file for each model below one of the prefixes (`shop/`; empty: all) or with one of these ids. One process at
    a time has the folder. A file that is torn or of another release counts as absent: what it kept is at the hub."""

    def __init__(self, folder: str, prefixes: Sequence[str]) -> None:
        self.folder, self.prefixes = os.path.abspath(folder), list(prefixes)
        self._lock: Optional[BinaryIO] = None
        try:
            os.makedirs(self.folder, 0o700, exist_ok=True)
            self._lock = open(os.path.join(self.folder, "lock"), "ab")
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.close()
            raise KeepError(f"{self.folder} is in use by another process; give each peer a folder of its own") from None
        except OSError as error:
            self.close()
            raise KeepError(f"{self.folder} cannot be used: {error.strerror}; choose another folder") from None

    def keeps(self, model: str) -> bool:
        """Whether a model is kept."""
        return not model.startswith(EPHEMERAL) and any(
            prefix in ("", model) or prefix.endswith("/") and model.startswith(prefix) for prefix in self.prefixes)

    def _path(self, model: str) -> str:
        # Names differ in more than their case, which some file systems ignore.
        return os.path.join(self.folder, f"{model.replace('/', '.')}-{zlib.crc32(model.encode()):08x}.json")

    def load(self, model: str) -> Optional[Content]:
        """What was kept of a model; None: nothing that can be used."""
        if not self.keeps(model):
            return None
        try:
            with open(self._path(model), "rb") as file:
                checksum, _, text = file.read().partition(b" ")
            found = json.loads(text) if int(checksum, 16) == zlib.crc32(text) else None
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            found = None
        if not isinstance(found, dict) or found.get("format") != FORMAT or found.get("model") != model:
            log.warning("what %s has of %s cannot be used; it is asked of the hub", self.folder, model)
            return None
        return found

    def save(self, model: str, content: Optional[Content]) -> None:
        """Replaces what is kept of a model in one step; None, or too much of it, removes it. Raises `OSError`."""
        path = self._path(model)
        text = b"" if content is None else json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()
        if not 0 < len(text) <= MOST_BYTES:
            if os.path.exists(path):
                os.unlink(path)
            return
        handle = os.open(path + ".new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(b"%08x " % zlib.crc32(text) + text)
        os.replace(path + ".new", path)

    def close(self) -> None:
        """Gives the folder free for another process."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None


class Keeper(threading.Thread):
    """Saves models that have changed, at most once a second and at the end. `look` returns what is to be kept of one,
    under the peer's lock; the files are written outside of it."""

    def __init__(self, kept: KeptModels, name: str, look: Callable[[str], Optional[Content]]) -> None:
        super().__init__(name=f"bindbus-{name}-keeper", daemon=True)
        self.kept, self.look = kept, look
        self._changed: Set[str] = set()
        self._condition = threading.Condition()
        self._has_ended = self._has_failed = False

    def changed(self, model: str) -> None:
        """A model may have to be saved. Callable from any thread."""
        if self.kept.keeps(model):
            with self._condition:
                self._changed.add(model)
                self._condition.notify()

    def end(self, models: Iterable[str]) -> None:
        """Saves these models, and ends the thread."""
        with self._condition:
            self._changed |= {model for model in models if self.kept.keeps(model)}
            self._has_ended = True
            self._condition.notify()
        if self.is_alive():
            self.join(5)
        self.kept.close()

    def run(self) -> None:
        """The thread."""
        while True:
            with self._condition:
                self._condition.wait_for(lambda: self._changed or self._has_ended)
                if not self._has_ended:
                    self._condition.wait_for(lambda: self._has_ended, PAUSE_SECONDS)
                changed, self._changed = self._changed, set()
                has_ended = self._has_ended
            for model in sorted(changed):
                self._save(model)
            if has_ended:
                return

    def _save(self, model: str) -> None:
        try:
            self.kept.save(model, self.look(model))
            self._has_failed = False
        except OSError as error:
            if not self._has_failed:  # once, for a full disk may stay full
                log.warning("%s cannot be written: %s; values are not kept", self.kept.folder, error.strerror)
            self._has_failed = True


def content_of(sync: ModelSync, log_id: int, tag: bytes, stale_ms: int) -> Optional[Content]:
    """What is to be kept of a model; None: nothing. `stale_ms` is since when its values may be stale."""
    replica = sync.replica
    if not replica.version or not log_id:
        return None
    fields = [[name, None if each.value is None else each.value.decode(errors="surrogateescape"), each.version,
               each.tag.hex(), each.name, each.number, each.time] for name, each in replica.fields.items()]
    return {"format": FORMAT, "model": sync.model, "log": log_id, "epoch": replica.epoch, "version": replica.version,
            "time": int(time.time() * 1_000) - stale_ms, "tag": tag.hex(), "mark": sync.writes.last_decided,
            "seen": [[each.hex(), number] for each, number in replica.seen.items()], "fields": fields}


def restore_replica(sync: ModelSync, content: Content, stale_since: int) -> None:
    """Shows what an earlier process has kept of a model."""
    replica = sync.replica
    for name, value, version, tag, writer, number, moment in content["fields"]:
        text = None if value is None else value.encode(errors="surrogateescape")
        replica.commit(name, Field(text, version, bytes.fromhex(tag), writer, number, moment))
    for tag, number in content["seen"]:
        replica.see(bytes.fromhex(tag), number)
    replica.epoch, replica.version, sync.kept_log = content["epoch"], content["version"], content["log"]
    sync.is_from_file, sync.stale_since = True, stale_since
    if bytes.fromhex(content["tag"]) == sync.context.tag:  # it holds what was decided of these numbers
        sync.writes.hide(content["mark"])
    sync.described()
    sync.context.emit("changed", sync.model)


def decide_witness(sync: ModelSync, log_id: int, epoch: int, is_recovering: bool) -> None:
    """Whether a replica that was kept counts for the hub (7-10): it is of this log, and of the hub's epoch or the one
    before, unless the hub looks for any. Else all is asked for anew; until that arrives, it shows."""
    replica = sync.replica
    if sync.is_from_file and sync.kept_log != log_id:
        replica.keep_only(())
        replica.seen.clear()
        replica.version, replica.epoch, sync.is_from_file, sync.starts_over = 0, 0, False, False
        sync.context.emit("changed", sync.model)
    elif sync.is_from_file:
        is_of_last = replica.epoch == epoch or (replica.epoch >> 32) + 1 == epoch >> 32
        sync.starts_over = not is_of_last and not is_recovering
