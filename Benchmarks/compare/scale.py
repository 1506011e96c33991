"""The cost of a hub by number of models, fields and peers, measured from outside its process."""

from __future__ import annotations

import json
import os
import shutil
import signal
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Iterator

from children import Child, Trouble
from contenders import BY_NAME, Programs, Running

GROUP = "scale"
HUB, FORWARDER, STORED = "bindhub, ipc", "forwarder, ipc", "bindhub, process"


@dataclass(frozen=True)
class Sizes:
    """The sizes of all measurements. Each is repeated `rounds` times."""

    models: tuple[int, ...] = (1, 10, 100, 1_000, 10_000)
    peers: tuple[int, ...] = (1, 8, 64, 256, 1_000)
    rounds: int = 3
    seconds: float = 1.0
    # Changes a second of the cost by models; deliveries a second of the cost by peers.
    pace: int = 20_000
    deliveries: int = 100_000
    # Fields of each of ten models: the difference in memory is divided by the difference in fields.
    few_fields: int = 1_000
    many_fields: int = 100_000
    joined_fields: int = 100_000
    started_fields: tuple[int, ...] = (250_000, 500_000, 1_000_000)
    started_model: int = 10_000
    storm: int = 500
    idle_seconds: float = 8.0


FULL = Sizes()
QUICK = Sizes((1, 100), (1, 8), 1, 0.3, 5_000, 10_000, 100, 2_000, 2_000, (10_000, 20_000), 1_000, 20, 1.0)
Log = Callable[[str], None]


class Bench:
    """A hub or forwarder in its own folder, and its clients."""

    def __init__(self, programs: Programs, name: str, folder: Path) -> None:
        self.programs, self.name, self.folder = programs, name, folder
        self.begun = time.monotonic()
        self.running: Running = BY_NAME[name].start(programs, folder)
        self._clients: list[Child] = []

    @property
    def server(self) -> Child:
        return self.running.child

    def client(self, role: str, *options: Any) -> Child:
        words = [self.programs.bindbench, "scale", role, *map(str, options)]
        child = Child(f"{role}{len(self._clients)}", words, self.folder, keeps_time=True)
        self._clients.append(child)
        return child

    def writer(self, models: int) -> tuple[Child, str, str]:
        """A writer of this many models, their publish endpoint, and their topics."""
        to = ["--publish", self.running.publish] if self.running.publish else []
        kind = "forwarder" if self.name == FORWARDER else "hub"
        child = self.client("write", "--kind", kind, "--request", self.running.request, "--models", models, *to)
        _, publish, topics = child.line(60).split()
        return child, publish, topics

    def readers(self, publish: str, topics: str, count: int = 1) -> Child:
        kind = "forwarder" if self.name == FORWARDER else "hub"
        child = self.client("listen", "--kind", kind, "--to", publish, "--topics", topics, "--readers", count)
        child.line(60)
        return child

    def crowd(self, peers: int) -> Child:
        child = self.client("crowd", "--request", self.running.request, "--peers", peers)
        child.line(30)
        return child

    def fill(self, models: int, fields: int, *options: Any) -> dict[str, Any]:
        """Fills a hub and returns the times; the client and its sessions remain."""
        request = self.running.request
        child = self.client("fill", "--request", request, "--models", models, "--fields", fields, *options)
        child.line(30)
        child.send("go")
        return json.loads(child.line(120))

    def memory(self) -> dict[str, int]:
        """The server's private and resident memory, in bytes."""
        time.sleep(0.5)
        found = {}
        for line in Path(f"/proc/{self.server.id}/smaps_rollup").read_text(encoding="utf-8").splitlines():
            name, _, rest = line.partition(":")
            if name in ("Private_Dirty", "Rss"):
                found[name] = int(rest.split()[0]) * 1024
        return {"dirty": found["Private_Dirty"], "rss": found["Rss"]}

    def end(self) -> None:
        for child in [*reversed(self._clients), self.server]:
            child.end()


