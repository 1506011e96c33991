"""The contenders: how each server and its clients are started."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Sequence

from children import Child, Trouble, free_port

SYSTEM_PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin", "/sbin"])


@dataclass(frozen=True)
class Programs:
    """The paths of our two programs, and of the folder of the compiled clients."""

    bindhub: str
    bindbench: str
    clients: Path


@dataclass
class Running:
    """A server that accepts connections."""

    child: Child
    port: int = 0
    request: str = ""
    publish: str = ""
    # The folder of the keys of an encrypted one.
    keys: str = ""

    @property
    def key_options(self) -> list[str]:
        return ["--keys", self.keys] if self.keys else []


@dataclass(frozen=True)
class Contender:
    name: str
    start: Callable[[Programs, Path], Running]
    # The server's program and the Debian packages of server and client library; none for our own.
    program: str = ""
    packages: tuple[str, ...] = ()
    client: str = ""
    grade: str = ""
    # Changes that a writer may have unacknowledged.
    window: int = 1024
    # Our own contenders: the kind of server, "hub" or "forwarder"; or "peer" if writer and subscribers are peers.
    kind: str = ""
    # Whether a peer joins the large model.
    has_replica: bool = False

    def missing_program(self) -> str:
        if not self.program or shutil.which(self.program, path=SYSTEM_PATH):
            return ""
        return f"{self.program} is missing (package {self.packages[0]})"

    def writer(self, programs: Programs, running: Running, options: list[str]) -> list[str]:
        if self.kind == "peer":
            return [programs.bindbench, "peer-writes", "--request", running.request, *options]
        if self.kind:
            to = ["--request", running.request] + (["--publish", running.publish] if running.publish else [])
            return [programs.bindbench, "publish", "--kind", self.kind, *to, *running.key_options, *options]
        return [*self._client(programs, "publish", running), "--window", str(self.window), *options]

    def listener(self, programs: Programs, running: Running, ready: list[str], options: list[str]) -> list[str]:
        """`ready`: the words of the writer's ready line."""
        if self.kind == "peer":
            return [programs.bindbench, "peer-sees", "--request", running.request, *options]
        if self.kind:
            where = ["--to", ready[1], "--topic", ready[2]]
            return [programs.bindbench, "listen", "--kind", self.kind, *where, *running.key_options, *options]
        return [*self._client(programs, "subscribe", running), *options]

    def large(self, programs: Programs, running: Running, role: str, options: list[str]) -> list[str]:
        """A client that fills the large model, or joins it: in the role of "fill" or "snapshot"."""
        if not self.kind:
            return [*self._client(programs, role, running), *options]
        shown = ["--peer"] if self.has_replica and role == "snapshot" else []
        return [programs.bindbench, role, "--request", running.request, *shown, *options]

    def _client(self, programs: Programs, role: str, running: Running) -> list[str]:
        return [str(programs.clients / self.client), role, "--port", str(running.port), "--grade", self.grade or "-"]


def _keys(programs: Programs, folder: Path) -> str:
    """Makes the keys of a server and its clients; returns their folder."""
    keys = str(folder / "keys")
    subprocess.run([programs.bindbench, "make-keys", keys], check=True, timeout=60)
    return keys


def _hub(transport: str, *store: str, encrypted: bool = False) -> Callable[[Programs, Path], Running]:
    def start(programs: Programs, folder: Path) -> Running:
        listen = f"ipc://{folder}/hub.sock" if transport == "ipc" else "tcp://127.0.0.1:0"
        places = [str(folder / "hub.db") if word == "PATH" else word for word in store]
        keys = _keys(programs, folder) if encrypted else ""
        options = [*(["--keys", keys] if keys else []), "--store", *places]
        return _listening(Child("bindhub", [programs.bindhub, "serve", "--listen", listen, *options], folder), keys)

    return start


def _listening(child: Child, keys: str = "") -> Running:
    try:
        words = child.line(20).split()
        if len(words) != 2 or words[0] != "listening":
            raise Trouble(f"bindhub: unexpected output: {' '.join(words)}")
    except Trouble:
        child.end()
        raise
    return Running(child, request=words[1], keys=keys)


def _hub_over_etcd(programs: Programs, folder: Path) -> Running:
    """A hub with the trait Etcd, over one node."""
    node = _server("etcd", _etcd_arguments)(programs, folder)
    return hub_over(node, "bindhub", programs, folder, needed=node.child)


def hub_over(node: Running, name: str, programs: Programs, folder: Path, needed: Child | None = None,
             at: str = "tcp://127.0.0.1:0", siblings: Sequence[str] = ()) -> Running:
    """A hub over a node that is there."""
    command = [programs.bindhub, "serve", "--listen", at, "--store", f"etcd://127.0.0.1:{node.port}/bench"]
    for sibling in siblings:
        command += ["--sibling", sibling]
    return _listening(Child(name, command, folder, needed=needed))


def _roomy_hub(programs: Programs, folder: Path) -> Running:
    """A hub in our benchmark program, because `bindhub serve` allows at most 100,000 fields in a model."""
    command = [programs.bindbench, "serve-hub", "--listen", "tcp://127.0.0.1:0", "--max-fields", "1000000"]
    child = Child("serve-hub", command, folder)
    try:
        return Running(child, request=child.line(10).split()[0])
    except Trouble:
        child.end()
        raise


