"""The messages between peers and a hub, as their grammar (protocol, sections 3 to 9), and frames made of them."""
from __future__ import annotations

import struct
from typing import Callable, Dict, List, NamedTuple, Tuple

from . import names
from .errors import WireError
from .grammar import (ABSENT, FIELD, FIRST_TOPIC, FLAG, FROM_ONE, TAG, TEXT16, TOPIC, U8, U16, U32, U64, VALUE, Body,
                      Codec, FieldRef, Number, Raw, Reader, Record, Text, Writer, list8, list16, list32)
from .grammar import TEXT8 as TEXT

HEARTBEATS = 0x01000000
MODEL, STORED, NAME = Text(U8, names.check_model), Text(U8, names.check_stored_model), Text(U8, names.check_field)
PATTERN, PEER, SECRET, KEY = Text(U8, names.check_pattern), Text(U8, names.check_peer), Raw(16), Raw(32)
_MOST = (1 << 64) - 1


def _require(holds: bool, problem: str) -> None:
    if not holds:
        raise WireError(problem)


def _check_commits(body: Body) -> None:
    _require(bool(body["commits"]), "commits: there is none")
    _require(body["previous"] + len(body["commits"]) <= _MOST, "previous: no version follows the last")
    _require(all(commit["origin"] < len(body["origins"]) for commit in body["commits"]), "origin: not in the table")


def _check_catchup(body: Body) -> None:
    _require(body["previous"] <= body["version"], "previous: it lies beyond version")
    _require(body["form"] == 1 or body["previous"] == 0, "previous: that of a snapshot is 0")
    _require(all(field["origin"] < len(body["origins"]) for field in body["fields"]), "origin: not in the table")


def _check_committed(body: Body) -> None:
    last = body["count"] - 1
    _require(body["version"] + last <= _MOST, "count: no version follows the last")


def _check_hubs(body: Body) -> None:
    _require(len(body["hubs"]) <= 32, "hubs: at most 32 are allowed")
    _require(all(map(names.is_told_address, body["hubs"])), "hubs: no peer can connect to one of them")


def _check_keys(body: Body) -> None:
    _require(len(body["next"]) <= 1, "next: there is one next key")
    _require(all(key["key"] != body["present"] for key in body["next"]), "next.key: it is the present one")


class Outcome(Codec):
    """The hub's answer to a number (6.3)."""

    RESTS: Dict[int, Record] = {
        1: Record(_check_committed, count=Number("H", 1), version=U64), 2: Record(),
        3: Record(code=Number("H", 1, 17), text=TEXT16),
        4: Record(field=NAME, version=U64, _writer=Writer(), ageMs=U64, value=VALUE), 5: Record(), 6: Record(),
        7: Record(code=Number("H", 1, 5), pauseMs=U32), 8: Record(next=FROM_ONE),
    }
    HEAD = Record(topic=TOPIC, number=FROM_ONE, kind=Number("B", 1, 8))

    def read(self, reader: Reader) -> Body:
        body = self.HEAD.read(reader)
        body.update(self.RESTS[body["kind"]].read(reader))
        _require(body["number"] + body.get("count", 1) - 1 <= 0xFFFFFFFF, "count: no number follows the last")
        return body

    def write(self, out: bytearray, value: Body) -> None:
        self.HEAD.write(out, value)
        self.RESTS[value["kind"]].write(out, value)


class JoinName(Codec):
    """What is joined: a model under form 0, a prefix under form 1."""

    def read(self, reader: Reader) -> Body:
        form, name = FLAG.read(reader), TEXT.read(reader)
        (names.check_prefix if form else names.check_model)(name)
        return {"form": form, "name": name}

    def write(self, out: bytearray, value: Body) -> None:
        U8.write(out, value["form"])
        TEXT.write(out, value["name"])


class Rights(Codec):
    """Three flags in one byte."""

    def read(self, reader: Reader) -> Body:
        flags = Number("B", 0, 7).read(reader)
        return {"own": flags & 1, "present": flags >> 1 & 1, "describe": flags >> 2}

    def write(self, out: bytearray, value: Body) -> None:
        U8.write(out, value["own"] | value["present"] << 1 | value["describe"] << 2)


class Numbers(Codec):
    """The highest numbers of writers, at the end of an offer, or nothing (7-3)."""

    LIST = list32(Record(tag=TAG, number=U32))

    def read(self, reader: Reader) -> Body:
        return {"numbers": self.LIST.read(reader)} if reader.at < len(reader.data) else {}

    def write(self, out: bytearray, value: Body) -> None:
        if "numbers" in value:
            self.LIST.write(out, value["numbers"])


