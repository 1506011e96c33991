"""Peers that add to fields, and tell how long they waited."""

from __future__ import annotations

import json
import time

from cluster_parts import Cluster
from run import Trouble

# Who waits less only waits for its turn.
CALM_MILLISECONDS = 500


class Load:
    """One process of peers. It gives up where an addition ends in any other way than committed."""

    def __init__(self, cluster: Cluster, hubs: list[str], writers: int, every: int = 0, models: int = 1):
        self.cluster, self.writers = cluster, writers
        self.counters = ["counter", *(f"counter{number}" for number in range(1, models))]
        self.process = cluster.start("peers", [
            str(cluster.programs / "bindlab"), "count", "--hub", ",".join(hubs), "--writers", str(writers),
            "--every", str(every), "--models", str(models)])
        deadline = time.monotonic() + 60
        while True:
            now = self.phase("start")
            if now["acknowledged"] >= max(2 * writers, 120) and now["live"] == writers:
                break
            if time.monotonic() > deadline:
                raise Trouble(f"the peers do not get on: {now}")
            time.sleep(0.2)

    def phase(self, name: str) -> dict[str, int]:
        """Ends a phase of this name."""
        assert self.process.stdin and self.process.stdout
        try:
            self.process.stdin.write(name + "\n")
            self.process.stdin.flush()
            return json.loads(self.process.stdout.readline())
        except (OSError, ValueError):
            raise Trouble(f"a peer gave up; {self.cluster.folder}/peers.txt tells why") from None

    def settle(self, name: str) -> dict[str, int]:
        """Ends a phase once nobody waits any longer."""
        whole = self.phase(name)
        deadline = time.monotonic() + 60
        while True:
            now = self.phase(name)
            for what in ("longestPauseMilliseconds", "longestOutageMilliseconds"):
                whole[what] = max(whole[what], now[what])
            if now["waitingMilliseconds"] < CALM_MILLISECONDS and now["live"] == self.writers:
                return whole
            if time.monotonic() > deadline:
                raise Trouble(f"after {name} the peers do not get on: {now}")
            time.sleep(0.1)

    def end(self) -> int:
        """Stops the peers; the number of acknowledged additions."""
        assert self.process.stdin and self.process.stdout
        self.phase("stopping")
        self.process.stdin.close()
        last = self.process.stdout.read()
        if self.process.wait(90) != 0:
            raise Trouble(f"a peer gave up; {self.cluster.folder}/peers.txt tells why")
        return int(json.loads(last.strip().splitlines()[-1])["acknowledged"])
