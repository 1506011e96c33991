"""A field that expires, held at a value for as long as a program runs."""
from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from . import values
from .errors import BindbusError
from .pending import Operation

if TYPE_CHECKING:
    from .writing import Writing

EXPIRED_WRITER = "expiry"


class Holding:
    """Renews a field that expires until it is released: `hold.release()`, or the end of its `with` block."""

    def __init__(self, model: "Writing", name: str, value: bytes, pause: float) -> None:
        self._model, self.name, self._value, self._pause = model, name, value, pause
        self.is_held, self.reason = True, ""
        self._write = model._write([Operation("set", name, value)], [name], is_undoable=False)
        self._thread = threading.Thread(target=self._run, name=f"bindbus-holds-{model.id}.{name}", daemon=True)
        self._thread.start()

    def __repr__(self) -> str:
        return f"<Holding {self._model.id}.{self.name}: {'held' if self.is_held else self.reason}>"

    def release(self) -> None:
        """Renews the field no longer: the hub sets it back to its default within its limit."""
        self._end("it was released")
        if self._thread is not threading.current_thread():
            self._thread.join(5)

    def __enter__(self) -> "Holding":
        return self

    def __exit__(self, *_: Any) -> None:
        self.release()

    def _end(self, reason: str) -> None:
        runtime = self._model._runtime
        with runtime.lock:
            if self.is_held:
                self.is_held, self.reason = False, reason
            runtime.lock.notify_all()

    def _run(self) -> None:
        runtime = self._model._runtime
        while True:
            with runtime.lock:
                runtime.lock.wait_for(lambda: not self.is_held or runtime.session.phase == "stopped", self._pause)
                if not self.is_held:
                    return
                try:
                    reason = self._look()
                except BindbusError as error:
                    reason = str(error)
            if reason:
                return self._end(reason)

    def _look(self) -> str:
        """Renews the value, unless a write of it waits for its outcome. Returns why it is held no longer."""
        model, sync = self._model, self._model._sync
        if model._runtime.session.phase == "stopped":
            return "this peer has stopped"
        if self._write.done:
            outcome = self._write.outcome(0)
            if outcome.kind in ("refused", "conflict"):
                return str(outcome)
        known = sync.replica.fields.get(self.name)
        if known is None or self.name in sync.writes.over:
            return ""  # beside one that waits, or whose commit is on its way, it would overwrite what others set
        if not values.same(known.value, self._value):
            if known.tag == bytes(8) and known.name == EXPIRED_WRITER:
                return "it has expired: the hub was not heard in time; set it again if it should still hold"
            return f"it was set by {known.name}"
        self._write = model._renew(self.name, None)
        return ""
