#!/usr/bin/env python3
"""Copies the sources to a folder and plants the mutants of mutants.py there, each behind `if Mutant.isOn(.name)`.

usage: Tests/Mutants/plant.py FOLDER
       Tests/Mutants/plant.py --check     only checks that every place exists exactly once

The shipped sources contain no mutants; only the copy does. A place is a file, a function and one or more lines in it,
which must occur exactly once; line breaks do not matter. An unchanged file is not written again, so that a build of the
copy is incremental.

exit: 0 success · 1 a place is missing or ambiguous, or a mutant has no place · 64 usage
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from access_places import PLACES as ACCESS_PLACES  # noqa: E402
from cell_places import PLACES as CELL_PLACES  # noqa: E402
from edge_places import PLACES as EDGE_PLACES  # noqa: E402
from hub_places import PLACES as HUB_PLACES  # noqa: E402
from list_places import PLACES as LIST_PLACES  # noqa: E402
from mutants import MUTANTS  # noqa: E402
from past_places import PLACES as PAST_PLACES  # noqa: E402
from peer_places import PLACES as PEER_PLACES  # noqa: E402
from place import Place  # noqa: E402
from shard_places import PLACES as SHARD_PLACES  # noqa: E402
from sibling_places import PLACES as SIBLING_PLACES  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("Package.swift", "Sources", "Tests", "Examples")
# The enum that all mutants use, in the module that both state machines import.
ENUM = "Sources/BindingProtocol/Mutant.swift"

_DECLARATION = re.compile(
    r"^[ \t]*(?:@\w+(?:\([^)\n]*\))?\s+)*"
    r"(?:(?:public|package|internal|fileprivate|private|static|mutating|override|final|nonisolated)\s+)*"
    r"(func\s+[^\s(<]+|init(?=[?(<])|var\s+\w+(?=[^=\n]*\{$))",
    re.MULTILINE,
)


class Misplaced(Exception):
    """A place that does not exist exactly once."""


def planted(text: str, place: Place) -> str:
    """Returns the text with the mutant inserted at its place."""
    found = []
    for start, end in _scopes(text, place.function):
        words = re.escape(place.text.strip())
        pattern = re.compile(re.sub(r"(?:\\\s|\s)+", r"\\s+", words))
        begins = (match for match in pattern.finditer(text, start, end))
        found += [match for match in begins if not text[text.rfind("\n", 0, match.start()) + 1 : match.start()].strip()]
    if len(found) != 1:
        where = f"{place.file}, {place.function or 'outside of functions'}"
        raise Misplaced(f"{where}: '{place.text.splitlines()[0].strip()}' is there {len(found)} times, not once")
    match = found[0]
    first = text.rfind("\n", 0, match.start()) + 1
    indent = text[first : match.start()]
    put = "".join(f"{indent}{line}\n" if line else "\n" for line in place.put.strip("\n").splitlines())
    if place.how == "before":
        return text[:first] + put + text[first:]
    last = text.find("\n", match.end()) + 1
    if place.how == "after":
        return text[:last] + put + text[last:]
    return text[:first] + put + text[last:]


def _scopes(text: str, function: str) -> list[tuple[int, int]]:
    """The ranges of the functions with this name; the whole text if no function is named."""
    if not function:
        return [(0, len(text))]
    starts = list(_DECLARATION.finditer(text))
    scopes = []
    for number, match in enumerate(starts):
        if match.group(1).split()[-1] == function.split()[-1]:
            later = (other.start() for other in starts[number + 1 :] if _indent(other) <= _indent(match))
            scopes.append((match.start(), next(later, len(text))))
    return scopes


def _indent(declaration: re.Match) -> int:
    return len(declaration.group()) - len(declaration.group().lstrip(" "))


def enum_text() -> str:
    cases = "\n".join(f"  case {name}" for name in MUTANTS)
    rules = "\n".join(f'    case .{name}: "{rule}"' for name, rule in MUTANTS.items())
    return (
        "public enum Mutant: String, CaseIterable, Sendable {\n"
        f"{cases}\n\n"
        "  /// The rule that it breaks, and how.\n"
        "  public var rule: String {\n    switch self {\n"
        f"{rules}\n    }}\n  }}\n\n"
        "  /// The one that is planted; nil: none.\n"
        "  // SAFETY: set once, before the first machine is made, by a program of one thread.\n"
        "  nonisolated(unsafe) public static var planted: Mutant?\n\n"
        "  public static func isOn(_ mutant: Mutant) -> Bool { planted == mutant }\n}\n"
    )


def mutated() -> dict[str, str]:
    """All files of the copy that contain a mutant, with their texts."""
    places = [*HUB_PLACES, *CELL_PLACES, *EDGE_PLACES, *LIST_PLACES, *ACCESS_PLACES, *PAST_PLACES, *PEER_PLACES,
              *SHARD_PLACES, *SIBLING_PLACES]
    named = {name for place in places for name in re.findall(r"Mutant\.isOn\(\.(\w+)\)", place.put)}
    # Code of the simulation that only mutants need is under the compiler's condition.
    simulated = (ROOT / "Tests/Simulation").rglob("*.swift")
    named |= {name for file in simulated for name in re.findall(r"Mutant\.isOn\(\.(\w+)\)", file.read_text())}
    if odd := sorted(named ^ set(MUTANTS)):
        raise Misplaced("without a place, or not in mutants.py: " + ", ".join(odd))
    texts: dict[str, str] = {}
    for place in places:
        text = texts.get(place.file) or (ROOT / place.file).read_text(encoding="utf-8")
        texts[place.file] = planted(text, place)
    texts[ENUM] = enum_text()
    return texts


def copy(folder: Path) -> None:
    changed = mutated()
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *COPIED]
    files = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True).stdout.decode().split("\0")
    wanted = {path for path in files if path and (ROOT / path).is_file()} | set(changed)
    if (ROOT / "Package.resolved").is_file():
        wanted.add("Package.resolved")
    for path in sorted(wanted):
        data = changed[path].encode() if path in changed else (ROOT / path).read_bytes()
        target = folder / path
        if not target.is_file() or target.read_bytes() != data:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
    for top in COPIED:
        for target in (folder / top).rglob("*"):
            if target.is_file() and target.relative_to(folder).as_posix() not in wanted:
                target.unlink()


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 or arguments[0] in ("-h", "--help"):
        print(__doc__)
        return 0 if arguments in (["-h"], ["--help"]) else 64
    try:
        if arguments == ["--check"]:
            mutated()
        else:
            copy(Path(arguments[0]))
    except (Misplaced, OSError) as trouble:
        print(f"plant: {trouble}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
