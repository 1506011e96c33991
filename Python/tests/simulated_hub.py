"""A small honest hub, as the protocol describes it, without sockets or clock: one store that outlives its processes."""
from __future__ import annotations

import random
import struct
from typing import Dict, List, NamedTuple, Optional, Set, Tuple

from bindbus import messages, values
from bindbus.grammar import ABSENT, FIRST_TOPIC, Body, Reader
from bindbus.pending import VERBS
from tests.simulated_store import Commit, Store, Stored, StoredModel

DOWN = {name: (kind, grammar) for kind, (name, _, grammar) in messages.DOWNSTREAM.items()}
UP = {kind: (name, grammar) for kind, (name, grammar) in messages.UPSTREAM.items()}
LIMITS = {1: 65_536, 2: 262_144, 3: 1_000, 9: 256, 10: 262_144, 13: 8, 16: 604_800_000}


class Joined(NamedTuple):
    model: str
    is_routed: bool


class SessionAtHub:
    def __init__(self, connection: int, id: int, tag: bytes, name: str) -> None:
        self.connection, self.id, self.tag, self.name = connection, id, tag, name
        self.joined: Dict[int, bool] = {}  # by topic: whether its messages go over the request connection
        self.waiting: List[Tuple[Body, int]] = []  # joins that wait for a subscription, and since when


