"""The hubs and nodes of a cluster, and what can be done to each."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Callable

from hosts import Loopback
from run import Trouble, tie_to_parent

NODES = HUBS = 3
# For nodes near each other: with etcd's own limits, 100 and 1,000, elections take twice as long.
NODE_LIMITS = ["--heartbeat-interval", "50", "--election-timeout", "500", "--pre-vote"]
Repair = Callable[[], None]


class Cluster:
    """The processes, all of which end with this one."""

    def __init__(self, programs: Path, folder: Path, hosts: Loopback):
        self.programs, self.folder, self.hosts = programs, folder, hosts
        ports = hosts.ports(2 * NODES + HUBS)
        nodes = [hosts.address(f"etcd{index}") for index in range(NODES)]
        self.clients = [f"{host}:{port}" for host, port in zip(nodes, ports[:NODES])]
        self.members = [f"{host}:{port}" for host, port in zip(nodes, ports[NODES : 2 * NODES])]
        self.hubs = [f"tcp://{hosts.address(f'hub{index}')}:{port}" for index, port in enumerate(ports[2 * NODES :])]
        self.node_processes: list[subprocess.Popen[str]] = [self.node(index) for index in range(NODES)]
        self.hub_processes: list[subprocess.Popen[str]] = []
        for index in range(HUBS):
            self.hub_processes.append(self.hub(index))

    def start(self, name: str, command: list[str]) -> subprocess.Popen[str]:
        """Starts a process on the host of its name."""
        with open(self.folder / f"{name}.txt", "ab") as errors:
            return subprocess.Popen(
                self.hosts.command(name) + command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                text=True, preexec_fn=tie_to_parent)

    def run(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs a program where the peers are, to its end."""
        return subprocess.run(
            self.hosts.command("peers") + [str(self.programs / program), *arguments], capture_output=True, text=True,
            timeout=60, check=False)

    def node(self, index: int) -> subprocess.Popen[str]:
        client, member = f"http://{self.clients[index]}", f"http://{self.members[index]}"
        members = ",".join(f"n{number}=http://{address}" for number, address in enumerate(self.members))
        return self.start(f"etcd{index}", [
            "etcd", "--name", f"n{index}", "--data-dir", str(self.folder / f"n{index}"),
            "--listen-client-urls", client, "--advertise-client-urls", client,
            "--listen-peer-urls", member, "--initial-advertise-peer-urls", member, "--initial-cluster", members,
            "--logger", "zap", "--log-outputs", str(self.folder / f"etcd{index}.log"), *NODE_LIMITS,
        ])

    def hub(self, index: int) -> subprocess.Popen[str]:
        process = self.start(f"hub{index}", [
            str(self.programs / "bindhub"), "serve", "--listen", self.hubs[index],
            "--store", f"etcd://{','.join(self.clients)}/cluster", "--sibling", ",".join(self.hubs),
            # A hub that is silent is left after three heartbeats and a second.
            "--name", f"hub{index}", "--heartbeat", "500", "--exit-with-stdin", "--insecure",
        ])
        line = process.stdout.readline() if process.stdout else ""
        if not line.startswith("listening"):
            raise Trouble(f"hub {index} does not start; {self.folder}/hub{index}.txt tells why")
        return process

    def etcdctl(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self.hosts.command("peers"), "etcdctl", *arguments], capture_output=True, text=True,
            env={**os.environ, "ETCDCTL_API": "3"}, timeout=20, check=False)

    def status(self, index: int) -> dict[str, int] | None:
        """What a node tells of itself; nil if it does not answer."""
        if self.node_processes[index].poll() is not None:
            return None
        answer = self.etcdctl("--endpoints", self.clients[index], "endpoint", "status", "-w", "json")
        if answer.returncode != 0:
            return None
        status = json.loads(answer.stdout)[0]["Status"]
        return {"member": status["header"]["member_id"], "leader": status.get("leader", 0)}

    def leader(self) -> int:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            for index in range(NODES):
                status = self.status(index)
                if status and status["leader"] == status["member"]:
                    return index
        raise Trouble("etcd has no leader")

    def follower(self) -> int:
        return (self.leader() + 1) % NODES

    def wait_until_whole(self) -> None:
        """Waits until each node takes part: a node that has just started is as good as none."""
        deadline = time.monotonic() + 60
        while self.etcdctl("--endpoints", ",".join(self.clients), "endpoint", "health").returncode != 0:
            if time.monotonic() > deadline:
                raise Trouble("a node of etcd does not come back")
            time.sleep(0.1)

    # What can be done to one of them, each with what makes it whole again.

    def kill_hub(self, index: int) -> Repair:
        kill(self.hub_processes[index])
        return self.start_hub(index)

    def stop_hub(self, index: int) -> Repair:
        return stop(self.hub_processes[index])

    def start_hub(self, index: int) -> Repair:
        return lambda: self.hub_processes.__setitem__(index, self.hub(index))

    def drain_hub(self, index: int) -> Repair:
        drained = self.run("bindhub", "drain", self.hubs[index])
        if drained.returncode != 0:
            raise Trouble(f"bindhub drain: {drained.stdout}{drained.stderr}")
        self.hub_processes[index].wait(30)
        return self.start_hub(index)

    def kill_node(self, index: int) -> Repair:
        kill(self.node_processes[index])
        return lambda: self.node_processes.__setitem__(index, self.node(index))

    def stop_node(self, index: int) -> Repair:
        return stop(self.node_processes[index])

    def restart_node(self, index: int) -> None:
        """As an operator restarts one: another leads first, and it ends by itself."""
        status = self.status(index)
        if status and status["leader"] == status["member"]:
            other = self.status((index + 1) % NODES)
            if other is None:
                raise Trouble("a node of etcd does not answer")
            self.etcdctl("--endpoints", self.clients[index], "move-leader", f"{other['member']:x}")
        self.node_processes[index].terminate()
        self.node_processes[index].wait(30)
        self.node_processes[index] = self.node(index)
        self.wait_until_whole()

    def end(self) -> None:
        for process in self.hub_processes + self.node_processes:
            kill(process)


def kill(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()


def stop(process: subprocess.Popen[str]) -> Repair:
    process.send_signal(signal.SIGSTOP)
    return lambda: process.send_signal(signal.SIGCONT)
