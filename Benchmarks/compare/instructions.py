"""Counts the instructions of the state machines and codecs, in the simulation of two revisions.

usage: scripts/bench instructions [--seeds N] [--from SEED] [--growth PERCENT] OLD NEW

OLD and NEW are revisions of git or paths of optimised `bindsim` executables. A revision is built into
.build/instructions, which keeps its executable. Both run the same simulated histories under valgrind, one after the
other, in about two minutes. The counts do not depend on the load of the machine.

  --seeds N         number of histories (40)
  --from SEED       first seed (0)
  --growth PERCENT  growth of a module that is a failure (2)

"own" counts the instructions of a module's functions. "inclusive" adds those of the Swift runtime, the standard
library and the C library that the module's calls caused, in proportion to the cost of the calls. The table of
functions counts own instructions.

exit: 0 no module grew by more than the limit · 1 one did · 64 usage · 69 build failed · 72 a tool is missing ·
130 interrupted
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SCRATCH = ROOT / ".build" / "instructions"
MODULES = ("BindingPeer", "BindingHub", "BindingProtocol", "Simulation")
SHOWN = 15

_ROUNDS = 100
_NAME = re.compile(r"\((\d+)\)(?: (.*))?")
_SWIFT_NAME = re.compile(r"\$s(?:S[a-zA-Z])?(\d+)")


class Refusal(Exception):
    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


@dataclass
class Profile:
    """The instructions of each function, and of each call including what the callee calls."""

    own: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    calls: dict[tuple[str, str], int] = field(default_factory=lambda: defaultdict(int))


def parsed(text: str) -> Profile:
    """Reads the output of callgrind, whose names are numbered at their first occurrence."""
    profile, names = Profile(), {}
    function = callee = ""

    def named(value: str) -> str:
        match = _NAME.fullmatch(value)
        if not match:
            return value
        return names.setdefault(match.group(1), match.group(2) or "?")

    for line in text.splitlines():
        key, separator, value = line.partition("=")
        if separator and key == "fn":
            function = named(value)
        elif separator and key == "cfn":
            callee = named(value)
        elif line[:1].isdigit() or line[:1] in ("+", "-", "*"):
            cost = int(line.split()[1])
            if callee:
                profile.calls[function, callee] += cost
                callee = ""
            else:
                profile.own[function] += cost
    return profile


def module_of(function: str) -> str | None:
    """The module of this project in which a mangled function is declared."""
    if match := _SWIFT_NAME.match(function):
        name = function[match.end() : match.end() + int(match.group(1))]
        return name if name in MODULES else None
    return None


def sums(profile: Profile) -> dict[str, tuple[float, float]]:
    """By module: its own instructions, and its inclusive ones."""
    own = dict.fromkeys(MODULES, 0.0)
    for function, cost in profile.own.items():
        if module := module_of(function):
            own[module] += cost
    callers: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for (caller, callee), cost in profile.calls.items():
        if caller != callee and module_of(callee) is None:
            callers[callee].append((caller, cost))
    # The share that each module has of a library function is that of its callers; libraries call each other in cycles.
    fixed = {caller: module for caller, _ in profile.calls if (module := module_of(caller))}
    shares = {callee: dict.fromkeys(MODULES, 0.0) for callee in callers}
    for _ in range(_ROUNDS):
        for callee, calls in callers.items():
            total = sum(cost for _, cost in calls) or 1
            share = dict.fromkeys(MODULES, 0.0)
            for caller, cost in calls:
                if module := fixed.get(caller):
                    share[module] += cost / total
                else:
                    for module, part in shares.get(caller, {}).items():
                        share[module] += part * cost / total
            shares[callee] = share
    inclusive = dict(own)
    for function, share in shares.items():
        for module, part in share.items():
            inclusive[module] += profile.own.get(function, 0) * part
    return {module: (own[module], inclusive[module]) for module in MODULES}


def growth(old: float, new: float) -> float:
    """In percent."""
    return (new / old - 1) * 100 if old else 0.0


def report(old: Profile, new: Profile, limit: float) -> tuple[list[str], list[str]]:
    """The tables as Markdown, and the modules that grew by more than the limit."""
    before, after = sums(old), sums(new)
    lines = ["Millions of instructions.", "", "| module | own, old | new | change | inclusive, old | new | change |",
             "|---|---:|---:|---:|---:|---:|---:|"]
    grown = []
    for module in MODULES:
        cells = []
        for was, now in zip(before[module], after[module]):
            cells += [f"{was / 1e6:,.1f}", f"{now / 1e6:,.1f}", f"{growth(was, now):+.2f} %"]
        lines.append(f"| {module} | " + " | ".join(cells) + " |")
        if growth(before[module][1], after[module][1]) > limit:
            grown.append(module)
    total = [sum(profile.own.values()) for profile in (old, new)]
    lines.append(f"| all | {total[0] / 1e6:,.1f} | {total[1] / 1e6:,.1f} | {growth(*total):+.2f} % | | | |")
    names = readable({*old.own, *new.own})
    changes: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for place, profile in enumerate((old, new)):
        for function, cost in profile.own.items():
            changes[names[function]][place] += cost
    lines += ["", "| function | old | new | change |", "|---|---:|---:|---:|"]
    largest = sorted(changes.items(), key=lambda entry: (-abs(entry[1][1] - entry[1][0]), entry[0]))
    for name, (was, now) in largest[:SHOWN]:
        if was != now:
            lines.append(f"| `{name}` | {was / 1e6:,.2f} | {now / 1e6:,.2f} | {(now - was) / 1e6:+,.2f} |")
    return lines, grown


def readable(names: set[str]) -> dict[str, str]:
    """The names in source code of mangled names."""
    ordered = sorted(names)
    command = ["swift", "demangle", "--compact", "--simplified"]
    result = subprocess.run(command, input="\n".join(ordered), capture_output=True, text=True, check=True)
    return dict(zip(ordered, result.stdout.splitlines()))


def revision_of(given: str) -> str | None:
    """The commit that is named, or nothing if it is a path of an executable."""
    if Path(given).is_file():
        return None
    command = ["git", "rev-parse", "--verify", "--quiet", f"{given}^{{commit}}"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if found.returncode:
        raise Refusal(64, f"'{given}' is neither a revision nor a file")
    return found.stdout.strip()


def executable(given: str, revision: str | None) -> Path:
    """The executable at that path, or that of the revision, which is built unless it was before."""
    if revision is None:
        return Path(given).resolve()
    built = SCRATCH / f"bindsim-{revision[:12]}"
    if not built.exists():
        build(revision, built)
    return built


def build(revision: str, destination: Path) -> None:
    """Builds the simulation of a revision. All revisions share one clone and one build folder, so that only what
    differs is compiled."""
    source = SCRATCH / "source"
    if not source.exists():
        run(["git", "clone", "--quiet", "--shared", "--no-checkout", str(ROOT), str(source)])
    run(["git", "-C", str(source), "checkout", "--quiet", "--detach", revision])
    log(f"bench: building bindsim of {revision[:12]}")
    command = ["swift", "build", "-c", "release", "--package-path", str(source), "--scratch-path",
               str(SCRATCH / "build"), "--product", "bindsim"]
    run(command)
    found = subprocess.run([*command, "--show-bin-path"], capture_output=True, text=True, check=True)
    # Only a complete copy has the name that a later run looks for.
    partial = destination.with_suffix(".partial")
    shutil.copy(Path(found.stdout.strip()) / "bindsim", partial)
    partial.rename(destination)


def run(command: list[str]) -> None:
    if subprocess.call(command, cwd=ROOT, stdout=sys.stderr):
        raise Refusal(69, " ".join(command) + " failed")


def counted(program: Path, seeds: int, first: int, folder: Path) -> tuple[Profile, str]:
    """The profile of these histories, and their digest."""
    # valgrind cannot read the debug information of Swift.
    stripped, out = folder / "bindsim", folder / "callgrind.out"
    run(["strip", "--strip-debug", "-o", str(stripped), str(program)])
    command = ["valgrind", "--tool=callgrind", "--demangle=no", f"--callgrind-out-file={out}", str(stripped),
               "--until-broken", "--seeds", str(seeds), "--from", str(first)]
    log(f"bench: counting {seeds} histories of {program.name}")
    environment = {**os.environ, "SWIFT_DETERMINISTIC_HASHING": "1"}
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if result.returncode:
        raise Refusal(69, f"{program} failed under valgrind:\n{result.stdout}{result.stderr}")
    digest = next((line for line in result.stdout.splitlines() if line.startswith("digest")), "")
    return parsed(out.read_text(encoding="utf-8", errors="replace")), digest


def log(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


def refuse_without(tool: str, cure: str) -> None:
    if not shutil.which(tool):
        raise Refusal(72, f"{tool} is missing. {cure}")


def compared(old: str, new: str, seeds: int, first: int, limit: float) -> int:
    refuse_without("valgrind", "To install it:  scripts/setup --valgrind")
    for tool in ("swift", "strip", "git"):
        refuse_without(tool, f"Install {tool} and repeat.")
    # Both are checked before the first is built.
    revisions = [revision_of(old), revision_of(new)]
    programs = [executable(given, revision) for given, revision in zip((old, new), revisions)]
    profiles = []
    with tempfile.TemporaryDirectory() as folder:
        for program in programs:
            profiles.append(counted(program, seeds, first, Path(folder)))
    (before, old_digest), (after, new_digest) = profiles
    lines, grown = report(before, after, limit)
    print("\n".join(lines))
    if old_digest != new_digest:
        log("bench: the histories of the two differ, so the figures are not those of the same work")
    for module in grown:
        log(f"bench: {module} grew by more than {limit:g} %")
    return 1 if grown else 0


def main(arguments: list[str], parser) -> int:
    about = "revision of git, which is built into .build/instructions, or path of an optimised bindsim"
    parser.add_argument("--seeds", type=int, default=40, metavar="N", help="number of histories (40)")
    parser.add_argument("--from", type=int, default=0, metavar="SEED", dest="first", help="first seed (0)")
    parser.add_argument("--growth", type=float, default=2, metavar="PERCENT", help="growth that is a failure (2)")
    parser.add_argument("old", metavar="OLD", help=about)
    parser.add_argument("new", metavar="NEW", help="the same")
    given = parser.parse_args(arguments)
    if not 1 <= given.seeds <= 100_000 or given.first < 0 or not given.growth >= 0:
        parser.error("--seeds must be 1 to 100000, --from and --growth 0 or more")
    try:
        return compared(given.old, given.new, given.seeds, given.first, given.growth)
    except Refusal as refusal:
        log(f"bench: {refusal}")
        return refusal.code
