"""The shell of a session: one lock, the thread of the link, the thread of observers, and the outbox."""
from __future__ import annotations

import logging
import os
import secrets
import threading
import time
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from . import values
from .errors import OutboxError, ShareError, WriteError
from .grammar import Body
from .kept_models import Keeper, KeptModels, content_of
from .link import Link, Turn
from .observing import Lane, Observers
from .outbox import Outbox
from .outcomes import Outcome
from .owning import answered
from .overlay import Effect
from .pending import Operation
from .pending_write import PendingWrite
from .route import HubRoute
from .session import Session
from .statuses import PeerStatus

log = logging.getLogger("bindbus")


class Runtime:
    """What all models of a peer share. The lock is held while the session works, never while a program's code runs."""

    def __init__(self, route: HubRoute, name: str, outbox: Optional[Outbox], make: Callable[[Any, str], Any],
                 kept: Optional[KeptModels] = None) -> None:
        self.outbox, self._make = outbox, make
        self.lock = threading.Condition(threading.RLock())
        self._wall_of_zero = time.time() - time.monotonic()
        self.lane = Lane(name)
        self.status_observers = Observers(self.lane, self.lock)
        self.models: Dict[str, Any] = {}
        self.writes: Dict[int, PendingWrite] = {}
        self.answers: Dict[int, Optional[Body]] = {}
        self.announced: Dict[str, Dict[str, int]] = {}
        self.listed: Dict[str, bool] = {}
        self._for_link: List[Effect] = []
        secret = outbox.begin(name) if outbox else os.urandom(16)
        self.session = Session(secret, name, secrets.randbits(63), self.now(), outbox is not None, route.pool)
        self.keeper = Keeper(kept, name, self._kept) if kept else None
        if self.keeper is not None:
            self.session.load = self._load
            self.keeper.start()
        self.restored = self._restore(outbox) if outbox else []
        self.link = Link(route, name, self._turn, self.now)
        self.link.start()

    def _restore(self, outbox: Outbox) -> List[PendingWrite]:
        self.session.restore(outbox.kept, self.now(), int(time.time() * 1_000))
        for sync in self.session.models.values():
            for write in sync.writes.pending.values():
                fields = [each.field for each in write.operations]
                self.writes[write.id] = PendingWrite(write.model, fields, self._withdrawal(write.id), self.lane.post)
        return list(self.writes.values())

    def _load(self, id: str) -> Optional[Tuple[Body, int]]:
        content = self.keeper.kept.load(id) if self.keeper else None
        if content is None:
            return None
        age = int(time.time() * 1_000) - content["time"]  # if the clock went back, the values are new
        return content, self.now() - max(age, 0)

    def _kept(self, id: str) -> Optional[Body]:
        """What is to be kept of a model now."""
        with self.lock:
            sync, session = self.session.models.get(id), self.session
            if sync is None or sync.is_from_file or sync.starts_over:
                return self.keeper.kept.load(id) if self.keeper else None  # as it is
            age = 0 if sync.progress == "current" else self.now() - sync.stale_since
            return content_of(sync, session.log, session.context.tag, age)

    def now(self) -> int:
        """Milliseconds of a clock that never goes back."""
        return int(time.monotonic() * 1_000)

    def wall(self, moment: int) -> float:
        """The wall time of a moment, in seconds since 1970."""
        return round(self._wall_of_zero + moment / 1_000, 3)

    def wake(self) -> None:
        """Has the link take a turn."""
        self.link.wake()

    def wait(self, holds: Callable[[], bool], timeout: Optional[float]) -> bool:
        """Waits until a condition holds, which is looked at whenever something has changed."""
        with self.lock:
            return self.lock.wait_for(lambda: holds() or self.session.phase == "stopped", timeout) and holds()

    @property
    def status(self) -> PeerStatus:
        """The state of the connection."""
        with self.lock:
            session = self.session
            is_live = session.phase == "live" and session.is_reached
            reason = session.stop_reason or session.trouble or ("" if session.is_reached else "the edge is cut off")
            since = None if is_live else self.wall(session.silent_since)
            return PeerStatus(session.phase, session.hubs.current, reason, since)

    # Models and writes

    def model(self, id: str) -> Any:
        """Joins a model; the same id gives the same object."""
        with self.lock:
            self.session.join(id, self.now())
            if id not in self.models:
                self.models[id] = self._make(self, id)
        self.wake()
        return self.models[id]

    def write(self, id: str, operations: Sequence[Operation], fields: List[str], merges: Dict[str, Any],
              **options: Any) -> PendingWrite:
        """Lays a write over a model and has it sent. With an outbox it survives the process once this returns."""
        with self.lock:
            number = self.session.write(id, operations, self.now(), **options)
            write = PendingWrite(id, fields, self._withdrawal(number), self.lane.post)
            write.merges = merges
            self.writes[number] = write
            try:
                self._carry_out()
            except OutboxError as error:
                self._take_back(number)
                raise WriteError(f"{error}; nothing was written") from None
        self.wake()
        return write

    def carry_out(self) -> None:
        """Does what the session wants, and has the link take a turn."""
        with self.lock:
            self._carry_out()
        self.wake()

    def _take_back(self, number: int) -> None:
        """Forgets a write that the outbox could not take."""
        keeps, self.session.context.keeps = self.session.context.keeps, False
        self.session.withdraw(number)
        self.session.context.keeps = keeps
        if self.outbox is not None:
            self.outbox.kept.writes.pop(number, None)
        self._carry_out()

    def _withdrawal(self, number: int) -> Callable[[], bool]:
        def withdraw() -> bool:
            with self.lock:
                found = self.session.withdraw(number)
                self._carry_out()
            self.wake()
            return found
        return withdraw

    def ask(self, kind: str, id: str, body: Body, timeout: float) -> Optional[Body]:
        """Asks the hub a question about a model and waits for the answer; None: none came in time."""
        with self.lock:
            if self.session.phase == "stopped":
                raise ShareError("this peer has stopped; start a new one")
            request = self.session.ask(kind, id, body, int(timeout * 1_000), self.now())
        self.wake()
        self.wait(lambda: request in self.answers, timeout + 2)
        with self.lock:
            self.session.questions.pop(request, None)
            return self.answers.pop(request, None)

    # Turns

    def _turn(self, frames: List[bytes], happened: str, problem: str) -> Turn:
        with self.lock:
            session, now = self.session, self.now()
            if happened == "opened":
                session.opened(now)
            elif happened == "lost":
                session.lost(now, problem)
            try:
                for frame in frames:
                    session.receive(frame, now)
                session.tick(now)
                session.flush(now)
                self._carry_out()
                if self.outbox is not None and any(effect.do == "send" for effect in self._for_link):
                    self.outbox.sync()
            except Exception as error:  # what the file of an outbox does not hold must not be sent
                log.error("%s; this peer stops", error, exc_info=not isinstance(error, OutboxError))
                session.take_effects()
                self._for_link = []
                session.stop(str(error))
                self._carry_out()
            effects, self._for_link = self._for_link, []
            milliseconds = session.next_deadline(now) - self.now()
            self.lock.notify_all()
        return Turn(effects, milliseconds)

    def _carry_out(self) -> None:
        for effect in self.session.take_effects():
            handler = getattr(self, f"_on_{effect.do}", None)
            if handler is None:
                self._for_link.append(effect)
            else:
                handler(effect.a, effect.b, effect.c)

    def _on_journal(self, record: Dict[str, Any], *_: Any) -> None:
        if self.outbox is not None:
            self.outbox.append(record)

    def _on_changed(self, id: str, *_: Any) -> None:
        if id in self.models:
            self.models[id].changed()
        if self.keeper is not None:
            self.keeper.changed(id)
        self.lock.notify_all()

    def _on_settled(self, number: int, outcome: Outcome, *_: Any) -> None:
        write = self.writes.pop(number, None)
        if write is not None:
            if write.model in self.models:
                self.models[write.model].settled(write.fields, outcome)
            write.settle(outcome)

    def _on_merge(self, number: int, name: str, texts: Any) -> None:
        write = self.writes.get(number)
        merge = write.merges.get(name) if write else None

        def answer() -> None:
            merged: Optional[bytes] = None
            if merge is not None:
                try:
                    merged = values.encode(merge(*map(values.decoded, texts)))
                except Exception:  # the program gives the write up as a conflict
                    log.exception("the merge function of %s raised; the write ends as a conflict", name)
            with self.lock:
                self.session.merged(number, name, texts[2], merged)
                self._carry_out()
            self.wake()

        self.lane.post(answer)

    def _on_approve(self, id: str, body: Body, *_: Any) -> None:
        def answer() -> None:
            model = self.models.get(id)
            answered_now = answered(None if model is None else model.approve, id, body)
            with self.lock:
                self.session.answer_approval(body["session"], answered_now, self.now())
                self._carry_out()
            self.wake()

        self.lane.post(answer)

    def _on_status(self, *_: Any) -> None:
        self.status_observers.changed()
        for model in self.models.values():
            model.changed()

    def _on_notice(self, text: str, *_: Any) -> None:
        log.warning("%s", text)

    def _on_announced(self, prefix: str, models: Dict[str, int], is_complete: bool) -> None:
        self.announced.setdefault(prefix, {}).update(models)
        self.listed[prefix] = self.listed.get(prefix, False) or is_complete

    def _on_answered(self, request: int, body: Optional[Body], *_: Any) -> None:
        self.answers[request] = body

    # The end

    def close(self, flush: float) -> List[str]:
        """Waits for outcomes, says goodbye, and ends the threads. Returns the fields of writes without an outcome."""
        self.wait(lambda: not self.session.unconfirmed, flush)
        if self.keeper is not None:
            self.keeper.end(list(self.session.models))
        with self.lock:
            left = [f"{write.model}.{name}" for write in self.writes.values() for name in write.fields]
            self.session.close(self.now())
            self._carry_out()
        self.wake()
        if threading.current_thread() is not self.link:
            self.link.join(5)
        self.lane.end()
        if self.outbox is not None:
            self.outbox.close()
        return left