@contextmanager
def bench(programs: Programs, name: str = HUB, folder: Path | None = None) -> Iterator[Bench]:
    place = folder or Path(tempfile.mkdtemp(prefix="bench-"))
    made = None
    try:
        made = Bench(programs, name, place)
        yield made
    finally:
        if made:
            made.end()
        if folder is None:
            shutil.rmtree(place, ignore_errors=True)


def run(programs: Programs, is_quick: bool, log: Log) -> dict[str, Any]:
    """All figures, and the failed measurements."""
    sizes = QUICK if is_quick else FULL
    found: dict[str, Any] = {"sizes": sizes.__dict__, "failed": []}
    for name, measure in (
        ("models", by_models), ("peers", by_peers), ("memory", memory), ("join", join), ("start", start),
        ("storm", storm), ("idle", idle),
    ):
        begun = time.monotonic()
        try:
            found[name] = measure(programs, sizes)
        except (Trouble, OSError, KeyError, ValueError) as trouble:
            found["failed"].append(f"{GROUP}, {name}: {trouble}")
        log(f"{GROUP}, {name}: {json.dumps(found.get(name, 'failed'))[:400]} ({time.monotonic() - begun:.0f} s)")
    return found


def _written(one: Bench, writer: Child, readers: Child, rate: float, seconds: float) -> dict[str, float]:
    """Changes a second, processor time of the server per change in microseconds, and the share of missed changes."""
    readers.send("count")
    used = one.server.processor_seconds()
    writer.send(f"{rate} {seconds}")
    written = json.loads(writer.line(seconds + 70))
    used = one.server.processor_seconds() - used
    read = json.loads(readers.line(seconds + 70))
    return {
        "rate": written["sent"] / written["seconds"], "read": read["rate"], "cost": used / written["sent"] * 1e6,
        "missed": max(written["sent"] - read["least"], 0) / written["sent"]}


def by_models(programs: Programs, sizes: Sizes) -> list[dict[str, Any]]:
    rounds = []
    for number in range(sizes.rounds):
        for models in sizes.models if number % 2 == 0 else reversed(sizes.models):
            for name in (HUB, FORWARDER):
                with bench(programs, name) as one:
                    writer, publish, topics = one.writer(models)
                    readers = one.readers(publish, topics)
                    fast = _written(one, writer, readers, 0, sizes.seconds)
                    paced = _written(one, writer, readers, sizes.pace, sizes.seconds)
                rounds.append({"server": name, "models": models, "fast": fast, "paced": paced})
    return rounds


def by_peers(programs: Programs, sizes: Sizes) -> list[dict[str, Any]]:
    """The cost of a change at a rate that both sustain; only the peers of the hub have sessions."""
    rounds = []
    for number in range(sizes.rounds):
        for peers in sizes.peers if number % 2 == 0 else reversed(sizes.peers):
            rate = min(sizes.pace, sizes.deliveries / peers)
            with bench(programs) as one:
                writer, _, _ = one.writer(1)
                crowd = one.crowd(_room(peers))
                crowd.send("join")
                crowd.line(70)
                used = one.server.processor_seconds()
                writer.send(f"{rate} {sizes.seconds}")
                sent = json.loads(writer.line(60))["sent"]
                used = one.server.processor_seconds() - used
                crowd.send("count")
                least = json.loads(crowd.line(60))["least"]
                rounds.append({"server": HUB, "peers": peers, "rate": rate, "cost": used / sent * 1e6,
                               "missed": max(sent - least, 0) / sent})
            with bench(programs, FORWARDER) as one:
                writer, publish, topics = one.writer(1)
                readers = one.readers(publish, topics, peers)
                figures = _written(one, writer, readers, rate, sizes.seconds)
                rounds.append({"server": FORWARDER, "peers": peers, "rate": rate, "cost": figures["cost"],
                               "missed": figures["missed"]})
    return rounds


def _room(peers: int) -> int:
    """The number of peers: a hub allows 1,000 sessions, and the writer has 16 of them."""
    return min(peers, 1_000 - 16)


