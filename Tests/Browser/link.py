"""The connection between one tab and the gateway: a SOCKS proxy per tab, which a test can cut, hold and heal.

A proxy does not change Host, Origin and cookies, so the gateway sees an ordinary browser. The proxy also records
requests to addresses other than the gateway.
"""

from __future__ import annotations

import socket
import struct
import threading


class Link:
    """Listens on a separate port until `end`. `asked` contains every address that the tab requested."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.refused = 0
        self._cut = False
        self._sockets: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._up, self._down = threading.Event(), threading.Event()
        self._up.set()
        self._down.set()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.proxy = f"socks5://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Resets every connection, and refuses new ones until `heal`."""
        with self._lock:
            self._cut = True
            sockets = list(self._sockets)
            self._sockets.clear()
        for one in sockets:
            self._reset(one)
        self.release()

    def heal(self) -> None:
        with self._lock:
            self._cut = False

    def hold_up(self) -> None:
        """Holds back all data from the tab until `release`."""
        self._up.clear()

    def hold_down(self) -> None:
        """Holds back all data from the gateway until `release`."""
        self._down.clear()

    def release(self) -> None:
        self._up.set()
        self._down.set()

    def end(self) -> None:
        self.cut()
        self._listener.close()

    @staticmethod
    def _reset(one: socket.socket) -> None:
        try:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            one.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # It ended by itself meanwhile.
        one.close()

    def _keep(self, one: socket.socket) -> bool:
        with self._lock:
            if not self._cut:
                self._sockets.add(one)
                return True
            self.refused += 1
        self._reset(one)
        return False

    def _accept(self) -> None:
        while True:
            try:
                tab, _ = self._listener.accept()
            except OSError:
                return
            if self._keep(tab):
                threading.Thread(target=self._serve, args=(tab,), daemon=True).start()

    def _serve(self, tab: socket.socket) -> None:
        try:
            gateway = self._reach(tab)
        except (OSError, struct.error, IndexError):
            self._reset(tab)
            return
        if not self._keep(gateway):
            self._reset(tab)
            return
        for one in (tab, gateway):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=self._pump, args=(tab, gateway, self._up), daemon=True).start()
        self._pump(gateway, tab, self._down)

    def _reach(self, tab: socket.socket) -> socket.socket:
        """RFC 1928, without authentication: the greeting, one CONNECT, and the connection that it asks for."""
        _, count = self._read(tab, 2)
        self._read(tab, count)
        tab.sendall(b"\x05\x00")
        _, command, _, kind = self._read(tab, 4)
        if kind == 1:
            host = socket.inet_ntop(socket.AF_INET, self._read(tab, 4))
        elif kind == 4:
            host = socket.inet_ntop(socket.AF_INET6, self._read(tab, 16))
        else:
            host = self._read(tab, self._read(tab, 1)[0]).decode("ascii", "replace")
        (port,) = struct.unpack(">H", self._read(tab, 2))
        self.asked.append(f"{host}:{port}")
        if host.endswith(".localhost"):  # Browsers take such a name for this machine.
            host = "127.0.0.1"
        if command != 1 or host not in ("127.0.0.1", "localhost", "::1"):
            tab.sendall(b"\x05\x02\x00\x01" + bytes(6))
            raise OSError(f"{host} is not this machine")
        gateway = socket.create_connection((host, port), timeout=5)
        gateway.settimeout(None)
        tab.sendall(b"\x05\x00\x00\x01" + bytes(6))
        return gateway

    @staticmethod
    def _read(tab: socket.socket, count: int) -> bytes:
        data = b""
        while len(data) < count:
            piece = tab.recv(count - len(data))
            if not piece:
                raise OSError("the tab went away")
            data += piece
        return data

    def _pump(self, source: socket.socket, sink: socket.socket, way: threading.Event) -> None:
        try:
            while data := source.recv(65536):
                way.wait()
                sink.sendall(data)
        except OSError:
            pass  # Either side went away.
        with self._lock:
            self._sockets -= {source, sink}
        for one in (source, sink):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            one.close()
