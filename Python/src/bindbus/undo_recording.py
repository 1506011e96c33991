"""The steps of one model that can be undone and redone: how this program's writes and their commits make them."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, List, Optional, Tuple

from . import values
from .names import element
from .outcomes import Outcome
from .pending import Pending
from .replica import Field, Replica
from .undo_lists import Place
from .undo_steps import MOST_BYTES, MOST_STEPS, Part, Point, UndoField, UndoStep, is_placing, parts_of, unchanged_since

Source = Tuple[UndoStep, bool]  # a step that a write takes back, and whether it was one to redo


@dataclass
class Note:
    """A write that belongs to a step, and whose commit has not arrived."""

    step: UndoStep
    parts: Dict[str, Part]
    source: Optional[Source]
    number: int = 0
    committed: Optional[Point] = None


class Recording:
    """A step is made when its first write is, and stays open until the write's commit arrives: only then the value
    before it is known. An undo or redo is a write that makes a step on the other stack, in the same way."""

    def __init__(self, tag: bytes) -> None:
        self.tag = tag
        self.undo: List[UndoStep] = []
        self.redo: List[UndoStep] = []
        self.notes: Dict[int, Note] = {}
        self.group, self.depth, self._groups = 0, 0, 0

    def top(self, redoes: bool) -> Optional[UndoStep]:
        """The step that an undo, or a redo, takes back."""
        stack = self.redo if redoes else self.undo
        return stack[-1] if stack else None

    def write_of(self, number: int) -> int:
        """The recorded write that a number stands for; 0: none."""
        # What a hub has recovered from this peer's replica has its tag and the number 0 (7-7).
        return next((id for id, note in self.notes.items() if number and note.number == number), 0)

    def remove(self, step: UndoStep) -> None:
        """Drops a step."""
        self.undo = [each for each in self.undo if each is not step]
        self.redo = [each for each in self.redo if each is not step]

    def begin_group(self) -> None:
        """The writes until `end_group` are one step. Groups nest; the outermost one counts."""
        if self.depth == 0:
            self._groups += 1
            self.group = self._groups
        self.depth += 1

    def end_group(self) -> None:
        """Ends what `begin_group` began."""
        self.depth -= 1
        if self.depth == 0:
            self.group = 0

    @property
    def _all(self) -> List[UndoStep]:
        return [*self.undo, *self.redo, *(note.source[0] for note in self.notes.values() if note.source)]

    # Recording

    def record(self, write: Pending, shown: Dict[str, Optional[bytes]], places: Dict[str, Place], now: int,
               source: Optional[Source]) -> None:
        """Records a write; an ordinary one empties the steps to redo. `shown` is what its fields show without it, and
        `places` where elements of lists stand."""
        parts = parts_of(write, shown)
        if parts is None:
            return
        step = self._step_for(parts, None if is_placing(write) and not self.group else now, source)
        for name, part in parts.items():
            known = step.fields.get(name)
            each = known or UndoField(name, part.kind)
            if part.kind == "text":
                each.edit(part.base, part.operand)
            elif known is None:
                each.before, each.place = shown.get(name), places.get(name, (None, None))
            each.is_moved = each.is_moved or any(op.field == name and op.verb == "move" for op in write.operations)
            step.fields[name] = each
        step.writes.add(write.id)
        self.notes[write.id] = Note(step, parts, source)
        self._keep_limits()

    def _step_for(self, parts: Dict[str, Part], now: Optional[int], source: Optional[Source]) -> UndoStep:
        if source is not None:
            step = UndoStep()
            (self.undo if source[1] else self.redo).append(step)
            return step
        self.redo = []
        if self.undo and (now is not None or self.group) and self.undo[-1].is_joined_by(parts, self.group, now or 0):
            self.undo[-1].written_at = now
            return self.undo[-1]
        step = UndoStep(written_at=now, group=self.group)
        self.undo.append(step)
        return step

    def _keep_limits(self) -> None:
        size = sum(each.size for step in self.undo + self.redo for each in step.fields.values())
        while len(self.undo) + len(self.redo) > MOST_STEPS or size > MOST_BYTES and self.undo:
            oldest = (self.undo or self.redo)[0]
            size -= sum(each.size for each in oldest.fields.values())
            self.remove(oldest)

    def commit(self, write: int, name: str, before: Optional[Field], value: Optional[bytes], point: Point) -> None:
        """A commit of this program changes a field; called before the replica applies it."""
        note = self.notes[write]
        each = note.step.fields.get(name)
        if name not in note.parts or each is None:
            return self._spread(name, before, value, point)
        each.commit(note.parts[name], before.value if before else None,
                    Point(point.epoch, before.version if before else 0))
        each.at, each.left = point, value
        self._follow(note, name, point, value)

    def _spread(self, name: str, before: Optional[Field], value: Optional[bytes], point: Point) -> None:
        """The hub has given an element, which the write does not name, another rank to make room beside it: it is where
        it was among the others."""
        if element(name) is None or before is None:
            return
        for step in self._all:
            each, former = step.fields.get(name), UndoField(name, "set", before.value)
            if each is not None and each.at == (point.epoch, before.version):
                if former.element == UndoField(name, "set", value).element:
                    each.at, each.left = point, value

    def _follow(self, note: Note, name: str, point: Point, left: Optional[bytes]) -> None:
        """What stood before the step that a write has taken back stands again: the step that left it may be taken back
        in its turn."""
        source = note.source[0].fields.get(name) if note.source else None
        former = source.before_at if source else None
        for step in self._all if former is not None and former.version else ():
            each = step.fields.get(name)
            # An element is back in its place, perhaps with another rank.
            if each is not None and each.at == former and (element(name) or values.same(each.left, left)):
                each.at, each.left = point, left

    def finish(self, write: int) -> None:
        """The commit of a write has been applied."""
        note = self.notes.pop(write, None)
        if note is not None:
            note.step.writes.discard(write)
            if note.step.is_empty:
                self.remove(note.step)

    def settle(self, write: int, outcome: Outcome, replica: Replica) -> None:
        """A write has its outcome. Its commit may be in the replica already, together with others."""
        note = self.notes.get(write)
        if note is None:
            return
        if outcome.kind == "committed":
            note.committed = Point(outcome.epoch, outcome.version)
            return self.fold(replica)
        if outcome.kind == "unchanged" and note.source:  # it was as before that step already
            for name, each in note.source[0].fields.items():
                known = replica.fields.get(name)
                if each.kind == "set" and each.at is not None and each.is_unchanged(replica):
                    self._follow(note, name, each.at, known.value if known else None)
        self._detach(write, note, outcome.kind != "superseded")

    def _detach(self, write: int, note: Note, has_failed: bool) -> None:
        """The write takes no effect, or a later one has it too."""
        del self.notes[write]
        if has_failed and note.source:
            return self.remove(note.step)
        pending = {name for other in self.notes.values() if other.step is note.step for name in other.parts}
        note.step.writes.discard(write)
        for name, part in note.parts.items():
            each = note.step.fields.get(name)
            if each is not None and each.at is None and name not in pending and (part.kind != "text" or has_failed):
                del note.step.fields[name]
        if note.step.is_empty:
            self.remove(note.step)

    def fold(self, replica: Replica) -> None:
        """Notes that commits of this program are in the replica without having been applied one by one: what stood
        before them is not known here."""
        for write, note in list(self.notes.items()):
            point = note.committed
            if point is None or not (point.epoch < replica.epoch or point.epoch == replica.epoch
                                     and point.version <= replica.version):
                continue
            for name, part in note.parts.items():
                each, present = note.step.fields.get(name), replica.fields.get(name)
                if each is None or each.at == point:
                    continue
                is_there = present is not None and point == (replica.epoch, present.version)
                each.fold(part)
                each.at, each.left = point, present.value if present and is_there else part.left
                if is_there:
                    self._follow(note, name, point, each.left)
            self.finish(write)

    def rebase(self, replica: Replica) -> None:
        """The replica has another epoch. A field that has the value that its last step left is taken to be unchanged,
        at its present version; what any other field had is lost."""
        followed = {(each.name, each.before_at) for step in self._all for each in step.fields.values() if each.at}
        for each in [each for step in self._all for each in step.fields.values()]:
            if each.at is None or each.at.epoch == replica.epoch or each.kind == "text":
                continue
            if (each.name, each.at) in followed:
                continue  # a later step stands over it
            known = replica.fields.get(each.name)
            if values.same(each.left, known.value if known else None):
                each.at = unchanged_since(replica, known)
            else:
                each.is_lost = True
