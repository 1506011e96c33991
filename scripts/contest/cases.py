"""What is measured, and what it should show: each aim is a ratio of two contenders in one and the same round."""

from __future__ import annotations

from dataclasses import dataclass, replace

RELAYS = ("bindhub, ipc", "forwarder, ipc", "bindhub", "NATS core", "Redis", "mosquitto QoS 0", "mosquitto QoS 1",
          "JetStream KV, memory")
STORED = ("bindhub, process", "Redis everysec", "JetStream KV, file", "bindhub, disk", "Redis always", "etcd")
# Mosquitto is left out at 20,000 changes a second: with eight subscribers that is more than it can deliver.
QUICK = ("bindhub, ipc", "forwarder, ipc", "bindhub", "NATS core", "Redis", "JetStream KV, memory")
RELAYED, GROWTH, KEPT, PACED = (
    "relayed, kept in memory: throughput", "relayed, kept in memory: throughput by subscribers", "stored: throughput",
    "latency at a fixed rate")


@dataclass(frozen=True)
class Case:
    group: str
    contenders: tuple[str, ...]
    subscribers: int = 1
    # Changes that are handed over together.
    batch: int = 1
    bytes: int = 32
    # Changes a second; 0: as many as can be.
    rate: int = 0

    @property
    def name(self) -> str:
        size = f"{self.bytes} B" if self.bytes < 1024 else f"{self.bytes // 1024} KiB"
        who = f"{self.subscribers} subscriber" + "s" * (self.subscribers != 1)
        if self.rate:
            return f"{self.rate:,}/s, {who}"
        return f"{who}, {'single' if self.batch == 1 else f'batches of {self.batch}'}, {size}"

    @property
    def column(self) -> str:
        """Its name within its group."""
        return self.name.replace(", single, 32 B", "") if self.group == GROWTH else self.name


ALL = [
    *[Case(RELAYED, RELAYS, subscribers, batch) for subscribers in (1, 8) for batch in (1, 16)],
    *[Case(RELAYED, RELAYS, subscribers, bytes=1024) for subscribers in (1, 8)],
    *[Case(GROWTH, RELAYS, subscribers) for subscribers in (2, 4, 16, 32)],
    *[Case(KEPT, STORED, subscribers, batch) for subscribers in (1, 8) for batch in (1, 16)],
    Case(PACED, QUICK, 8, rate=20_000),
    Case(PACED, RELAYS + STORED, 8, rate=2_000),
]
# To prove that everything works: each contender at least once each way.
SHORT = [
    Case(RELAYED, RELAYS, 8, 16), Case(KEPT, STORED, 1), Case(PACED, RELAYS + STORED, 8, rate=500),
    replace(ALL[0], contenders=RELAYS[:2]),
]


@dataclass(frozen=True)
class Aim:
    cases: tuple[Case, ...]
    measure: str
    ours: str
    # The best of these counts.
    others: tuple[str, ...]
    # More than that is wanted of a rate, less of a delay.
    limit: float

    @property
    def wants_more(self) -> bool:
        return self.measure == "rate"


_CORE = tuple(case for case in ALL if case.group == RELAYED and case.bytes == 32)
_STORED = tuple(case for case in ALL if case.group == KEPT)
_FAST, _SLOW = tuple(case for case in ALL if case.rate == 20_000), tuple(case for case in ALL if case.rate == 2_000)
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
]
