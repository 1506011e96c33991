"""A model without types: its fields by name."""
from __future__ import annotations

import asyncio
from typing import Callable, List, Optional, cast

from . import names
from .errors import WriteError
from .outcomes import Outcome, RejectionError
from .owning import Approve, Ownership, write_owner
from .runtime import Runtime
from .undoing import Undoing
from .writing import Writing


class SharedModel(Writing):
    """A model that this peer has joined: `model["level"]` reads what shows, `model.set({"level": 0.8})` writes.

    It may be used from any thread. Reads never wait: they show the local replica under this peer's own pending writes.
    Values are None, bool, int, float, str, bytes, lists and dicts with str keys.
    """

    def __init__(self, runtime: Runtime, id: str) -> None:
        super().__init__(runtime, id)
        self._ephemeral: Optional[SharedModel] = None
        self.declare: Optional[Callable[[], None]] = None
        self.approve: Optional[Approve] = None

    def __repr__(self) -> str:
        return f"<SharedModel {self.id}: {self.status}>"

    @property
    def ephemeral(self) -> "SharedModel":
        """The ephemeral model beside this one: its fields belong to the peer that wrote them, and vanish with it."""
        with self._runtime.lock:
            if self._ephemeral is None:
                self._ephemeral = cast(SharedModel, self._runtime.model(names.EPHEMERAL + self.id))
            return self._ephemeral

    @property
    def undoing(self) -> Undoing:
        """Undo and redo of this program's own writes to the model. The first access begins to record: what was written
        before cannot be undone. Raises `WriteError` for an ephemeral model."""
        return Undoing(self)

    def own(self, approve: Approve, timeout: Optional[float] = 5.0) -> Ownership:
        """Makes this peer the model's owner: the hub asks it before it applies any other peer's write. A model has one
        owner at most; `with room.own(…):` gives it up at the end.

        `approve` gets an `ApprovalRequest`, on this peer's thread of observers, and returns None to accept the write,
        or the reason to refuse it, which its writer receives; an exception refuses it too. After 2 s without an answer
        the hub refuses the write. Waits for the hub for at most `timeout` seconds. Raises `WriteError` if this peer
        owns the model already, `RejectionError` if another one does, `TimeoutError`.
        """
        with self._runtime.lock:
            if self.approve is not None:
                raise WriteError(f"this peer owns {self.id} already; release that ownership first")
            claim = write_owner(self, self._runtime.session.name)
            self.approve = approve
        ownership = Ownership(self)
        try:
            claim.committed(timeout)
        except TimeoutError:
            ownership.release()  # the claim may yet be granted: this follows it
            raise
        except RejectionError:
            self.approve = None
            raise
        return ownership

    async def aown(self, approve: Approve, timeout: Optional[float] = 5.0) -> Ownership:
        """`own` for asyncio: does not block the event loop. `approve` runs on the thread of observers all the same."""
        return await asyncio.to_thread(self.own, approve, timeout)

    def leave(self) -> None:
        """Follows the model no longer, once all its writes have their outcomes."""
        with self._runtime.lock:
            self._sync.is_left = True
        self._runtime.wake()

    # For the peer

    def changed(self) -> None:
        """Something may show otherwise. For the peer."""
        if self.id in self._runtime.session.models:
            if self.declare is not None and self._sync.progress == "current":
                declare, self.declare = self.declare, None
                declare()
            self._observers.changed()
            self._status_observers.changed()

    def settled(self, fields: List[str], outcome: Outcome) -> None:
        """A write has its outcome. For the peer."""
        if outcome.kind in ("refused", "conflict", "expired", "unknown"):
            self._rejections.update({name: outcome for name in fields})