def memory(programs: Programs, sizes: Sizes) -> dict[str, Any]:
    """Bytes per field, model and peer, each from the difference between few and many."""
    def of_filled(models: int, fields: int) -> dict[str, int]:
        with bench(programs) as one:
            one.fill(models, fields)
            return one.memory()

    def slope(few: dict[str, int], many: dict[str, int], count: int) -> dict[str, float]:
        return {kind: (many[kind] - few[kind]) / count for kind in few}
    found = {"field": slope(of_filled(10, sizes.few_fields), of_filled(10, sizes.many_fields),
                            10 * (sizes.many_fields - sizes.few_fields)),
             "model": slope(of_filled(16, 1), of_filled(max(sizes.models), 1), max(sizes.models) - 16)}
    with bench(programs) as one:
        peers = _room(max(sizes.peers))
        crowd = one.crowd(peers)
        before = one.memory()
        crowd.send("join")
        crowd.line(70)
        found["peer"] = slope(before, one.memory(), peers)
    # A field has a value of 32 bytes and a name of nine to ten.
    found["fieldBytes"] = 32 + 9.9
    return found


def join(programs: Programs, sizes: Sizes) -> dict[str, Any]:
    """Seconds until a peer has a complete large model, and the server's processor time for it."""
    seconds, used = [], []
    with bench(programs) as one:
        one.fill(1, sizes.joined_fields)
        for _ in range(sizes.rounds + 2):
            crowd = one.crowd(1)
            before = one.server.processor_seconds()
            crowd.send("join")
            seconds.append(json.loads(crowd.line(70))["seconds"])
            used.append(one.server.processor_seconds() - before)
            crowd.end()
    return {"fields": sizes.joined_fields, "seconds": seconds, "processor": used}


def start(programs: Programs, sizes: Sizes) -> list[dict[str, Any]]:
    """Seconds from the start of a hub with a store to its first commit, after an orderly end and after a kill."""
    rounds = []
    for fields in sizes.started_fields:
        folder = Path(tempfile.mkdtemp(prefix="bench-"))
        try:
            figures: dict[str, Any] = {"fields": fields}
            with bench(programs, STORED, folder) as one:
                one.fill(fields // sizes.started_model, sizes.started_model)
                _kill(one.server)
            for ending in ("killed", "ended"):
                with bench(programs, STORED, folder) as one:
                    figures[ending + "Listening"] = time.monotonic() - one.begun
                    done = one.fill(1, 1, "--name", f"scale/{ending}")["doneAt"]
                    # The clients use the same clock, in nanoseconds with sixteen digits.
                    figures[ending] = done / 1e9 - 1e6 - one.begun % 1e6
                    figures[ending + "Processor"] = one.server.processor_seconds()
            rounds.append(figures)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return rounds


def _kill(child: Child) -> None:
    os.kill(child.id, signal.SIGKILL)
    child.end()


def storm(programs: Programs, sizes: Sizes) -> dict[str, Any]:
    """Seconds until all peers have joined again after losing their connections at once."""
    seconds, used = [], []
    with bench(programs) as one:
        one.fill(1, 16)
        crowd = one.crowd(sizes.storm)
        crowd.send("join")
        first = json.loads(crowd.line(70))["seconds"]
        for _ in range(sizes.rounds):
            time.sleep(1)
            before = one.server.processor_seconds()
            crowd.send("again")
            seconds.append(json.loads(crowd.line(70))["seconds"])
            used.append(one.server.processor_seconds() - before)
    return {"peers": sizes.storm, "first": first, "seconds": seconds, "processor": used}


def idle(programs: Programs, sizes: Sizes) -> list[dict[str, Any]]:
    """The share of one processor that a hub with idle peers uses."""
    rounds = []
    for peers in (0, _room(max(sizes.peers))):
        with bench(programs) as one:
            one.fill(1, 16)
            if peers:
                crowd = one.crowd(peers)
                crowd.send("join")
                crowd.line(70)
            time.sleep(1)
            before = one.server.processor_seconds()
            time.sleep(sizes.idle_seconds)
            rounds.append({"peers": peers, "share": (one.server.processor_seconds() - before) / sizes.idle_seconds})
    return rounds
