"""Faults for a hub and its peers: each scenario prepares a run, then injects faults until the time is over."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import Callable, NamedTuple

from run import Child, Run

PEERS = 4
STORMERS, STORM_PROCESSES = 50, 5
DISK_KIB, STORE_KIB = 2048, 16_384


class Skipped(Exception):
    """This machine does not permit the fault."""


class Scenario(NamedTuple):
    name: str
    prepare: Callable[[Run], None]
    strike: Callable[[Run], None]
    about: str


def peers(run: Run) -> None:
    run.start_hub()
    run.add(PEERS)


def peers_of_memory_hub(run: Run) -> None:
    run.store = "memory"
    peers(run)


def peers_with_outboxes(run: Run) -> None:
    run.start_hub()
    for number in range(PEERS):
        run.add(1, outbox=run.folder / f"outbox-{number + 1}")


def relayed_peers(run: Run) -> None:
    run.start_hub()
    run.add(2)
    for _ in range(2):
        run.add(1, relay=run.relayed())


def nothing(run: Run) -> None:
    while not run.is_over:
        run.pause(1, 1)


def kill_hub(run: Run) -> None:
    while not run.is_over:
        run.pause(1.5, 2.5)
        run.restart_hub(run.chance.uniform(0, 0.5))


def kill_peers(run: Run) -> None:
    while not run.is_over:
        run.pause(0.2, 0.8)
        run.chance.choice(run.workers[1:]).begin_again()


def kill_both(run: Run) -> None:
    while not run.is_over:
        run.pause(0.5, 1)
        run.chance.choice(run.workers[1:]).begin_again()
        run.pause(0.5, 1)
        run.restart_hub(run.chance.uniform(0, 0.3))


def kill_all(run: Run) -> None:
    """Kills hub and peers: acknowledged writes survive in the hub's store, pending ones in the outboxes."""
    while not run.is_over:
        run.pause(1, 2)
        for child in [run.hub, *(worker.child for worker in run.workers)]:
            child.process.kill()
        run.restart_hub(0.1)
        for worker in run.workers:
            worker.begin_again()


def stop_hub(run: Run) -> None:
    while not run.is_over:
        run.pause(0.2, 0.8)
        run.hub.stop()
        run.pause(0.3, 3.5)
        run.hub.go_on()


def stop_peers(run: Run) -> None:
    while not run.is_over:
        child = run.chance.choice(run.workers).child
        child.stop()
        run.pause(0.2, 2)
        child.go_on()
        run.pause(0.1, 0.4)


def cut_links(run: Run) -> None:
    while not run.is_over:
        relay = run.chance.choice(run.relays)
        relay.cut()
        run.pause(0.1, 1.5)
        relay.heal()
        run.pause(0.3, 0.8)


def one_way_links(run: Run) -> None:
    while not run.is_over:
        relay = run.chance.choice(run.relays)
        up = run.chance.random() < 0.5
        relay.hold(up=up, down=not up)
        run.pause(0.3, 4)
        if run.chance.random() < 0.5:
            relay.cut()
        relay.heal()
        run.pause(0.3, 0.8)


def can_import_zmq(python: str) -> bool:
    return subprocess.run([python, "-c", "import zmq"], capture_output=True, check=False).returncode == 0


def slow_readers(run: Run) -> None:
    """A peer that is stopped nine tenths of the time, and a subscriber to everything that reads nothing."""
    program = (
        "import sys, zmq\n"
        "socket = zmq.Context().socket(zmq.SUB)\n"
        "socket.setsockopt(zmq.RCVHWM, 1)\n"
        "socket.setsockopt(zmq.RCVBUF, 4096)\n"
        "socket.subscribe(b'')\n"
        f"socket.connect('tcp://127.0.0.1:{run.port + 1}')\n"
        "print('connected', flush=True)\n"
        "sys.stdin.read()\n"
    )
    candidates = [os.environ.get("BINDBUS_PYTHON"), sys.executable, shutil.which("python3"), "/usr/bin/python3"]
    python = next((path for path in candidates if path and can_import_zmq(path)), None)
    if python is None:
        raise Skipped("no python3 with pyzmq")
    reader = Child(run, "reader", [python, "-c", program])
    run.children.append(reader)
    reader.answer(0, 10)
    slow = run.workers[-1].child
    while not run.is_over:
        slow.stop()
        run.pause(0.9, 0.9)
        slow.go_on()
        run.pause(0.1, 0.1)


def prepare_clocks(run: Run) -> None:
    """The hub and one peer have the right time; the wall clocks of the other peers are moved randomly."""
    library = run.folder / "clock.so"
    source = Path(__file__).with_name("clock.c")
    compiler = next((path for name in ("cc", "clang", "gcc") if (path := shutil.which(name))), None)
    if compiler is None or not sys.platform.startswith("linux"):
        raise Skipped("no C compiler, or not Linux")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    run.start_hub()
    run.add(1)
    for number in range(PEERS - 1):
        clock = run.folder / f"clock-{number}"
        clock.write_bytes(struct.pack("=q", 0))
        environment = {"LD_PRELOAD": str(library), "FAULTS_CLOCK": str(clock)}
        run.add(1, outbox=run.folder / f"outbox-{number}", environment=environment)


