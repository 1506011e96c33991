"""One version: that of the programs stands in one file, and the package for Python has the same."""

from __future__ import annotations

import re
from typing import Iterator

from tree import Finding, Tree

PROGRAMS = "Sources/BindingTerminal/ProgramVersion.swift"
PYTHON = "Python/pyproject.toml"

_NUMBER = re.compile(r'static let number = "([^"]+)"')
_PROJECT = re.compile(r'^version = "([^"]+)"$')


def check(tree: Tree) -> Iterator[Finding]:
    programs, python = tree.file(PROGRAMS), tree.file(PYTHON)
    number = _NUMBER.search(programs.text) if programs else None
    if python is None or number is None:
        return
    for line, text in enumerate(python.lines, 1):
        found = _PROJECT.match(text)
        if found and found[1] != number[1]:
            yield Finding(PYTHON, line, "version", f"{PROGRAMS} has {number[1]}: write that")
