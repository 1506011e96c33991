"""Safety: code that the compiler cannot check, or that ends the process, states its reason."""

from __future__ import annotations

import re
from typing import Iterator

from targets import is_tested
from tree import Finding, SourceFile, Tree

LINES_ABOVE = 3

_UNCHECKED = re.compile(
    r"@unchecked\s+Sendable|\bnonisolated\(unsafe\)|\btry!|\bas!|\b(?:fatalError|preconditionFailure)\("
    r"|(?<=[\w)\]\"])[?]*!(?!=)"
)
_MUTANT = re.compile(r"#(?:else)?if[^\n]*\bMUTANTS\b|\bMutant\.isOn\b")


def check(tree: Tree) -> Iterator[Finding]:
    for file in tree.swift_files():
        if file.parts[0] == "Sources":
            for match in _MUTANT.finditer(file.text):
                cure = "shipped sources contain no mutants: plant it in a copy, with Tests/Mutants"
                yield Finding(file.path, file.line_of(match.start()), "mutant", cure)
        if not is_tested(tree, file):
            continue
        reported = set()
        for match in _UNCHECKED.finditer(file.code):
            line = file.line_of(match.start())
            if line in reported or _gives_reason(file, line):
                continue
            reported.add(line)
            what = " ".join(match.group().strip("(").split())
            what = "a forced unwrap" if what.strip("?") == "!" else f"'{what}'"
            cure = f"{what} needs its reason in a comment on or just above the line: // SAFETY: ..."
            yield Finding(file.path, line, "safety", cure)


def _gives_reason(file: SourceFile, line: int) -> bool:
    """Whether a comment contains SAFETY: on this line, up to three lines above, or in the comment just above."""
    comments = file.comments
    first = max(0, line - 1 - LINES_ABOVE)
    while first > 0 and comments[first].strip() and comments[first].strip() == file.lines[first].strip():
        first -= 1
    return any("SAFETY:" in comment for comment in comments[first:line])
