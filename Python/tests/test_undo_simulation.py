"""Seeded histories of peers that write and undo, with a hub that restarts and a bad network: every undo is done whole,
once, or not at all, and what others wrote stays."""
from __future__ import annotations

import os
import unittest
from typing import Any, Dict, List, Optional, Set, Tuple

from bindbus import values
from bindbus.errors import WriteError
from bindbus.pending import Operation
from bindbus.undo import UndoBook
from tests.simulated_peer import SimulatedPeer, World
from tests.simulated_store import StoredModel

SEEDS = int(os.environ.get("BINDBUS_PYTHON_SEEDS", "200")) // 2
TROUBLE_MS, REST_MS = 40_000, 60_000


class UndoHistory:
    """One seed. All amounts are powers of two of their own, so that the sum says which additions stand."""

    def __init__(self, seed: int) -> None:
        self.world = World(seed)
        self.chance = self.world.chance
        self.peers = [SimulatedPeer(self.world, f"peer{at}", False) for at in range(3)]
        for peer in self.peers:
            peer.session.join("m", 0).writes.book = UndoBook(peer.session.context.tag)
        self.amounts: Dict[Tuple[bytes, int], int] = {}  # by write: what it adds in the end
        self.undone: List[Tuple[SimulatedPeer, int]] = []
        self.tokens = 0

    def write(self, peer: SimulatedPeer) -> None:
        self.tokens += 1
        if self.chance.random() < 0.4:
            amount = 1 << self.tokens
            operations = [Operation("add", "sum", values.encode(amount))]
        else:
            amount, field = 0, self.chance.choice("ab")
            operations = [Operation("set", field, values.encode(f"{peer.name} {self.tokens}"))]
        try:
            id = peer.turn(lambda: peer.session.write("m", operations, self.world.now))
        except WriteError:
            return
        self.amounts[peer.session.secret, id] = amount

    def undo(self, peer: SimulatedPeer) -> None:
        redoes = self.chance.random() < 0.3

        def begin() -> Optional[int]:
            found: Any = peer.session.models["m"].writes.begin_restoring(redoes)
            if isinstance(found, str) or not found[1]:
                return None
            step, operations, rules = found
            return peer.session.write("m", operations, self.world.now, rules=rules, undoes=(step, redoes))

        id = peer.turn(begin)
        if id is not None:
            self.undone.append((peer, id))

    def run(self) -> None:
        world, chance = self.world, self.chance
        world.loss = chance.choice([0, 0.02, 0.2])
        while world.now < TROUBLE_MS:
            world.run(world.now + chance.choice([1, 10, 200, 1_500]))
            peer, what = chance.choice(self.peers), chance.random()
            if what < 0.45:
                self.write(peer)
            elif what < 0.85:
                self.undo(peer)
            elif what < 0.92:
                peer.cut()
            elif world.hub is None:
                world.start_hub()
            else:
                world.kill_hub()
        world.loss = 0
        if world.hub is None:
            world.start_hub()
        world.run(world.now + REST_MS)
        self.check()

    def check(self) -> None:
        model = self.world.store.models.get("m", StoredModel())
        for peer in self.peers:
            sync = peer.session.models["m"]
            book = sync.writes.book
            assert not sync.writes.pending, f"{peer.name} has writes without an outcome"
            assert sync.replica.digest() == model.digest(), f"the digest of {peer.name} differs"
            assert book is not None and not book.notes, f"{peer.name} waits for commits of {book and book.notes}"
            for step in book.undo + book.redo:
                assert not step.is_empty and not step.writes, f"{peer.name} has an open step {step}"
        for peer, id in self.undone:
            outcome = peer.outcomes[peer.session.secret, id]
            assert outcome.kind in ("committed", "unchanged", "conflict", "superseded"), f"an undo ended as {outcome}"
        self.check_sum(model)
        self.check_sets(model)

    def check_sum(self, model: StoredModel) -> None:
        """The sum is that of the additions that were committed, without those that were taken back."""
        stands = 0
        for commit in model.commits:
            if "sum" in commit.changes:
                stands = int(values.decoded(commit.changes["sum"]))
        parts = {amount for amount in self.amounts.values() if amount}
        assert stands >= 0, f"more was taken back than was added: {stands}"
        assert stands == sum(amount for amount in parts if stands & amount), f"not a sum of whole additions: {stands}"

    def check_sets(self, model: StoredModel) -> None:
        """What brings an earlier value back replaces a value that the same peer has written."""
        writers: Dict[str, bytes] = {}
        seen: Set[Any] = set()
        for version, commit in enumerate(model.commits, 1):
            for field, value in commit.changes.items():
                brings_back = field != "sum" and (value is None or value in seen)
                assert not brings_back or writers[field] == commit.writer[0], (
                    f"{commit.writer[1]} took back what another peer wrote, in version {version}")
                writers[field] = commit.writer[0]
                seen.add(value)


class UndoSimulationTests(unittest.TestCase):
    def test_an_undo_is_done_whole_and_once_or_not_at_all(self) -> None:
        one = os.environ.get("BINDBUS_PYTHON_SEED")
        for seed in [int(one)] if one else range(SEEDS):
            try:
                UndoHistory(seed).run()
            except Exception as error:
                again = f"BINDBUS_PYTHON_SEED={seed} Python/tests/run test_undo_simulation"
                self.fail(f"seed {seed}: {error!r}\nreproduce: {again}")
