"""Names of models, fields and peers (protocol, 2-4 to 2-6), and where a hub is."""
from __future__ import annotations

import os
import re
from typing import List, Mapping, Optional, Tuple

from .errors import BindbusError, WireError

DESCRIPTION, OWNER, ME, SLOT, EPHEMERAL = "@description", "@owner", "@me", "@peer-", "@ephemeral/"
_MODEL = re.compile(r"[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*\Z")
_FIELD = re.compile(r"[A-Za-z0-9_-]{1,64}(@[A-Za-z0-9_-]{1,40})?\Z|@description\Z|@owner\Z|@me\Z|@peer-[0-9]{1,5}\Z")
_PATTERN = re.compile(r"[A-Za-z0-9_*-]{1,64}\Z")
_UNFIT = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def check_model(name: str) -> None:
    """Raises `WireError` unless the name is that of a model or of an ephemeral model."""
    stored = name[len(EPHEMERAL):] if name.startswith(EPHEMERAL) else name
    if not (_MODEL.match(stored) and len(stored) <= 200):
        raise WireError(f"{name!r} is no model id: write 1 to 200 of A-Z a-z 0-9 _ - in segments joined by /")


def check_stored_model(name: str) -> None:
    """Raises `WireError` unless the name is that of a stored model."""
    if name.startswith("@"):
        raise WireError(f"{name!r} is no model id: names that begin with @ belong to the protocol")
    check_model(name)


def check_field(name: str) -> None:
    """Raises `WireError` unless the name is that of a field, or of an element of a list."""
    if not _FIELD.match(name):
        raise WireError(f"{name!r} is no field name: write 1 to 64 of A-Z a-z 0-9 _ -")


def is_field(name: str) -> bool:
    """Whether the name is that of a field that a program names, neither an element of a list nor the protocol's."""
    return "@" not in name and bool(_FIELD.match(name))


def check_prefix(prefix: str) -> None:
    """Raises `WireError` unless the text is empty or consists of whole segments and ends in `/`."""
    if prefix and not (prefix.endswith("/") and _MODEL.match(prefix[:-1]) and len(prefix) <= 200):
        raise WireError(f"{prefix!r} is no prefix: it ends in / or is empty for all models")


def check_kept(text: str) -> None:
    """Raises `WireError` unless the text is a model's id, or a prefix."""
    if text.endswith("/") or not text:
        check_prefix(text)
    else:
        check_stored_model(text)


def check_pattern(pattern: str) -> None:
    """Raises `WireError` unless the text is a pattern of field names."""
    if not _PATTERN.match(pattern):
        raise WireError(f"{pattern!r} can match no field")


def check_peer(name: str) -> None:
    """Raises `WireError` unless the name is that of a peer."""
    if not 1 <= len(name.encode()) <= 64 or _UNFIT.search(name):
        raise WireError(f"{name!r} is no peer's name: write 1 to 64 bytes without control characters")


def fitting_peer(name: str) -> str:
    """A valid name made of any text: what is forbidden becomes `_`, what is too long is cut, nothing is `peer`."""
    name = _UNFIT.sub("_", name)
    while len(name.encode()) > 64:
        name = name[:-1]
    return name or "peer"


def element(name: str) -> Optional[Tuple[str, str]]:
    """The list and the id that the name of an element consists of; None for other names."""
    listed, at, id = name.partition("@")
    return (listed, id) if listed and at else None


def is_element_id(id: str) -> bool:
    """Whether an element of a list can have the id."""
    return bool(_FIELD.match(f"list@{id}"))


_ADDRESS = re.compile(r"ipc://(?P<path>[^\s,]+)\Z|tcp://(?P<host>[^\s,]+):(?P<port>[0-9]{1,5})\Z")


def check_address(text: str) -> None:
    """Raises `BindbusError` unless the text is the address of one hub that a peer can connect to."""
    found = _ADDRESS.match(text)
    if not found or found["port"] and not 0 < int(found["port"]) < 65536:
        raise BindbusError(f"{text!r} is not a hub address: write ipc:///path/hub.sock or tcp://127.0.0.1:7877")


def is_told_address(text: str) -> bool:
    """Whether a hub may name the address to its peers (4.6-1)."""
    found = _ADDRESS.match(text)
    if not found or not text.isascii() or not text.isprintable():
        return False
    if found["path"]:
        return found["path"].startswith("/")
    return 0 < int(found["port"]) < 65536 and found["host"] not in ("*", "0.0.0.0", "[::]")


def default_hub(environment: Mapping[str, str] = os.environ) -> str:
    """The address in `BINDPEER_HUB`; without it that of this user's hub."""
    if environment.get("BINDPEER_HUB"):
        return environment["BINDPEER_HUB"]
    runtime = environment.get("XDG_RUNTIME_DIR", "")
    if runtime.startswith("/"):
        return f"ipc://{runtime}/bindhub/hub.sock"
    folder = environment.get("TMPDIR", "/tmp")
    return f"ipc://{folder[:-1] if folder.endswith('/') else folder}/bindhub-{os.getuid()}/hub.sock"


def publish_address(request: str, ways: List[Mapping[str, str]]) -> Optional[str]:
    """Where the hub publishes, given the address of its requests and the ways of its welcome (4.2-2)."""
    transport, _, rest = request.partition("://")
    mine = f"{transport}:{rest if transport == 'ipc' else rest.rpartition(':')[2]}"
    way = next((way for way in ways if way["request"] == mine), None)
    way = way or next((way for way in ways if way["publish"].startswith(transport + ":")), None)
    if way is None:
        return None
    place = way["publish"].partition(":")[2]
    return f"ipc://{place}" if transport == "ipc" else f"tcp://{rest.rpartition(':')[0]}:{place}"
