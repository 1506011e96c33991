"""The steps of scripts/demo: processes write, and each step checks what the other processes see."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any, Callable

sys.dont_write_bytecode = True

from stage import Actor, Failed, Line, Stage  # noqa: E402
from raw_page import RawPage  # noqa: E402

STAY_SECONDS = 3600.0
SHOWN_LINES = 3


def has(name: str, value: Any) -> Callable[[Line], bool]:
    return lambda line: line.changes.get(name) == value


def milliseconds(begin: float, end: float) -> str:
    return f"{(end - begin) * 1000:.1f} ms"


def pace(stage: Stage, watch: Actor, first: int, count: int) -> float:
    """The median time between readings that a watcher sees from line `first` on, of `count`, in seconds; each is shown
    as it comes."""
    commits: list[Line] = []
    place = first
    while len(commits) <= count:
        line = watch.expect("another reading", lambda line: "uptime" in line.changes, place)
        place = watch.lines.index(line) + 1
        commits.append(line)
        stage.show("watch", line.text, line.at)
    return statistics.median(later.at - earlier.at for earlier, later in zip(commits, commits[1:]))


def start_hub(stage: Stage, page: str) -> tuple[Actor, str]:
    """A hub that serves the page, and the page's address with its code."""
    hub = stage.start("hub", "bindhub", "serve", "--listen", stage.address, "--web", page, "--exit-with-stdin")
    line = hub.expect("where its page is", lambda line: line.text.startswith("web http"))
    return hub, line.text.removeprefix("web ")


def share_this_machine(stage: Stage) -> Actor:
    stage.begin("a process shares this machine's vitals, a terminal watches them")
    watch = stage.start("watch", "bindpeer", "watch", "vitals/", "--json", "--wait-for-hub")
    hub, _ = start_hub(stage, "127.0.0.1:0")
    stage.start("vitals", "vitals")
    first = watch.expect("vitals", lambda line: "uptime" in line.changes)
    stage.show("watch", first.text, first.at)
    model = first.json["model"]
    before = pace(stage, watch, 1, 5)
    stage.show("demo", f"a reading every {before:.2f} s")

    stage.begin("another process writes the interval, and the first one follows")
    begin, _ = stage.run("set", f"{model}.interval=0.2")
    seen = watch.expect("the new interval", has("interval", 0.2))
    stage.show("watch", seen.text, seen.at)
    stage.show("demo", f"seen {milliseconds(begin, seen.at)} after the shell was started, its joining the hub included")
    after = pace(stage, watch, watch.lines.index(seen) + 1, 8)
    stage.show("demo", f"a reading every {after:.2f} s now, every {before:.2f} s before")
    if not 0.1 <= after <= before / 2:
        raise Failed(f"the pace did not follow the interval: {before:.3f} s before, {after:.3f} s after")
    stage.run("set", f"{model}.interval=1")
    return hub


def set_and_watch(stage: Stage) -> Actor:
    stage.begin("one shell sets a lamp, another watches it: two fields, one commit")
    watch = stage.start("lamp", "bindpeer", "watch", "lamp", "--json", "--wait-for-hub")
    stage.run("set", "lamp.place=desk")
    seen = watch.expect("the lamp's place", has("place", "desk"))
    stage.show("lamp", seen.text, seen.at)
    begin, _ = stage.run("set", "lamp.on=true", "lamp.level=0.3")
    seen = watch.expect("the lamp's level", has("level", 0.3))
    stage.show("lamp", seen.text, seen.at)
    if seen.changes.get("on") is not True:
        raise Failed("the two fields came apart")
    stage.show("demo", f"seen {milliseconds(begin, seen.at)} after the shell was started")
    return watch


def write_to_and_fro(stage: Stage) -> tuple[Actor, Actor]:
    stage.begin("two long-lived processes write to one field in turn")
    north = stage.start("north", "bindpeer", "pipe", "lamp", "--name", "north")
    south = stage.start("south", "bindpeer", "pipe", "lamp", "--name", "south")
    for side in (north, south):  # Each must have joined before what it sees is timed.
        side.write({side.name: "is here"})
        side.expect("its own commit", has(side.name, "is here"))
    times = []
    for number in range(20):
        writer, reader = (north, south) if number % 2 == 0 else (south, north)
        begin = writer.write({"level": number / 20})
        seen = reader.expect(f"level {number / 20}", has("level", number / 20))
        times.append(seen.at - begin)
        if number < SHOWN_LINES:
            stage.show(reader.name, f"{seen.text}   {milliseconds(begin, seen.at)} after {writer.name} wrote", seen.at)
    middle, worst = statistics.median(times) * 1000, max(times) * 1000
    stage.show("demo", f"20 writes, from one process's input to the other's output: median {middle:.1f} ms, "
               f"longest {worst:.1f} ms")
    return north, south


def conflict(stage: Stage) -> None:
    stage.begin("a write that holds only if nobody was quicker")
    record = json.loads(stage.run("get", "lamp", "--json", "--meta")[1])
    version = record["meta"]["level"]["version"]
    stage.run("set", "lamp.level=0.5")
    stage.run("set", "lamp.level=0.6", "--if-version", str(version), code=3)
    stage.show("demo", f"exit code 3: level was no longer as of version {version}")


