"""The sockets of a peer, all on one thread: they carry what a session says and hears (protocol, 1)."""
from __future__ import annotations

import os
import struct
import threading
from typing import Any, Callable, Dict, List, Optional

import zmq
from zmq.utils.monitor import parse_monitor_message

from .messages import HEARTBEATS
from .names import publish_address
from .overlay import Effect
from .route import HubRoute

CONNECT_MS, GOODBYE_MS, MOST_FRAMES = 2_000, 500, 256
_OPTIONS = {zmq.IMMEDIATE: 1, zmq.LINGER: 0, zmq.RECONNECT_IVL: -1, zmq.SNDHWM: 0, zmq.RCVHWM: 10_000,
            zmq.HEARTBEAT_IVL: 1_000, zmq.HEARTBEAT_TIMEOUT: 3_000}
_ENDS = zmq.EVENT_DISCONNECTED | zmq.EVENT_CLOSED
_FAILURES = {zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL: "broken", zmq.EVENT_HANDSHAKE_FAILED_AUTH: "refused",
             zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL: "protocol"}
_HANDSHAKES = sum(_FAILURES)
_KEYS = (zmq.CURVE_SERVERKEY, zmq.CURVE_PUBLICKEY, zmq.CURVE_SECRETKEY)


class Link(threading.Thread):
    """Calls `turn` with the frames that arrived and what happened to the connection (`opened`, `lost` or nothing), and
    carries out the effects that it returns. `turn` also says how long to wait for the next frame, in milliseconds."""

    def __init__(self, route: HubRoute, name: str, turn: Callable[[List[bytes], str, str], "Turn"],
                 clock: Callable[[], int]) -> None:
        super().__init__(name=f"bindbus-{name}", daemon=True)
        self.route, self.turn, self.clock = route, turn, clock
        self.hub = self.problem = ""  # the address in use, and why a connection to it failed, for people
        self.context = zmq.Context()
        self.context.set(zmq.BLOCKY, 0)
        self.wake_reads, self.wake_writes = os.pipe()
        os.set_blocking(self.wake_writes, False)
        os.set_blocking(self.wake_reads, False)
        self.wake_lock = threading.Lock()
        self.dealer: Optional[Any] = None
        self.sub: Optional[Any] = None
        self.monitors: List[Any] = []
        self.open_at: Optional[int] = None
        self.opening_until: Optional[int] = None  # connecting; the hello waits for the connection
        self.has_ended = False

    def wake(self) -> None:
        """Has a turn begin now. Callable from any thread."""
        with self.wake_lock:  # else the descriptor may be another file's by now
            if not self.has_ended:
                try:
                    os.write(self.wake_writes, b"!")
                except BlockingIOError:
                    pass  # a turn is due anyway

    def run(self) -> None:
        """The thread."""
        happened, frames = "", []  # type: str, List[bytes]
        try:
            while not self.has_ended:
                turn = self.turn(frames, happened, self.problem)
                for effect in turn.effects:
                    getattr(self, f"_{effect.do}")(effect)
                if self.has_ended:
                    return
                happened, frames = self._wait(turn.milliseconds)
        finally:
            with self.wake_lock:
                self.has_ended = True
                os.close(self.wake_reads)
                os.close(self.wake_writes)
            self._close_sockets(GOODBYE_MS)
            self.context.term()
            self.route.finish()

    def _wait(self, milliseconds: int) -> Any:
        now = self.clock()
        if self.open_at is not None and now >= self.open_at:
            self.route.begin()
            self._connect(now)
        for due in (self.open_at, self.opening_until):
            milliseconds = milliseconds if due is None else min(milliseconds, due - now)
        poller = zmq.Poller()
        poller.register(self.wake_reads, zmq.POLLIN)
        for socket in [self.sub, *self.monitors]:
            if socket is not None:
                poller.register(socket, zmq.POLLIN)
        if self.dealer is not None:
            poller.register(self.dealer, zmq.POLLIN | (zmq.POLLOUT if self.opening_until is not None else 0))
        ready: Dict[Any, int] = dict(poller.poll(max(milliseconds, 0)))
        if self.wake_reads in ready:
            try:
                os.read(self.wake_reads, 4_096)
            except BlockingIOError:
                pass
        frames = [frame for socket in (self.dealer, self.sub) if socket is not None for frame in _received(socket)]
        return self._happened(ready), frames

    def _happened(self, ready: Dict[Any, int]) -> str:
        self.problem = ""
        for monitor in [each for each in self.monitors if each in ready]:
            ended = self._ended(monitor)
            if ended:
                return "lost" if ended != "again" else ""
        if self.opening_until is not None and self.dealer is not None:
            if ready.get(self.dealer, 0) & zmq.POLLOUT:
                self.opening_until = None
                return "opened"
            if self.clock() >= self.opening_until:
                return "lost"
        return ""

    def _ended(self, monitor: Any) -> str:
        """Reads what a monitor says: `lost`, or `again` if the same address is tried with the hub's other key."""
        while True:
            try:
                event = parse_monitor_message(monitor.recv_multipart(zmq.NOBLOCK))["event"]
            except zmq.ZMQError:
                return ""
            failure = _FAILURES.get(event)
            if failure == "broken" and monitor is self.monitors[0] and self.route.try_other_key():
                self._close_sockets()
                self._connect(self.clock())
                return "again"
            if failure is not None or event & _ENDS:
                self.problem = "" if failure is None else self.route.words(failure, self.hub)
                return "lost"

    def _connect(self, now: int) -> None:
        self.open_at, self.opening_until = None, now + CONNECT_MS
        self.dealer = self._socket(zmq.DEALER, self.hub)
        # A DEALER that comes back under a known id never receives anything again (1-3).
        self.dealer.setsockopt(zmq.ROUTING_ID, b"\1" + os.urandom(15))
        self.dealer.connect(self.hub)

    def _socket(self, kind: int, address: str) -> Any:
        socket = self.context.socket(kind)
        for option, value in _OPTIONS.items():
            socket.setsockopt(option, value)
        socket.setsockopt(zmq.IPV6, int(address.startswith("tcp://[")))
        for option, key in zip(_KEYS, self.route.options(address) or ()):
            socket.setsockopt(option, key)
        self.monitors.append(socket.get_monitor_socket(_ENDS | _HANDSHAKES))
        return socket

    def _close_sockets(self, linger: int = 0) -> None:
        for socket in (self.dealer, self.sub):
            if socket is not None:
                socket.disable_monitor()
                socket.close(linger)
        for monitor in self.monitors:
            monitor.close(0)
        self.dealer = self.sub = self.opening_until = None
        self.monitors = []

    # Effects

    def _open(self, effect: Effect) -> None:
        self._close_sockets()
        self.hub = effect.b
        self.open_at = self.clock() + effect.a

    def _close(self, effect: Effect) -> None:
        self.has_ended = True

    def _send(self, effect: Effect) -> None:
        if self.dealer is not None:
            try:
                self.dealer.send(effect.a, zmq.NOBLOCK)
            except zmq.ZMQError:
                pass  # the connection is lost; what matters is said again on the next one

    def _listen(self, effect: Effect) -> None:
        address = publish_address(self.hub, effect.b)
        if address is not None:  # without it everything comes on the request connection
            self.sub = self._socket(zmq.SUB, address)
            for topic in (b"\0" + struct.pack("<Q", effect.a), struct.pack(">I", HEARTBEATS)):
                self.sub.setsockopt(zmq.SUBSCRIBE, topic)
            self.sub.connect(address)

    def _learn(self, effect: Effect) -> None:
        self.route.learn_keys(effect.a, effect.b, self.hub)

    def _remember(self, effect: Effect) -> None:
        self.route.learn_hubs(effect.a, self.hub)

    def _subscribe(self, effect: Effect) -> None:
        if self.sub is not None:
            self.sub.setsockopt(zmq.SUBSCRIBE, struct.pack(">I", effect.a))

    def _unsubscribe(self, effect: Effect) -> None:
        if self.sub is not None:
            self.sub.setsockopt(zmq.UNSUBSCRIBE, struct.pack(">I", effect.a))


class Turn:
    """What a turn asks of the link."""

    def __init__(self, effects: List[Effect], milliseconds: int) -> None:
        self.effects, self.milliseconds = effects, milliseconds


def _received(socket: Any) -> List[bytes]:
    frames: List[bytes] = []
    try:
        while len(frames) < MOST_FRAMES:
            parts = socket.recv_multipart(zmq.NOBLOCK)
            frames.append(parts[0] if len(parts) == 1 else b"")  # a message of several frames is malformed
    except zmq.ZMQError:
        pass
    return frames
