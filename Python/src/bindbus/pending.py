"""A write until its outcome is known, and what becomes of it when others write the same fields meanwhile."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from . import values
from .described import Described, FieldForm, LastDescribed
from .names import DESCRIPTION
from .outcomes import Outcome
from .replica import Replica
from .texts import merge_texts

VERBS = ("set", "delete", "setIfAbsent", "clear", "add", "max", "min", "union", "insert", "move", "replace", "describe")
WITHOUT_VALUE = ("delete", "clear")
LIST_VERBS = ("insert", "move", "replace")
LONG_WAIT_MS = 10_000
MOST_MERGES = 64


class Operation(NamedTuple):
    """One change of a proposal."""

    verb: str
    field: str
    value: Optional[bytes] = None


class Condition(NamedTuple):
    """The field has not changed since this version of this epoch."""

    field: str
    epoch: int
    version: int


class FormWritten(NamedTuple):
    """For which form of a field a value was made: as it is declared, or mapped to the one of an earlier release."""

    form: FieldForm
    is_mapped: bool

    def holds(self, described: Optional[FieldForm]) -> bool:
        """Whether a description has that form."""
        return not self.is_mapped if described is None else self.form.is_mapped_from(described) == self.is_mapped


@dataclass
class Seen:
    """A committed value as the writer saw it."""

    value: Optional[bytes]
    epoch: int
    version: int
    is_own: bool = False  # it was an uncommitted write of this peer
    ground: Optional[bytes] = None  # for a field without a value: the declared default, which showed all the same

    @property
    def base(self) -> Optional[bytes]:
        """On what a merge is based."""
        return self.value if self.ground is None else self.ground

    def is_untouched(self, value: Optional[bytes], version: int) -> bool:
        """Whether the field was never written since."""
        return value is None and version == 0 and not self.is_own


@dataclass
class Pending:
    """A write without an outcome, or one whose commit has not arrived."""

    id: int
    model: str
    operations: List[Operation]
    written_at: int
    conditions: List[Condition] = field(default_factory=list)
    rules: Dict[str, str] = field(default_factory=dict)  # by field: `compare`, `text`, `merge` or `restore`
    offline: Dict[str, str] = field(default_factory=dict)  # by field: `wins` or `drops`; else it yields
    seen: Dict[str, Seen] = field(default_factory=dict)
    forms: Dict[str, FormWritten] = field(default_factory=dict)  # of fields whose type has changed
    hops: int = 0
    overlay: List[Operation] = field(default_factory=list)
    limit: Optional[int] = None  # how long it may wait, of a field that expires
    is_restored: bool = False  # an earlier process has made it
    is_old: bool = False  # it had waited long before this process began
    number: int = 0
    epoch: int = 0  # in which its number was assigned
    is_earlier: bool = False  # an earlier process of this identity has sent it
    counted: int = 0  # its size when it was made
    is_due: bool = True
    was_sent: bool = False
    heartbeat: int = 0  # after which it was last sent
    unanswered_since: int = 0  # the heartbeat at which it was first found decided but without an outcome
    is_void: bool = False
    is_second_try: bool = False  # its first outcome is unknown; it is sent on condition of what its writer saw
    is_hidden: bool = False  # the committed values hold its effect, or it was refused
    committed_at: Optional[int] = None  # it shows until the replica reaches this version
    is_asking: bool = False  # the program is merging it
    attempts: int = 0
    waits_for: Optional[Tuple[int, int]] = None  # an epoch and a version that the replica has to reach first

    @property
    def is_restoring(self) -> bool:
        """Whether it takes a step back."""
        return "restore" in self.rules.values()

    @property
    def is_plain_set(self) -> bool:
        """Whether it sets fields without conditions."""
        return not self.asked_conditions and all(operation.verb == "set" for operation in self.operations)

    @property
    def asked_conditions(self) -> List[Condition]:
        """Its conditions without the one that the description still has the forms of its values."""
        return [each for each in self.conditions if not self.forms or each.field != DESCRIPTION]

    def misform(self, described: Described) -> str:
        """Why its values do not have the forms of a description; empty if they do."""
        for name, written in self.forms.items():
            now = described.forms.get(name)
            if not written.holds(now):
                was = written.form.former if written.is_mapped and written.form.former else written.form.present
                stored = f"is now stored as {now.present.words}" if now else "is not described any more"
                value = values.decoded(self.value(name))
                return f"{self.model}.{name}: {value!r} was written as {was.words}, and the field {stored}"
        return ""

    @property
    def size(self) -> int:
        """Its bytes, as they count against the limits."""
        return 64 + sum(16 + len(each.field) + len(each.value or b"") for each in self.operations) + sum(
            24 + len(each.field) for each in self.conditions)

    def value(self, name: str) -> Optional[bytes]:
        """What it writes to a field."""
        return next((each.value for each in self.overlay if each.field == name), None)

    def replace(self, name: str, value: bytes) -> None:
        """Writes another value to a field: the result of a merge."""
        self.operations = [each._replace(value=value) if each.field == name else each for each in self.operations]
        self.overlay = [each._replace(value=value) if each.field == name else each for each in self.overlay]

    def over(self, operation: Operation, value: Optional[bytes], version: int) -> Optional[bytes]:
        """What an operation of it shows over a value."""
        verb, operand = operation.verb, operation.value
        if verb == "set":
            seen = self.seen.get(operation.field)
            if self.rules.get(operation.field) != "text" or seen is None or seen.is_untouched(value, version):
                return operand
            return operand if seen.value == value else merged_text(seen.base, value, operand) or operand
        if verb in WITHOUT_VALUE:
            return None
        if verb == "setIfAbsent":
            return operand if value is None else value
        if verb in ("add", "max", "min", "union") and operand is not None:
            result = values.merge(verb, operand, value)
            return value if result is None else result
        return value


def merged_text(base: Optional[bytes], first: Optional[bytes], second: Optional[bytes]) -> Optional[bytes]:
    """The merge of two edits of a JSON text; None if one of the three is no text."""
    texts = ["" if text is None else values.decoded(text) for text in (base, first, second)]
    return values.encode(merge_texts(*texts)) if all(isinstance(text, str) for text in texts) else None


class Resolver:
    """Decides by what is committed now what becomes of a write that is about to be sent, and sets its conditions."""

    def __init__(self, replica: Replica, tag: bytes, is_ephemeral: bool) -> None:
        self.replica, self.tag, self.is_ephemeral = replica, tag, is_ephemeral
        self._described = LastDescribed()

    def prepare(self, write: Pending, is_first: Dict[str, bool], now: int) -> Any:
        """Returns `send`, `wait`, an outcome that ends the write, or the name of a field that the program merges."""
        if write.is_asking or write.waits_for and not self._has_arrived(*write.waits_for):
            return "wait"
        if write.forms:
            return self._prepare_formed(write, is_first, now)
        return self._prepare_ruled(write, is_first, now) if write.rules else self._prepare_waited(write, now)

    def _prepare_formed(self, write: Pending, is_first: Dict[str, bool], now: int) -> Any:
        """Of fields whose type has changed: values of another form than the description's are not sent, and others on
        condition that it stays."""
        described = self._described.read(self.replica.value(DESCRIPTION))
        problem = write.misform(described)
        if problem:
            return Outcome("refused", code="doesNotFit", text=problem)
        write.conditions = write.asked_conditions
        result = self._prepare_ruled(write, is_first, now) if write.rules else self._prepare_waited(write, now)
        if result == "send":
            version = self.replica.version_of(DESCRIPTION) or self.replica.version
            write.conditions = [*write.conditions, Condition(DESCRIPTION, self.replica.epoch, version)]
        return result

    def _prepare_ruled(self, write: Pending, is_first: Dict[str, bool], now: int) -> Any:
        conditions = list(write.conditions) if write.attempts == 0 or write.is_restoring else []
        for name, rule in sorted((name, rule) for name, rule in write.rules.items() if rule != "restore"):
            seen, mine = write.seen.get(name), write.value(name)
            if not is_first[name]:
                return "wait"  # it was written over a write of ours that is still pending
            if mine is None or seen is None:
                continue
            value, version = self.replica.value(name), self.replica.version_of(name)
            is_untouched = seen.is_untouched(value, version)
            if not is_untouched and not values.same(value, seen.value):
                if rule == "compare":
                    return self.conflict(name)
                if rule == "merge":
                    if write.attempts >= MOST_MERGES:
                        return self.conflict(name)
                    write.is_asking, write.attempts = True, write.attempts + 1
                    return name
                write.replace(name, merged_text(seen.base, value, mine) or mine)
            write.seen[name] = Seen(value, self.replica.epoch, version, False, seen.base if is_untouched else None)
            # A field without a value may have been deleted before our snapshot: the condition names the version at
            # which it is known to have none, not "never written".
            conditions.append(Condition(name, self.replica.epoch, version or self.replica.version))
        write.conditions = conditions
        return "send"

    def _has_arrived(self, epoch: int, version: int) -> bool:
        return epoch != self.replica.epoch or version <= self.replica.version

    def _prepare_waited(self, write: Pending, now: int) -> Any:
        """A plain set that waited long yields to what others wrote, unless its field says otherwise."""
        has_waited = write.is_old or now >= write.written_at + LONG_WAIT_MS
        if not has_waited or self.is_ephemeral or not write.is_plain_set:
            return "send"
        changed = [each.field for each in write.operations if self._is_changed(each.field, write.seen.get(each.field))]
        if any(write.offline.get(name) == "drops" for name in changed):
            return Outcome("expired", text="it waited long for a hub, and others changed the field meanwhile")
        name = next((name for name in changed if write.offline.get(name) != "wins"), None)
        if name is not None:
            write.conditions = [Condition(name, write.seen[name].epoch, write.seen[name].version)]
        return "send"

    def _is_changed(self, name: str, seen: Optional[Seen]) -> bool:
        known = self.replica.fields.get(name)
        if seen is None or known is None or known.tag == self.tag:
            return False
        return known.version > seen.version if seen.epoch == self.replica.epoch else seen.value != known.value

    def conflict(self, name: str) -> Outcome:
        """What is committed in a field instead of the write's value."""
        known = self.replica.fields.get(name)
        value = None if known is None else values.decoded(known.value)
        return Outcome("conflict", field=name, value=value, version=known.version if known else 0,
                       writer=known.name if known else "")

    def conditions_if_unchanged(self, write: Pending) -> Optional[List[Condition]]:
        """On what a plain set is sent again whose outcome is unknown: its fields are as its writer saw them."""
        conditions: List[Condition] = []
        for operation in write.operations:
            seen, value = write.seen.get(operation.field), self.replica.value(operation.field)
            version = self.replica.version_of(operation.field)
            if seen is None:
                return None
            is_same = seen.value == value and (value is not None or version == 0)
            if not (seen.version == version if seen.epoch == self.replica.epoch else is_same):
                return None
            conditions.append(Condition(operation.field, self.replica.epoch, version))
        return conditions if len(conditions) < 256 else None

    def conditions_if_forgotten(self, write: Pending) -> Optional[List[Condition]]:
        """The same for a hub that may have applied and forgotten it: "never written" is too weak a condition."""
        seen = [(each.field, write.seen.get(each.field)) for each in write.operations]
        if len(seen) > 255 or any(each is None or each.version == 0 and not self.replica.version for _, each in seen):
            return None
        return [Condition(name, each.epoch, each.version) if each.version else Condition(
            name, self.replica.epoch, self.replica.version) for name, each in seen if each]
