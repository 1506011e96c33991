"""The hubs to which a peer may connect, all of one log, and which of them is tried next (protocol, 4.6)."""
from __future__ import annotations

import random
from typing import Dict, List, Sequence, Set, Tuple

LONGEST_ROUND, MOST_TOLD = 64, 32


class HubPool:
    """They are tried at random: if all peers of a lost hub went to the next one of a list, that one would have to take
    them all. A round tries each hub once, each as soon as the one before has failed; only after a round the peer
    pauses. A hub that has a log of its own is no hub of these: nothing is ever joined or sent there.

    `addresses` are of a hub each; if they are `of_one_hub`, best first, they are tried in this order. `has_keys`: the
    hub is reached encrypted, with a key that is known. `remembered`: others of its log, of which an earlier process was
    told, tried only where it cannot be reached.
    """

    def __init__(self, addresses: Sequence[str] = (), of_one_hub: bool = False, has_keys: bool = False,
                 remembered: Sequence[str] = ()) -> None:
        self.configured = [list(addresses)] if of_one_hub and addresses else [[each] for each in addresses]
        self.has_keys = has_keys
        self.named, self.are_remembered = list(remembered), bool(remembered)
        self.current = addresses[0] if addresses else ""
        self.were_several = len(self.configured) > 1  # also if the hub in use is the only other one of a named one
        self.misfit = ""  # why the hub at an address is none of these, for people
        self._tried: Set[str] = set()
        self._others: Dict[str, int] = {}  # where other logs were found since this peer's log was found last

    @property
    def _hubs(self) -> List[List[str]]:
        return self.configured + [[each] for each in self.named]

    @property
    def addresses(self) -> List[str]:
        """All addresses, those that the program named first."""
        return [each for hub in self._hubs for each in hub]

    @property
    def has_several(self) -> bool:
        """Whether there is a choice."""
        return len(self.configured) + (0 if self.are_remembered else len(self.named)) > 1

    # The next one

    def begin(self, chance: random.Random) -> None:
        """Begins a round."""
        self._tried.clear()
        if not (self.are_remembered and self._choose(self.configured, chance)):
            self._choose(self._hubs, chance)

    def fail(self, is_told: bool, chance: random.Random) -> bool:
        """The hub in use could not be reached, or has refused this peer: chooses the next; if it closes and has named
        others (`is_told`), one of these. Returns whether the round is over, so that the peer pauses first."""
        if is_told and self._choose([[each] for each in self.named], chance) or self._choose(self._hubs, chance):
            return False
        self.begin(chance)
        return True

    def leave(self, is_told: bool, chance: random.Random) -> bool:
        """The hub in use, which has served this peer for a while, is lost: begins a round of the others."""
        self._tried = set(next((hub for hub in self._hubs if self.current in hub), []))
        return self.fail(is_told, chance)

    def _choose(self, hubs: Sequence[Sequence[str]], chance: random.Random) -> bool:
        """Chooses one of these hubs at random, by the best of its addresses that this round has not tried."""
        if len(self._tried) >= LONGEST_ROUND:
            return False
        best = [next((each for each in hub if each not in self._tried), None) for hub in hubs]
        open_now = [each for each in best if each is not None]
        if not open_now:
            return False
        self.current = chance.choice(open_now) if len(open_now) > 1 else open_now[0]
        self._tried.add(self.current)
        return True

    # What hubs say

    def learn(self, told: Sequence[str], is_welcomed: bool) -> None:
        """The hub in use has named others. If it has welcomed this peer, they replace those that were named before."""
        known = {self.current, *(each for hub in self.configured for each in hub)}
        self.are_remembered = False
        if is_welcomed:
            self.named = []
        for each in told:  # without encryption nothing proves which hub answers
            if each not in {*known, *self.named} and (not self.has_keys or each.startswith("tcp:")):
                if len(self.named) < MOST_TOLD:
                    self.named.append(each)
        self.were_several = self.were_several or self.has_several

    def accept(self) -> None:
        """The hub in use has welcomed this peer with the log that the peer knows, or with its first one."""
        self._others.clear()
        self.misfit = ""

    def compare(self, log: int, other: int) -> Tuple[bool, bool]:
        """The hub in use has welcomed this peer with another log. Returns whether the peer has to go over to that log,
        since it knows no other hub, or all of them have that log now; and whether this is news."""
        if not self.has_several:
            return True, True
        is_news = self._others.get(self.current) != other
        self._others[self.current] = other
        if all(any(self._others.get(each) == other for each in hub) for hub in self._hubs):
            return True, True
        self.misfit = (f"the hub at {self.current} has the log {other:x}, and this peer's is {log:x}: it is no hub of "
                       "the same log; leave out its address, or start with it alone if the log was replaced")
        return False, is_news
