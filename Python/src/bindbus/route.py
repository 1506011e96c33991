"""The way to a hub: its addresses, and the keys of one that this user has joined, which may change meanwhile."""
from __future__ import annotations

import logging
import threading
from typing import Any, Callable, List, Optional

from zmq.utils import z85

from . import known_hubs, names
from .errors import KeysError
from .known_hubs import KnownHub
from .pool import HubPool

log = logging.getLogger("bindbus")
_letters: Callable[[bytes], bytes] = z85.encode


class HubRoute:
    """Addresses of a hub each, or of one hub that this user has joined, best first. The files of such a hub are read
    again for each connection, since this user's pair or the hub's key may have changed."""

    def __init__(self, addresses: List[str], known: Optional[KnownHub] = None) -> None:
        self.addresses = addresses
        self.known = self._read = known
        self._proven = known.hub_key if known else ""  # the key that the hub must prove to have
        self._has_tried_both = False
        self._writing: Optional[threading.Thread] = None

    @classmethod
    def to(cls, text: str) -> "HubRoute":
        """The way that a text names. Raises `BindbusError` for what is none, `KeysError` for a hub that is not known or
        whose files cannot be used."""
        if known_hubs.is_name(text):
            known = known_hubs.known_hub(text)
            return cls(list(known.addresses), known)
        addresses = [each for each in text.split(",") if each]
        for each in addresses or [text]:
            names.check_address(each)
        return cls(addresses)

    @property
    def pool(self) -> HubPool:
        """The hubs to choose from."""
        known = self.known
        return HubPool(self.addresses, known is not None, known is not None, known.others if known else ())

    def options(self, endpoint: str) -> Any:
        """The keys of a socket that connects to an address: the hub's, this user's public and secret one; None: it is
        not encrypted."""
        if self.known is None or not endpoint.startswith("tcp:"):
            return None
        return [each.encode() for each in (self._proven, self.known.public, self.known.secret)]

    # Keys that change

    def begin(self) -> None:
        """A connection is about to be tried."""
        self._has_tried_both = False
        if self.known is None:
            return
        try:
            fresh = known_hubs.known_hub(self.known.name)
        except KeysError:
            fresh = None  # what was learned stays
        if fresh is not None and fresh != self._read:
            self.known = self._read = fresh
        if self._proven not in self.known.hub_keys:
            self._proven = self.known.hub_key

    def try_other_key(self) -> bool:
        """The connection failed as it does where the hub has another key. Returns whether there is one to try."""
        if self._has_tried_both or self.known is None or not self.known.next_key:
            return False
        self._proven = self.known.hub_key if self._proven == self.known.next_key else self.known.next_key
        self._has_tried_both = True
        return True

    def learn_keys(self, present: bytes, following: Optional[bytes], address: str) -> None:
        """The hub has told which key it has, and which one it will have."""
        if self.known is None or not address.startswith("tcp:"):
            return
        # A connection from before a change speaks for the key that it has told of.
        proven = self._proven if self._proven in self.known.hub_keys else self.known.hub_key
        first, second = _letters(present).decode(), None if following is None else _letters(following).decode()
        self._learn(lambda hub: hub.learned_keys(proven, first, second))

    def learn_hubs(self, told: List[str], address: str) -> None:
        """The hub has told where the others of its log are: this user's next process may find it gone."""
        if self.known is not None and address.startswith("tcp:"):
            self._learn(lambda hub: hub.learned_hubs(told, address))

    def _learn(self, learn: Callable[[KnownHub], KnownHub]) -> None:
        known = self.known
        if known is None or learn(known) == known:
            return
        self.known, before = learn(known), self._writing

        def write() -> None:
            if before is not None:
                before.join()
            try:
                known_hubs.update(known.name, learn)
            except KeysError as error:
                log.warning("cannot write down what the hub %s has told: %s", known.name, error)

        # Files are synced, and another process may have locked them, which a connection must not wait for.
        self._writing = threading.Thread(target=write, name="bindbus-keys", daemon=True)
        self._writing.start()

    def finish(self) -> None:
        """Waits until what was learned is in the files."""
        if self._writing is not None:
            self._writing.join(5)

    # Words

    def words(self, failure: str, address: str) -> str:
        """Why a handshake failed, for people: `refused`, `broken` or `protocol`."""
        if not address.startswith("tcp:"):
            return "the hub refuses this user for a time; ask who runs it" if failure == "refused" else "no hub answers"
        if self.known is None:
            return ("what answers there hung up, as a hub with keys does to a peer without; get an invitation and use "
                    "it: bindpeer join")
        if failure == "refused":
            return ("the hub refuses this key: it was revoked, or kicked for a time; wait, or get an invitation: "
                    "bindpeer join")
        if failure == "protocol":
            return "what listens there speaks no encryption; check the address"
        return (f"the hub hung up: it may have another key than the pinned {' or '.join(self.known.hub_keys)}, or be "
                f"overloaded; if its key has changed: bindpeer trust {self.known.name} KEY")