def _forwarder(transport: str, encrypted: bool = False) -> Callable[[Programs, Path], Running]:
    def start(programs: Programs, folder: Path) -> Running:
        place = f"ipc://{folder}/forwarder.sock"
        places = (place, place + ".pub") if transport == "ipc" else ("tcp://127.0.0.1:*", "tcp://127.0.0.1:*")
        keys = _keys(programs, folder) if encrypted else ""
        command = [programs.bindbench, "serve-forwarder", "--request", places[0], "--publish", places[1],
                   "--waiting", "100000", *(["--keys", keys] if keys else [])]
        child = Child("forwarder", command, folder)
        request, publish = child.line(10).split()
        return Running(child, request=request, publish=publish, keys=keys)

    return start


def _server(program: str, arguments: Callable[[int, Path], list[str]]) -> Callable[[Programs, Path], Running]:
    def start(programs: Programs, folder: Path) -> Running:
        port = free_port()
        path = shutil.which(program, path=SYSTEM_PATH) or program
        child = Child(program, [path, *arguments(port, folder)], folder)
        try:
            child.wait_for_port(port)
        except Trouble:
            child.end()
            raise
        return Running(child, port=port)

    return start


def _redis(*durability: str, rewrites: bool = False) -> Callable[[Programs, Path], Running]:
    # A slow subscriber may lag by more than Redis allows by default. Only in a long measurement is the log
    # rewritten, as by default: whenever it has doubled, from 64 MB on.
    return _server("redis-server", lambda port, folder: [
        "--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder), "--save", "", "--daemonize", "no",
        "--client-output-buffer-limit", "pubsub", "512mb", "256mb", "60",
        "--auto-aof-rewrite-percentage", "100" if rewrites else "0", *durability])


def _nats(*more: str) -> Callable[[Programs, Path], Running]:
    return _server("nats-server", lambda port, folder: [
        "--addr", "127.0.0.1", "--port", str(port), *[str(folder) if word == "FOLDER" else word for word in more]])


def _mosquitto_arguments(port: int, folder: Path) -> list[str]:
    # No limit of messages in flight or queued, so that none is dropped intentionally.
    lines = [f"listener {port} 127.0.0.1", "allow_anonymous true", "set_tcp_nodelay true", "persistence false",
             "max_inflight_messages 0", "max_queued_messages 0", "log_type error"]
    if os.geteuid() == 0:
        # A process that changes its user would not end with its parent.
        lines.append("user root")
    (folder / "mosquitto.conf").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return ["-c", str(folder / "mosquitto.conf")]


def _etcd_arguments(port: int, folder: Path) -> list[str]:
    clients, peers = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{free_port()}"
    return ["--data-dir", str(folder / "etcd"), "--listen-client-urls", clients, "--advertise-client-urls", clients,
            "--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers,
            "--initial-cluster", f"default={peers}", "--log-level", "error"]


_REDIS = {"program": "redis-server", "packages": ("redis-server", "libhiredis-dev"), "client": "redis"}
_NATS = {"program": "nats-server", "packages": ("nats-server", "libnats-dev")}
_MOSQUITTO = {"program": "mosquitto", "packages": ("mosquitto", "libmosquitto-dev"), "client": "mosquitto",
              "start": _server("mosquitto", _mosquitto_arguments)}
_ETCD = {"start": _server("etcd", _etcd_arguments), "program": "etcd", "packages": ("etcd-server", "libnghttp2-dev"),
         "client": "etcd"}

# Contenders of one server share a client.
ALL = [
    Contender("bindhub, ipc", _hub("ipc", "memory"), kind="hub"),
    Contender("forwarder, ipc", _forwarder("ipc"), kind="forwarder"),
    Contender("bindhub", _hub("tcp", "memory"), kind="hub"),
    Contender("bindhub, CURVE", _hub("tcp", "memory", encrypted=True), kind="hub"),
    Contender("forwarder, CURVE", _forwarder("tcp", encrypted=True), kind="forwarder"),
    # The writer gets no acknowledgements without a round trip. Therefore its window is larger.
    Contender("NATS core", _nats(), client="nats", window=8192, **_NATS),
    Contender("bindhub, Peer to Peer", _hub("tcp", "memory"), kind="peer"),
    Contender("hub, to a connection", _roomy_hub, kind="hub"),
    Contender("hub, to a Peer", _roomy_hub, kind="hub", has_replica=True),
    Contender("Redis", _redis("--appendonly", "no"), **_REDIS),
    Contender("mosquitto QoS 0", grade="qos0", **_MOSQUITTO),
    Contender("mosquitto QoS 1", grade="qos1", **_MOSQUITTO),
    Contender("JetStream KV, memory", _nats("-js", "-sd", "FOLDER"), client="jetstream", grade="memory", **_NATS),
    Contender("bindhub, process", _hub("tcp", "PATH", "--durability", "process"), kind="hub"),
    Contender("Redis everysec", _redis("--appendonly", "yes", "--appendfsync", "everysec"), **_REDIS),
    Contender("JetStream KV, file", _nats("-js", "-sd", "FOLDER"), client="jetstream", grade="file", **_NATS),
    Contender("bindhub, disk", _hub("tcp", "PATH", "--durability", "disk"), kind="hub"),
    Contender("Redis always", _redis("--appendonly", "yes", "--appendfsync", "always"), **_REDIS),
    *[Contender(f"Redis {grade}, rewriting",
                _redis("--appendonly", "yes", "--appendfsync", grade, rewrites=True), **_REDIS)
      for grade in ("everysec", "always")],
    Contender("etcd", **_ETCD),
    Contender("etcd, appends", grade="append", **_ETCD),
    Contender("bindhub over etcd", _hub_over_etcd, "etcd", _ETCD["packages"], kind="hub"),
]
BY_NAME = {contender.name: contender for contender in ALL}
PACKAGES = sorted({package for contender in ALL for package in contender.packages})
