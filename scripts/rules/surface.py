"""The surface: `import Bindbus` gives types by their names and not too many; what is public is documented."""

from __future__ import annotations

import re
from typing import Iterator

from tree import Finding, SourceFile, Tree

FOLDER, MOST_TYPES = "Sources/Bindbus/", 45

_IMPORT = re.compile(r"^.*\bimport\b.*$", re.MULTILINE)
_SCOPED = re.compile(r"@_exported import (?:struct|class|enum|protocol) \w+\.\w+$")
_PUBLIC = re.compile(
    r"^\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:public|open)\s+(?!import\b|extension\b|\W)((?:[\w()]+\s+)*?)"
    r"(?:var|let|func|init|subscript|case|struct|class|enum|protocol|actor|typealias|associatedtype)\b\W*(\w*)")
# What a protocol declares is documented there: those of the standard library, and `Bindable`, `Mapping`, `Editable`.
REQUIREMENTS = {
    "Iterator", "back", "clearValue", "description", "editing", "forward", "hash", "makeAsyncIterator", "next",
    "observingValue", "onEdit", "rawValue", "updateValue",
    "arrayLiteral", "booleanLiteral", "dictionaryLiteral", "floatLiteral", "integerLiteral", "nilLiteral",
    "stringLiteral",
}


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
    for file in tree.swift_files("Sources"):
        yield from _check_documented(file)


def _check_documented(file: SourceFile) -> Iterator[Finding]:
    code = file.code.splitlines()
    for number, line in enumerate(code):
        found = _PUBLIC.match(line)
        if not found or found[2] in REQUIREMENTS or "override" in found[1] or re.search(r"func\s+[=<]", line):
            continue
        above = number - 1
        # Attributes, which may take several lines, and comments about the code stand between.
        while above >= 0 and not file.lines[above].lstrip().startswith("///") and _is_attribute(file.lines, above):
            above -= 1
        if above < 0 or not file.lines[above].lstrip().startswith("///"):
            yield Finding(file.path, number + 1, "surface", "what is public has a comment (///) that stands alone")


def _is_attribute(lines: list[str], number: int) -> bool:
    """Whether a line belongs to the attributes before a declaration."""
    line = lines[number].strip()
    if line.startswith(("@", "#if", "#else", "#endif", "//")):
        return True
    # Inside of an attribute's parentheses: its first line is above, and nothing but that lies between.
    for above in range(number, max(-1, number - 8), -1):
        text = lines[above].strip()
        if not text or text.endswith(("{", "}")):
            return False
        if text.startswith("@"):
            return True
    return False