class Past(Codec):
    """Earlier commits, with their writers and names looked up in the tables of the page (5.5)."""

    TABLES = Record(origins=list16(Writer()), names=list16(NAME))
    HEAD = Record(epoch=U64, version=Number("Q", 1), time=U64, origin=U16, number=U32)

    def read(self, reader: Reader) -> Body:
        tables = self.TABLES.read(reader)
        commits: List[Body] = []
        for _ in range(U16.read(reader)):
            commit = self.HEAD.read(reader)
            _require(commit["origin"] < len(tables["origins"]), "origin: not in the table")
            commit["origin"], commit["changes"] = tables["origins"][commit["origin"]], []
            for _ in range(U16.read(reader)):
                name, state = U16.read(reader), Number("B", 0, 2).read(reader)
                _require(name < len(tables["names"]), "name: not in the table")
                change = {"name": tables["names"][name], "state": state}
                commit["changes"].append({**change, "value": VALUE.read(reader)} if state == 0 else change)
            commits.append(commit)
        return {"commits": commits}


ORIGINS, NAMES = list16(Writer()), Record(first=U32, names=list32(NAME))
CHANGE = Record(field=FIELD, value=VALUE)
COMMIT = Record(origin=U16, number=U32, hops=U8, changes=list16(CHANGE))
ENTRY = Record(field=FIELD, version=U64, origin=U16, number=U32, time=U64, value=VALUE)
OFFERED = Record(name=NAME, version=U64, tag=TAG, origin=TEXT, number=U32, time=U64, value=VALUE)
PROPOSAL = Record(topic=TOPIC, number=FROM_ONE, confirmed=U32, flags=Number("B", 0, 3), hops=U8,
                  metadata=list8(Record(name=TEXT, value=TEXT16)),
                  conditions=list8(Record(epoch=U64, version=U64, fieldref=FieldRef())),
                  operations=list16(Record(verb=U8, fieldref=FieldRef(), value=VALUE)))
JOIN = Record(request=U32, _name=JoinName(), epoch=U64, version=U64, namesKnown=U32, unacknowledged=U32)
APPLIED = Record(topic=TOPIC, epoch=U64, version=U64, digest=U64, healed=U32)

