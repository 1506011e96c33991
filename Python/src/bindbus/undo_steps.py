"""What this program's writes to a model did, step by step: enough to take them back."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, NamedTuple, Optional, Set, Tuple

from . import names, values
from .pending import Operation, Pending, merged_text
from .replica import Field, Replica

MOST_STEPS, MOST_BYTES, JOIN_MS = 100, 1 << 20, 1_000


class Point(NamedTuple):
    """A version of an epoch: where a value was committed."""

    epoch: int
    version: int


class Part(NamedTuple):
    """What a write does to one field: `set` (also a deletion), `add` or `text`, and the value that it leaves, where
    that does not depend on the one before."""

    kind: str
    operand: Optional[bytes] = None
    left: Optional[bytes] = None
    base: Optional[bytes] = None  # of a text: what it was edited from


@dataclass
class UndoField:
    """What one step did to one field."""

    name: str
    kind: str
    before: Optional[bytes] = None  # the committed value just before; of a text the text without the step's edits
    is_before_known: bool = False  # else it is what showed: the commit arrived together with others, or not yet
    before_at: Optional[Point] = None
    at: Optional[Point] = None  # where the step's last value was committed
    left: Optional[bytes] = None
    total: Optional[bytes] = None  # what `add` added in all
    after: Optional[bytes] = None  # of a text: with the step's edits
    place: Tuple[Optional[str], Optional[str]] = (None, None)  # of an element: after and before which others it stood
    is_moved: bool = False
    is_lost: bool = False  # a change of epoch has lost what the step left

    def edit(self, base: Optional[bytes], text: Optional[bytes]) -> None:
        """Adds an edit of a text. What others wrote since the last one is no edit of this program."""
        if self.after is None:
            self.before = base
        elif not values.same(self.after, base):
            self.before = merged_text(self.after, base, self.before) or base
        self.after, self.is_before_known = text, True

    def commit(self, part: Part, before: Optional[bytes], before_at: Point) -> None:
        """One more commit. What others have overwritten in between cannot be taken back: the value before the last
        commit counts."""
        if part.kind == "text":
            self.before_at = before_at if self.at is None else self.before_at
        elif self.at is not None and self.kind == part.kind == "add":
            self._add(part.operand)
        elif self.at is not None and self.at == before_at:
            self.kind, self.total = "set", None  # an addition and a set of one step: the value before both comes back
        else:
            self.kind, self.total = part.kind, part.operand if part.kind == "add" else None
            self.before, self.before_at, self.is_before_known = before, before_at, True

    def fold(self, part: Part) -> None:
        """One more commit, of which only the result is known."""
        if part.kind == "text":
            return
        if part.kind == "add" and (self.at is None or self.kind == "add"):
            self.total = None if self.at is None else self.total
            self.kind, self.before_at = "add", None
            self._add(part.operand)
        else:
            self.kind, self.total, self.before_at, self.is_before_known = "set", None, None, False

    def _add(self, operand: Optional[bytes]) -> None:
        self.total = None if operand is None else values.merge("add", operand, self.total)

    def is_unchanged(self, replica: Replica) -> bool:
        """Whether the field is as the step left it."""
        present = replica.fields.get(self.name)
        if self.at is None or self.at.epoch != replica.epoch:
            return False
        if present is None or present.value is None:  # a snapshot does not say when it was deleted: the condition does
            return self.left is None and (present.version if present else 0) <= self.at.version
        return present.version == self.at.version

    @property
    def element(self) -> Optional[List[Any]]:
        """Of an element of a list: the value that it had, in a list of one; None: it was not there."""
        found = values.decoded(self.before)
        return [found["is"]] if isinstance(found, dict) and "is" in found else None

    @property
    def restored(self) -> Operation:
        """The operation that brings the value before back."""
        return Operation("delete", self.name) if self.before is None else Operation("set", self.name, self.before)

    @property
    def size(self) -> int:
        """Its bytes, as they count against the limit."""
        return 96 + len(self.name) + sum(len(each or b"") for each in (self.before, self.left, self.after))


@dataclass(eq=False)
class UndoStep:
    """One or more writes of this program to one model, taken back together."""

    fields: Dict[str, UndoField] = field(default_factory=dict)
    writes: Set[int] = field(default_factory=set)  # without an outcome, or whose commits have not arrived
    written_at: Optional[int] = None  # None: no later write joins it, except one of its group
    group: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether nothing of it has taken effect, and nothing is under way."""
        return not self.writes and not any(each.at or each.kind == "text" for each in self.fields.values())

    @property
    def inexact(self) -> List[str]:
        """The fields whose sums may be rounded, because fractions were added."""
        return [each.name for each in self.fields.values()
                if each.kind == "add" and isinstance(values.decoded(each.total), float)]

    def is_joined_by(self, parts: Dict[str, Part], group: int, now: int) -> bool:
        """Whether a write joins it: it is in the same group, or sets the same fields soon after."""
        fits = all((self.fields[name].kind == "text") == (part.kind == "text")
                   for name, part in parts.items() if name in self.fields)
        if not fits or group or self.group:
            return fits and group == self.group
        kinds = {part.kind for part in parts.values()} | {each.kind for each in self.fields.values()}
        is_soon = self.written_at is not None and now < self.written_at + JOIN_MS
        return is_soon and "add" not in kinds and self.fields.keys() == parts.keys()


def is_placing(write: Pending) -> bool:
    """Whether elements of lists come, go or move: such writes are steps of their own."""
    return any(verb in ("insert", "move") or verb == "delete" and names.element(name)
               for verb, name, _ in write.overlay)


def parts_of(write: Pending, shown: Dict[str, Optional[bytes]]) -> Optional[Dict[str, Part]]:
    """What a write does to each field; None if it cannot be taken back: unions, defaults and descriptions. The head of
    a list comes back with its elements."""
    parts: Dict[str, Part] = {}
    for verb, name, value in write.overlay:
        if (shown.get(name) or b"").startswith(b'{"$list"'):
            continue
        is_protocols = name.startswith("@") and verb != "delete" and not write.is_restoring
        if is_protocols or verb in ("setIfAbsent", "union", "describe"):
            return None
        if verb == "set" and write.rules.get(name) == "text":
            parts[name] = Part("text", value, base=write.seen[name].base)
        elif verb == "add":
            parts[name] = Part("add", value)
        else:
            parts[name] = Part("set", value, value if verb == "set" else None)
    return parts if 0 < len(parts) < 256 else None


def unchanged_since(replica: Replica, known: Optional[Field]) -> Point:
    """Since when a field is known to be unchanged; one without a value since the replica's version."""
    is_there = known is not None and known.value is not None
    return Point(replica.epoch, known.version if known is not None and is_there else replica.version)


def negated(text: Optional[bytes]) -> Optional[bytes]:
    """The number with the other sign; None if it is none."""
    number = values.decoded(text)
    return values.encode(-number) if isinstance(number, (int, float)) and not isinstance(number, bool) else None
