"""The protocol's state machine of a peer, without sockets, threads, clock or randomness of its own.

Frames, writes and ticks go in by method calls. The caller ends each turn with `flush`, which sends, and then carries
out the effects in their order: an outbox holds a number before the frame that names it leaves.
"""
from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence

from . import checks
from .errors import WriteError
from .following import Following
from .grammar import Body
from .kept import KeptWrites, kept
from .outcomes import Outcome
from .pending import Condition, FormWritten, Operation, Pending, Seen
from .pool import HubPool
from .sync import ModelSync
from .values import same

MOST_WRITES, MOST_BYTES, REPEAT_MS = 10_000, 8 << 20, 3_000


class Session(Following):
    """One peer's session after session with its hub."""

    def __init__(self, secret: bytes, name: str, seed: int, now: int, keeps: bool = False,
                 hubs: Optional[HubPool] = None) -> None:
        super().__init__(secret, name, seed, now, keeps, hubs or HubPool())
        self.last_write = 0
        self.is_restored = False  # writes of an earlier process wait
        self.first_number: Optional[Body] = None  # when the first number in flight was assigned, by both clocks
        self.questions: Dict[int, Body] = {}  # barriers and requests for history, by request

    # Writing

    def write(self, id: str, operations: Sequence[Operation], now: int, conditions: Sequence[Condition] = (),
              rules: Optional[Dict[str, str]] = None, offline: Optional[Dict[str, str]] = None, hops: int = 0,
              default: Optional[Dict[str, bytes]] = None, saw: Optional[Dict[str, bytes]] = None,
              forms: Optional[Dict[str, FormWritten]] = None, undoes: Any = None, is_undoable: bool = True) -> int:
        """Lays a proposal over a joined model; it is sent when it can be. `default` has what fields show that have no
        value, `saw` what the writer saw, where that is not what shows now, `forms` for which forms values were made of
        fields whose type has changed, `undoes` the step that the write takes back. Raises `WriteError`; then nothing
        shows."""
        if self.phase == "stopped":
            raise WriteError(f"this peer has stopped ({self.stop_reason}); start a new one")
        model = self.models[id]
        write = Pending(self.last_write + 1, id, list(operations), now, list(conditions), dict(rules or {}),
                        dict(offline or {}), forms=dict(forms or {}), hops=hops)
        checks.check_proposal(write, self.limits)
        superseded = model.writes.superseded(write)
        self._check_room(write, len(superseded))
        self.last_write += 1
        for earlier in superseded:
            model.writes.settle(earlier, Outcome("superseded", text="a later write of this program replaced it"))
            model.writes.release(earlier)
        for name in write.rules:
            write.seen[name] = self._ground(model, write, name, superseded, (default or {}).get(name),
                                            (saw or {}).get(name))
        shown, places = model.writes.before(write) if model.writes.book and is_undoable else ({}, {})
        model.writes.add(write)
        if model.writes.book is not None and is_undoable:
            model.writes.book.record(write, shown, places, now, undoes)
        if model.writes.keeps(write):
            self.context.emit("journal", {"kind": "written", **kept(write)})
        return write.id

    def _check_room(self, write: Pending, freed: int) -> None:
        count, size = self.context.count, self.context.size
        if count - freed >= MOST_WRITES or size + write.size > MOST_BYTES:
            raise WriteError(f"the outbox is full: {count} writes of {size} bytes wait for the hub; start a hub or "
                             "write less")

    def _ground(self, model: ModelSync, write: Pending, name: str, superseded: List[Pending],
                default: Optional[bytes], saw: Optional[bytes]) -> Seen:
        """On which value a field with a rule is written: what shows, or what a superseded write was based on."""
        replica, below = model.replica, model.writes.shown(name)
        is_own = any(not each.is_hidden for each in model.writes.unacknowledged(name))
        now = Seen(below, replica.epoch, replica.version_of(name), is_own, default if below is None else None)
        if saw is not None and not same(saw, default if below is None else below):
            now = Seen(saw, replica.epoch, now.version)
        former = next((each for each in reversed(superseded) if name in each.seen and name in each.rules), None)
        if former is None:
            return now
        seen = former.seen[name]
        is_same = seen.is_untouched(below, now.version) or seen.value == below
        # A text was edited as it showed: merged with what others had written by then.
        return seen if is_same or write.rules[name] != "text" else now

    def merged(self, id: int, name: str, theirs: Optional[bytes], value: Optional[bytes]) -> None:
        """The program has merged its value with the committed one; None gives the write up as a conflict."""
        for model in self.models.values():
            write = model.writes.pending.get(id)
            if write is None or not write.is_asking:
                continue
            write.is_asking = False
            if value is None:
                return model.writes.end(write, model.writes.resolver.conflict(name))
            write.replace(name, value)
            write.seen[name] = Seen(theirs, model.replica.epoch, model.replica.version_of(name))
            if model.writes.keeps(write):
                self.context.emit("journal", {"kind": "written", **kept(write)})
            model.writes.touch()

    def withdraw(self, id: int) -> bool:
        """Asks not to apply a write any more. Returns False if it has an outcome."""
        return any([model.writes.withdraw(id) for model in self.models.values()])

    def restore(self, outbox: KeptWrites, now: int, wall: int) -> None:
        """Goes on with what an earlier process of this identity has left in its outbox."""
        self.log, self.epoch, self.was_welcomed = outbox.log, outbox.epoch, outbox.epoch != 0
        self.last_numbers, self.last_write = dict(outbox.last_numbers), outbox.last_write
        self.is_restored = bool(outbox.writes)
        for write in outbox.unfinished(now, wall):
            write.is_earlier = bool(write.number)
            writes = self.join(write.model, now).writes
            writes.add(write)
            write.is_hidden = 0 < write.number <= writes.last_decided  # a replica that was kept holds it

    @property
    def unconfirmed(self) -> int:
        """The number of writes without an outcome."""
        return sum(len(model.writes.unacknowledged()) for model in self.models.values())

    def close(self, now: int) -> None:
        """Says goodbye, so that the hub forgets this identity, unless an outbox keeps writes without an outcome."""
        if self.phase == "live" and not (self.context.keeps and self.unconfirmed):
            if any(model.confirmed > 0 for model in self.models.values()):
                self._send_alive(now)
            self.send("leave", {"models": []}, now)
        self.stop("it was closed")

    # Sending

    def flush(self, now: int) -> None:
        """Ends a turn: sends what can be sent."""
        self.expire(now)
        if self.phase != "live":
            return
        self._join_lapsed(now)
        self._ask_questions(now)
        if self.owes_heads:
            self.owes_heads = False
            self.send("askHeads", {}, now)
        self._send_writes(now)
        reports = [each for each in (model.report() for model in self.models.values()) if each]
        if reports and self.can("applied"):
            self.send("report", {"models": reports}, now)
        if self.owes_alive:
            self.owes_alive = False
            self._send_alive(now)
        for model in [each for each in self.models.values() if each.is_left and not each.writes.pending]:
            self._forget(model, now)

    def _send_alive(self, now: int) -> None:
        entries = [model.alive() for model in self.models.values()]
        self.send("alive", {"heartbeat": self.heartbeat, "models": [each for each in entries if each]}, now)

    def _send_writes(self, now: int) -> None:
        in_flight = sum(len(model.writes.by_number) for model in self.models.values())
        batch: List[Body] = []
        size = 0
        for model in self.models.values():
            if model.progress != "current" or not model.topic:
                continue
            for write in model.writes.due(now):
                if not write.number:
                    if in_flight >= self.limits.get(9, 256):
                        break
                    preparation = model.writes.prepare(write, now)
                    if preparation == "ended":
                        continue
                    if preparation == "wait":
                        break  # later writes wait too: those of one peer to a model arrive in their order
                    if in_flight == 0 or self.first_number is None:
                        self.first_number = {"now": now, "hub": self.hub_now}
                    model.writes.number(write, self._epoch_of(model, {"epoch": self.epoch}))
                    in_flight += 1
                if batch and size + write.size > self.limits.get(2, 262_144):
                    self.send("propose", {"proposals": batch}, now)
                    batch, size = [], 0
                batch.append(model.writes.proposal(write, model.topic, model.confirmed, self.epoch))
                size += write.size
                write.is_due, write.was_sent, write.heartbeat = False, True, self.heartbeat_count
        if batch:
            self.send("propose", {"proposals": batch}, now)

    # What arrives

    def _on_outcomes(self, _: Any, body: Body, now: int, size: int) -> None:
        for outcome in body["outcomes"]:
            model = self.models.get(self.topics.get(outcome["topic"], ""))
            if model is not None:
                has_gap = model.writes.receive(outcome, self._epoch_of(model, body), now)
                if has_gap and model.progress == "current":
                    model.lapse(now)

    def _on_heartbeat(self, _: Any, body: Body, now: int, size: int) -> None:
        if self._beat(body["number"], now):
            self.hub_now = body["now"]
            for model in self.models.values():
                if self.is_restored and model.progress == "current":
                    model.writes.end_unanswered(self.heartbeat_count, model.current_since)
                model.writes.send_again(self.heartbeat_count)
                self._claim(model, now)

    def _not_known(self, body: Body, now: int) -> None:
        identity_ms = self.limits.get(16, 0)
        may_be_forgotten = self.is_restored
        if self.first_number is not None:
            passed = max(now - self.first_number["now"], abs(body["now"] - self.first_number["hub"]))
            may_be_forgotten = may_be_forgotten or passed >= identity_ms // 2
        if may_be_forgotten and (self.epoch == body["epoch"] or identity_ms):
            self.context.emit("notice", "the hub has forgotten this peer; writes whose outcome it cannot tell end as "
                              "unknown, or go again on condition of what their writer saw")
            for model in self.models.values():
                if not model.is_ephemeral:
                    model.writes.forget_numbers()

    def _claim(self, model: Optional[ModelSync], now: int) -> None:
        for each in self.models.values() if model is None else [model]:
            if not each.is_ephemeral or model is not None and (each.progress != "current" or not each.topic):
                continue
            claims, writes = each.writes.claims, each.writes
            missing = claims.missing(None if model is None else each.replica, lambda name: _is_pending(each, name))
            orphans = [] if model is None else claims.orphans(each.replica, lambda name: _is_pending(each, name))
            for operation in missing + orphans:
                try:
                    self.write(writes.model, [operation], now)
                except WriteError:
                    return  # a later heartbeat claims again

    # Barriers and history

    def ask(self, kind: str, model: str, body: Body, timeout: int, now: int) -> int:
        """Asks a question about a joined model: `await` or `history`. It is asked again on each new connection. Ends
        with the effect `answered`, whose body is None where none came in time."""
        request = self._request()
        self.questions[request] = {"kind": kind, "model": model, "body": body, "deadline": now + timeout, "sent": 0}
        return request

    def _ask_questions(self, now: int) -> None:
        open_history = False
        for request, question in self.questions.items():
            model, kind = self.models.get(question["model"]), question["kind"]
            if model is None or not model.topic or model.progress != "current" or kind == "history" and open_history:
                continue
            open_history = open_history or kind == "history"  # the hub answers one at a time
            is_lost = question["sent"] != self.session or kind == "history" and now >= question["at"] + REPEAT_MS
            if is_lost:
                left = {"withinMs": max(question["deadline"] - now, 0)} if kind == "await" else {}
                question["sent"], question["at"] = self.session, now
                self.send(kind, {**question["body"], **left, "request": request, "topic": model.topic}, now)

    def tick(self, now: int) -> None:
        super().tick(now)
        for request, question in list(self.questions.items()):
            if now >= question["deadline"] + 500:
                self._answer(request, None)

    def _answer(self, request: int, body: Optional[Body]) -> None:
        if self.questions.pop(request, None) is not None:
            self.context.emit("answered", request, body)

    def _on_awaited(self, _: Any, body: Body, now: int, size: int) -> None:
        self._answer(body["request"], body)

    def _on_past(self, _: Any, body: Body, now: int, size: int) -> None:
        self._answer(body["request"], body)

    def stop(self, reason: str) -> None:
        super().stop(reason)
        for request in list(self.questions):
            self._answer(request, None)


def _is_pending(model: ModelSync, name: str) -> bool:
    return bool(model.writes.unacknowledged(name))
