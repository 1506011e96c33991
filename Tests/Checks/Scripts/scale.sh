#!/usr/bin/env bash
# What scripts/scale-plan refuses, that a seed gives the same tables again, and what its simulations must keep: nobody
# and nothing is lost, more hubs are not slower, peers at random are back before peers that go to the next in a list,
# and folds keep etcd from being full unless there is more than they can free.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."

# shellcheck source=scripts/support/answers.sh
source scripts/support/answers.sh

answers 0 scripts/scale-plan --help
answers 64 scripts/scale-plan --no-such-option
answers 64 scripts/scale-plan --peers 1000
answers 64 scripts/scale-plan --peers 0 --models 1 --commits 1
answers 64 scripts/scale-plan --hubs 1
answers 64 scripts/scale-plan --hot 1000
answers 0 scripts/scale-plan --hot 3000 --commits 10

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
scripts/scale-plan --quick >"$folder/quick" &
small=(--peers 600 --models 500 --commits 2 --record-bytes 100000 --quota 0.5)
scripts/scale-plan "${small[@]}" >"$folder/first"
PYTHONHASHSEED=7 scripts/scale-plan "${small[@]}" >"$folder/second"
wait "$!"
if ! cmp -s "$folder/first" "$folder/second"; then
  printf 'scale.sh: two runs of one seed differ\n' >&2
  exit 1
fi

python3 - "$folder/quick" <<'PYTHON'
import math
import random
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, "scripts/scale")
import commits
import constants as c
import fanout
import joins
import layout as planning
import report
import room
import scenarios
from events import Drain, Server, Simulation

# Servers: in order, one at a time; a drain takes together what came while it was busy.
simulation, served, turns = Simulation(), [], []
server = Server(simulation)
server.serve(2, lambda: served.append(("a", simulation.now)))
server.serve(1, lambda: served.append(("b", simulation.now)))
drain = Drain(simulation, lambda items: turns.append((list(items), simulation.now)), len)
for time in (0, 0.25, 0.5):
    simulation.at(time, drain.add, time)
simulation.run()
assert served == [("a", 2.0), ("b", 3.0)] and turns == [([0], 1.0), ([0.25, 0.5], 3.0)], (served, turns)


def storm(seed: int = 1, **options: object) -> joins.Result:
    values = {"hubs": 6, "lost": 1, "peers": 3_000, "models": 10_000, "joined": 2, **options}
    return joins.simulated(joins.Options(**values), random.Random(seed))


# Peers: all are back, at random sooner than at the next in the list, and not later for more hubs.
for options in ({}, {"is_silent": True}, {"chooses_next": True}, {"lost": 2, "is_silent": True}):
    found = storm(**options)
    assert found.back == found.moved == 500 * options.get("lost", 1), (options, found)
    assert found.fullest <= c.MAX_SESSIONS
at_random, next_one = storm(load_seconds=0.0), storm(load_seconds=0.0, chooses_next=True)
assert at_random.last < next_one.last / 2, (at_random, next_one)
assert at_random.refusals == 0 and storm(peers=5_000, chooses_next=True, load_seconds=0.0).refusals > 0
for seed in range(3):
    assert storm(seed, hubs=12).last <= storm(seed).last, seed
# Those for whom there is no room are counted as such, and the next in the list is tried until there is room.
crowded = storm(peers=6_000)
assert crowded.back == crowded.timeouts == 0 and crowded.moved == 1_000 and crowded.refusals > 1_000, crowded
# A hub that cannot welcome all within 2 s is left by some, who come back to it.
late = storm(hubs=2, peers=9_000, most_sessions=20_000, load_seconds=0.0)
assert late.timeouts > 100 and late.back == late.moved == 4_500 and late.last > 4_500 * c.CONNECT, late
assert storm(is_silent=True).p50 > c.SILENCE - c.HEARTBEAT > storm().welcomed
assert storm(seed=1) == storm(seed=1) != storm(seed=2)


def writes(rate: float, models: int = 1_000, **options: object) -> commits.Result:
    return commits.simulated(commits.Options(3, models, rate, 3.0, **options), random.Random(1))


# Writes: as many are acknowledged as came, also over an election; at a higher rate there is more to catch up with.
calm, struck, faster = writes(500), *(writes(rate, election_at=1.0, election_seconds=1.5) for rate in (500, 2_000))
for found in (calm, struck, faster):
    assert found.acknowledged == found.arrived > 1_000, found
