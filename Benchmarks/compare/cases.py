"""The measured cases and the aims; an aim limits a ratio of two contenders in the same round."""

from __future__ import annotations

from dataclasses import dataclass, replace

RELAYS = ("bindhub, ipc", "forwarder, ipc", "bindhub", "NATS core", "Redis", "mosquitto QoS 0", "mosquitto QoS 1",
          "JetStream KV, memory")
STORED = ("bindhub, process", "Redis everysec", "JetStream KV, file", "bindhub, disk", "Redis always", "etcd")
# Without Mosquitto at 20,000 changes a second, which it cannot deliver to eight subscribers.
QUICK = ("bindhub, ipc", "forwarder, ipc", "bindhub", "NATS core", "Redis", "JetStream KV, memory")
# Logs that grow for a minute, and that the server compacts or rewrites meanwhile, as by default.
LASTING = ("bindhub, process", "Redis everysec, rewriting", "JetStream KV, file", "bindhub, disk",
           "Redis always, rewriting", "etcd")
HUB_AND_REDIS = LASTING[:2] + LASTING[3:5]
# A log that several hubs may share, against its bare client.
SHARED = ("bindhub over etcd", "etcd, appends", "etcd", "bindhub, disk")
# Over tcp, encrypted and not.
ENCRYPTED = ("bindhub, CURVE", "forwarder, CURVE", "bindhub")
RELAYED, GROWTH, KEPT, SUSTAINED, PACED, CURVE, CLUSTER = (
    "relayed, kept in memory: throughput", "relayed, kept in memory: throughput by subscribers", "stored: throughput",
    "stored, sustained: throughput", "latency at a fixed rate",
    "encrypted: throughput", "in a log that hubs may share: throughput")
SNAPSHOT, FULL = "snapshot while others write", "full stack: throughput"
MANY_FIELDS = 100_000
LARGE = ("hub, to a connection", "hub, to a Peer", "Redis")


@dataclass(frozen=True)
class Case:
    group: str
    contenders: tuple[str, ...]
    subscribers: int = 1
    # Changes in one batch.
    batch: int = 1
    bytes: int = 32
    # Changes a second; 0: as many as possible.
    rate: int = 0
    # The number of fields, or keys, that are set in turn.
    fields: int = 16
    # The duration of the writing, and the maximum number of rounds; 0: those of the run.
    seconds: float = 0
    rounds: int = 0

    @property
    def is_snapshot(self) -> bool:
        """Whether a peer joins the large model, which no other peer writes, while others write at the rate."""
        return self.group == SNAPSHOT

    @property
    def name(self) -> str:
        size = f"{self.bytes} B" if self.bytes < 1024 else f"{self.bytes // 1024} KiB"
        who = f"{self.subscribers} subscriber" + "s" * (self.subscribers != 1)
        many = f", {self.fields:,} fields" if self.fields != 16 else ""
        lasting = f", {self.seconds:g} s" if self.seconds else ""
        if self.is_snapshot:
            return f"{self.fields:,} fields, others at {self.rate:,}/s"
        if self.rate:
            return f"{self.rate:,}/s, {who}{many}{lasting}"
        return f"{who}, {'single' if self.batch == 1 else f'batches of {self.batch}'}, {size}{many}{lasting}"

    @property
    def column(self) -> str:
        """The name within the group."""
        return self.name.replace(", single, 32 B", "") if self.group == GROWTH else self.name


ALL = [
    *[Case(RELAYED, RELAYS, subscribers, batch) for subscribers in (1, 8) for batch in (1, 16)],
    *[Case(RELAYED, RELAYS, subscribers, bytes=1024) for subscribers in (1, 8)],
    *[Case(GROWTH, RELAYS, subscribers) for subscribers in (2, 4, 16, 32)],
    *[Case(CURVE, ENCRYPTED, subscribers, batch) for subscribers in (1, 8) for batch in (1, 16)],
    *[Case(KEPT, STORED, subscribers, batch) for subscribers in (1, 8) for batch in (1, 16)],
    *[Case(CLUSTER, SHARED, subscribers, batch) for subscribers in (1, 8) for batch in (1, 16)],
    Case(SUSTAINED, LASTING, 1, 16, fields=MANY_FIELDS, seconds=60, rounds=1),
    Case(SUSTAINED, HUB_AND_REDIS, fields=MANY_FIELDS, seconds=30, rounds=1),
    Case(PACED, HUB_AND_REDIS, rate=20_000, fields=MANY_FIELDS, seconds=20, rounds=1),
    Case(FULL, ("bindhub, Peer to Peer", "Redis")),
    Case(SNAPSHOT, LARGE, rate=1_000, fields=1_000_000, seconds=10, rounds=2),
    Case(PACED, QUICK, 8, rate=20_000),
    Case(PACED, RELAYS + STORED + SHARED[:2], 8, rate=2_000),
]
# Checks that everything works: each contender at least once in each role.
SHORT = [
    Case(RELAYED, RELAYS, 8, 16), Case(KEPT, STORED, 1), Case(PACED, RELAYS + STORED, 8, rate=500),
    replace(ALL[0], contenders=RELAYS[:2]), Case(SUSTAINED, LASTING, 1, 16, fields=2_000, seconds=2),
    Case(CURVE, ENCRYPTED), Case(CLUSTER, SHARED[:2]), Case(FULL, ("bindhub, Peer to Peer", "Redis")),
    Case(SNAPSHOT, LARGE, rate=500, fields=20_000, seconds=2),
]


