"""A process's connection to a hub."""
from __future__ import annotations

import asyncio
import atexit
import os
import sys
from typing import Any, AsyncIterator, Callable, List, Optional, Sequence, Set, Type, TypeVar

from . import names
from .kept_models import KeptModels
from .models import declaration_of, shared_instance
from .observing import Observer
from .outbox import Outbox
from .pending_write import PendingWrite
from .route import HubRoute
from .runtime import Runtime
from .shared import SharedModel
from .statuses import PeerStatus

Shared = TypeVar("Shared")


class Peer:
    """Holds replicas of the models that this program shares, and writes to them. Works without a hub: a write shows at
    once, waits, and is sent when there is one; the peer connects again by itself. Usable from any thread, as a context
    manager (`with Peer() as peer`) and as an asynchronous one.

    `name` is for people, need not be unique, and is cut to what a name may be; by default the program's. `hub` is
    `ipc://PATH` or `tcp://HOST:PORT`, or several hubs of one log, separated by commas, of which one is tried at random;
    or the name of a hub that this user has joined with `bindpeer join`, which is reached encrypted; by default what the
    environment variable `BINDPEER_HUB` says, else this user's hub. When its hub is lost or closes, the peer goes on at
    another one at once; hubs also tell where the others are.

    `outbox` is the path of a file that keeps writes without an outcome, so that they survive the program; by default
    they end with it. `keep` is a folder that keeps the values of models, of those with the ids or below the prefixes
    `keep_only` (`shop/`; by default all): the next peer with the folder shows them at once, as stale, until a hub
    answers. Raises `BindbusError` for what is no address, `KeysError` for a hub that was not joined or whose keys
    cannot be used, `OutboxError` and `KeepError` for a file or folder that cannot be used.
    """

    def __init__(self, name: Optional[str] = None, hub: Optional[str] = None, outbox: Optional[str] = None,
                 keep: Optional[str] = None, keep_only: Sequence[str] = ("",)) -> None:
        route = HubRoute.to(hub or names.default_hub())
        self.name = names.fitting_peer(name or os.path.basename(sys.argv[0] or "python"))
        for prefix in keep_only:
            names.check_kept(prefix)
        kept = KeptModels(keep, keep_only) if keep else None
        file: Optional[Outbox] = None
        try:
            file = Outbox(outbox) if outbox else None
            self._runtime = Runtime(route, self.name, file, SharedModel, kept)
        except BaseException:
            for each in (file, kept):
                if each is not None:
                    each.close()
            raise
        self.is_closed = False
        _open_peers.add(self)

    def __repr__(self) -> str:
        return f"<Peer {self.name}: {self.status}>"

    @property
    def tag(self) -> str:
        """The public part of this peer's identity, under which it writes, as 16 hexadecimal digits."""
        return self._runtime.session.context.tag.hex()

    @property
    def restored(self) -> List[PendingWrite]:
        """The writes that an earlier process had left in the outbox when this peer was made."""
        return list(self._runtime.restored)

    # Models

    def share(self, type: Type[Shared], id: str, timeout: float = 1.0) -> Shared:
        """An instance of a `@model` class whose fields are those of the model `id`: reading one gives what shows,
        assigning one writes it.

        Waits until it shows the hub's values, for at most `timeout` seconds; without a hub it shows the declared
        defaults and catches up later. One that was kept on disk is returned at once. The declaration is offered to the
        hub, where it yields to what exists. Raises `ShareError` if this peer has stopped, `WireError` for what is no
        model id.
        """
        declaration = declaration_of(type)
        model = self.model(id)
        instance = shared_instance(type, model)
        with self._runtime.lock:
            model._sync.writes.declare_limits(declaration.limits)
            model.declare = lambda: declaration.propose(model)
            model.changed()
        if not model._sync.is_from_file:
            model.wait_current(timeout)
        return instance

    async def ashare(self, type: Type[Shared], id: str, timeout: float = 1.0) -> Shared:
        """`share` for asyncio: does not block the event loop."""
        return await asyncio.to_thread(self.share, type, id, timeout)

    def model(self, id: str) -> SharedModel:
        """Joins a model and returns it, without types. The same id gives the same object. Does not wait.

        Raises `ShareError` if this peer has stopped, `WireError` for what is no model id.
        """
        names.check_stored_model(id)
        model: SharedModel = self._runtime.model(id)
        return model

    def model_ids(self, prefix: str = "", timeout: float = 1.0) -> List[str]:
        """The ids of the models below a prefix (`shop/`; empty: all) that have a field, sorted.

        Waits for the hub's list, for at most `timeout` seconds. Raises `WireError` for what is no prefix.
        """
        names.check_prefix(prefix)
        runtime = self._runtime
        with runtime.lock:
            if prefix not in runtime.session.prefixes:
                runtime.session.join_prefix(prefix, runtime.now())
        runtime.wake()
        runtime.wait(lambda: runtime.listed.get(prefix, False), timeout)
        with runtime.lock:
            return sorted(id for id, fields in runtime.announced.get(prefix, {}).items() if fields)

    # Status

    @property
    def status(self) -> PeerStatus:
        """The state of the connection to the hub."""
        return self._runtime.status

    @property
    def statuses(self) -> AsyncIterator[PeerStatus]:
        """`async for status in peer.statuses`: the status now, then the newest at each change."""
        return self._runtime.status_observers.values(lambda: (self.status,) * 2)

    def observe_status(self, receive: Callable[[PeerStatus], None]) -> Observer[PeerStatus]:
        """Calls `receive` with the status now and at each change, on this peer's thread of observers."""
        return self._runtime.status_observers.add(lambda: (self.status,) * 2, receive)

    def wait_live(self, timeout: float) -> bool:
        """Waits until a hub has welcomed this peer, for at most `timeout` seconds. Returns whether one has."""
        return self._runtime.wait(lambda: self._runtime.session.phase == "live", timeout)

    # The end

    def close(self, flush: float = 2.0) -> List[str]:
        """Waits until all writes have their outcomes, for at most `flush` seconds, says goodbye, and ends the threads.

        Returns the fields of writes without an outcome, as `model.field`; with an outbox they are sent by the next
        process. A peer that is not closed does the same at the end of the program, for a second at most.
        """
        if self.is_closed:
            return []
        self.is_closed = True
        _open_peers.discard(self)
        return self._runtime.close(flush)

    async def aclose(self, flush: float = 2.0) -> List[str]:
        """`close` for asyncio: does not block the event loop."""
        return await asyncio.to_thread(self.close, flush)

    def __enter__(self) -> "Peer":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    async def __aenter__(self) -> "Peer":
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.aclose()


_open_peers: Set[Peer] = set()  # their threads run on, even if the program keeps only a model


@atexit.register
def _close_all() -> None:
    for peer in list(_open_peers):
        peer.close(flush=1.0)
