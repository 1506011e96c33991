"""Observers: who is told what shows, on one thread for all observers of a peer, in order, the newest value only."""
from __future__ import annotations

import asyncio
import logging
import queue
import threading
from typing import Any, AsyncIterator, Callable, Generic, List, Optional, Tuple, TypeVar

from .errors import BindbusError

Shown = TypeVar("Shown")
log = logging.getLogger("bindbus")
_hops = threading.local()


def current_hops() -> int:
    """The hops of a write that is made now: more than 0 inside an observer that was told of another peer's commit."""
    return int(getattr(_hops, "value", 0))


def called_in(loop: asyncio.AbstractEventLoop, receive: Callable[[Shown], None]) -> Callable[[Shown], None]:
    """A function for any thread that has `receive` called in an event loop; a loop that has ended hears no more."""
    def pass_on(value: Shown) -> None:
        try:
            loop.call_soon_threadsafe(receive, value)
        except RuntimeError:
            pass

    return pass_on


class Observer(Generic[Shown]):
    """What one observer was told last. `cancel` ends it; usable as a context manager."""

    def __init__(self, look: Callable[[], Tuple[Any, Shown]], receive: Callable[[Shown], None],
                 ended: Callable[["Observer[Shown]"], None]) -> None:
        self.look, self.receive, self._ended = look, receive, ended
        self.last: Any = object()
        self.is_cancelled = False

    def cancel(self) -> None:
        """No call begins after this returns, except one that is under way on the thread of observers."""
        self.is_cancelled = True
        self._ended(self)

    def __enter__(self) -> "Observer[Shown]":
        return self

    def __exit__(self, *_: object) -> None:
        self.cancel()


class Observers:
    """The observers of one thing that changes."""

    def __init__(self, lane: "Lane", lock: Any, hops: Callable[[], int] = lambda: 0) -> None:
        self.lane, self.lock, self.hops = lane, lock, hops
        self.all: List[Observer[Any]] = []
        self.is_scheduled = False

    def add(self, look: Callable[[], Tuple[Any, Shown]], receive: Callable[[Shown], None]) -> Observer[Shown]:
        """Tells `receive` what shows now, and then each change. `look` returns a key to compare, and the value."""
        with self.lock:
            observer = Observer(look, receive, self._remove)
            self.all.append(observer)
            self.changed()
        return observer

    def _remove(self, observer: Observer[Any]) -> None:
        with self.lock:
            if observer in self.all:
                self.all.remove(observer)

    def changed(self) -> None:
        """Something may show otherwise. Cheap where nobody observes."""
        with self.lock:
            if self.all and not self.is_scheduled:
                self.is_scheduled = True
                self.lane.post(self._deliver)

    def _deliver(self) -> None:
        calls = []
        with self.lock:
            self.is_scheduled, hops = False, self.hops()
            for observer in self.all:
                try:
                    key, value = observer.look()
                except BindbusError:
                    continue  # the model was left
                if key != observer.last:
                    observer.last = key
                    calls.append((observer, value))
        _hops.value = hops
        for observer, value in calls:
            if not observer.is_cancelled:
                try:
                    observer.receive(value)
                except Exception:  # an observer's fault must not keep the others from being told
                    log.exception("an observer raised; it goes on being told")
        _hops.value = 0

    async def values(self, look: Callable[[], Tuple[Any, Shown]]) -> AsyncIterator[Shown]:
        """What shows now, and the newest at each change, in this event loop."""
        loop, news = asyncio.get_running_loop(), asyncio.Event()
        newest: List[Shown] = []

        def keep(value: Shown) -> None:
            newest[:] = [value]
            news.set()

        observer = self.add(look, called_in(loop, keep))
        try:
            while True:
                await news.wait()
                news.clear()
                yield newest[0]
        finally:
            observer.cancel()


class Lane:
    """The thread on which observers and merge functions of one peer run. It begins with the first one."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.calls: "queue.SimpleQueue[Optional[Callable[[], None]]]" = queue.SimpleQueue()
        self.thread: Optional[threading.Thread] = None
        self.lock = threading.Lock()
        self.has_ended = False

    def post(self, call: Callable[[], None]) -> None:
        """Runs a function there, after those that were posted before."""
        with self.lock:
            if self.has_ended:
                return
            if self.thread is None:
                self.thread = threading.Thread(target=self._run, name=f"bindbus-{self.name}-observers", daemon=True)
                self.thread.start()
        self.calls.put(call)

    def _run(self) -> None:
        while True:
            call = self.calls.get()
            if call is None:
                return
            try:
                call()
            except Exception:
                log.exception("what ran on the thread of observers raised")

    def end(self) -> None:
        """Ends the thread after what was posted; waits for it, unless this is that thread."""
        with self.lock:
            self.has_ended = True
        self.calls.put(None)
        if self.thread is not None and self.thread is not threading.current_thread():
            self.thread.join(5)
