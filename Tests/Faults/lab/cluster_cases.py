"""What happens to a cluster under load, case by case."""

from __future__ import annotations

import shutil
import subprocess
from typing import Callable, NamedTuple

from cluster_parts import HUBS, NODES, Cluster, Repair
from hosts import Namespaces
from run import Trouble, tie_to_parent


class Case(NamedTuple):
    name: str
    # How long it lasts.
    seconds: float
    # Begins it, and returns what makes all whole again.
    strike: Callable[[], Repair]
    # Whether the writers' waits are counted until after the repair.
    is_repaired_within: bool = False
    # How long a writer may wait; None: as long as in every case.
    limit_milliseconds: int | None = None


def nothing() -> None:
    pass


def both(*repairs: Repair) -> Repair:
    def repair() -> None:
        for each in repairs:
            each()

    return repair


def cases(cluster: Cluster) -> list[Case]:
    """Hubs and nodes are killed, stopped and drained."""
    return [
        Case("a hub is killed", 2.5, lambda: cluster.kill_hub(0)),
        Case("a hub is drained", 1.5, lambda: cluster.drain_hub(1)),
        Case("a hub is stopped for 5 s", 5, lambda: cluster.stop_hub(2)),
        Case("a node is killed", 2.5, lambda: cluster.kill_node(cluster.follower())),
        Case("the leader is killed", 3, lambda: cluster.kill_node(cluster.leader())),
        Case("the leader is stopped for 6 s", 6, lambda: cluster.stop_node(cluster.leader())),
        Case("hub and leader are killed", 3,
             lambda: both(cluster.kill_node(cluster.leader()), cluster.kill_hub(0))),
        # 2 s without any, and the pause until an acknowledgement after they are back.
        Case("all nodes are killed, and back after 2 s", 2,
             lambda: both(*(cluster.kill_node(index) for index in range(NODES))), True, 7_000),
    ]


def restarts(cluster: Cluster) -> list[Case]:
    """A crowd at one hub, which is killed; then all hubs and nodes are restarted, one after the other."""

    def hubs() -> Repair:
        for index in range(HUBS):
            cluster.drain_hub(index)()
        return nothing

    def nodes() -> Repair:
        for index in range(NODES):
            cluster.restart_node(index)
        return nothing

    return [
        Case("the hub of all peers is killed", 4, lambda: cluster.kill_hub(0)),
        Case("all hubs are drained and started in turn", 2, hubs, False, 1_000),
        Case("all nodes are restarted in turn", 2, nodes, False, 1_000),
    ]


def partitions(cluster: Cluster) -> list[Case]:
    """Frames between hosts are lost, or the leader's disk is slow."""
    hosts = cluster.hosts
    assert isinstance(hosts, Namespaces)
    nodes = [f"etcd{index}" for index in range(NODES)]
    hubs = [f"hub{index}" for index in range(HUBS)]

    def cut(sources: list[str], destinations: list[str], is_one_way: bool = False) -> Repair:
        hosts.cut(sources, destinations)
        if not is_one_way:
            hosts.cut(destinations, sources)
        return hosts.heal

    def others(index: int) -> list[str]:
        return [node for node in nodes if node != nodes[index]]

    def node_cut(index: int, *more: str, is_one_way: bool = False) -> Repair:
        return cut([nodes[index]], [*others(index), *more], is_one_way)

    def deaf_node(index: int) -> Repair:
        return cut(others(index), [nodes[index]], True)

    return [
        Case("a hub is cut from etcd for 4 s", 4, lambda: cut(["hub0"], nodes), True, 9_000),
        Case("a hub does not hear etcd for 4 s", 4, lambda: cut(nodes, ["hub0"], True), True, 9_000),
        Case("etcd does not hear a hub for 4 s", 4, lambda: cut(["hub0"], nodes, True), True, 9_000),
        Case("a hub is cut from its peers", 4, lambda: cut(["hub1"], ["peers"])),
        Case("hubs are cut from each other", 3, lambda: cut(["hub0"], ["hub1", "hub2"])),
        Case("a follower is cut from the nodes", 4, lambda: node_cut(cluster.follower())),
        Case("the leader is cut from the nodes", 5, lambda: node_cut(cluster.leader())),
        Case("the leader is cut from nodes and hubs", 5, lambda: node_cut(cluster.leader(), *hubs)),
        Case("the nodes do not hear the leader", 5, lambda: node_cut(cluster.leader(), is_one_way=True)),
        Case("the leader does not hear the nodes", 5, lambda: deaf_node(cluster.leader())),
        *([Case("each sync of the leader takes 0.3 s longer", 4, lambda: slow_disk(cluster), True)]
          if shutil.which("strace") else []),
    ]


def slow_disk(cluster: Cluster) -> Repair:
    """Delays what the leader syncs to its disk."""
    process = cluster.node_processes[cluster.leader()].pid
    tracer = subprocess.Popen(
        ["strace", "-f", "-q", "-o", "/dev/null", "-e", "trace=fsync,fdatasync", "-e",
         "inject=fsync,fdatasync:delay_enter=300000", "-p", str(process)],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=tie_to_parent)

    def repair() -> None:
        if tracer.poll() is not None:
            raise Trouble("strace cannot trace a node of etcd")
        tracer.terminate()
        tracer.wait()

    return repair
