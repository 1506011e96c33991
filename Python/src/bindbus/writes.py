"""What the hub says about a model's pending writes, and what becomes of those about which it cannot."""
from __future__ import annotations

from typing import Optional

from . import values
from .grammar import Body
from .names import DESCRIPTION
from .outcomes import REFUSALS, RETRIES, Outcome, unknown
from .pending import MOST_MERGES, Pending
from .sending import Sending


class WriteQueue(Sending):
    """The pending writes of one model, in order, until their outcomes."""

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
            write.is_hidden = write.is_void and write.limit is not None  # it was too old, and shows no longer
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
        if body["field"] == DESCRIPTION and write.forms and not write.is_void:
            write.waits_for = (epoch, body["version"])
            return self._unnumber(write)
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
