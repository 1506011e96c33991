"""A terminal for Tests/Checks/guides: a shell on a pty, what is typed into it, and what it shows."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from pathlib import Path

DEADLINE_SECONDS = 30.0
# A person looks at one terminal before going to the next one: what is about to end has ended by then.
LOOK_SECONDS = 0.3
READY = "<the shell is ready>"
KEYS = {"^C": b"\x03", "^Z": b"\x1a", "⏎": b"\n"}

# What may differ from run to run, as it stands in a page, and what is accepted in its place.
VARYING = [
    (r"\b[0-9a-f]{10,}\b", r"[0-9a-f]{10,}"),
    (r"\d{4}-\d\d-\d\d", r"\\d{4}-\\d\\d-\\d\\d"),
    (r"\d\d:\d\d:\d\d(?:\.\d+)?", r"\\d\\d:\\d\\d:\\d\\d(?:\\.\\d+)?"),
    (r"\d+(?:\.\d+)? ?(?:µs|ms|s)\b", r"[\\d.]+ ?(?:µs|ms|s)"),
    (r"-[0-9a-f]{4}\b", r"-[0-9a-f]{4}"),
    (r"…", r".*"),
    (r" +", r" +"),
]
_VARYING = re.compile("|".join(f"({shown})" for shown, _ in VARYING))


class Difference(Exception):
    """A page says one thing, and another one happens."""

    def __init__(self, line: int, words: str):
        super().__init__(words)
        self.line = line


def pattern(words: str) -> "re.Pattern[str]":
    """What a line of a page may look like in a later run."""
    parts, end = [], 0
    for match in _VARYING.finditer(words):
        parts += [re.escape(words[end : match.start()]), VARYING[match.lastindex - 1][1].replace("\\\\", "\\")]
        end = match.end()
    return re.compile("".join(parts) + re.escape(words[end:]))


def session_members(session: int) -> list[int]:
    """The processes of a session, its leader last."""
    listed = subprocess.run(["ps", "-A", "-o", "pid="], capture_output=True, text=True, check=True).stdout.split()
    members = []
    for process in map(int, listed):
        try:
            if os.getsid(process) == session:
                members.append(process)
        except OSError:
            pass  # It has ended, or belongs to another user.
    return sorted(members, key=lambda process: process == session)


class Terminal:
    def __init__(self, folder: Path, environment: dict[str, str], shows_output: bool):
        self.place = 0
        self.runtime = environment["XDG_RUNTIME_DIR"]
        self._shows_output = shows_output
        self._pending = b""
        self._lines: list[str] = []
        self._skips = False
        self._process, self._end = pty.fork()
        if self._process == 0:
            os.chdir(folder)
            shell = ["bash", "--norc", "--noprofile", "--noediting", "-i"]
            os.execvpe("bash", shell, {**environment, "PS1": READY + "\n", "PS2": "", "HISTFILE": ""})
        modes = termios.tcgetattr(self._end)
        modes[3] &= ~termios.ECHO
        termios.tcsetattr(self._end, termios.TCSANOW, modes)
        fcntl.ioctl(self._end, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))

    def begin(self, command: str) -> None:
        """Types a command, once the one before has ended and showed no more than the page says."""
        self._wait_for_prompt(f"the command above `{command}` to end")
        os.write(self._end, command.encode() + b"\n")

    def press(self, key: str) -> None:
        os.write(self._end, KEYS[key])

    def expect(self, words: str) -> None:
        """The next line, or after `…` a later one."""
        if words.strip() == "…":
            self._skips = True
            return
        wanted, passed, deadline = pattern(words.rstrip()), [], time.monotonic() + DEADLINE_SECONDS
        while True:
            line = self._next(deadline)
            if line is not None and wanted.fullmatch(line):
                self._skips = False
                return
            passed.append(line)
            if line is None or line == READY or not self._skips:
                seen = "\n".join(f"  {each}" for each in passed if each is not None) or "  nothing"
                raise Difference(self.place, f"the page says\n  {words}\nand what happens is\n{seen}")

    def look(self) -> None:
        """Waits a moment for the command to end; one that goes on is left alone."""
        deadline = time.monotonic() + LOOK_SECONDS
        while READY not in self._lines and self._read(deadline):
            pass

    def finish(self) -> None:
        self._wait_for_prompt("what runs in this terminal to end before the page ends")

    def close(self) -> None:
        """Kills the shell and all that it has started."""
        for process in session_members(self._process):
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        os.waitpid(self._process, 0)
        os.close(self._end)

    def _wait_for_prompt(self, what: str) -> None:
        deadline = time.monotonic() + DEADLINE_SECONDS
        while True:
            line = self._next(deadline)
            if line == READY:
                self._skips = False
                return
            if line is None:
                raise Difference(self.place, f"waited {DEADLINE_SECONDS:.0f} s for {what}")
            if not self._skips:
                raise Difference(self.place, f"before this line the page does not say\n  {line}")

    def _next(self, deadline: float) -> "str | None":
        """The next line that is shown, or nothing at the deadline. Empty lines are not compared."""
        while True:
            while self._lines:
                line = self._lines.pop(0)
                if line:
                    return line
            if not self._read(deadline):
                return None

    def _read(self, deadline: float) -> bool:
        """Adds what is shown next, and returns whether anything came before the deadline."""
        if not select.select([self._end], [], [], max(0.0, deadline - time.monotonic()))[0]:
            return False
        try:
            self._pending += os.read(self._end, 65536)
        except OSError:
            return False  # The shell has ended.
        *whole, self._pending = self._pending.replace(b"\r\n", b"\n").split(b"\n")
        lines = [line.decode(errors="replace").rstrip() for line in whole]
        self._lines += lines
        if self._shows_output:
            print("\n".join(f"    {line}" for line in lines), flush=True)
        return True
