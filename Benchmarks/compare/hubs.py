"""Compares several hubs of one log with one hub, and prints a table.

usage: scripts/bench hubs [--rounds N] [--seconds S] [--hubs N]

The same writers, each a process of its own that has at most 1,024 unacknowledged changes, write to one hub, or each to
another hub. Each has a model of its own, or all write to one; then the hubs pass what is written on to one of them.
Nobody reads, but each hub follows what the others have written to the models that it has. The arrangements take turns,
round by round, each with one fresh node of etcd.

exit: 0 success · 1 a measurement failed · 64 usage · 69 build failed · 72 a tool is missing · 130 interrupted
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Callable

from children import Child, Trouble
from contenders import BY_NAME, Programs, hub_over
from report import spread, table

# Changes that are sent together.
BATCHES = (1, 16)


@dataclass(frozen=True)
class Arrangement:
    name: str
    # Whether the writers share a hub, and a model.
    has_one_hub: bool
    has_one_model: bool


OWN = (Arrangement("one hub, own models", True, False), Arrangement("several hubs, own models", False, False))
COMMON = (Arrangement("one hub, one model", True, True), Arrangement("several hubs, one model", False, True))


def measure(arrangement: Arrangement, writers: int, batch: int, seconds: float, programs: Programs) -> dict[str, float]:
    """The changes a second that all writers together got acknowledged, and the microseconds of processor time that the
    hubs and the node used for one."""
    folder = Path(tempfile.mkdtemp(prefix="bench-"))
    children: list[Child] = []
    try:
        node = BY_NAME["etcd"].start(programs, folder)
        children.append(node.child)
        count = 1 if arrangement.has_one_hub else writers
        # Each knows where the others are before they start.
        places = [f"ipc://{folder}/hub{number}.sock" for number in range(count)]
        hubs = [hub_over(node, f"hub{number}", programs, folder, at=place, siblings=places if count > 1 else ())
                for number, place in enumerate(places)]
        children += [running.child for running in hubs]
        all_writers = []
        for number in range(writers):
            model = "bench" if arrangement.has_one_model else f"bench{number}"
            command = [programs.bindbench, "publish", "--kind", "hub", "--request", hubs[number % len(hubs)].request,
                       "--model", model, "--batch", str(batch), "--seconds", str(seconds)]
            all_writers.append(Child(f"writer{number}", command, folder, keeps_time=True))
            children.append(all_writers[-1])
        for writer in all_writers:
            writer.line(60)
        servers = children[:1 + len(hubs)]
        before = sum(child.processor_seconds() for child in servers)
        for writer in all_writers:
            writer.send("go")
        written = [json.loads(writer.line(seconds + 70)) for writer in all_writers]
        used = sum(child.processor_seconds() for child in servers) - before
    finally:
        for child in reversed(children):
            child.end()
        shutil.rmtree(folder, ignore_errors=True)
    sent = sum(one["sent"] for one in written)
    return {"rate": sent / max(one["seconds"] for one in written), "cost": used / sent * 1e6}


def markdown(found: dict[tuple[Arrangement, int], list[dict[str, float]]], writers: int) -> list[str]:
    """Rates in thousands, and how those of several hubs stand to those of one, in the same round."""
    rows = []
    for pair in (OWN, COMMON):
        for arrangement in pair:
            name = arrangement.name.replace("several", str(writers))
            cells = []
            for batch in BATCHES:
                figures = found[arrangement, batch]
                cells += [spread([one["rate"] for one in figures], 1000), spread([one["cost"] for one in figures])]
            rows.append([name, *cells])
        ratios = []
        for batch in BATCHES:
            rates = [[one["rate"] for one in found[arrangement, batch]] for arrangement in pair]
            ratios += [f"× {median(more / one for one, more in zip(*rates)):.2f}", ""]
        rows.append([f"{writers} hubs to one", *ratios])
    heads = [f"{writers} writers"]
    for batch in BATCHES:
        what = "single" if batch == 1 else f"batches of {batch}"
        heads += [f"{what}, thousand/s", "processor time, µs"]
    return table(heads, rows)


def main(arguments: list[str], parser: Any, programs: Callable[[], Programs], log: Callable[[str], None]) -> int:
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="rounds of each arrangement (5)")
    parser.add_argument("--seconds", type=float, default=3, metavar="S", help="duration of the writing (3)")
    parser.add_argument("--hubs", type=int, default=3, metavar="N", help="hubs, and writers (3)")
    given = parser.parse_args(arguments)
    if not (1 <= given.rounds <= 1000 and 0.1 <= given.seconds <= 600 and 2 <= given.hubs <= 16):
        parser.error("--rounds must be 1 to 1000, --seconds 0.1 to 600, --hubs 2 to 16")
    if reason := BY_NAME["etcd"].missing_program():
        log(f"bench: {reason}")
        return 72
    present = programs()
    found: dict[tuple[Arrangement, int], list[dict[str, float]]] = {}
    for number in range(given.rounds):
        for batch in BATCHES:
            order = OWN + COMMON
            for arrangement in order if number % 2 else reversed(order):
                try:
                    figures = measure(arrangement, given.hubs, batch, given.seconds, present)
                except Trouble as trouble:
                    log(f"bench: {arrangement.name}: {trouble}")
                    return 1
                found.setdefault((arrangement, batch), []).append(figures)
                log(f"{number + 1}/{given.rounds}  {arrangement.name}, batches of {batch}: {figures['rate']:,.0f}/s, "
                    f"{figures['cost']:.2f} µs")
    sys.stdout.write("\n".join([*markdown(found, given.hubs), ""]))
    return 0
