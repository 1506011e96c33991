"""Files that their owner alone may read or change: keys, and what is known of hubs."""
from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
from typing import Any, Dict, Iterator, Optional

from .errors import KeysError

_MOST_BYTES = 64 << 20


def read_json(path: str, kind: str, is_secret: bool) -> Optional[Dict[str, Any]]:
    """A file of JSON that names its kind and version; None if there is none. Raises `KeysError` for one that others can
    change, that they can read though it is secret, or that is of another kind."""
    try:
        with open(path, "rb") as file:
            info = os.fstat(file.fileno())
            if info.st_uid != os.geteuid():
                raise _exposed(path, "belongs to another user")
            if info.st_mode & (0o077 if is_secret else 0o022):
                raise _exposed(path, f"can be {'read' if is_secret else 'changed'} by other users")
            text = file.read(_MOST_BYTES)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise KeysError(f"cannot use {path}: {error.strerror}; check its rights") from None
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict) or found.get("bindbus") != kind:
        raise KeysError(f"{path} is no complete file of a {kind}; restore it from a copy, or join the hub again: "
                        "bindpeer join")
    if found.get("version") != 1:
        raise KeysError(f"{path} is of another release; update this package")
    return found


def _exposed(path: str, problem: str) -> KeysError:
    return KeysError(f"{path} {problem}; a secret that others may have read is none: replace it")


def write_json(path: str, content: Dict[str, Any]) -> None:
    """Replaces a file in one step, mode 0600, and syncs it. Raises `KeysError`."""
    beside = f"{path}.{secrets.randbits(32)}.new"
    try:
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
        folder = os.open(os.path.dirname(path), os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise KeysError(f"cannot write {path}: {error.strerror}; make room on the disk, or check its rights") from None


@contextlib.contextmanager
def exclusively(folder: str) -> Iterator[None]:
    """Runs a block while no other process does so for the same folder. Raises `KeysError`."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise KeysError(f"cannot use {folder}: {error.strerror}; check its rights") from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
