"""Child processes, which always end with this process."""

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
    """The reason for which a measurement failed."""


def _end_with_parent() -> None:
    if _libc is not None and hasattr(_libc, "prctl"):
        _libc.prctl(_DEATH_SIGNAL, signal.SIGKILL)


def _keep_time() -> None:
    """Sets the timer slack, so that sleeps do not end up to 50 microseconds late."""
    _end_with_parent()
    if _libc is not None and hasattr(_libc, "prctl"):
        _libc.prctl(_TIMER_SLACK, 1000)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Child:
    """A process in its own session. Its errors go to a file; its lines are read with a deadline. It may need another
    one, whose processor time counts as its own, and which ends after it."""

    def __init__(
        self, name: str, command: list[str], folder: Path, keeps_time: bool = False, needed: Child | None = None
    ) -> None:
        self.name = name
        self._needed = needed
        self._words = folder / f"{name}.err"
        self._rest = b""
        with open(self._words, "wb") as words:
            self._process = subprocess.Popen(
                command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=words,
                start_new_session=True, preexec_fn=_keep_time if keeps_time else _end_with_parent,
                env={**os.environ, "XDG_RUNTIME_DIR": str(folder), "XDG_CONFIG_HOME": str(folder)})
        self.id = self._process.pid

    def line(self, seconds: float) -> str:
        """The next line of its output."""
        deadline = time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._rest:
                if not selector.select(max(deadline - time.monotonic(), 0)):
                    raise Trouble(f"{self.name}: no output in {seconds:g} s{self.last_words()}")
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
        """Returns once the server accepts connections."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                return
            except OSError:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    raise Trouble(f"{self.name}: accepts no connections{self.last_words()}") from None
                time.sleep(0.01)

    def processor_seconds(self) -> float:
        """Its processor time so far; 0 if the system does not report it."""
        try:
            fields = Path(f"/proc/{self.id}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:
            return 0
        of_needed = self._needed.processor_seconds() if self._needed else 0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") + of_needed

    def last_words(self) -> str:
        lines = self._words.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        errors = [line for line in lines if "rror" in line] or lines
        return f": {errors[-1].strip()}" if errors else ""

    def end(self) -> None:
        """Terminates the process, then kills it and its children."""
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
        if self._needed:
            self._needed.end()