def move_clocks(run: Run) -> None:
    days = 86_400
    while not run.is_over:
        clock = run.chance.choice(list(run.folder.glob("clock-*")))
        offset = run.chance.choice([-3650 * days, -days, -3600, -5, 5, 3600, days, 3650 * days])
        with open(clock, "r+b") as file:
            file.write(struct.pack("=q", offset))
        run.pause(0.2, 0.6)
        if run.chance.random() < 0.4:
            run.chance.choice(run.workers[1:]).begin_again()


def mount_disk(run: Run, kib: int) -> Path:
    """A file system that is small enough to fill."""
    disk = run.folder / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={kib}k,mode=0700", "faults", str(disk)]
    if subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode != 0:
        raise Skipped("mounting is not permitted")
    run.ends.append(lambda: subprocess.run(["umount", "-l", str(disk)], check=False))
    return disk


def small_store(run: Run) -> None:
    run.store = str(mount_disk(run, STORE_KIB) / "hub.db")
    peers(run)


def small_disk(run: Run) -> None:
    """Outboxes on a file system that is small enough to fill."""
    disk = mount_disk(run, DISK_KIB)
    run.start_hub()
    run.add(1)
    for number in range(PEERS - 1):
        run.add(1, outbox=disk / f"outbox-{number}")


def fill_disk(run: Run) -> None:
    filler = run.folder / "disk" / "filler"
    while not run.is_over:
        try:
            with open(filler, "ab", buffering=0) as file:
                while file.write(bytes(512)):
                    pass
        except OSError:
            pass  # Full, as intended.
        run.pause(0.3, 1)
        filler.unlink()
        run.pause(0.3, 0.6)


def locked_disk(run: Run) -> None:
    """Outboxes on a small file system, which is also mounted read-only at a second path."""
    small_disk(run)
    disk, locked = run.folder / "disk", run.folder / "locked"
    locked.mkdir()
    for command in (["mount", "--bind", disk, locked], ["mount", "-o", "remount,ro,bind", locked]):
        if subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode != 0:
            raise Skipped("mounting read-only is not permitted")
        if "--bind" in command:
            run.ends.append(lambda: subprocess.run(["umount", "-l", locked], check=False))


def lock_disk(run: Run) -> None:
    """A peer is killed and restarts with its outbox on a read-only disk: it must report that and end."""
    worker = run.workers[-1]
    writable = worker.outbox
    assert writable
    while not run.is_over:
        worker.outbox = run.folder / "locked" / writable.name
        worker.begin_again()
        if worker.child.process.wait(20) == 0:
            raise AssertionError("a peer took an outbox that it cannot write")
        worker.outbox = writable
        worker.begin_again()
        run.pause(0.5, 1)


def stormers(run: Run) -> None:
    run.start_hub()
    each = STORMERS // STORM_PROCESSES
    run.add(STORM_PROCESSES, options=["--style", "storm", "--peers", str(each)])


SCENARIOS = [
    Scenario("none", peers, nothing, "nothing is done"),
    Scenario("hub killed", peers, kill_hub, "kill -9 of the hub, started again within half a second"),
    Scenario("memory hub killed", peers_of_memory_hub, kill_hub, "the same, and the hub stores nothing"),
    Scenario("peers killed", peers, kill_peers, "kill -9 of peers without outboxes"),
    Scenario("outboxes", peers_with_outboxes, kill_peers, "kill -9 of peers with outboxes"),
    Scenario("hub and peers killed", peers_with_outboxes, kill_both, "kill -9 of both in turn, peers with outboxes"),
    Scenario("all killed", peers_with_outboxes, kill_all, "kill -9 of the hub and of all peers at once, with outboxes"),
    Scenario("hub stopped", peers, stop_hub, "SIGSTOP of the hub, up to 3.5 s"),
    Scenario("peers stopped", peers, stop_peers, "SIGSTOP of peers, up to 2 s"),
    Scenario("links cut", relayed_peers, cut_links, "connections of two of four peers cut, up to 1.5 s"),
    Scenario("one-way links", relayed_peers, one_way_links, "one direction held back, up to 4 s"),
    Scenario("slow readers", peers, slow_readers, "a peer that is mostly stopped, a subscriber that never reads"),
    Scenario("clocks moved", prepare_clocks, move_clocks, "wall clocks moved by up to 10 years, peers killed"),
    Scenario("disk full", small_disk, fill_disk, "the outboxes' disk filled and freed"),
    Scenario("hub's disk full", small_store, fill_disk, "the store's disk filled and freed"),
    Scenario("disk read-only", locked_disk, lock_disk, "the outboxes' disk read-only while a peer starts"),
    Scenario("conflict storm", stormers, nothing, f"{STORMERS} peers that increment one field by comparison"),
]
