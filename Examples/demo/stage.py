"""The processes of scripts/demo, with the arrival time of each output line, and the printed report.

All times are of this machine's monotonic clock: from just before a line is written into one process to just after a
line is read from another.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from pathlib import Path
from typing import Any, Callable, NamedTuple

LIMIT_SECONDS = 15.0


class Failed(Exception):
    """A step failed."""


class Line(NamedTuple):
    at: float
    text: str
    json: dict[str, Any]

    @property
    def changes(self) -> dict[str, Any]:
        return self.json.get("changes", {})


class Actor:
    """A running process, and its output lines with their arrival times."""

    def __init__(self, stage: Stage, name: str, *command: str):
        self.name, self.changed = name, threading.Condition()
        self.lines: list[Line] = []
        self.errors = open(stage.folder / f"{name}.err", "a", encoding="utf-8")
        self.process = subprocess.Popen(
            [stage.bin / command[0], *command[1:]], env=stage.environment, text=True, bufsize=1,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, start_new_session=True,
        )
        self.reader = threading.Thread(target=self._listen, args=(stage.folder / f"{name}.out",), daemon=True)
        self.reader.start()

    def _listen(self, copy: Path) -> None:
        with open(copy, "a", encoding="utf-8") as file:
            for text in self.process.stdout or ():
                at = time.monotonic()
                file.write(text)
                try:
                    content = json.loads(text)
                except ValueError:
                    content = {}
                with self.changed:
                    self.lines.append(Line(at, text.rstrip(), content))
                    self.changed.notify_all()

    def write(self, fields: dict[str, Any]) -> float:
        """Writes one line of JSON to the process, and returns the time."""
        at = time.monotonic()
        assert self.process.stdin
        self.process.stdin.write(json.dumps(fields) + "\n")
        self.process.stdin.flush()
        return at

    def expect(self, what: str, test: Callable[[Line], bool], after: int = 0) -> Line:
        """Waits for the first line from number `after` on that passes, and returns it."""
        deadline, seen = time.monotonic() + LIMIT_SECONDS, after
        with self.changed:
            while True:
                for line in self.lines[seen:]:
                    if test(line):
                        return line
                seen = len(self.lines)
                left = deadline - time.monotonic()
                if left <= 0 or not self.changed.wait(left):
                    raise Failed(f"{self.name} did not show {what} within {LIMIT_SECONDS:g} s")

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        self.reader.join(LIMIT_SECONDS)
        for file in (self.process.stdin, self.process.stdout, self.errors):
            try:
                if file:
                    file.close()
            except OSError:
                pass  # What was still to be written has nobody to read it.


class Stage:
    """The folder of this run, its processes, and their printed report."""

    def __init__(self, bin_path: str, folder: str):
        self.bin, self.folder = Path(bin_path).resolve(), Path(folder)
        self.address = f"ipc://{folder}/hub.sock"
        self.environment = {**os.environ, "BINDPEER_HUB": self.address, "NO_COLOR": "1"}
        self.actors: list[Actor] = []
        self.step = "start"
        self.began = time.monotonic()

    def begin(self, step: str) -> None:
        self.step = step
        print(f"\n── {step}", flush=True)

    def show(self, name: str, text: str, at: float | None = None) -> None:
        moment = (at or time.monotonic()) - self.began
        print(f"{moment:8.3f} s  {name:<8} {text}", flush=True)

    def start(self, name: str, *command: str) -> Actor:
        actor = Actor(self, name, *command)
        self.actors.append(actor)
        self.show(name, "$ " + " ".join(command).replace(str(self.folder), "…"))
        return actor

    def run(self, *arguments: str, code: int = 0) -> tuple[float, str]:
        """Runs `bindpeer` to its end, as in a shell; returns the start time and the output."""
        self.show("shell", "$ bindpeer " + " ".join(arguments))
        return self._run("shell", [str(self.bin / "bindpeer"), *arguments], code)

    def entry(self) -> dict[str, str]:
        """The access to the running hub's pages: `url` (works once), `address`, `token`. Nothing of it is printed."""
        done = subprocess.run(
            [self.bin / "bindhub", "web", "--json"], env=self.environment, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False)
        if done.returncode:
            raise Failed(f"bindhub web ended with {done.returncode}: {done.stderr}")
        return json.loads(done.stdout)

    def run_python(self, python: str, *arguments: str) -> tuple[float, str]:
        """Runs the Python peer."""
        peer = Path(__file__).resolve().parent.parent / "python" / "bindpeer.py"
        self.show("python", "$ python3 Examples/python/bindpeer.py " + " ".join(arguments))
        return self._run("python", [python, str(peer), *arguments], 0)

    def _run(self, name: str, command: list[str], code: int) -> tuple[float, str]:
        at = time.monotonic()
        done = subprocess.run(
            command, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=LIMIT_SECONDS, start_new_session=True, check=False,
        )
        for line in (done.stdout + done.stderr).splitlines():
            self.show(name, line)
        if done.returncode != code:
            raise Failed(f"{name} ended with {done.returncode}, not {code}")
        return at, done.stdout

    def end(self) -> None:
        for actor in self.actors:
            actor.end()
