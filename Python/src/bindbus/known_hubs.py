"""Hubs with keys that this user has joined with `bindpeer join`: where they are, and the keys for them."""
from __future__ import annotations

import os
import re
from dataclasses import dataclass, field, replace
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

import zmq

from . import names
from .errors import BindbusError, KeysError
from .private_files import exclusively, read_json, write_json

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")
_KEY = re.compile(r"[0-9a-zA-Z.:+=^!/*?&<>()\[\]{}@%$#-]{40}\Z")


@dataclass(frozen=True)
class KnownHub:
    """What the files of a hub say. `others` are the other hubs of its log, with the same key, as one of them has told.
    Keys are 40 letters of Z85."""

    name: str
    addresses: Tuple[str, ...]
    hub_key: str
    next_key: Optional[str] = None
    others: Tuple[str, ...] = ()
    public: str = ""
    secret: str = field(default="", repr=False)

    @property
    def hub_keys(self) -> List[str]:
        """The keys that the hub may have, the present one first."""
        return [self.hub_key] + ([self.next_key] if self.next_key else [])

    def learned_keys(self, proven: str, present: str, following: Optional[str]) -> "KnownHub":
        """What it is after the hub has told of its keys over a connection on which it proved to have one of them."""
        if proven not in self.hub_keys:
            return self
        return replace(self, hub_key=present, next_key=following if following != present else None)

    def learned_hubs(self, told: Sequence[str], at: str) -> "KnownHub":
        """What it is after a hub of its log at an address has told where the others are."""
        fresh = tuple(dict.fromkeys(each for each in (at, *told)  # that one may have left itself out
                                    if each.startswith("tcp:") and each not in self.addresses))
        return self if set(fresh) == set(self.others) else replace(self, others=fresh)


def is_name(text: str) -> bool:
    """Whether a text that says where a hub is can only be the name of one."""
    return bool(text) and not set(text) & set("/:,")


def folder(environment: Mapping[str, str] = os.environ) -> str:
    """Where the files of this user's hubs are."""
    base = environment.get("XDG_CONFIG_HOME", "")
    if not base.startswith("/"):
        base = os.path.join(environment.get("HOME") or os.path.expanduser("~"), ".config")
    return os.path.join(base, "bindbus", "hubs")


def known_hub(name: str, where: Optional[str] = None) -> KnownHub:
    """Reads what is known of a hub. Raises `KeysError` if it was not joined, or its files cannot be used."""
    if not _NAME.match(name):
        raise KeysError(f"{name!r} is no hub address and no name of a hub: write ipc:///path/hub.sock, "
                        "tcp://127.0.0.1:7877, or the name under which you joined it")
    where = where or folder()
    path = os.path.join(where, f"{name}.json")
    found = read_json(path, "hub", is_secret=False)
    if found is None:
        files = os.listdir(where) if os.path.isdir(where) else []
        known = sorted(each[:-5] for each in files if each.endswith(".json"))
        only = f", only {', '.join(known)}" if known else ""
        raise KeysError(f"no hub {name!r} is known here{only}; get an invitation and use it: bindpeer join")
    if not _is_key(found.get("key")):
        raise KeysError(f"{path} does not name the hub's key; join it again: bindpeer join")
    addresses, others = (_addresses(path, found.get(each, [])) for each in ("addresses", "others"))
    if not addresses:
        raise KeysError(f"{path} names no address; join the hub again: bindpeer join")
    public, secret = _pair(os.path.join(where, f"{name}.key"))
    following = found.get("next")
    return KnownHub(name, addresses, found["key"], following if _is_key(following) else None, others, public, secret)


def write_down(hub: KnownHub, where: Optional[str] = None) -> None:
    """Replaces what is known of a hub, but for this user's pair. Raises `KeysError`."""
    content: Dict[str, Any] = {"bindbus": "hub", "version": 1, "key": hub.hub_key, "addresses": list(hub.addresses)}
    if hub.next_key:
        content["next"] = hub.next_key
    if hub.others:
        content["others"] = list(hub.others)
    write_json(os.path.join(where or folder(), f"{hub.name}.json"), content)


def update(name: str, learn: Any, where: Optional[str] = None) -> None:
    """Changes the file of a hub, unless `learn` returns what it gets. Raises `KeysError`."""
    with exclusively(where or folder()):
        known = known_hub(name, where)
        learned = learn(known)
        if learned != known:
            write_down(learned, where)


def _is_key(text: Any) -> bool:
    return isinstance(text, str) and bool(_KEY.match(text))


def _addresses(path: str, texts: Any) -> Tuple[str, ...]:
    for text in texts if isinstance(texts, list) else [texts]:
        try:
            names.check_address(text if isinstance(text, str) else repr(text))
        except BindbusError:
            raise KeysError(f"{path} names an address that is none: {text!r}; join the hub again: bindpeer join"
                            ) from None
    return tuple(texts)


def _pair(path: str) -> Tuple[str, str]:
    found = read_json(path, "key", is_secret=True)
    if found is None:
        raise KeysError(f"there is no key at {path}; get an invitation and use it: bindpeer join")
    if found.get("of") != "peer" or not _is_key(found.get("secret")):
        raise KeysError(f"{path} holds no key of a peer; get an invitation and use it: bindpeer join")
    if not zmq.has("curve"):
        raise KeysError("this pyzmq has no encryption (CURVE); install one that was built with libsodium")
    if zmq.curve_public(found["secret"].encode()).decode() != found.get("public"):
        raise KeysError(f"{path} has a public key that does not belong to its secret one; restore it from a copy")
    return found["public"], found["secret"]
