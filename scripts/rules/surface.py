"""The surface: `import Bindbus` gives types by their names, and not too many of them."""

from __future__ import annotations

import re
from typing import Iterator

from tree import Finding, Tree

FOLDER, MOST_TYPES = "Sources/Bindbus/", 45

_IMPORT = re.compile(r"^.*\bimport\b.*$", re.MULTILINE)
_SCOPED = re.compile(r"@_exported import (?:struct|class|enum|protocol) \w+\.\w+$")


def check(tree: Tree) -> Iterator[Finding]:
    count = 0
    for file in tree.swift_files("Sources"):
        if not file.path.startswith(FOLDER):
            continue
        for match in _IMPORT.finditer(file.code):
            count += 1
            line = file.line_of(match.start())
            if not _SCOPED.fullmatch(match.group().strip()):
                yield Finding(file.path, line, "surface", "export one type by its name: @_exported import struct A.B")
            elif count > MOST_TYPES:
                yield Finding(file.path, line, "surface", f"more than {MOST_TYPES} types: which does nobody need?")