def edit_without_hub(stage: Stage, hub: Actor, watch: Actor, north: Actor, south: Actor) -> str:
    stage.begin("the hub is killed; both sides go on writing")
    epoch = watch.lines[-1].json["epoch"]
    marks = {actor.name: len(actor.lines) for actor in (watch, north, south)}
    hub.process.kill()
    hub.process.wait()
    stage.show("demo", f"hub process {hub.process.pid} killed; its models are in its store")
    sides = [(north, {"level": 0.1, "colour": "red"}), (south, {"level": 0.9, "shade": "linen"})]
    for side, fields in sides:
        stage.show(side.name, "writes " + json.dumps(fields), side.write(fields))

    stage.begin("a hub is started again: the same log, in the same epoch")
    back = time.monotonic()
    _, page = start_hub(stage, "127.0.0.1:0")
    # A peer that reconnects after both edits are committed receives them as one change.
    last: dict[str, Line] = {}
    for side in (watch, north, south):
        for name, value in (("colour", "red"), ("shade", "linen")):
            side.expect(f"{name} in the same epoch", lambda line, name=name, value=value: (
                line.json.get("epoch") == epoch and line.changes.get(name) == value), marks[side.name])
        last[side.name] = [line for line in side.lines[marks[side.name]:] if "level" in line.changes][-1]
    for line in watch.lines[marks[watch.name]:]:
        stage.show("lamp", line.text, line.at)
    stage.show("demo", f"both edits seen on all sides {milliseconds(back, max(line.at for line in last.values()))} "
               "after the hub was started")
    _, text = stage.run("get", "lamp", "--json", "--meta")
    record = json.loads(text)
    values = record["values"]
    if (values.get("on"), values.get("place"), values.get("north")) != (True, "desk", "is here"):
        raise Failed("what was committed before the hub died is not there")
    if (values.get("colour"), values.get("shade")) != ("red", "linen"):
        raise Failed("an edit of one side alone was lost")
    winners = {name: line.changes["level"] for name, line in last.items()}
    winners["the hub"] = values.get("level")
    if len(set(winners.values())) != 1:
        raise Failed(f"the sides disagree about the level: {winners}")
    stage.show("demo", "what was committed before is there: the hub had it in its store")
    stage.show("demo", "colour and shade, each written on one side, both stand")
    stage.show("demo", f"level was written on both sides; everywhere it is {values['level']}, by "
               f"{record['meta']['level']['origin']}, the later in the hub's order")
    return page


def move_from_everywhere(stage: Stage, watch: Actor, url: str) -> None:
    stage.begin("a page, a terminal and a Python program move the same lamp")
    page = RawPage(url.split("/?", 1)[0], stage.entry()["token"])
    page.join("lamp", "page")
    seen_before, begin = len(watch.lines), time.monotonic()
    page.send(kind="propose", model="lamp", number=1, operations=[["set", "level", 0.25]])
    seen = watch.expect("the page's level", has("level", 0.25), seen_before)
    stage.show("page", "sets lamp.level=0.25", begin)
    stage.show("lamp", f"{seen.text}   {milliseconds(begin, seen.at)} after the page wrote", seen.at)
    writers = [("shell", 0.5, lambda: stage.run("set", "lamp.level=0.5"))]
    if python := os.environ.get("BINDBUS_PYTHON"):
        writers.append(("python", 0.75, lambda: stage.run_python(python, "set", "lamp", "level=0.75")))
    for writer, level, write in writers:
        write()
        while ["level", level] not in page.receive("commits")["commits"][-1]["changes"]:
            pass
        stage.show("page", f"shows level {level}, set by the {writer}")
    page.end()


def play(stage: Stage, seconds: float) -> None:
    hub = share_this_machine(stage)
    watch = set_and_watch(stage)
    north, south = write_to_and_fro(stage)
    conflict(stage)
    url = edit_without_hub(stage, hub, watch, north, south)
    move_from_everywhere(stage, watch, url)
    stage.begin("every step happened")
    left = stage.began + seconds - time.monotonic()
    if left > 0:
        print(f"The demo runs for {left:.0f} s more, or until Ctrl-C. Open the page:\n  {url}\n"
              f"From another terminal:\n"
              f"  export BINDPEER_HUB={stage.address}\n  {stage.bin}/bindpeer set lamp.level=0.9", flush=True)
        time.sleep(left)


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/demo")
    parser.add_argument("bin")
    parser.add_argument("--for", dest="seconds", type=float, default=STAY_SECONDS)
    parser.add_argument("--keep", action="store_true")
    arguments = parser.parse_args()
    received: list[int] = []

    def leave(number: int, _: Any) -> None:
        if not received:  # A second one must not break off the cleaning up.
            received.append(number)
            sys.exit(128 + number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, leave)
    folder = tempfile.mkdtemp(prefix="bindbus-demo-")
    stage = Stage(arguments.bin, folder)
    try:
        play(stage, arguments.seconds)
        return 0
    except (Failed, OSError, subprocess.TimeoutExpired, ValueError, KeyError) as error:
        print(f"demo: FAILED at '{stage.step}': {error!r}", file=sys.stderr)
        return 1
    finally:
        stage.end()
        if arguments.keep:
            print(f"demo: the output of the processes is in {folder}", file=sys.stderr)
        else:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
