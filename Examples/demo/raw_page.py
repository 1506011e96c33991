"""A page without a browser: a plain WebSocket client, which a test can make stop reading."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import socket
import struct
from typing import Any


class RawPage:
    """Sends hello and joins like a page. It sends the token like a program, so it needs no cookie and no Origin."""

    def __init__(self, origin: str, token: str, receive_buffer: int | None = None):
        host, port = origin.removeprefix("http://").rsplit(":", 1)
        self._socket = socket.socket()
        if receive_buffer:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self._socket.settimeout(15)
        self._socket.connect((host, int(port)))
        nonce = base64.b64encode(os.urandom(16)).decode()
        self._socket.sendall((
            f"GET /bind HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {token}\r\nConnection: Upgrade\r\n"
            f"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {nonce}\r\n\r\n").encode())
        self._data = b""
        head = self._until(b"\r\n\r\n")
        if b" 101 " not in head.splitlines()[0]:
            raise OSError(head.decode("latin-1"))

    def send(self, **message: Any) -> None:
        text = json.dumps(message).encode()
        mask = os.urandom(4)
        length = bytes([0x80 | len(text)]) if len(text) < 126 else b"\xfe" + struct.pack(">H", len(text))
        self._socket.sendall(b"\x81" + length + mask + bytes(byte ^ mask[i % 4] for i, byte in enumerate(text)))

    def receive(self, kind: str) -> dict[str, Any]:
        """Returns the next message of this kind; skips other messages, and does not answer pings."""
        while True:
            first, second = self._take(2)
            length = second & 0x7F
            if length == 126:
                (length,) = struct.unpack(">H", self._take(2))
            elif length == 127:
                (length,) = struct.unpack(">Q", self._take(8))
            content = self._take(length)
            if first & 0x0F == 1:
                message = json.loads(content)
                if message["kind"] == kind:
                    return message
            if first & 0x0F == 8:
                raise OSError(f"closed with {content!r}")

    def join(self, model: str, name: str) -> None:
        secret = os.urandom(16)
        tag = hashlib.sha256(b"bindbus tag 1\0" + secret).digest()[:8]
        self.send(kind="hello", lowest=0, highest=0, name=name, tag=tag.hex(), secret=secret.hex())
        self.receive("welcome")
        self.send(kind="join", model=model)
        while not self.receive("catchup")["last"]:
            pass

    def end(self) -> None:
        self._socket.close()

    def _until(self, mark: bytes) -> bytes:
        while mark not in self._data:
            self._data += self._read()
        head, self._data = self._data.split(mark, 1)
        return head

    def _take(self, count: int) -> bytes:
        while len(self._data) < count:
            self._data += self._read()
        taken, self._data = self._data[:count], self._data[count:]
        return taken

    def _read(self) -> bytes:
        piece = self._socket.recv(65536)
        if not piece:
            raise OSError("the gateway closed the connection")
        return piece
