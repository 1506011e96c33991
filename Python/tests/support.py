"""Real hubs and programs for tests, and waiting for conditions. Nothing here waits for a fixed time."""
from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path
from typing import Any, Callable, Dict, List, NoReturn, Optional, Sequence

from bindbus import Peer

ROOT = Path(__file__).resolve().parents[2]
DEADLINE = 20.0


def skip(problem: str) -> NoReturn:
    """Skips the test for want of a tool; fails it where `BINDBUS_STRICT` is set."""
    raise AssertionError(problem) if os.environ.get("BINDBUS_STRICT") else unittest.SkipTest(problem)


def binary(name: str) -> str:
    """A built program: in `BINDBUS_BIN`, else in `.build/debug`."""
    path = Path(os.environ.get("BINDBUS_BIN", str(ROOT / ".build" / "debug"))) / name
    if not path.exists():
        skip(f"{path} is missing; build it with: swift build --product {name}")
    return str(path)


def eventually(holds: Callable[[], Any], what: str = "") -> Any:
    """Returns what a condition returns once that is true. Fails at the deadline."""
    end = time.monotonic() + DEADLINE
    while True:
        found = holds()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError(f"not within {DEADLINE:.0f} s: {what or holds}")
        time.sleep(0.005)


class HubTestCase(unittest.TestCase):
    """A folder, and a hub in it that can be killed and started again; what a test starts ends with it."""

    store = "memory"
    options: Sequence[str] = ()  # of `bindhub serve`

    def setUp(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="py-")
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.address = f"ipc://{self.folder}/hub.sock"
        homes = {name: self.folder for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR")}
        self.environment = {**os.environ, **homes, "PYTHONPATH": str(ROOT / "Python" / "src"),
                            "BINDPEER_HUB": self.address}
        self.hub: Optional["subprocess.Popen[str]"] = None
        self.addCleanup(self.kill_hub)
        self.start_hub()

    def start_hub(self) -> None:
        store = self.store if self.store == "memory" else f"{self.folder}/{self.store}"
        arguments = [binary("bindhub"), "serve", "--store", store, "--listen", self.address, "--heartbeat", "250",
                     *self.options]
        self.hub = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                    env=self.environment)
        assert self.hub.stdout is not None
        line = self.hub.stdout.readline()
        self.assertIn("listening", line)

    def kill_hub(self) -> None:
        """As `kill -9` does."""
        if self.hub is not None:
            self.hub.kill()
            self.hub.wait()
            assert self.hub.stdout is not None
            self.hub.stdout.close()
            self.hub = None

    def peer(self, name: str = "py", **options: Any) -> Peer:
        peer = Peer(name, hub=self.address, **options)
        self.addCleanup(peer.close, 0)
        return peer

    def bindpeer(self, *arguments: str) -> str:
        done = subprocess.run([binary("bindpeer"), *arguments, "--hub", self.address], capture_output=True, text=True,
                              env=self.environment, timeout=DEADLINE)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def bindhub(self, *arguments: str) -> str:
        done = subprocess.run([binary("bindhub"), *arguments], capture_output=True, text=True, env=self.environment,
                              timeout=DEADLINE)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def values(self, model: str) -> Dict[str, Any]:
        """What `bindpeer` reads of a model."""
        found: Dict[str, Any] = json.loads(self.bindpeer("get", model, "--json").splitlines()[0])
        return found

    def program(self, text: str) -> "subprocess.Popen[str]":
        """A Python program of its own."""
        program = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True,
                                   env=self.environment, cwd=self.folder)

        def end() -> None:
            program.send_signal(signal.SIGKILL)
            program.wait()
            assert program.stdout is not None
            program.stdout.close()

        self.addCleanup(end)
        return program


def resources() -> List[int]:
    """How many descriptors and threads this process has."""
    return [len(os.listdir("/dev/fd")), threading.active_count()]
