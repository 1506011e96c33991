"""How full etcd becomes: records of a cell's models, which folds remove and compactions free.

The models of a cell are simulated as a sample of them, each of which stands for an equal share of all. Rates are the
same for all models, and all begin empty: the worst case, because then all are folded at about the same time.
"""

from __future__ import annotations

import random
from collections import deque
from typing import Deque, NamedTuple, Optional, Tuple

import constants as c

SAMPLE, FEW = 300, 60
# The share of the quota up to which a cell is planned: writes are refused from 85 % on.
AIM = 0.80
STEPS = 5


class Room(NamedTuple):
    """The most that was used of the quota, after how many seconds writes were refused (None: never), and the records
    of a model that is written, on average at the end."""

    peak_share: float
    refused_after: Optional[float]
    records: float


class Cell(NamedTuple):
    """What is stored in a cell's etcd."""

    written_models: float
    other_models: float
    commits: float
    record_bytes: int
    fields: int
    quota: float


def simulated(cell: Cell, rng: random.Random, sample: int = SAMPLE, most_share: float = c.FULL_SHARE) -> Room:
    """Fills the models until each has been folded several times, or so much of etcd's quota is used."""
    record = cell.record_bytes + c.RECORD_OVERHEAD
    fold = cell.fields * c.FIELD_OWN_BYTES + c.RECORD_OVERHEAD
    models = min(sample, max(int(cell.written_models), 1))
    weight = max(cell.written_models, 1) / models
    base = (cell.written_models + cell.other_models) * c.HEAD_BYTES + cell.other_models * record
    stored, in_fold, first = [0] * models, [False] * models, [0] * models
    step = weight / max(cell.commits, 1e-9)
    # Former heads, and records that a fold has deleted, are in the file until they are compacted away.
    history: Deque[Tuple[float, float]] = deque()
    used, peak, now = base, base, 0.0
    room = "enough"
    for _ in range(models * (c.FOLD_KEPT + 4 * c.FOLD_INTERVAL)):
        now += step
        kept_for = c.SCARCE_HISTORY_SECONDS if room == "scarce" else c.HISTORY_SECONDS
        while history and history[0][0] <= now - kept_for:
            used -= history.popleft()[1]
        index = int(rng.random() * models)
        stored[index] += 1
        used += weight * (record + c.HEAD_BYTES)
        history.append((now, weight * c.HEAD_BYTES))
        kept = 0 if room == "scarce" else c.FOLD_KEPT
        number = stored[index]
        if number % c.FOLD_INTERVAL == 0 and number - kept > first[index]:
            freed = weight * ((number - kept - first[index]) * record + in_fold[index] * fold)
            history.append((now, freed))
            used += weight * fold
            first[index], in_fold[index] = number - kept, True
        share = used / cell.quota
        peak = max(peak, used)
        room = "scarce" if share >= c.SCARCE_SHARE else "enough"
        if share >= most_share:
            return Room(peak / cell.quota, now, (sum(stored) - sum(first)) / models)
    return Room(peak / cell.quota, None, (sum(stored) - sum(first)) / models)


def most_models(cell: Cell, seed: str, most_share: float = AIM) -> float:
    """The most models of a cell, with commits in proportion, whose peak stays at or below a share of the quota."""
    def fits(factor: float) -> bool:
        larger = cell._replace(
            written_models=cell.written_models * factor, other_models=cell.other_models * factor,
            commits=cell.commits * factor)
        return simulated(larger, random.Random(seed), FEW, most_share).refused_after is None

    record = cell.record_bytes + c.RECORD_OVERHEAD
    total = cell.written_models + cell.other_models
    # With so many models there is room for all records that folds keep; with so many more, for none of them.
    kept = (c.FOLD_KEPT + c.FOLD_INTERVAL) * record + c.HEAD_BYTES
    low = c.SCARCE_SHARE * cell.quota / (cell.written_models * kept + cell.other_models * (record + c.HEAD_BYTES)) * 0.9
    high = low * 3
    if not fits(low):
        return total * low / 2
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return total * low
