"""Where the processes of a cluster run: all on this host, or each on a host of its own, a network namespace."""

from __future__ import annotations

import os
import subprocess
from random import randrange

from relay import free_neighbours
from run import Trouble

# Frames to this address reach nobody: it is of no host.
NOWHERE = "02:00:00:00:00:01"


class Loopback:
    """This host, for all."""

    def address(self, name: str) -> str:
        return "127.0.0.1"

    def ports(self, count: int) -> list[int]:
        """Ports that nobody listens to, each with a free next one."""
        found: list[int] = []
        while len(found) < count:
            port = free_neighbours()
            if all(abs(port - other) > 1 for other in found):
                found.append(port)
        return found

    def command(self, name: str) -> list[str]:
        """What a command on a host begins with."""
        return []

    def end(self) -> None:
        pass


class Namespaces(Loopback):
    """A host for each name, all on one switch. Only root may have them."""

    def __init__(self, names: list[str]):
        if os.geteuid() != 0:
            raise Trouble("only root may make network namespaces")
        mark = randrange(1 << 16)
        self.switch = f"bbs{mark}"
        self.spaces = {name: f"bb{mark}{name}" for name in names}
        self.addresses = {name: f"10.98.0.{number + 1}" for number, name in enumerate(names)}
        try:
            ip("netns", "add", self.switch)
            ip("-n", self.switch, "link", "add", "switch", "type", "bridge")
            ip("-n", self.switch, "link", "set", "switch", "up")
            for number, (name, space) in enumerate(self.spaces.items()):
                cable = f"v{mark}p{number}"
                ip("netns", "add", space)
                ip("link", "add", cable, "netns", self.switch, "type", "veth", "peer", "name", "net", "netns", space)
                ip("-n", self.switch, "link", "set", cable, "master", "switch", "up")
                ip("-n", space, "addr", "add", f"{self.addresses[name]}/24", "dev", "net")
                ip("-n", space, "link", "set", "net", "up")
                ip("-n", space, "link", "set", "lo", "up")
        except Trouble:
            self.end()
            raise

    def address(self, name: str) -> str:
        return self.addresses[name]

    def command(self, name: str) -> list[str]:
        return ["ip", "netns", "exec", self.spaces[name]]

    def cut(self, sources: list[str], destinations: list[str]) -> None:
        """What one of `sources` sends to one of `destinations` is lost from now on, without a word to either."""
        for source in sources:
            for destination in destinations:
                ip("-n", self.spaces[source], "neigh", "replace", self.addresses[destination], "lladdr", NOWHERE,
                   "dev", "net", "nud", "permanent")

    def heal(self) -> None:
        for space in self.spaces.values():
            ip("-n", space, "neigh", "flush", "dev", "net", "nud", "permanent")

    def end(self) -> None:
        for space in [*self.spaces.values(), self.switch]:
            subprocess.run(["ip", "netns", "delete", space], capture_output=True, check=False)


def ip(*arguments: str) -> None:
    try:
        done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise Trouble("ip is missing (iproute2)") from None
    if done.returncode != 0:
        raise Trouble(f"ip {' '.join(arguments)}: {done.stderr.strip()}")
