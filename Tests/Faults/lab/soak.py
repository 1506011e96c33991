"""A hub with keys, rights and pages under everything that must not harm it, beside peers that write and read."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

from amounts import Amounts
from honest import History, lost, part
from relay import free_neighbours
from run import START_SECONDS, Child, Run, Trouble

PEERS_EACH = 4
WRITES_A_SECOND = 10
MOST_MEMORY_KIB = 64 * 1024
# Slower by so much than in the quiet beginning, at most; judged in long runs only, because machines are shared.
MOST_SLOWER = {"ipc": 3.0, "tcp": 10.0}
STRANGER = 4711
MODELS = ("lab/a", "lab/b")
RIGHTS = {
    "bindbus": "access", "version": 1,
    "roles": {
        "lab": {"read": ["lab/*"], "write": ["lab/*"], "present": ["lab/*"], "describe": ["lab/*"], "fanout": True},
        "mallory": {"read": ["spam/*"], "write": ["spam/*"]},
        "reader": {"read": ["lab/*", "spam/*"], "fanout": True},
    },
    "members": {
        **{f"tcp-{number + 1}": ["lab"] for number in range(PEERS_EACH)}, "mallory": ["mallory"],
        f"uid:{STRANGER}": ["reader"],
    },
}


class Soak:
    """One run; `with` ends all processes that it started."""

    def __init__(self, bin_path: Path, folder: Path, seed: int, amounts: Amounts):
        self.run = Run(bin_path, folder, seed, amounts.hostile_seconds)
        self.amounts, self.folder, self.seed = amounts, folder, seed
        self.web = free_neighbours()
        self.peers: list[tuple[str, Child]] = []
        self.findings: list[str] = []
        self.kinds: dict[str, dict[str, Any]] = {}
        self.rows: list[tuple[str, str]] = []

    def __enter__(self) -> Soak:
        return self

    def __exit__(self, *_: object) -> None:
        self.run.__exit__()

    # Preparing

    def environment(self, user: str) -> dict[str, str]:
        folder = str(self.folder / user)
        return {"XDG_CONFIG_HOME": folder, "XDG_RUNTIME_DIR": folder, "BINDPEER_HUB": ""}

    def call(self, user: str, program: str, *arguments: str, codes: tuple[int, ...] = (0,)) -> str:
        """Runs a program to its end, and returns what it wrote."""
        done = subprocess.run(
            [str(self.run.bin / program), *arguments], env={**os.environ, **self.environment(user)},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
        if done.returncode not in codes:
            raise Trouble(f"{program} {arguments[0]} ended with {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def child(self, user: str, name: str, command: list[str]) -> Child:
        child = Child(self.run, name, command, self.environment(user))
        self.run.children.append(child)
        return child

    def start_hub(self) -> None:
        (self.folder / "host").mkdir(mode=0o700)
        self.call("host", "bindhub", "keys", "init")
        (self.folder / "host" / "bindbus" / "hub" / "access.json").write_text(json.dumps(RIGHTS))
        self.call("host", "bindhub", "access", "check")
        self.hub = self.child("host", "hub", [
            str(self.run.bin / "bindhub"), "serve", "--name", "shop", "--listen", self.run.address,
            "--listen", f"tcp://127.0.0.1:{self.run.port}", "--store", self.run.store,
            "--web", f"127.0.0.1:{self.web}", "--exit-with-stdin", "--log", "error",
        ])
        # Two addresses and the one for browsers.
        self.hub.answer(2, START_SECONDS)

    def invitation(self, name: str) -> str:
        line = re.search(r"bindbus1:\S+", self.call("host", "bindhub", "invite", name))
        if line is None:
            raise Trouble(f"no invitation for {name}")
        file = self.folder / f"invitation-{name}"
        file.write_text(line.group() + "\n")
        return str(file)

    def join(self, name: str) -> None:
        (self.folder / name).mkdir(mode=0o700)
        self.call(name, "bindpeer", "join", self.invitation(name))

    def start_peers(self) -> None:
        for number in range(PEERS_EACH):
            for transport in MOST_SLOWER:
                name = f"{transport}-{number + 1}"
                if transport == "tcp":
                    self.join(name)
                command = [
                    str(self.run.bin / "bindlab"), "work", "--name", name, "--style", "plain",
                    "--rate", str(WRITES_A_SECOND), "--seed", str(self.seed + len(self.peers)),
                    "--hub", "shop" if transport == "tcp" else self.run.address,
                    "--history", str(self.folder / f"{name}.jsonl"),
                ]
                self.peers.append((name, self.child(name, name, command)))
        for _, peer in self.peers:
            peer.answer(0, START_SECONDS)

    def start_hostile(self) -> Child:
        self.join("mallory")
        command = [
            str(self.run.bin / "bindlab"), "hostile", "--known", str(self.folder / "mallory" / "bindbus" / "hubs"),
            "--invitation", self.invitation("nobody"), "--ipc", self.run.address, "--web", str(self.web),
            "--total", str(self.amounts.total), "--handshakes", str(self.amounts.handshakes),
            "--seconds", str(self.amounts.hostile_seconds), "--seed", str(self.seed),
        ]
        # With low priority: hostile programs run on machines of their own, and this is not about the processor here.
        return self.child("mallory", "hostile", ["nice", "-n", "5", *self.as_stranger(command)])

    def as_stranger(self, command: list[str]) -> list[str]:
        """The command as another user of this machine, whom the directory lets through and the rights do not. Where
        that is not permitted it sends no frames over ipc: as this user it might do all that peers may."""
        tool = shutil.which("setpriv")
        if os.getuid() != 0 or tool is None:
            return command
        for path in (self.folder.parent, self.folder):
            os.chmod(path, 0o711)
        other = [tool, f"--reuid={STRANGER}", f"--regid={STRANGER}", "--clear-groups", "--pdeathsig=KILL"]
        # A directory above may be closed to other users.
        for path in (self.folder, self.run.bin / "bindlab"):
            if subprocess.call([*other, "test", "-x", str(path)], stdin=subprocess.DEVNULL):
                return command
        for name in ("hub.sock", "hub.sock.pub", "invitation-nobody"):
            os.chmod(self.folder / name, 0o666)
        mallory = self.folder / "mallory"
        for path in (mallory, *sorted(mallory.rglob("*"))):
            os.chown(path, STRANGER, STRANGER)
        return [*other, *command, "--is-stranger"]

    # Measuring

    def memory(self) -> int:
        """The hub's resident memory, in KiB."""
        status = Path(f"/proc/{self.hub.process.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+)", status)
        return int(found.group(1)) if found else 0

    def descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self.hub.process.pid}/fd"))

    def looks(self) -> list[dict[str, Any]]:
        asked = [(peer, peer.send("look")) for _, peer in self.peers]
        return [json.loads(peer.answer(number, 60))[0] for peer, number in asked]

    # The run

    def carry_out(self) -> None:
        self.start_hub()
        self.start_peers()
        time.sleep(min(2, self.amounts.quiet_seconds / 3))
        first = self.quiet()
        quiet_memory, quiet_descriptors = self.memory(), self.descriptors()
        hostile = self.start_hostile()
        hostile.answer(0, START_SECONDS)
        begun = time.monotonic_ns()
        most = self.watch(hostile)
        ended = time.monotonic_ns()
        report = json.loads(hostile.answer(1, 1))
        if code := hostile.finish(START_SECONDS):
            self.findings.append(f"the hostile program ended with {code}")
        self.kinds = report["kinds"]
        # Quiet before and after: others may use the machine more in the one or the other.
        quiet = [first, self.quiet()]
        looks = self.settle(quiet_descriptors)
        self.end(looks)
        self.judge(quiet_memory, most, quiet, (begun, ended))

    def quiet(self) -> tuple[int, int]:
        """Lets the peers work undisturbed; returns the time."""
        begun = time.monotonic_ns()
        time.sleep(self.amounts.quiet_seconds)
        return begun, time.monotonic_ns()

    def watch(self, hostile: Child) -> int:
        """Waits for the end of the hostile program; returns the most memory that the hub had meanwhile."""
        most = 0
        limit = time.monotonic() + 2 * self.amounts.hostile_seconds + 60
        while not hostile.is_gone:
            if self.hub.is_gone:
                raise Trouble(f"the hub ended with {self.hub.process.poll()}")
            if time.monotonic() > limit:
                raise Trouble("the hostile program does not end")
            most = max(most, self.memory())
            time.sleep(0.2)
        return most

    def settle(self, quiet_descriptors: int) -> list[dict[str, Any]]:
        """Lets the peers rest, and waits until they agree and the hub has closed what is not theirs."""
        for _, peer in self.peers:
            peer.send("rest")
        until = time.monotonic() + 60
        while True:
            looks = self.looks()
            agree = self.run._are_same(looks)
            descriptors = self.descriptors()
            if agree and descriptors <= quiet_descriptors:
                self.rows.append(("the hub's descriptors", f"{quiet_descriptors} before, {descriptors} after"))
                return looks
            if time.monotonic() > until:
                self.findings.append(f"after 60 s: {descriptors} descriptors, {quiet_descriptors} before; {looks}")
                return looks
            time.sleep(0.25)

    def end(self, looks: list[dict[str, Any]]) -> None:
        for look in looks:
            if look["welcomes"] != 1:
                self.findings.append(f"{look['name']} was welcomed {look['welcomes']} times")
        verified = self.call(
            "host", "bindhub", "verify", "--hub", self.run.address, "lab/", "--json", "--timeout", "20000",
            codes=(0, 1, 75))
        models = [json.loads(line) for line in verified.splitlines()]
        if {model["model"] for model in models} < set(MODELS) or any(
            model["equal"] != len(self.peers) for model in models
        ):
            self.findings.append(f"the replicas differ: {verified}")
        for _, peer in self.peers:
            peer.send("end")
        for name, peer in self.peers:
            if code := peer.finish(START_SECONDS):
                self.findings.append(f"{name} ended with {code}")
        assert self.hub.process.stdin
        self.hub.process.stdin.close()
        if code := self.hub.finish(START_SECONDS):
            self.findings.append(f"the hub ended with {code}")

    # Judging

    def judge(
        self, quiet_memory: int, most_memory: int, quiet: list[tuple[int, int]], hostile: tuple[int, int]
    ) -> None:
        done = {name: row["done"] for name, row in self.kinds.items()}
        total = sum(done.values())
        handshakes = sum(count for name, count in done.items() if name.startswith("handshakes"))
        seconds = (hostile[1] - hostile[0]) / 1e9
        self.rows += [
            ("frames, connections and requests", f"{total} of {len(done)} kinds in {seconds:.0f} s"),
            ("whole handshakes among them", f"{handshakes}"),
            ("the hub's memory", f"{quiet_memory // 1024} MiB quiet, {most_memory // 1024} MiB at most"),
        ]
        if total < self.amounts.total * 0.99 or handshakes < self.amounts.handshakes:
            self.findings.append(f"only {total} frames, connections and requests, {handshakes} handshakes")
        if most_memory - quiet_memory > MOST_MEMORY_KIB:
            self.findings.append(f"the hub took {(most_memory - quiet_memory) // 1024} MiB more than in quiet")
        histories = {name: History(self.folder / f"{name}.jsonl") for name, _ in self.peers}
        self.findings += lost(histories, MODELS)
        for transport, most in MOST_SLOWER.items():
            mine = [history for name, history in histories.items() if name.startswith(transport)]
            before, during = (
                [time for history in mine for period in periods for time in history.latencies(period)]
                for periods in (quiet, [hostile]))
            if not before or not during:
                self.findings.append(f"no write over {transport} ended in time")
                continue
            factor = part(during, 0.99) / part(before, 0.99)
            self.rows.append((
                f"a write over {transport}, until its outcome",
                f"p50 {part(before, 0.5):.2f} → {part(during, 0.5):.2f} ms, "
                f"p99 {part(before, 0.99):.2f} → {part(during, 0.99):.2f} ms ({factor:.1f} times), "
                f"most {max(during):.0f} ms, {len(during)} writes"))
            if self.amounts.judges_time and factor > most:
                self.findings.append(f"p99 over {transport} is {factor:.1f} times that of quiet, above {most:g}")

    def show(self) -> None:
        width = max((len(name) for name, _ in self.rows), default=0)
        for name, value in self.rows:
            print(f"  {name:{width}}  {value}")
        for name, row in sorted(self.kinds.items()):
            ended = f"  {row['failures']} ended early, such as {row['last']}" if row["failures"] else ""
            print(f"  {row['done']:9} {name}{ended}")


def soak(bin_path: Path, folder: Path, seed: int, amounts: Amounts) -> list[str]:
    """One run; prints its figures, and returns what must not be."""
    with Soak(bin_path, folder, seed, amounts) as run:
        try:
            run.carry_out()
        except Trouble as trouble:
            run.findings.append(str(trouble))
        run.show()
        return run.findings
