"""The connection of a session to its hub: its phase, its numbers, and what is due when (protocol, 4.5 and 11)."""
from __future__ import annotations

import hashlib
import random
from typing import Dict, List, Optional

from . import messages
from .grammar import Body
from .overlay import Context, Effect
from .pool import HubPool

DRAFT = "draft-d4fda9ba"
CAPABILITIES = ["applied", "ephemeral", "rescue", "rights", "users", "describe", "expires", "lists", "history",
                "upstream", "keys", "hubs", DRAFT]
STALE_START, UNKNOWN_SESSION, CLOSING = 2, 3, 12
WELCOME_MS, SHORTEST_MS, LONGEST_MS = 2_000, 50, 1_000


def tag_of(secret: bytes) -> bytes:
    """The public part of an identity (4.1-2)."""
    return hashlib.sha256(b"bindbus tag 1\0" + secret).digest()[:8]


class Connection:
    """`phase` is `offline`, `connecting`, `welcoming`, `live` or `stopped`. Times are milliseconds of any clock that
    never goes back; the seed decides numbers and pauses."""

    def __init__(self, secret: bytes, name: str, seed: int, now: int, keeps: bool, hubs: HubPool) -> None:
        self.context = Context(tag_of(secret), keeps)
        self.secret, self.name, self.hubs = secret, name, hubs
        self.chance = random.Random(seed)
        self.run, self.opening = self.chance.getrandbits(64), 0
        self.phase, self.trouble = "offline", ""
        self.session = self.start = 0
        self.welcome: Body = {}
        self.was_welcomed = False
        self.limits: Dict[int, int] = {}
        self.pause = SHORTEST_MS
        self.opened_at = self.received_at = self.sent_at = self.silent_since = now
        self.heartbeat = self.heartbeat_count = self.heartbeat_at = 0
        self.heard_at: Optional[int] = None  # the last heartbeat, or the welcome
        self.owes_alive = self.owes_heads = False
        self.is_reached = True  # an edge reaches its upstream hub

    def take_effects(self) -> List[Effect]:
        """What to do now, in order."""
        effects, self.context.effects = self.context.effects, []
        return effects

    def can(self, capability: str) -> bool:
        """Whether the hub that welcomed this session has an optional capability."""
        return capability in self.welcome.get("capabilities", ())

    def send(self, kind: str, body: Body, now: int) -> None:
        """Sends a message."""
        self.sent_at = now
        self.context.emit("send", messages.encode(kind, self.session, self.start, body))

    def opened(self, now: int) -> None:
        """A new request connection is established: says hello under a new session number."""
        if self.phase != "connecting":
            return
        self.session, self.start, self.opening = self.chance.randrange(1, 1 << 64), 0, self.opening + 1
        self.opened_at = self.received_at = now
        self._move("welcoming")
        opening = f"opening:{self.run:x}-{self.opening}"
        self.send("hello", {
            "lowest": 0, "highest": 0, "tag": self.context.tag, "secret": self.secret, "name": self.name,
            "flags": int(self.was_welcomed), "leaseMs": 0, "encoding": "json",
            "capabilities": [*CAPABILITIES, opening]}, now)

    def lost(self, now: int, problem: str = "") -> None:
        """The connection was lost or could not be established: another one is opened. `problem` says why the next one
        will hardly do better."""
        self.reopen(problem or "no hub answers", now)

    def reopen(self, trouble: str, now: int, code: int = 0) -> None:
        """Gives up the connection, and opens one to another hub, after a pause if no other is left to try. Replicas and
        pending writes stay. `code` is that of the hub's error."""
        if self.phase == "stopped":
            return
        if self.phase == "live":
            self.silent_since = self.received_at
        pauses = self._choose_hub(code)
        self.trouble = self.hubs.misfit or trouble
        self._disconnect()
        self._move("connecting")
        self.context.emit("open", self._next_pause() if pauses else 0, self.hubs.current)

    def _choose_hub(self, code: int) -> bool:
        """Chooses the hub of the next connection. Returns whether a pause precedes it."""
        has_served = self.phase == "live" and self.heartbeat > 0
        if has_served:
            self.pause = SHORTEST_MS
        if code in (STALE_START, UNKNOWN_SESSION):
            return True  # the same hub answers another hello
        choose = self.hubs.leave if has_served else self.hubs.fail
        return choose(code == CLOSING, self.chance)

    def _next_pause(self) -> int:
        pause = self.pause // 2 + self.chance.randrange(self.pause // 2 + 1)
        self.pause = min(2 * self.pause, LONGEST_MS)
        return pause

    def _disconnect(self) -> None:
        """Forgets everything that belonged to the connection."""

    def _move(self, phase: str) -> None:
        if self.phase != phase:
            self.phase = phase
            self.context.emit("status")

    def _accept(self, body: Body, start: int, now: int) -> None:
        """The hub welcomes this session."""
        self.welcome, self.start, self.received_at = body, start, now
        self.limits = {each["code"]: each["limit"] for each in body["limits"]}
        self.was_welcomed, self.is_reached, self.trouble = True, True, ""
        self.hubs.accept()
        if not self.hubs.were_several:  # else one must first serve: two that close would be asked without a pause
            self.pause = SHORTEST_MS
        self.heartbeat, self.heartbeat_at, self.heard_at = 0, now, now
        drafts = [each for each in body["capabilities"] if each.startswith("draft-") and each != DRAFT]
        if drafts:
            self.context.emit("notice", f"the hub speaks {drafts[0]} of the protocol, this peer {DRAFT}; update one")

    def _learn_hubs(self, body: Body, now: int) -> None:
        """The hub says where the others of its log are: after a welcome, or as it refuses this peer."""
        self.received_at = now
        self.hubs.learn(body["hubs"], self.phase == "live")
        if self.phase == "live":
            self.context.emit("remember", body["hubs"])

    def _beat(self, number: int, now: int) -> bool:
        """A heartbeat. Asks for the heads after the first, each eighth and a missed one (5.2-12)."""
        if number <= self.heartbeat:
            return False
        self.owes_heads = self.owes_heads or number > self.heartbeat + 1 or self.heartbeat == 0
        self.heartbeat, self.heartbeat_at, self.heard_at = number, now, now
        self.heartbeat_count += 1
        self.owes_heads = self.owes_heads or self.heartbeat_count % 8 == 0
        self.owes_alive = True
        return True

    @property
    def heartbeat_ms(self) -> int:
        """How often the hub's heartbeat is due."""
        return int(self.welcome.get("heartbeatMs", 1_000))

    @property
    def _silence(self) -> int:
        return 3 * self.heartbeat_ms + 1_000

    @property
    def _lease_third(self) -> int:
        return max(int(self.welcome.get("leaseMs", 10_000)) // 3, 100)

    def next_deadline(self, now: int) -> int:
        """When `tick` is due, at the latest after a second."""
        times = [now + 1_000]
        if self.phase == "offline":
            times.append(now)
        if self.phase == "welcoming":
            times.append(self.opened_at + WELCOME_MS)
        if self.phase == "live":
            times += [min(self.received_at, self.heartbeat_at) + self._silence, self.sent_at + self._lease_third]
        return min(times)

    def tick(self, now: int) -> None:
        """Does what is due."""
        if self.phase == "offline":
            self.hubs.begin(self.chance)
            self._move("connecting")
            self.context.emit("open", 0, self.hubs.current)
        elif self.phase == "welcoming" and now >= self.opened_at + WELCOME_MS:
            self.reopen("the hub does not answer the hello", now)
        elif self.phase == "live":
            if now >= min(self.received_at, self.heartbeat_at) + self._silence:
                return self.reopen("the hub is silent", now)
            self.owes_alive = self.owes_alive or now >= self.sent_at + self._lease_third
