"""One measurement: a fresh server, a writer, subscribers, and their figures."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from cases import Case
from children import Child, Trouble
from contenders import Contender, Programs, Running
from sizes import Sizes

FLAGS = ["-std=gnu11", "-O2", "-Wall", "-Wextra"]
LIBRARIES = {"redis": "hiredis", "nats": "nats", "jetstream": "nats", "mosquitto": "mosquitto", "etcd": "nghttp2"}


def compile_client(name: str, sources: Path, folder: Path) -> str:
    """Compiles a client into the folder; returns the error, or nothing."""
    folder.mkdir(parents=True, exist_ok=True)
    files = [sources / f"{name}.c", sources / "measure.c"]
    target, newest = folder / name, max(file.stat().st_mtime for file in [*files, *sources.glob("*.h")])
    if target.exists() and target.stat().st_mtime > newest:
        return ""
    command = ["cc", *FLAGS, "-o", str(target), *map(str, files), f"-l{LIBRARIES[name]}", "-lpthread"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if result.returncode == 0:
        return ""
    lines = [line for line in result.stderr.splitlines() if "error" in line or "cannot find" in line]
    return lines[0] if lines else "the compiler failed"


def hindrance(contender: Contender, programs: Programs, sources: Path) -> str:
    """Why this contender cannot be measured on this machine; nothing if it can."""
    if reason := contender.missing_program():
        return reason
    if contender.client and (reason := compile_client(contender.client, sources, programs.clients)):
        return f"its client does not compile (package {contender.packages[-1]}): {reason}"
    folder = Path(tempfile.mkdtemp(prefix="bench-"))
    try:
        contender.start(programs, folder).child.end()
    except Trouble as trouble:
        words = str(trouble).replace(f"{folder}/", "")
        return f"this hub has no such store: {words}" if contender.kind == "hub" else words
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return ""


def measure(contender: Contender, case: Case, seconds: float, programs: Programs) -> dict[str, Any]:
    """Figures of one contender in one case:
    rate      changes a second that reached the subscriber that got least
    missed    the share of all changes that it did not get
    p50 …     microseconds from when a change was due until a subscriber had it, all subscribers together
    cost      microseconds of processor time that the server used for one change
    snapshot  milliseconds until all fields of something large had come; the delays are those of others meanwhile
    and, in a case with a time of its own, those of its files (sizes.py)
    """
    folder = Path(tempfile.mkdtemp(prefix="bench-"))
    children: list[Child] = []
    sizes: Sizes | None = None
    size, pace = ["--bytes", str(case.bytes)], ["--rate", str(case.rate)]
    many = ["--fields", str(case.fields)]
    what = [] if contender.kind == "forwarder" or case.is_snapshot else many
    try:
        running = contender.start(programs, folder)
        children.append(running.child)
        taker = _large(contender, programs, running, many, folder, children) if case.is_snapshot else None
        how = [*size, *what, *pace, "--batch", str(case.batch), "--seconds", str(seconds)]
        writer = Child("writer", contender.writer(programs, running, how), folder, keeps_time=True)
        children.append(writer)
        ready = writer.line(60).split()
        who = ["--count", str(case.subscribers), *pace, *([] if contender.kind else what)]
        listener = Child("listener", contender.listener(programs, running, ready, who), folder)
        children.append(listener)
        listener.line(60)
        used = running.child.processor_seconds()
        writer.send("go")
        if case.seconds and not taker:
            sizes = Sizes(folder)
        taken = _taken(taker, seconds) if taker else {}
        written = json.loads(writer.line(seconds + 70))
        # etcd accepts puts five times as fast as it reports them to watchers.
        figures = json.loads(listener.line(8 * seconds + 70))
        used = running.child.processor_seconds() - used
        if sizes:
            figures.update(sizes.figures(seconds))
    finally:
        if sizes:
            sizes.stop()
        for child in reversed(children):
            child.end()
        shutil.rmtree(folder, ignore_errors=True)
    sent = written["sent"]
    figures.update(taken)
    figures["sent"] = sent
    figures["missed"] = max(sent - figures["least"], 0) / sent
    figures["cost"] = used / sent * 1e6
    return figures


def _large(
    contender: Contender, programs: Programs, running: Running, many: list[str], folder: Path, children: list[Child]
) -> Child:
    """Fills the large model; returns the peer that will join it."""
    filler = Child("filler", contender.large(programs, running, "fill", many), folder)
    children.append(filler)
    filler.line(60)
    taker = Child("taker", contender.large(programs, running, "snapshot", many), folder)
    children.append(taker)
    taker.line(15)
    return taker


def _taken(taker: Child, seconds: float) -> dict[str, Any]:
    """Has the peer join it shortly after others begin to write."""
    head_start = seconds / 8
    time.sleep(head_start)
    taker.send("go")
    taken = json.loads(taker.line(60))
    if head_start + taken["snapshot"] / 1_000 > seconds:
        raise Trouble(f"the join took {taken['snapshot']:,.0f} ms, longer than the others wrote")
    return taken
