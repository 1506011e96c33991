"""Seeded histories of peers, a hub that restarts, and a bad network: nothing acknowledged is lost or done twice, and
all replicas converge."""
from __future__ import annotations

import os
import re
import unittest
from typing import Any, Dict, List, Optional, Tuple

from bindbus import values
from bindbus.errors import WriteError
from bindbus.pending import Condition, Operation
from tests.simulated_peer import SimulatedPeer, World
from tests.simulated_store import StoredModel

SEEDS = int(os.environ.get("BINDBUS_PYTHON_SEEDS", "200"))
FOUND = (628, 853, 1758)  # seeds that have failed once
TROUBLE_MS, REST_MS = 60_000, 60_000


class History:
    """One seed: what the peers write, and what must hold of it."""

    def __init__(self, seed: int) -> None:
        self.world = World(seed)
        self.chance = self.world.chance
        self.tokens = 0
        self.made: List[Tuple[SimulatedPeer, bytes, int, str, str]] = []  # peer, secret, write, kind, token
        self.peers = [SimulatedPeer(self.world, f"peer{at}", has_outbox=at == 0) for at in range(3)]
        for peer in self.peers:
            peer.session.join("m", 0)
            peer.merge = self.merge

    def merge(self, texts: Any) -> Optional[bytes]:
        base, mine, theirs = (set(values.decode(text)) if text else set() for text in texts)
        return values.encode(sorted((theirs | mine) - (base - mine)))

    def write(self, peer: SimulatedPeer) -> None:
        self.tokens += 1
        token, session = f"t{self.tokens}", peer.session
        kind = self.chance.choice(["set", "set", "two", "add", "compare", "text", "merge", "delete", "condition"])
        field = self.chance.choice("abc")
        replica, writes = session.models["m"].replica, session.models["m"].writes
        text, rules, conditions = values.encode(token), {}, []  # type: bytes, Dict[str, str], List[Any]
        operations = [Operation("set", field, text)]
        if kind == "two":
            operations = [Operation("set", "a", text), Operation("set", "b", text)]
        elif kind == "add":
            operations = [Operation("add", "count", b"1"), Operation("set", "by", text)]
        elif kind == "compare":
            rules = {field: "compare"}
        elif kind in ("text", "merge"):
            field = kind
            shown = writes.shown(field)
            old = values.decode(shown) if shown else ("" if kind == "text" else [])
            new = f"{old} {token}".strip() if kind == "text" else sorted([*old, token])
            operations, rules = [Operation("set", field, values.encode(new))], {field: kind}
        elif kind == "delete":
            operations = [Operation("delete", field), Operation("set", "d", text)]
        elif kind == "condition":
            conditions = [Condition(field, replica.epoch, replica.version_of(field))]
        try:
            id = peer.turn(lambda: session.write("m", operations, self.world.now, conditions, rules))
        except WriteError:
            return
        self.made.append((peer, session.secret, id, kind, token))
        if self.chance.random() < 0.05:
            peer.turn(lambda: session.withdraw(id))

    def run(self) -> None:
        world, chance = self.world, self.chance
        world.loss = chance.choice([0, 0.02, 0.2])
        while world.now < TROUBLE_MS:
            world.run(world.now + chance.choice([1, 10, 200, 3_000]))
            peer = chance.choice(self.peers)
            what = chance.random()
            if what < 0.8:
                for _ in range(chance.choice([1, 1, 5])):
                    self.write(peer)
            elif what < 0.88:
                peer.cut()
            elif what < 0.94:
                if world.hub is None:
                    world.start_hub()
                else:
                    world.kill_hub()
            elif what < 0.97 and peer.outbox is not None:
                peer.crash()
            self.check_replicas()
        world.loss = 0
        if world.hub is None:
            world.start_hub()
        world.run(world.now + REST_MS)
        self.check_rest()

    def check_replicas(self) -> None:
        """Every replica is a state that the hub has had."""
        model = self.world.store.models.get("m", StoredModel())
        for peer in self.peers:
            replica = peer.session.models["m"].replica
            mine = {name: field.value for name, field in replica.fields.items() if field.value is not None}
            assert mine == model.states[replica.version], f"{peer.name} shows no state of the hub: {mine}"

    def check_rest(self) -> None:
        model = self.world.store.models["m"]
        self.check_replicas()
        for peer in self.peers:
            sync = peer.session.models["m"]
            assert peer.session.phase == "live" and sync.progress == "current", f"{peer.name} is {peer.session.phase}"
            assert sync.replica.version == model.version, f"{peer.name} is at {sync.replica.version} of {model.version}"
            assert sync.replica.digest() == model.digest(), f"the digest of {peer.name} differs"
            assert not sync.writes.pending, f"{peer.name} has writes without an outcome: {sync.writes.pending}"
            shown = {name: text for name in sync.writes.shown_names() for text in [sync.writes.shown(name)]}
            assert shown == model.states[-1], f"{peer.name} shows {shown}"
            assert peer.outbox is None or not peer.outbox.writes, f"the outbox of {peer.name} is not empty"
        self.check_outcomes(model)

    def check_outcomes(self, model: StoredModel) -> None:
        log: Dict[str, List[int]] = {}
        for version, commit in enumerate(model.commits, 1):
            for token in set(re.findall(rb"t\d+", b" ".join(text or b"" for name, text in commit.changes.items()
                                                            if name not in ("text", "merge")))):
                log.setdefault(token.decode(), []).append(version)
        adds = sum(1 for commit in model.commits if "count" in commit.changes)
        count = model.fields["count"].value if "count" in model.fields else b"0"
        assert count == str(adds).encode(), f"count is {count!r} after {adds} additions"
        for peer, secret, id, kind, token in self.made:
            outcome, versions = peer.outcomes.get((secret, id)), log.get(token, [])
            where = f"{kind} {token} of {peer.name}: {outcome}, committed at {versions}"
            assert outcome is not None or peer.outbox is not None, f"no outcome: {where}"
            assert len(versions) <= 1, f"done twice: {where}"
            if outcome is None:
                continue
            if kind in ("text", "merge"):
                present = re.findall(rb"t\d+", model.fields[kind].value or b"") if kind in model.fields else []
                is_in = token.encode() in present
                assert is_in or outcome.kind != "committed", f"lost: {where}"
            elif outcome.kind == "committed":
                assert versions == [outcome.version], f"lost: {where}"
            elif outcome.kind != "unknown":
                assert not versions, f"done although it was not to be: {where}"
            assert outcome.kind != "unknown", f"an honest hub knows all outcomes: {where}"


class SimulationTests(unittest.TestCase):
    def test_nothing_acknowledged_is_lost_or_done_twice_and_replicas_converge(self) -> None:
        one = os.environ.get("BINDBUS_PYTHON_SEED")
        for seed in [int(one)] if one else [*range(SEEDS), *FOUND]:
            try:
                History(seed).run()
            except Exception as error:
                again = f"BINDBUS_PYTHON_SEED={seed} Python/tests/run test_simulation"
                self.fail(f"seed {seed}: {error!r}\nreproduce: {again}")
