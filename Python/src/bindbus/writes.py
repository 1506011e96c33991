"""A model's pending writes from their making to their outcome: numbers, what is to be sent, and what the hub says."""
from __future__ import annotations

from typing import List, Optional

from . import values
from .claims import Claims
from .grammar import Body
from .kept import kept
from .messages import fieldref
from .names import EPHEMERAL
from .outcomes import REFUSALS, RETRIES, Outcome, unknown
from .overlay import Context, Overlay
from .pending import MOST_MERGES, VERBS, Pending, Resolver
from .replica import Replica

UNANSWERED_HEARTBEATS = 6


class WriteQueue(Overlay):
    """The pending writes of one model, in order."""

    def __init__(self, model: str, replica: Replica, context: Context, last_number: int) -> None:
        super().__init__(model, replica, context)
        self.is_ephemeral = model.startswith(EPHEMERAL)
        self.resolver = Resolver(replica, context.tag, self.is_ephemeral)
        self.claims = Claims(context.tag)
        self.last_number, self.last_decided = last_number, 0
        self.sends_from, self.retry_reason = 0, ""

    def superseded(self, write: Pending) -> List[Pending]:
        """The plain sets, never sent, all of whose fields the new one sets: they end as superseded."""
        if not write.is_plain_set:
            return []
        fields = {each.field for each in write.operations}
        found = {self.over[name][-1] for name in fields if self.over.get(name)}
        some = [self.pending[id] for id in sorted(found) if id > self.last_conditional]
        return [each for each in some if not each.number and not each.is_second_try and each.is_plain_set
                and not each.is_asking and each.rules == write.rules
                and all(op.field in fields and self.over[op.field][-1] == each.id for op in each.operations)]

    def settle(self, write: Pending, outcome: Outcome) -> None:
        """Records the outcome of a write."""
        if self.keeps:
            self.context.emit("journal", {"kind": "decided", "write": write.id, "outcome": outcome.kind})
        if self.is_ephemeral:
            self.claims.settle(write, outcome, self.replica)
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
        if self.keeps:
            self.context.emit("journal", {"kind": "withdrawn", "write": id})
        return True

    @property
    def keeps(self) -> bool:
        """Whether an outbox keeps the writes of this model."""
        return self.context.keeps and not self.is_ephemeral

    # Sending

    def due(self, now: int) -> List[Pending]:
        """The writes to send: the numbered ones by number, then the others, oldest first."""
        if now < self.sends_from:
            return []
        some = [each for each in self.pending.values() if each.is_due and each.committed_at is None]
        return sorted(some, key=lambda each: (not each.number, each.number or each.id))

    def prepare(self, write: Pending, now: int) -> str:
        """Brings a write that has no number up to what is committed now: `send`, `wait` or `ended`."""
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

    def number(self, write: Pending, epoch: int) -> None:
        """Assigns the next number. From now on the write does not change."""
        self.last_number += 1
        write.number, write.epoch = self.last_number, epoch
        self.by_number[write.number] = write.id
        if write.number <= self.last_decided:
            write.is_hidden = True
            self.touch()
        if self.keeps:
            self.context.emit("journal", {"kind": "numbered", **kept(write)})

    def _unnumber(self, write: Pending) -> None:
        self.by_number.pop(write.number, None)
        write.number, write.is_due, write.is_earlier, write.was_sent = 0, True, False, False
        write.is_hidden = False
        self.touch()
        if self.keeps:
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

    # What the hub says

    def note(self, number: int, tag: bytes, epoch: int, version: int) -> None:
        """A commit shows a number. An own one is an outcome, and hides all lower ones of this model (6.3-2, 6.3-3)."""
        self.replica.see(tag, number)
        if tag != self.context.tag or not number:
            return
        write = self.pending.get(self.by_number.get(number, 0))
        if write and write.committed_at is None:
            self.settle(write, Outcome("committed", version, epoch))
            self.release(write)
        self.hide(number)

    def hide(self, upto: int) -> None:
        """The committed values hold what was decided of these numbers."""
        self.last_decided = max(self.last_decided, upto)
        for number, id in self.by_number.items():
            if number <= upto and not self.pending[id].is_hidden:
                self.pending[id].is_hidden = True
                self.touch()

    def unhide(self) -> None:
        """Another epoch may have lost what was decided; the next mark hides what it kept."""
        self.last_decided = 0
        for write in self.unacknowledged():
            write.is_hidden = False
        self.touch()

    def reached(self, version: Optional[int]) -> None:
        """Drops committed writes whose version the replica has reached; None: all of them."""
        arriving, self.arriving = self.arriving, []
        for write in arriving:
            if version is None or write.committed_at is None or write.committed_at <= version:
                self.release(write)
            else:
                self.arriving.append(write)

    def receive(self, body: Body, epoch: int, now: int) -> bool:
        """Handles an outcome. Returns whether the model has to be joined again."""
        kind, number = body["kind"], body["number"]
        if kind == 1:
            for offset in range(body["count"]):
                self._acknowledge(number + offset, epoch, body["version"] + offset)
            return False
        if kind == 8:
            for each, id in self.by_number.items():
                self.pending[id].is_due = self.pending[id].is_due or each >= body["next"]
            return bool(self.by_number) and body["next"] not in self.by_number
        write = self.pending.get(self.by_number.get(number, 0))
        if kind == 7:
            self.sends_from = max(self.sends_from, now + body["pauseMs"])
            self.retry_reason = RETRIES[body["code"]]
            for each, id in self.by_number.items():
                self.pending[id].is_due = self.pending[id].is_due or each >= number
            self.touch()
            return False
        if write is None or write.committed_at is not None:
            return False
        self.retry_reason = ""
        if kind == 2:
            self._keep(write)
        elif kind == 3:
            self.end(write, Outcome("refused", code=REFUSALS[body["code"]], text=body["text"]))
        elif kind == 4:
            self._conflict(write, body, epoch)
        elif kind == 5:
            self.end(write, Outcome("expired", text="it was withdrawn before the hub applied it"))
        elif not self._tries_unknown(write):
            self.end(write, unknown("the hub no longer has its outcome"))
        return False

    def _acknowledge(self, number: int, epoch: int, version: int) -> None:
        write = self.pending.get(self.by_number.get(number, 0))
        if write is None or write.committed_at is not None:
            return
        self.retry_reason = ""
        self.settle(write, Outcome("committed", version, epoch))
        self.by_number.pop(number)
        if epoch == self.replica.epoch and version <= self.replica.version:
            self.release(write)
        else:
            write.committed_at = version
            self.arriving.append(write)
            self.touch()

    def _keep(self, write: Pending) -> None:
        """Unchanged. A merge that would still change the values here was compared with newer ones: it stays for now."""
        lacks = not write.is_hidden and any(
            each.verb in ("add", "max", "min", "union") and each.value is not None
            and values.merge(each.verb, each.value, self.replica.value(each.field)) not in (
                None, self.replica.value(each.field)) for each in write.overlay)
        if not lacks:
            return self.end(write, Outcome("unchanged"))
        self.settle(write, Outcome("unchanged"))
        self.by_number.pop(write.number)
        write.committed_at = self.replica.version + 1
        self.arriving.append(write)

    def _conflict(self, write: Pending, body: Body, epoch: int) -> None:
        rule = write.rules.get(body["field"])
        if rule in ("text", "merge") and not write.is_void and (rule == "text" or write.attempts < MOST_MERGES):
            write.attempts, write.conditions, write.waits_for = write.attempts + 1, [], (epoch, body["version"])
            return self._unnumber(write)
        value = values.decoded(body["value"])
        self.end(write, Outcome("conflict", body["version"], epoch, field=body["field"], value=value,
                                writer=body["name"]))

    # When the hub does not know (6.2-6, 6.4)

    def _tries_unknown(self, write: Pending) -> bool:
        is_last = all(self.over[each.field][-1] == write.id for each in write.operations if each.field in self.over)
        if self.is_ephemeral or write.is_void or write.rules or not write.is_plain_set or not is_last:
            return False
        conditions = self.resolver.conditions_if_unchanged(write)
        if conditions is None:
            return False
        write.conditions, write.is_second_try = conditions, True
        self._unnumber(write)
        return True

    def forget_numbers(self) -> None:
        """The hub does not know which numbers it has decided: what can be sent safely is, all else ends as unknown."""
        for write in self.unacknowledged():
            if not write.number:
                continue
            is_over = write.is_void or write.is_hidden
            is_text = all(each.verb == "set" and write.rules.get(each.field) == "text" for each in write.operations)
            conditions = None if is_over or is_text or not write.is_plain_set else (
                self.resolver.conditions_if_forgotten(write))
            if is_over or not is_text and conditions is None:
                self.end(write, unknown("the hub has forgotten this peer"))
            else:
                write.conditions, write.is_second_try = conditions or [], True
                self._unnumber(write)

    def end_forgotten(self) -> None:
        """Of an ephemeral model that was created anew: what was decided is not sent again, but claimed."""
        for write in self.unacknowledged():
            if write.number and (write.is_hidden or write.is_void):
                self.end(write, unknown("the hub has forgotten this peer"))
                if not write.is_void:
                    self.claims.apply(write)

    def end_all(self, outcome: Outcome) -> None:
        """Ends all writes."""
        for write in list(self.pending.values()):
            if write.committed_at is None:
                self.settle(write, outcome)
            self.release(write)
        self.arriving = []
