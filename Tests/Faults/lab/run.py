"""One run of a fault scenario: a hub, its peers, the faults, and the check of their histories."""

from __future__ import annotations

import ctypes
import json
import os
import random
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

from relay import Relay, free_neighbours

START_SECONDS = 20.0
HEAL_SECONDS = 40.0
PR_SET_PDEATHSIG = 1


class Trouble(Exception):
    """A run could not be completed."""


def tie_to_parent() -> None:
    """Runs in a child: gives it a separate process group, so that only this script receives Ctrl-C, and kills it
    when this script ends for any reason."""
    os.setpgid(0, 0)
    try:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    except (OSError, AttributeError):
        pass  # Not Linux: the end of standard input must suffice.


class Child:
    """A process that prints a line when it is ready, and ends with its standard input."""

    def __init__(self, run: Run, name: str, command: list[str], environment: dict[str, str] | None = None):
        self.name, self.is_stopped = name, False
        with open(run.folder / "errors.txt", "ab") as errors:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, bufsize=1,
                env={**os.environ, **(environment or {})}, preexec_fn=tie_to_parent,
            )
        self.answers: list[str] = []
        self.changed = threading.Condition()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        for line in self.process.stdout or ():
            with self.changed:
                self.answers.append(line)
                self.changed.notify_all()
        with self.changed:
            self.changed.notify_all()

    def answer(self, number: int, seconds: float) -> str:
        """Waits for the answer of that number, counted from 0."""
        with self.changed:
            if not self.changed.wait_for(lambda: len(self.answers) > number or self.is_gone, seconds):
                raise Trouble(f"{self.name} said nothing within {seconds:g} s")
            if len(self.answers) <= number:
                raise Trouble(f"{self.name} ended with {self.process.poll()}")
            return self.answers[number]

    @property
    def is_gone(self) -> bool:
        return self.process.poll() is not None

    def send(self, word: str) -> int:
        """Sends a command; returns the number of its answer."""
        number = len(self.answers)
        try:
            assert self.process.stdin
            self.process.stdin.write(word + "\n")
            self.process.stdin.flush()
        except OSError as error:
            raise Trouble(f"{self.name} ended by itself, with {self.process.poll()}") from error
        return number

    def stop(self) -> None:
        self.is_stopped = True
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self.is_stopped = False
        self.process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        try:
            if self.process.stdin:
                self.process.stdin.close()
        except OSError:
            pass  # The process is gone, and buffered commands are lost.

    def finish(self, seconds: float) -> int:
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Trouble(f"{self.name} did not end within {seconds:g} s") from None
        self.kill()
        return code


class Worker:
    """A peer that writes from a seed, run after run."""

    def __init__(self, run: Run, number: int, outbox: Path | None = None, relay: Relay | None = None, **more: Any):
        self.run, self.name, self.outbox, self.relay = run, f"p{number}", outbox, relay
        self.starts = 0
        self.environment: dict[str, str] = more.get("environment", {})
        self.options: list[str] = more.get("options", [])
        self.start()

    def start(self) -> None:
        self.starts += 1
        address = self.relay.address if self.relay else self.run.address
        seed = self.run.chance.randrange(1 << 40)
        command = [
            str(self.run.bin / "bindlab"), "work", "--name", self.name, "--hub", address, "--seed", str(seed),
            "--history", str(self.run.folder / f"{self.name}-{self.starts}.jsonl"), *self.options,
        ]
        if self.outbox:
            command += ["--outbox", str(self.outbox)]
        self.child = Child(self.run, self.name, command, self.environment)
        self.run.children.append(self.child)

    def begin_again(self) -> None:
        self.child.kill()
        self.start()

    def wait(self) -> None:
        self.child.answer(0, START_SECONDS)


