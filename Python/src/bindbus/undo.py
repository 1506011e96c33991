"""Taking back the steps of one model: whether one still may be, and by which operations."""
from __future__ import annotations

from typing import Callable, Dict, List, Optional, Tuple

from . import values
from .lists import Elements, assemble
from .names import element
from .pending import Condition, Operation, Pending, merged_text
from .replica import Replica
from .undo_lists import Place, restoring
from .undo_recording import Recording
from .undo_steps import UndoField, UndoStep, negated, unchanged_since


class UndoBook(Recording):
    """The steps of one model that can be undone and redone."""

    def obstacle(self, step: UndoStep, replica: Replica, is_pending: Callable[[str], bool]) -> str:
        """Why a step cannot be taken back, as far as it is known here; empty: nothing stands in the way."""
        for each in step.fields.values():
            if each.kind == "text" or not (each.is_lost or each.kind == "set" and each.at is not None):
                continue
            if each.is_lost:
                return f"the hub's log has begun a new epoch, and {each.name} is not what that write left"
            if not replica.epoch or is_pending(each.name):
                continue  # before a hub was seen nothing can be compared
            if not each.is_unchanged(replica):
                return self._changed(each.name, replica)
            if not each.is_before_known:
                return (f"what {each.name} was before that write is not known here: its commit arrived together with "
                        "others")
        return ""

    def _changed(self, name: str, replica: Replica) -> str:
        known = replica.fields.get(name)
        verb = "deleted" if known is None or known.value is None else "changed"
        if known is None or not known.name:
            return f"{name} was {verb} since"
        by = "this program, in a write that is not undoable," if known.tag == self.tag else known.name
        return f"{name} was {verb} by {by} since"

    def restoration(self, step: UndoStep, shown: Callable[[str], Optional[bytes]],
                    elements: Callable[[str], Elements]) -> Tuple[List[Operation], Dict[str, str]]:
        """The operations that take a step back, as they show now, with their rules. A field whose commit is under way
        gets its final value when it is sent."""
        operations: List[Operation] = []
        rules: Dict[str, str] = {}
        for name, each in step.fields.items():
            if element(name) is not None:
                continue
            if each.kind == "text":
                text = merged_text(each.after, shown(name), each.before)
                if text is not None:
                    operations.append(Operation("set", name, text))
                    rules[name] = "text"
                continue
            amount = negated(self._added(each, step)) if each.kind == "add" else None
            if each.kind == "set" or amount is not None:
                operations.append(each.restored if each.kind == "set" else Operation("add", name, amount))
                rules[name] = "restore"
        # Elements come last: the description of their list may come back before them.
        for listed, fields in _by_list(list(step.fields.values())).items():
            operations += restoring(elements(listed), fields)
        return operations, {**rules, **{each.field: "restore" for each in operations if element(each.field)}}

    def _added(self, each: UndoField, step: UndoStep) -> Optional[bytes]:
        """What a step has added to a field, including what is not committed yet."""
        total = each.total
        for write in sorted(step.writes):
            part = self.notes[write].parts.get(each.name)
            if part is not None and part.kind == "add" and part.operand is not None:
                total = values.merge("add", part.operand, total)
        return total

    def finalize(self, write: Pending, replica: Replica) -> str:
        """Gives a write that takes a step back its final values and conditions, now that the commits of the step are
        known. Returns why it must not be sent; empty: it may be."""
        note = self.notes.get(write.id)
        if note is None or note.source is None:
            return "the step is gone"
        step = note.source[0]
        problem = self.obstacle(step, replica, lambda name: False)
        if problem:
            return problem
        write.conditions = []
        for name, rule in write.rules.items():
            each = step.fields.get(name)
            if rule != "restore" or element(name):
                continue
            if each is None or each.at is None:  # its write failed: nothing is to be taken back
                write.operations = [op for op in write.operations if op.field != name]
                write.overlay = [Operation("setIfAbsent", name) if op.field == name else op for op in write.overlay]
                continue
            final = each.restored if each.kind == "set" else Operation("add", name, negated(each.total))
            write.operations = [final if op.field == name else op for op in write.operations]
            write.overlay = [final if op.field == name else op for op in write.overlay]
            if each.kind == "set":
                write.conditions.append(Condition(name, *each.at))
        self._finalize_elements(write, step, replica)
        return ""

    def _finalize_elements(self, write: Pending, step: UndoStep, replica: Replica) -> None:
        """Where elements go depends on what is there now; one whose write failed stays."""
        names = [name for name, rule in write.rules.items() if rule == "restore" and element(name)]
        if not names:
            return
        stored = {name: each.value for name, each in replica.fields.items()}
        final: List[Operation] = []
        done = {name: each for name, each in step.fields.items() if name in names and each.at is not None}
        for listed, fields in _by_list(list(done.values())).items():
            final += restoring(assemble(listed, stored), fields)
        write.operations = [op for op in write.operations if op.field not in names] + final
        write.overlay = [op for op in write.overlay if op.field not in names] + final
        changed = {op.field for op in final}
        write.overlay += [Operation("setIfAbsent", name) for name in names if name not in changed]  # finds the write
        write.conditions += [Condition(name, *each.at) for name, each in done.items() if name in changed and each.at]

    def withdraw(self, step: UndoStep, redoes: bool, replica: Replica, shown: Dict[str, Optional[bytes]],
                 places: Dict[str, Place]) -> None:
        """Removes a step whose writes end unsent. What it took back stands again; what it did first can be done
        again. `shown` is what its fields show with it, and `places` where elements of lists stand."""
        source = next((note.source for note in (self.notes[write] for write in step.writes) if note.source), None)
        again = source[0] if source else UndoStep()
        for name, each in step.fields.items() if not source else ():
            known = replica.fields.get(name)
            again.fields[name] = UndoField(
                name, each.kind, shown[name], True, at=unchanged_since(replica, known),
                left=known.value if known else None, total=negated(self._added(each, step)),
                place=places.get(name, (None, None)), is_moved=each.is_moved)
        for write in step.writes:
            del self.notes[write]
        self.remove(step)
        goes_to_redo = source[1] if source else not redoes
        (self.redo if goes_to_redo else self.undo).append(again)


def _by_list(fields: List[UndoField]) -> Dict[str, List[UndoField]]:
    """The elements of lists among fields, by list."""
    found: Dict[str, List[UndoField]] = {}
    for each in fields:
        parts = element(each.name)
        if parts is not None:
            found.setdefault(parts[0], []).append(each)
    return found
