"""A write that this program has made, until its outcome is known and afterwards."""
from __future__ import annotations

import asyncio
import threading
from typing import Any, Callable, Dict, Generator, List, Optional

from .observing import called_in
from .outcomes import Outcome, RejectionError


class PendingWrite:
    """A write on its way. It shows already; the hub decides it. All members may be used from any thread.

    `fields` are the names of the fields that it concerns, `model` is the model's id.
    """

    def __init__(self, model: str, fields: List[str], withdraw: Callable[[], bool] = lambda: False,
                 post: Callable[[Callable[[], None]], None] = lambda call: call()) -> None:
        self.model, self.fields, self._post = model, fields, post
        self.merges: Dict[str, Callable[[Any, Any, Any], Any]] = {}
        self._withdraw = withdraw
        self._done = threading.Condition()
        self._outcome: Optional[Outcome] = None
        self._receivers: List[Callable[[Outcome], None]] = []

    def __repr__(self) -> str:
        return f"<PendingWrite {self.model}.{','.join(self.fields)}: {self._outcome or 'no outcome yet'}>"

    @property
    def done(self) -> bool:
        """Whether the outcome is known."""
        return self._outcome is not None

    def outcome(self, timeout: Optional[float] = None) -> Outcome:
        """Waits for the outcome.

        `timeout` is in seconds; None waits as long as it takes, which is forever while no hub answers. Raises
        `TimeoutError` when it passes; the write goes on.
        """
        with self._done:
            if not self._done.wait_for(lambda: self._outcome is not None, timeout) or self._outcome is None:
                raise TimeoutError(f"{self.model}: no outcome in {timeout} s; the write goes on, and may still commit")
            return self._outcome

    def committed(self, timeout: Optional[float] = None) -> int:
        """Waits until the write is committed, and returns its version; 0 if it changed nothing.

        `timeout` is in seconds. Raises `RejectionError` for any other outcome, `TimeoutError` when the time passes.
        """
        return self._version(self.outcome(timeout))

    def _version(self, outcome: Outcome) -> int:
        if not outcome.succeeded:
            raise RejectionError(f"{self.model}.{', '.join(self.fields)}", outcome)
        return outcome.version

    def __await__(self) -> Generator[Any, None, Outcome]:
        """`outcome = await write`, in any event loop. Cancelling the wait does not withdraw the write."""
        loop = asyncio.get_running_loop()
        future: "asyncio.Future[Outcome]" = loop.create_future()

        def receive(outcome: Outcome) -> None:
            if not future.done():
                future.set_result(outcome)

        self._receive(called_in(loop, receive))
        return future.__await__()

    def when_settled(self, receive: Callable[[Outcome], None]) -> None:
        """Calls `receive` once with the outcome, on the peer's thread of observers."""
        self._receive(lambda outcome: self._post(lambda: receive(outcome)))

    def _receive(self, receive: Callable[[Outcome], None]) -> None:
        with self._done:
            if self._outcome is None:
                self._receivers.append(receive)
                return
            outcome = self._outcome
        receive(outcome)

    def withdraw(self) -> bool:
        """Asks that the write is not applied any more. Returns False if it has an outcome. A write that the hub has
        not applied ends as `expired`."""
        return not self.done and self._withdraw()

    def settle(self, outcome: Outcome) -> None:
        """Records the outcome; only the first call counts. For the peer."""
        with self._done:
            if self._outcome is not None:
                return
            self._outcome, receivers, self._receivers = outcome, self._receivers, []
            self._done.notify_all()
        for receive in receivers:
            receive(outcome)
