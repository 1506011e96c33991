"""Three hubs over three nodes of etcd under load: strikes them in turn, and counts. scripts/cluster."""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from cluster_cases import Case, cases, partitions, restarts
from cluster_load import Load
from cluster_parts import HUBS, NODES, Cluster
from hosts import Loopback, Namespaces
from run import Trouble

WRITERS = 6
LONGEST_MILLISECONDS = 5_000


class Table:
    """One line for each case that came, or at the end one line for each of several runs."""

    def __init__(self, runs: int):
        self.runs = runs
        self.pauses: dict[str, list[float]] = {}
        self.outages: dict[str, list[float]] = {}

    def add(self, case: Case, seconds: float, outage: float) -> None:
        self.pauses.setdefault(case.name, []).append(seconds)
        self.outages.setdefault(case.name, []).append(outage)
        if self.runs == 1:
            print(f"{case.name:46}{seconds:8.2f} s{outage:8.2f} s", flush=True)

    def show(self) -> None:
        if self.runs == 1:
            return
        print(f"{'runs of each: ' + str(self.runs):46}{'longest':>10}{'median':>10}{'no hub':>10}")
        for name, seconds in self.pauses.items():
            outage = max(self.outages[name])
            print(f"{name:46}{max(seconds):8.2f} s{statistics.median(seconds):8.2f} s{outage:8.2f} s", flush=True)


def run(cluster: Cluster, load: Load, chosen: list[Case], runs: int, seconds: float) -> bool:
    calm = load.phase("calm")["longestPauseMilliseconds"]
    print(f"{'longest wait of a writer, and time without hub':46}", flush=True)
    print(f"{f'nothing fails, {load.writers} writers':46}{calm / 1000:8.2f} s", flush=True)
    table, end, number, holds = Table(runs), time.monotonic() + seconds, 0, True
    while number < runs * len(chosen) or time.monotonic() < end:
        case = chosen[number % len(chosen)]
        load.phase("before")
        repair = case.strike()
        time.sleep(case.seconds)
        if case.is_repaired_within:
            repair()
        waited = load.settle(case.name)
        pause, outage = (waited[f"longest{what}Milliseconds"] for what in ("Pause", "Outage"))
        table.add(case, pause / 1000, outage / 1000)
        holds = holds and pause <= (case.limit_milliseconds or LONGEST_MILLISECONDS)
        if not case.is_repaired_within:
            repair()
        cluster.wait_until_whole()
        time.sleep(1)
        number += 1
    table.show()
    acknowledged = load.end()
    value = sum(count(cluster, model) for model in load.counters)
    lost, repeated = max(acknowledged - value, 0), max(value - acknowledged, 0)
    print(f"{acknowledged} acknowledged: {lost} lost, {repeated} repeated" + ("" if holds else "; a wait was too long"))
    return lost == 0 and repeated == 0 and holds


def count(cluster: Cluster, model: str) -> int:
    """What a model counts, at every hub the same."""
    found = set()
    for index in range(HUBS):
        read = cluster.run("bindpeer", "--hub", cluster.hubs[index], "get", f"{model}.count", "--latest", "--raw")
        found.add(int(read.stdout.strip() or -1))
    if len(found) != 1:
        raise Trouble(f"{model}.count is {' and '.join(map(str, sorted(found)))}, depending on the hub")
    return found.pop()


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--for", dest="seconds", type=float, default=0)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--partitions", action="store_true")
    parser.add_argument("--restarts", action="store_true")
    parser.add_argument("--peers", type=int, default=0)
    parser.add_argument("--keep", action="store_true")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="bindbus-cluster-"))
    cluster, hosts = None, Loopback()
    try:
        if arguments.partitions:
            hosts = Namespaces([f"{kind}{index}" for kind, count in (("etcd", NODES), ("hub", HUBS))
                                for index in range(count)] + ["peers"])
        cluster = Cluster(arguments.bin, folder, hosts)
        if arguments.restarts:
            # All begin at the first hub, which tells them of the others; each writes now and then.
            load = Load(cluster, [cluster.hubs[0]], arguments.peers or 500, every=2_000, models=20)
            chosen = restarts(cluster)
        else:
            load = Load(cluster, cluster.hubs, arguments.peers or WRITERS)
            chosen = partitions(cluster) if arguments.partitions else cases(cluster)
        return 0 if run(cluster, load, chosen, arguments.runs, arguments.seconds) else 1
    except (Trouble, subprocess.TimeoutExpired) as trouble:
        print(f"cluster: {trouble}", file=sys.stderr)
        arguments.keep = True
        return 1
    except KeyboardInterrupt:
        return 130
    finally:
        if cluster:
            cluster.end()
        hosts.end()
        if arguments.keep:
            print(f"cluster: the output of all processes is in {folder}", file=sys.stderr)
        else:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