@dataclass(frozen=True)
class Aim:
    cases: tuple[Case, ...]
    measure: str
    ours: str
    # The best of these counts; none: the limit is of the figure itself.
    others: tuple[str, ...]
    # A minimum for a rate, a maximum for a delay or for growth.
    limit: float

    @property
    def wants_more(self) -> bool:
        return self.measure == "rate"


_CORE = tuple(case for case in ALL if case.group == RELAYED and case.bytes == 32)
_STORED = tuple(case for case in ALL if case.group == KEPT)
_SHARED = tuple(case for case in ALL if case.group == CLUSTER)
_FULL, _LARGE = (tuple(case for case in ALL if case.group == group) for group in (FULL, SNAPSHOT))
_LASTING = tuple(case for case in ALL if case.group == SUSTAINED)
_UPKEPT = tuple(case for case in ALL if case.rate and case.fields == MANY_FIELDS)
_FAST = tuple(case for case in ALL if case.rate == 20_000 and case not in _UPKEPT)
_SLOW = tuple(case for case in ALL if case.rate == 2_000)
AIMS = [
    Aim(_CORE, "rate", "bindhub, ipc", ("forwarder, ipc",), 0.8),
    Aim(_CORE, "rate", "bindhub", ("NATS core",), 1.4),
    Aim(_CORE, "rate", "bindhub", ("Redis",), 3),
    Aim(_CORE, "rate", "bindhub", ("mosquitto QoS 0", "mosquitto QoS 1"), 10),
    Aim(_FAST, "p99", "bindhub", ("Redis", "NATS core"), 0.6),
    Aim(_SLOW, "p99", "bindhub, ipc", ("forwarder, ipc",), 1.15),
    Aim(_SLOW, "p99", "bindhub", ("JetStream KV, memory", "JetStream KV, file"), 0.8),
    Aim(_SLOW, "p99", "bindhub", ("etcd",), 0.2),
    Aim(_STORED, "rate", "bindhub, process", ("Redis everysec",), 1.5),
    Aim(_STORED, "rate", "bindhub, process", ("JetStream KV, file",), 5),
    Aim(_STORED, "rate", "bindhub, disk", ("Redis always",), 2.5),
    Aim(_STORED, "rate", "bindhub, disk", ("etcd",), 50),
    Aim(_SHARED, "rate", "bindhub over etcd", ("etcd, appends",), 0.9),
    Aim(_LASTING, "rate", "bindhub, process", ("Redis everysec, rewriting",), 1.5),
    Aim(_LASTING[:1], "rate", "bindhub, process", ("JetStream KV, file",), 5),
    Aim(_LASTING, "rate", "bindhub, disk", ("Redis always, rewriting",), 2.5),
    Aim(_LASTING[:1], "rate", "bindhub, disk", ("etcd",), 50),
    Aim(_FULL, "rate", "bindhub, Peer to Peer", ("Redis",), 1),
    *[Aim(_LARGE, "snapshot", ours, ("Redis",), 1) for ours in LARGE[:2]],
    *[Aim(_LARGE, "max", ours, (), 5_000) for ours in LARGE[:2]],
    # Of the total size of the files, from three quarters of the time to the end.
    *[Aim(_LASTING, "growth", ours, (), 1.1) for ours in ("bindhub, process", "bindhub, disk")],
    # A commit within 5 ms, in microseconds.
    *[Aim(_UPKEPT, "p99", ours, (), 5_000) for ours in ("bindhub, process", "bindhub, disk")],
]
