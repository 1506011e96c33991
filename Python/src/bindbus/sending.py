"""A model's pending writes from their making to the frame that carries them: which are sent, when, and numbered how."""
from __future__ import annotations

from typing import Any, List, Mapping, Optional

from . import values
from .claims import Claims
from .expiry import Expiry, limits_of
from .grammar import Body
from .kept import kept
from .messages import fieldref
from .names import DESCRIPTION, EPHEMERAL, element
from .outcomes import Outcome, unknown
from .overlay import Context, Overlay
from .pending import VERBS, Pending, Resolver
from .replica import Replica

UNANSWERED_HEARTBEATS = 6


class Sending(Overlay):
    """The pending writes of one model, in order, as they are sent."""

    def __init__(self, model: str, replica: Replica, context: Context, last_number: int) -> None:
        super().__init__(model, replica, context)
        self.is_ephemeral = model.startswith(EPHEMERAL)
        self.resolver = Resolver(replica, context.tag, self.is_ephemeral)
        self.claims = Claims(context.tag)
        self.last_number, self.last_decided = last_number, 0
        self.sends_from, self.retry_reason = 0, ""

    def superseded(self, write: Pending) -> List[Pending]:
        """The plain sets, never sent, all of whose fields the new one sets: they end as superseded."""
        if not write.is_plain_set or write.is_restoring:
            return []
        fields = {each.field for each in write.operations}
        found = {self.over[name][-1] for name in fields if self.over.get(name)}
        some = [self.pending[id] for id in sorted(found) if id > self.last_conditional]
        return [each for each in some if not each.number and not each.is_second_try and each.is_plain_set
                and not each.is_asking and each.rules == write.rules
                and all(op.field in fields and self.over[op.field][-1] == each.id for op in each.operations)]

    def settle(self, write: Pending, outcome: Outcome) -> None:
        """Records the outcome of a write."""
        if self.keeps(write):
            self.context.emit("journal", {"kind": "decided", "write": write.id, "outcome": outcome.kind})
        if self.is_ephemeral:
            self.claims.settle(write, outcome, self.replica)
        if self.book is not None:
            self.book.settle(write.id, outcome, self.replica)
        self.context.emit("settled", write.id, outcome)

    def end(self, write: Pending, outcome: Outcome) -> None:
        """Settles a write and removes it."""
        if write.is_second_try and outcome.kind != "committed":
            outcome = unknown(f"the hub does not have its outcome; sent again, the write ended with: {outcome}")
        self.settle(write, outcome)
        self.release(write)

    def withdraw(self, id: int) -> bool:
        """Asks not to apply a write any more. Returns False if it has an outcome."""
        write = self.pending.get(id)
        if write is None or write.committed_at is not None:
            return False
        if not write.number:
            self.end(write, Outcome("expired", text="it was withdrawn"))
            return True
        write.is_void = write.is_due = True
        if self.keeps(write):
            self.context.emit("journal", {"kind": "withdrawn", "write": id})
        return True

    def keeps(self, write: Pending) -> bool:
        """Whether an outbox keeps a write: not one of an ephemeral model, of a field that expires, or an undo before it
        has its final values."""
        if not self.context.keeps or self.is_ephemeral or write.is_restoring and not write.number:
            return False
        return write.limit is None or write.is_restored

    # Sending

    def due(self, now: int) -> List[Pending]:
        """The writes to send: the numbered ones by number, then the others, oldest first."""
        if now < self.sends_from:
            return []
        some = [each for each in self.pending.values() if each.is_due and each.committed_at is None]
        return sorted(some, key=lambda each: (not each.number, each.number or each.id))

    def prepare(self, write: Pending, now: int) -> str:
        """Brings a write that has no number up to what is committed now: `send`, `wait` or `ended`."""
        if write.forms and self._awaits_description(write):
            return "wait"
        if write.is_restoring:
            ended = self._finalize(write)
            if ended:
                return ended
        is_first = {name: self.over[name][0] == write.id for name in write.rules}
        former = write.operations
        result = self.resolver.prepare(write, is_first, now)
        if isinstance(result, Outcome):
            self.end(write, result)
            return "ended"
        if result in ("send", "wait"):
            if write.operations != former:
                self.touch()
            return str(result)
        seen = write.seen[result]
        self.context.emit("merge", write.id, result, (seen.base, write.value(result), self.replica.value(result)))
        return "wait"

    # Undo

    def before(self, write: Pending) -> Any:
        """What the fields of a write that is about to be made show without it, and where elements of lists stand."""
        names = {each.field for each in self._overlay(write.operations)}
        return {name: self.shown(name) for name in names}, self.places(names)

    def _finalize(self, write: Pending) -> str:
        """Gives an undo its final values, once no earlier write of its fields is pending. Returns `wait`, `ended`, or
        nothing: it goes on."""
        listed = {parts[0] for name in write.rules for parts in [element(name)] if parts}
        places = {parts[0] for other in self.pending.values() if other.id < write.id and not other.is_hidden
                  for op in other.overlay for parts in [element(op.field)] if parts and op.verb != "replace"}
        if any(self.over[name][0] != write.id for name in write.rules) or listed & places:
            return "wait"  # where elements go depends on earlier writes that place some
        problem = self.book.finalize(write, self.replica) if self.book is not None else "undo has ended"
        self.touch()
        if problem or not write.operations:
            self.end(write, Outcome("conflict", text=problem) if problem else Outcome("unchanged"))
            return "ended"
        return ""

    def begin_restoring(self, redoes: bool) -> Any:
        """Takes the last step off undo, or redo. Returns the step with the operations that take it back and their
        rules; the step alone, if it was not sent yet and is withdrawn; or why it is not possible."""
        book = self.book
        step = book.top(redoes) if book is not None else None
        if book is None or step is None:
            return ""
        writes = [self.pending.get(id) for id in step.writes]
        if writes and all(each.at is None and each.kind != "text" for each in step.fields.values()) and all(
                each is not None and not each.number and not each.was_sent and not each.is_second_try
                and not each.is_restored for each in writes):
            shown = {name: self._shown_element(name) if element(name) else self.shown(name) for name in step.fields}
            book.withdraw(step, redoes, self.replica, shown, self.places(step.fields))
            for write in [each for each in writes if each is not None]:
                self.end(write, Outcome("superseded", text="it was undone before it was sent"))
            return step, [], {}
        problem = book.obstacle(step, self.replica, lambda name: bool(self.over.get(name)))
        operations, rules = ([], {}) if problem else book.restoration(step, self.shown, self.shown_list)
        book.remove(step)
        if problem or not operations:
            return problem or "what that write left is not there"
        return step, operations, rules

    def _shown_element(self, name: str) -> Optional[bytes]:
        listed, id = element(name) or ("", "")
        shown = dict(self.shown_list(listed))
        return values.encode({"at": 1, "is": shown[id]}) if id in shown else None

    # Fields that expire

    def learn_limits(self) -> None:
        """The description may have changed: its limits hold for pending writes too."""
        self.expiring.described = limits_of(self.committed_description.fields) if not self.is_ephemeral else {}
        self.declare_limits({})

    def declare_limits(self, declared: Mapping[str, Expiry]) -> None:
        """The program declares limits, which hold before a hub has described the model."""
        self.expiring.declared.update(declared)
        if self.expiring.join():
            for write in self.unacknowledged():
                write.limit = self.expiring.limit(write.overlay)
            self.touch()

    def expire(self, now: int, heard_at: Optional[int], heartbeat: int) -> None:
        """Ends the writes that have become too old, and shows the default of each field whose limit has passed since
        the hub was heard of this model (None: never), or again the committed value."""
        if not self.expiring.limits:
            return
        for write in [each for each in self.unacknowledged() if each.limit is not None and not each.is_void]:
            if write.is_restored or now >= write.written_at + (write.limit or 0):
                self._lapse(write)
        for name, limit in self.expiring.limits.items():
            value = self.replica.value(name)
            is_silent = heard_at is None or now >= heard_at + limit.patience(heartbeat)
            is_stale = is_silent and value is not None and not limit.is_fallback(value)
            if is_stale != (name in self.expiring.stale):
                if is_stale:
                    self.expiring.stale[name] = now
                else:
                    del self.expiring.stale[name]
                self.touch()
        for name in [each for each in self.expiring.stale if each not in self.expiring.limits]:
            del self.expiring.stale[name]
            self.touch()

    def _lapse(self, write: Pending) -> None:
        """The hub may have a write that was sent: it is asked not to apply it, and the write shows no longer."""
        if not write.number:
            return self.end(write, Outcome("expired", text="its field expires, and no hub took it in time"))
        write.is_hidden = True
        self.withdraw(write.id)
        self.touch()

    def next_expiry(self, heard_at: Optional[int], heartbeat: int) -> List[int]:
        """When `expire` is due."""
        if not self.expiring.limits:
            return []
        times = [each.written_at + each.limit for each in self.unacknowledged()
                 if each.limit is not None and not each.is_void]
        if heard_at is not None:
            times += [heard_at + limit.patience(heartbeat) for name, limit in self.expiring.limits.items()
                      if name not in self.expiring.stale and self.replica.value(name) is not None
                      and not limit.is_fallback(self.replica.value(name))]
        return times

    # Fields whose type has changed

    def _awaits_description(self, write: Pending) -> bool:
        """Whether an earlier write to the description has no commit yet: what it makes of the fields is not known."""
        return any(id < write.id for id in self.over.get(DESCRIPTION, ()))

    def is_misformed(self, write: Pending) -> bool:
        """Whether a write is not to show, since the description has another form already."""
        return bool(write.forms) and not self._awaits_description(write) and bool(
            write.misform(self.committed_description))

    def end_misformed(self) -> None:
        """The description may have changed: ends writes of another form that were never sent, and hides those that
        were, which the hub has decided before or will not apply."""
        for write in [each for each in self.unacknowledged() if each.forms and not each.is_hidden]:
            if not self.is_misformed(write):
                continue
            if write.number:
                write.is_hidden = True
                self.touch()
            else:
                self.end(write, Outcome("refused", code="doesNotFit", text=write.misform(self.committed_description)))

    def number(self, write: Pending, epoch: int) -> None:
        """Assigns the next number. From now on the write does not change."""
        self.last_number += 1
        write.number, write.epoch = self.last_number, epoch
        self.by_number[write.number] = write.id
        if self.book is not None and write.id in self.book.notes:
            self.book.notes[write.id].number = write.number
        if write.number <= self.last_decided:
            write.is_hidden = True
            self.touch()
        if self.keeps(write):
            self.context.emit("journal", {"kind": "numbered", **kept(write)})
        elif self.context.keeps and not self.is_ephemeral:  # a later process must not use the number for another write
            self.context.emit("journal", {"kind": "counted", "model": self.model, "number": write.number})

    def _unnumber(self, write: Pending) -> None:
        self.by_number.pop(write.number, None)
        write.number, write.is_due, write.is_earlier, write.was_sent = 0, True, False, False
        write.is_hidden = self.is_misformed(write)
        self.touch()
        if self.keeps(write):
            self.context.emit("journal", {"kind": "written", **kept(write)})

    def proposal(self, write: Pending, topic: int, confirmed: int, epoch: int) -> Body:
        """The write as it is sent."""
        is_earlier = not self.is_ephemeral and (write.is_earlier or write.epoch != epoch)
        operations = [{"verb": VERBS.index(each.verb), "value": each.value, "fieldref":
                       {"id": 0} if each.verb == "clear" else fieldref(each.field, self.replica.field_id(each.field))}
                      for each in write.operations]
        conditions = [{"epoch": each.epoch, "version": each.version, "fieldref": fieldref(each.field)}
                      for each in write.conditions]
        return {"topic": topic, "number": write.number, "confirmed": confirmed, "metadata": [], "hops": write.hops,
                "flags": write.is_void | is_earlier << 1, "conditions": conditions, "operations": operations}

    def send_again(self, heartbeat: Optional[int] = None) -> None:
        """Marks for sending again what has no outcome after two heartbeats; without a heartbeat all of it."""
        for id in self.by_number.values():
            write = self.pending[id]
            write.is_due = write.is_due or heartbeat is None or heartbeat >= write.heartbeat + 2

    def end_unanswered(self, heartbeat: int, current_since: int) -> None:
        """Ends writes that were decided and have no outcome: a hub answers no number whose outcome was confirmed, and a
        copy of an outbox may lag behind what its original has confirmed (6.1-2). One that the hub has deferred waits
        until it may be sent again; the outcome of another one may be on its way since the model became current."""
        for write in self.unacknowledged():
            if not write.number or not write.is_hidden or write.is_due:
                write.unanswered_since = 0
            elif not write.unanswered_since:
                write.unanswered_since = heartbeat
            elif heartbeat >= max(write.unanswered_since, current_since) + UNANSWERED_HEARTBEATS:
                self.end(write, unknown("it was decided, and another process has its outcome"))