assert calm.longest < 0.1 < 1.4 < struck.longest <= faster.longest + 0.1 and struck.caught_up < faster.caught_up
assert struck.most_waiting > 500 > calm.most_waiting
# Two hubs that write the same models refuse each other; a hub alone is never refused.
shared, alone = writes(500, models=2, writing_hubs=3), writes(500, models=2)
assert shared.refused > 100 and alone.refused == 0 and shared.acknowledged == shared.arrived, (shared, alone)
one = writes(1_000, models=1)
assert one.records_of_second < 1_000 < one.acknowledged, "writes of one model that wait become one record"

# Copies: each reader gets each commit; a faster writer costs an edge more, and makes no commit overtake another.
slow, fast = (fanout.simulated(fanout.Options(3, 30, 20_001, rate, 2.0), random.Random(1)) for rate in (20, 200))
for found in (slow, fast):
    assert found.copies == found.commits * 20_001 and found.p50 <= found.p99 <= found.longest
assert slow.edge_share < fast.edge_share < 1 and fast.together > slow.together >= 1

# Commits wait for folds, and no commit is lost to them.
folding = writes(500, fold_call=c.MILLISECOND)
assert folding.acknowledged == folding.arrived and folding.p50 > 1.5 * calm.p50, (calm, folding)
assert folding.engine_share > 0.8 > calm.engine_share, (calm, folding)


def full(models: float, rate: float = 1_000.0, size: int = 512, **options: int) -> room.Room:
    return room.simulated(room.Cell(models, 0, rate, size, 10, 8 * c.GIB, **options), random.Random(1), 50)


# Room: few models keep 1,024 records. Of many models those with 4 KiB are folded where room is scarce, so they do not
# fill etcd; but models do whose heads and last records alone fill it, and writes that come faster than folds free.
few, many = full(5_000, 100.0), full(700_000)
assert few.refused_after is None and 0.45 < few.peak_share < c.SCARCE_SHARE and few.records > c.FOLD_KEPT, few
assert many.refused_after is None and many.peak_share > c.SCARCE_SHARE and many.fold_share > few.fold_share, many
crammed, large, fast = full(6_000_000), full(60_000, size=32_768), full(500_000, 2_000.0)
assert crammed.refused_after and crammed.refused_share == 1 and not crammed.fold_share, crammed
for found in (large, fast):
    assert found.refused_after and 0.05 < found.refused_share < 0.95 and found.peak_share >= c.FULL_SHARE, found
# What is appended at several hubs is 4 KiB at one of them later; etcd's time bounds the folds of many hubs.
assert full(1_000_000, writing_hubs=2).peak_share > full(1_000_000).peak_share
costs = [room.fold_of(room.Cell(1, 0, 0.0, 512, 10, 1.0, hubs=hubs), 8) for hubs in (1, 8)]
assert costs[0].seconds > costs[0].engine_seconds and costs[1].seconds >= 8 * costs[1].engine_seconds, costs
# In the end what is used is what is stored: nothing is counted as free twice.
filling = room.Filling(room.Cell(1_000, 0, 10.0, 512, 10, c.GIB / 4), random.Random(1), 50)
filling.run(None)
filling._now += 2 * c.HISTORY_SECONDS
filling._is_scarce, filling._hubs = False, []
filling._go_on()
stored = filling._live * filling._cell.record + sum(filling._has_fold) * filling._cell.fold
assert math.isclose(filling._used, filling._weight * stored + 1_000 * c.HEAD_BYTES), (filling._used, stored)

# Plans keep all limits once a region is lost; what is asked for is what is shown, with the limit that it breaks.
for load in ((10_000, 100_000, 1_000.0), (50_000, 2_000, 200.0), (300, 10, 5.0)):
    workload = planning.Workload(*load, writers=0.02)
    plan = planning.plan(workload, 1)
    cell = planning.Cell(workload, plan)
    assert cell.hub_sessions * cell.hubs_after_loss <= c.MAX_SESSIONS and plan.hubs <= c.HUBS_OF_LOG, plan
    assert cell.edge_sessions * cell.edges_after_loss <= c.MAX_SESSIONS and cell.edge_models <= c.MAX_FOLLOWED, plan
found = scenarios.run(
    planning.Workload(9_000, 100, 10.0, written=0.02), planning.Layout(1, 3), scenarios.Choice(1, 1))
first = report.limits(found)[0]
assert first.name == "sessions of a hub" and first.share > 1, first
text = open(sys.argv[1], encoding="utf-8").read()
assert "do not" not in text and re.search(r"storeFull\) after +\| never", text), text
PYTHON
printf 'scale.sh: passed\n' >&2
