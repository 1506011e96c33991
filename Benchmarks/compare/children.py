"""Processes that this run starts: each ends with it, whatever happens to it."""

from __future__ import annotations

import ctypes
import os
import selectors
import signal
import socket
import subprocess
import time
from pathlib import Path

GRACE_SECONDS = 3.0
_DEATH_SIGNAL, _TIMER_SLACK = 1, 29  # PR_SET_PDEATHSIG, PR_SET_TIMERSLACK
try:
    _libc = ctypes.CDLL(None)
except OSError:
    _libc = None


class Trouble(Exception):
    """A measurement cannot go on; the words say why."""


def _end_with_parent() -> None:
    if _libc is not None and hasattr(_libc, "prctl"):
        _libc.prctl(_DEATH_SIGNAL, signal.SIGKILL)


def _keep_time() -> None:
    """Its sleeps end when they should, not up to 50 microseconds later."""
    _end_with_parent()
    if _libc is not None and hasattr(_libc, "prctl"):
        _libc.prctl(_TIMER_SLACK, 1000)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Child:
    """One process in a session of its own, with its words in a file and its lines to be read with a deadline."""

    def __init__(self, name: str, command: list[str], folder: Path, keeps_time: bool = False) -> None:
        self.name = name
        self._words = folder / f"{name}.err"
        self._rest = b""
        with open(self._words, "wb") as words:
            self._process = subprocess.Popen(
                command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=words,
                start_new_session=True, preexec_fn=_keep_time if keeps_time else _end_with_parent,
                env={**os.environ, "XDG_RUNTIME_DIR": str(folder)})
        self.id = self._process.pid

    def line(self, seconds: float) -> str:
        """The next line that it prints."""
        deadline = time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._rest:
                if not selector.select(max(deadline - time.monotonic(), 0)):
                    raise Trouble(f"{self.name}: nothing in {seconds:g} s{self.last_words()}")
                more = os.read(self._process.stdout.fileno(), 65536)
                if not more:
                    raise Trouble(f"{self.name}: ended too early{self.last_words()}")
                self._rest += more
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode(errors="replace")

    def send(self, line: str) -> None:
        try:
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            raise Trouble(f"{self.name}: ended too early{self.last_words()}") from None

    def wait_for_port(self, port: int, seconds: float = 20) -> None:
        """Returns once it takes connections."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                return
            except OSError:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    raise Trouble(f"{self.name}: does not start{self.last_words()}") from None
                time.sleep(0.01)

    def processor_seconds(self) -> float:
        """What it has used of the processors so far; 0 where nobody can say."""
        try:
            fields = Path(f"/proc/{self.id}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:
            return 0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def last_words(self) -> str:
        lines = self._words.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        errors = [line for line in lines if "rror" in line] or lines
        return f": {errors[-1].strip()}" if errors else ""

    def end(self) -> None:
        """Asks it to end, then kills it and what it started."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.id, number)
            except OSError:
                pass  # Nothing of it is left.
            try:
                self._process.wait(GRACE_SECONDS)
                break
            except subprocess.TimeoutExpired:
                continue
        for pipe in (self._process.stdin, self._process.stdout):
            try:
                pipe.close()
            except OSError:
                pass  # It had ended with words for it under way.