class SimulatedHub:
    """One process of the hub. `out` collects (connection or None for published, topic, frame)."""

    def __init__(self, store: Store, chance: random.Random) -> None:
        self.store, self.chance = store, chance
        self.start = chance.randrange(1, 1 << 32)
        self.topics: Dict[str, int] = {}
        self.ids: Dict[str, List[str]] = {}
        self.sessions: Dict[int, SessionAtHub] = {}  # by connection
        self.openings: Dict[bytes, Tuple[str, int]] = {}  # of each identity's last session: its run and its connection
        self.subscribed: Dict[int, Set[bytes]] = {}  # by connection of the session whose topic it has
        self.heartbeat, self.heads_due = 0, {}  # type: int, Dict[str, int]
        self.out: List[Tuple[Optional[int], bytes, bytes]] = []
        self.ways: List[Body] = []
        self.named: List[str] = []  # other hubs of its log
        self.is_closing = self.closes_after_welcome = False
        self.rights: Dict[str, Body] = {}  # by model, of all sessions

    def frame(self, kind: str, topic: int, body: Body) -> bytes:
        code, grammar = DOWN[kind]
        out = bytearray(struct.pack(">I", topic) + struct.pack("<BI", code, self.start))
        grammar.write(out, body)
        return bytes(out)

    def tell(self, session: SessionAtHub, kind: str, body: Body, topic: int = 0) -> None:
        frame = self.frame(kind, topic, {"session": session.id, **body})
        messages.decode(frame)
        self.out.append((session.connection, b"", frame))

    def publish(self, model: str, kind: str, body: Body) -> None:
        frame = self.frame(kind, self.topics[model], body)
        self.out.append((None, struct.pack(">I", self.topics[model]), frame))
        for session in self.sessions.values():
            if session.joined.get(self.topics[model]):
                self.out.append((session.connection, b"", frame))

    def receive(self, connection: int, frame: bytes, now: int) -> None:
        kind, id, start = struct.unpack_from("<BQI", frame)
        reader = Reader(frame)
        reader.at = 13
        name, grammar = UP[kind]
        body = grammar.read(reader)
        reader.end()
        if name == "hello":
            return self.hello(connection, id, body, now)
        session = self.sessions.get(connection)
        if session is None or session.id != id or start != self.start:
            return
        getattr(self, f"on_{name}", lambda *_: None)(session, body, now)

    def hello(self, connection: int, id: int, body: Body, now: int) -> None:
        tag = body["tag"]
        run, _, count = body["capabilities"][-1].partition("-")
        last_run, last = self.openings.get(tag, ("", 0))
        if run == last_run and int(count) < last:
            return  # what a lost connection still brings (4.1-8)
        self.openings[tag] = run, int(count)
        for other, session in list(self.sessions.items()):
            if session.tag == tag:
                del self.sessions[other]
        self.sessions[connection] = session = SessionAtHub(connection, id, tag, body["name"])
        if self.is_closing:
            return self.close(session)
        self.tell(session, "welcome", {
            "protocol": 0, "logID": self.store.log, "epoch": self.store.epoch, "flags": int(tag in self.store.known),
            "durability": 1, "heartbeatMs": 1_000, "leaseMs": 10_000, "now": 1_700_000_000_000 + now, "hub": "hub",
            "limits": [{"code": code, "limit": limit} for code, limit in LIMITS.items()], "ways": self.ways,
            "capabilities": ["rescue", "describe", "expires", "lists", "users"]})
        self.store.known.add(tag)
        if self.closes_after_welcome:
            return self.close(session)
        if self.named:
            self.tell(session, "hubs", {"hubs": self.named})

    def close(self, session: SessionAtHub) -> None:
        """Sends a session away."""
        self.tell(session, "hubs", {"hubs": self.named})
        self.tell(session, "error", {"code": 12, "fatal": 1, "text": "closing"})
        del self.sessions[session.connection]

    def on_join(self, session: SessionAtHub, body: Body, now: int) -> None:
        for join in body["joins"]:
            model = self.store.models.setdefault(join["name"], StoredModel())
            self.ids.setdefault(join["name"], sorted(model.fields))
            topic = self.topics.setdefault(join["name"], FIRST_TOPIC + len(self.topics))
            self.tell(session, "topic", {"request": join["request"], "topic": topic, "model": join["name"]})
            session.waiting = [each for each in session.waiting if each[0]["name"] != join["name"]]
            session.waiting.append((join, now))
        self.answer_joins(session, now)

    def answer_joins(self, session: SessionAtHub, now: int) -> None:
        waiting, session.waiting = session.waiting, []
        for join, since in waiting:
            topic = struct.pack(">I", self.topics[join["name"]])
            is_subscribed = topic in self.subscribed.get(session.connection, ())
            if is_subscribed or now >= since + 1_000:
                self.answer_join(session, join, not is_subscribed)
            else:
                session.waiting.append((join, since))

    def answer_join(self, session: SessionAtHub, join: Body, is_routed: bool) -> None:
        model, name, topic = self.store.models[join["name"]], join["name"], self.topics[join["name"]]
        if join["unacknowledged"] > model.marks.get(session.tag, 0) + 1:
            model.marks[session.tag] = join["unacknowledged"] - 1
        session.joined[topic] = is_routed
        version, ids = join["version"], self.ids[name]
        has_epoch = join["epoch"] == self.store.epoch and version <= model.version or not model.version == version == 0
        is_current = version == model.version and (version == 0 or join["epoch"] == self.store.epoch)
        is_snapshot = join["epoch"] != self.store.epoch or not has_epoch or self.chance.random() < 0.2
        follows = 0 if is_current and join["namesKnown"] == len(ids) else 2 if is_snapshot else 1
        mark = model.marks.get(session.tag, 0)
        if name in self.rights:
            self.tell(session, "rights", {**self.rights[name], "topic": topic})
        self.tell(session, "joined", {
            "request": join["request"], "topic": topic, "epoch": self.store.epoch, "version": model.version,
            "digest": model.digest(), "mark": mark, "way": int(is_routed), "follows": follows, "model": name})
        if not follows:
            return
        fields = [(field, stored) for field, stored in model.fields.items()
                  if (stored.value is not None if follows == 2 else stored.version > version)]
        chunks = [fields[at:at + 2] for at in range(0, len(fields), 2)] or [[]]
        for at, chunk in enumerate(chunks):
            origins = sorted({stored.writer for _, stored in chunk})
            first = join["namesKnown"] if at == 0 else len(ids)
            self.tell(session, "catchup", {
                "request": join["request"], "epoch": self.store.epoch, "previous": 0 if follows == 2 else version,
                "version": model.version, "form": follows, "chunk": at, "last": int(at == len(chunks) - 1),
                "mark": mark, "origins": [{"tag": tag, "name": who} for tag, who in origins],
                "names": {"first": first, "names": ids[first:]},
                "fields": [{"field": ids.index(field), "version": stored.version, "number": stored.number,
                            "origin": origins.index(stored.writer), "time": stored.time, "value": stored.value}
                           for field, stored in chunk]}, topic)

    def on_propose(self, session: SessionAtHub, body: Body, now: int) -> None:
        outcomes: List[Body] = []
        names = {topic: name for name, topic in self.topics.items()}
        for proposal in body["proposals"]:
            head = {"topic": proposal["topic"], "number": proposal["number"]}
            if proposal["topic"] not in session.joined:
                continue
            name = names[proposal["topic"]]
            model = self.store.models[name]
            mark, number = model.marks.get(session.tag, 0), proposal["number"]
            if self.chance.random() < 0.03 and number > mark:
                outcomes.append({**head, "kind": 7, "code": 2, "pauseMs": 300})
            elif number > mark + 1:
                outcomes.append({**head, "kind": 8, "next": mark + 1})
            elif number <= mark:
                # An outcome that the peer confirmed is not kept (6.1-2).
                known = model.decisions.get((session.tag, number))
                outcomes += [{**head, **known}] if known else []
            else:
                model.marks[session.tag] = number
                decided = self.decide(session, name, model, proposal, now)
                model.decisions[session.tag, number] = decided
                outcomes.append({**head, **decided})
        if outcomes:
            self.tell(session, "outcomes", {"epoch": self.store.epoch, "outcomes": outcomes})

    def decide(self, session: SessionAtHub, name: str, model: StoredModel, proposal: Body, now: int) -> Body:
        ids = self.ids[name]

        def called(reference: Body) -> str:
            return str(reference["name"]) if reference["id"] == ABSENT else ids[reference["id"]]

        if proposal["flags"] & 1:
            return {"kind": 5}
        for condition in proposal["conditions"]:
            field = called(condition["fieldref"])
            stored = model.fields.get(field)
            is_same = (stored.version <= condition["version"] and condition["version"] > 0) if stored else True
            if condition["epoch"] != self.store.epoch or not is_same:
                writer = stored.writer if stored else (bytes(8), "")
                return {"kind": 4, "field": field, "version": stored.version if stored else 0, "tag": writer[0],
                        "name": writer[1], "ageMs": 0, "value": stored.value if stored else None}
        changes: Dict[str, Optional[bytes]] = {}
        for operation in proposal["operations"]:
            field, verb = called(operation["fieldref"]), VERBS[operation["verb"]]
            stored = model.fields.get(field)
            present = stored.value if stored else None
            if verb == "set" and field in model.limits and operation["value"] == present:
                model.renewed[field] = now
            elif verb == "set" or verb == "setIfAbsent" and stored is None:
                changes[field] = operation["value"]
            elif verb == "delete" and present is not None:
                changes[field] = None
            elif verb in ("add", "max", "min", "union"):
                result = values.merge(verb, operation["value"], present)
                if result is None:
                    return {"kind": 3, "code": 9, "text": f"{field}: not a number"}
                if result != present:
                    changes[field] = result
        if not changes:
            return {"kind": 2}
        self.commit(name, model, Commit((session.tag, session.name), proposal["number"], changes), now)
        return {"kind": 1, "count": 1, "version": model.version}

    def commit(self, name: str, model: StoredModel, commit: Commit, now: int) -> None:
        ids, first = self.ids[name], len(self.ids[name])
        ids += [field for field in commit.changes if field not in ids]
        model.version += 1
        model.commits.append(commit)
        for field, value in commit.changes.items():
            model.fields[field] = Stored(value, model.version, commit.writer, commit.number, now)
            model.renewed[field] = now
        model.states.append({field: stored.value for field, stored in model.fields.items() if stored.value is not None})
        self.heads_due[name] = 3
        self.publish(name, "commits", {
            "epoch": self.store.epoch, "previous": model.version - 1, "time": now,
            "origins": [{"tag": commit.writer[0], "name": commit.writer[1]}],
            "names": {"first": first, "names": ids[first:]},
            "commits": [{"origin": 0, "number": commit.number, "hops": 0, "changes": [
                {"field": ids.index(field), "value": value} for field, value in commit.changes.items()]}]})

    def on_askHeads(self, session: SessionAtHub, body: Body, now: int) -> None:
        heads = [{"topic": self.topics[name], "version": model.version, "digest": model.digest()}
                 for name, model in self.store.models.items() if self.topics.get(name) in session.joined]
        self.tell(session, "heads", {"epoch": self.store.epoch, "heads": heads})

    def on_alive(self, session: SessionAtHub, body: Body, now: int) -> None:
        names = {topic: name for name, topic in self.topics.items()}
        for entry in body["models"]:
            decisions = self.store.models[names[entry["topic"]]].decisions
            for tag, number in [key for key in decisions if key[0] == session.tag and key[1] <= entry["confirmed"]]:
                del decisions[tag, number]

    def on_leave(self, session: SessionAtHub, body: Body, now: int) -> None:
        if not body["models"]:
            del self.sessions[session.connection]
        for entry in body["models"]:
            session.joined.pop(entry["topic"], None)

    def subscribe(self, connection: int, topic: bytes, now: int) -> None:
        self.subscribed.setdefault(connection, set()).add(topic)
        if connection in self.sessions:
            self.answer_joins(self.sessions[connection], now)

    def tick(self, now: int) -> None:
        """Once a heartbeat."""
        self.heartbeat += 1
        body = {"epoch": self.store.epoch, "number": self.heartbeat, "now": 1_700_000_000_000 + now}
        for name, model in self.store.models.items():
            if name in self.ids and model.expired(now):
                self.commit(name, model, Commit((bytes(8), "expiry"), 0, model.expired(now)), now)
        self.out.append((None, struct.pack(">I", messages.HEARTBEATS),
                         self.frame("heartbeat", messages.HEARTBEATS, body)))
        for name, left in list(self.heads_due.items()):
            model = self.store.models[name]
            self.publish(name, "head", {"epoch": self.store.epoch, "version": model.version, "digest": model.digest()})
            self.heads_due[name] = left - 1
            if left == 1:
                del self.heads_due[name]
        for session in list(self.sessions.values()):
            self.answer_joins(session, now)