UPSTREAM: Dict[int, Tuple[str, Codec]] = {
    0x01: ("hello", Record(lowest=U8, highest=U8, tag=TAG, secret=SECRET, name=PEER, flags=FLAG, leaseMs=U32,
                           encoding=TEXT, capabilities=list8(TEXT))),
    0x02: ("join", Record(joins=list16(JOIN))), 0x03: ("propose", Record(proposals=list16(PROPOSAL))),
    0x04: ("alive", Record(heartbeat=U64, models=list16(Record(topic=TOPIC, confirmed=U32, applied=U64)))),
    0x05: ("leave", Record(models=list16(Record(topic=TOPIC)))), 0x06: ("askHeads", Record()),
    0x07: ("ping", Record(token=U64)),
    0x08: ("offer", Record(request=U32, topic=TOPIC, epoch=U64, version=U64, chunk=U32, last=FLAG,
                           fields=list32(OFFERED), _numbers=Numbers())),
    0x09: ("status", Record()),
    0x0A: ("await", Record(request=U32, topic=TOPIC, epoch=U64, version=U64, count=U32, withinMs=U32)),
    0x0B: ("report", Record(models=list16(APPLIED))),
    0x0C: ("approval", Record(topic=TOPIC, token=U32, accept=FLAG, text=TEXT16)),
    0x10: ("verify", Record(withinMs=U32, after=U32, names=list8(TEXT))),
    0x11: ("history", Record(request=U32, topic=TOPIC, flags=FLAG, epoch=U64, after=U64, through=U64, since=U64,
                             until=U64, count=U16, fields=list8(NAME), writers=list8(TEXT))),
    0x12: ("drain", Record(withinMs=U32, anyway=FLAG)),
    0x13: ("forward", Record(model=STORED, record=U64, tag=TAG, secret=SECRET, name=PEER, user=TEXT,
                             proposals=list16(PROPOSAL))),
    0x14: ("counted", Record(request=U32, applied=U32, of=U32, missing=list8(TEXT))),
}
_SESSION, _BEAT, _MODEL = (lambda topic: topic == 0), (lambda topic: topic == HEARTBEATS), FIRST_TOPIC.__le__
DOWNSTREAM: Dict[int, Tuple[str, Callable[[int], bool], Codec]] = {
    0x80: ("upstream", _SESSION, Record(session=U64, reached=FLAG)),
    0x81: ("welcome", _SESSION, Record(
        session=U64, protocol=U8, logID=U64, epoch=U64, flags=Number("B", 0, 3), durability=Number("B", 0, 2),
        heartbeatMs=U32, leaseMs=U32, now=U64, hub=TEXT, limits=list8(Record(code=U8, limit=U64)),
        ways=list8(Record(request=TEXT16, publish=TEXT16)), capabilities=list8(TEXT))),
    0x82: ("keys", _SESSION, Record(_check_keys, session=U64, present=KEY, next=list8(Record(key=KEY, moment=U64)))),
    0x83: ("topic", _SESSION, Record(session=U64, request=U32, topic=TOPIC, model=MODEL)),
    0x84: ("joined", _SESSION, Record(session=U64, request=U32, topic=TOPIC, epoch=U64, version=U64, digest=U64,
                                      mark=U32, way=FLAG, follows=Number("B", 0, 2), model=MODEL)),
    0x85: ("outcomes", _SESSION, Record(session=U64, epoch=U64, outcomes=list16(Outcome()))),
    0x86: ("announce", _SESSION, Record(session=U64, request=U32, complete=FLAG, models=list16(
        Record(model=MODEL, topic=TOPIC, version=U64, fields=U32)))),
    0x87: ("heads", _SESSION, Record(session=U64, epoch=U64, heads=list32(
        Record(topic=TOPIC, version=U64, digest=U64)))),
    0x88: ("error", _SESSION, Record(session=U64, code=Number("H", 1, 14), fatal=FLAG, text=TEXT16)),
    0x89: ("pong", _SESSION, Record(session=U64, token=U64)),
    0x8A: ("askOffer", _SESSION, Record(session=U64, request=U32, topic=TOPIC)),
    0x8B: ("statusReport", _SESSION, Record(
        lambda body: _require(body["json"] is not None, "json: a report has a value"), session=U64, json=VALUE)),
    0x8C: ("awaited", _SESSION, Record(session=U64, request=U32, applied=U32, of=U32, end=Number("B", 0, 4),
                                       missing=list8(TEXT))),
    0x8D: ("approve", _SESSION, Record(session=U64, topic=TOPIC, token=U32, _writer=Writer("origin"),
                                       fields=list16(Record(name=NAME, value=VALUE)))),
    0x8E: ("rights", _SESSION, Record(session=U64, topic=TOPIC, _flags=Rights(), write=list8(PATTERN),
                                      delete=list8(PATTERN))),
    0x90: ("commits", _MODEL, Record(_check_commits, epoch=U64, previous=U64, time=U64, origins=ORIGINS, names=NAMES,
                                     commits=list16(COMMIT))),
    0x91: ("catchup", _MODEL, Record(
        _check_catchup, session=U64, request=U32, epoch=U64, previous=U64, version=U64, form=Number("B", 1, 2),
        chunk=U32, last=FLAG, mark=U32, origins=ORIGINS, names=NAMES, fields=list32(ENTRY))),
    0x92: ("head", _MODEL, Record(epoch=U64, version=U64, digest=U64)),
    0x93: ("heartbeat", _BEAT, Record(epoch=U64, number=U64, now=U64)),
    0x94: ("ask", _MODEL, Record(epoch=U64, version=U64, flags=Number("B", 0, 0))),
    0x95: ("past", _MODEL, Record(session=U64, request=U32, end=Number("B", 0, 5), next=U64, horizon=U64,
                                  reason=Number("B", 0, 3), head=U64, _commits=Past())),
    0x96: ("hubs", _SESSION, Record(_check_hubs, session=U64, hubs=list8(TEXT))),
    0x97: ("count", _SESSION, Record(session=U64, request=U32, model=STORED, epoch=U64, version=U64, all=FLAG,
                                     withinMs=U32)),
}
_KINDS = {name: kind for kind, (name, _) in UPSTREAM.items()}


class FromHub(NamedTuple):
    """A frame that came from a hub."""

    topic: int
    start: int
    kind: str
    body: Body


def decode(frame: bytes) -> FromHub:
    """Reads a frame from a hub, or raises `WireError`."""
    reader = Reader(frame)
    topic, kind = int.from_bytes(reader.take(4), "big"), U8.read(reader)
    start = FROM_ONE.read(reader)
    if kind not in DOWNSTREAM:
        raise WireError(f"kind: 0x{kind:02x} is none that a hub sends")
    name, has_topic, grammar = DOWNSTREAM[kind]
    _require(has_topic(topic), f"topic: 0x{topic:08x} is not that of a {name}")
    body = grammar.read(reader)
    reader.end()
    return FromHub(topic, start, name, body)


def encode(kind: str, session: int, start: int, body: Body) -> bytes:
    """Writes a frame to a hub."""
    out = bytearray(struct.pack("<BQI", _KINDS[kind], session, start))
    UPSTREAM[_KINDS[kind]][1].write(out, body)
    return bytes(out)


def fieldref(name: str, id: int = ABSENT) -> Body:
    """The reference to a field by its number, or by its name where the number is not known."""
    return {"id": id, "name": name} if id == ABSENT else {"id": id}