class Run:
    """The folder, processes and random numbers of a run. `with` ends all processes that it started."""

    def __init__(self, bin_path: Path, folder: Path, seed: int, seconds: float):
        self.bin, self.folder, self.seconds = bin_path, folder, seconds
        self.chance = random.Random(seed)
        self.port = free_neighbours()
        self.address = f"ipc://{folder}/hub.sock"
        self.children: list[Child] = []
        self.workers: list[Worker] = []
        self.relays: list[Relay] = []
        self.ends: list[Any] = []
        self.hubs = 0
        self.store = str(folder / "hub.db")
        folder.mkdir(mode=0o700)

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        for child in self.children:
            child.kill()
        for relay in self.relays:
            relay.end()
        for end in reversed(self.ends):
            end()

    def start_hub(self) -> None:
        self.hubs += 1
        command = [
            str(self.bin / "bindlab"), "serve", "--listen", self.address, "--listen", f"tcp://127.0.0.1:{self.port}",
            "--history", str(self.folder / f"hub-{self.hubs}.jsonl"), "--store", self.store,
        ]
        self.hub = Child(self, "hub", command)
        self.children.append(self.hub)
        self.hub.answer(0, START_SECONDS)

    def restart_hub(self, pause: float) -> None:
        self.hub.kill()
        time.sleep(pause)
        self.start_hub()

    def relayed(self) -> Relay:
        relay = Relay(f"127.0.0.{len(self.relays) + 2}", self.port)
        self.relays.append(relay)
        return relay

    def add(self, count: int, **more: Any) -> None:
        for _ in range(count):
            self.workers.append(Worker(self, len(self.workers) + 1, **more))

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self.until

    def begin(self) -> None:
        for worker in self.workers:
            worker.wait()
        self.until = time.monotonic() + self.seconds

    def pause(self, least: float, most: float) -> None:
        """Waits between two faults, but not past the end of the chaos phase."""
        seconds = self.chance.uniform(least, most)
        time.sleep(max(0.0, min(seconds, self.until - time.monotonic())))

    def heal(self) -> float:
        """Ends all faults, and waits until all peers agree and nothing is pending.
        Returns the seconds that took."""
        for child in self.children:
            if child.is_stopped and not child.is_gone:
                child.go_on()
        for relay in self.relays:
            relay.heal()
        if self.hub.is_gone:
            self.start_hub()
        for worker in self.workers:
            if worker.child.is_gone:
                worker.start()
        for worker in self.workers:
            worker.wait()
            worker.child.send("rest")
        began = time.monotonic()
        looks: list[dict[str, Any]] = []
        while time.monotonic() - began < HEAL_SECONDS:
            asked = [(worker.child, worker.child.send("look")) for worker in self.workers]
            looks = [look for child, number in asked for look in json.loads(child.answer(number, HEAL_SECONDS))]
            if self._are_same(looks):
                return time.monotonic() - began
            time.sleep(0.01)
        raise Trouble(f"no one state within {HEAL_SECONDS:g} s: {json.dumps(looks)}")

    @staticmethod
    def _are_same(looks: list[dict[str, Any]]) -> bool:
        first = looks[0]["models"]
        return all(
            look["live"] and look["unconfirmed"] == 0 and look["models"] == first
            and all(is_current for _, _, is_current in look["models"].values())
            for look in looks
        )

    def end(self) -> None:
        """Makes all peers record their values, and ends them and the hub."""
        for worker in self.workers:
            worker.child.send("end")
        for worker in self.workers:
            if code := worker.child.finish(START_SECONDS):
                raise Trouble(f"{worker.name} ended with {code}")
        assert self.hub.process.stdin
        self.hub.process.stdin.close()
        self.hub.finish(START_SECONDS)

    @property
    def check_command(self) -> list[str]:
        return [str(self.bin / "bindlab"), "check", *sorted(str(path) for path in self.folder.glob("*.jsonl"))]

    def check(self) -> tuple[dict[str, Any], list[str]]:
        """Returns the counts of the histories, and their violations."""
        done = subprocess.run(
            self.check_command + ["--json"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        lines = done.stdout.splitlines()
        if done.returncode not in (0, 1) or not lines:
            raise Trouble(f"the check ended with {done.returncode}: {done.stderr.strip()}")
        return json.loads(lines[-1]), lines[:-1]
