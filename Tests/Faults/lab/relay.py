"""A relay between a peer and a hub's two ports, which can block either direction and cut connections."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import Any, Coroutine

CHUNK_BYTES = 65536


def free_neighbours() -> int:
    """Returns a free port whose successor is free too: a hub takes both."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port = first.getsockname()[1]
            try:
                second.bind(("127.0.0.1", port + 1))
            except OSError:
                continue
            return port


class Relay:
    """Listens at `host` on a hub's two ports and forwards to 127.0.0.1. Runs on its own thread."""

    def __init__(self, host: str, port: int):
        self.address = f"tcp://{host}:{port}"
        self.is_open = True
        self.links: set[asyncio.StreamWriter] = set()
        self.tasks: set[asyncio.Task] = set()
        self.loop = asyncio.new_event_loop()
        self.upward, self.downward = asyncio.Event(), asyncio.Event()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self._call(self._listen(host, port))

    def _call(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self.loop).result(10)

    async def _listen(self, host: str, port: int) -> None:
        self.upward.set()
        self.downward.set()
        self.servers = [
            await asyncio.start_server(lambda r, w, at=at: self._take(r, w, at), host, at) for at in (port, port + 1)
        ]

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int) -> None:
        self.links.add(writer)
        try:
            if not self.is_open:
                return
            up_reader, up_writer = await asyncio.open_connection("127.0.0.1", port)
            self.links.add(up_writer)
            ways = (self._pass(reader, up_writer, self.upward), self._pass(up_reader, writer, self.downward))
            tasks = [asyncio.ensure_future(way) for way in ways]
            self.tasks.update(tasks)
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                task.cancel()
            self.tasks.difference_update(tasks)
            up_writer.close()
            self.links.discard(up_writer)
        except OSError:
            pass  # There is no hub, for example after it was killed.
        finally:
            writer.close()
            self.links.discard(writer)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, way: asyncio.Event) -> None:
        try:
            while chunk := await reader.read(CHUNK_BYTES):
                await way.wait()
                writer.write(chunk)
                await writer.drain()
        except OSError:
            pass  # One side is gone, and the other follows.

    def cut(self) -> None:
        """Closes all connections and accepts no others until `heal`."""

        async def work() -> None:
            self.is_open = False
            for writer in list(self.links):
                writer.transport.abort()

        self._call(work())

    def hold(self, up: bool, down: bool) -> None:
        """Forwards nothing in these directions; the connections stay open."""

        async def work() -> None:
            if up:
                self.upward.clear()
            if down:
                self.downward.clear()

        self._call(work())

    def heal(self) -> None:
        """Forwards the blocked data, and accepts connections again."""

        async def work() -> None:
            self.is_open = True
            self.upward.set()
            self.downward.set()

        self._call(work())

    def end(self) -> None:
        async def work() -> None:
            for server in self.servers:
                server.close()
            for task in self.tasks:
                task.cancel()
            for writer in list(self.links):
                writer.transport.abort()

        self._call(work())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(5)
