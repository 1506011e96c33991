"""The public interface: the exports of `import Bindbus`, documentation, error suffixes, types of durations."""

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
_THROWN = re.compile(r"\bpublic (?:final )?(?:struct|enum|class) (\w+)\s*:[^{\n]*\bError\b")
_NUMBER_OF_TIME = re.compile(r"\b\w*(?:[mM]illiseconds|(?<![a-z])[sS]econds)\s*:\s*U?Int\d*\b")
# Not thrown: the reason of the outcome `refused`.
NO_ERRORS = {"Refusal"}
# Members of messages, in the units of the protocol.
NUMBERS_OF_TIME = {"Limits.swift"}
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
                yield Finding(file.path, line, "surface", f"more than {MOST_TYPES} types: remove an export")
    for file in tree.swift_files("Sources"):
        yield from _check_public(file)


def _check_public(file: SourceFile) -> Iterator[Finding]:
    for number, line in enumerate(file.code.splitlines()):
        for problem in _problems(file, number, line):
            yield Finding(file.path, number + 1, "surface", problem)


def _problems(file: SourceFile, number: int, line: str) -> Iterator[str]:
    thrown = _THROWN.search(line)
    if thrown and not thrown[1].endswith("Error") and thrown[1] not in NO_ERRORS:
        yield f"name the error type {thrown[1]}Error"
    found = _PUBLIC.match(line)
    if not found:
        return
    if _NUMBER_OF_TIME.search(line) and file.path.rpartition("/")[2] not in NUMBERS_OF_TIME:
        yield "use Duration for a time"
    is_exempt = found[2] in REQUIREMENTS or "override" in found[1] or re.search(r"func\s+[=<]", line)
    if not is_exempt and not _has_comment(file.lines, number):
        yield "add a comment (///) that stands alone"


def _has_comment(lines: list[str], number: int) -> bool:
    """Whether a comment stands above a declaration and its attributes."""
    above = number - 1
    while above >= 0 and not lines[above].lstrip().startswith("///") and _is_attribute(lines, above):
        above -= 1
    return above >= 0 and lines[above].lstrip().startswith("///")


def _is_attribute(lines: list[str], number: int) -> bool:
    """Whether a line belongs to the attributes before a declaration, which may take several lines."""
    if lines[number].strip().startswith(("@", "#if", "#else", "#endif", "//")):
        return True
    # Inside the parentheses of an attribute that begins on a line above.
    texts = [lines[above].strip() for above in range(number, max(-1, number - 8), -1)]
    first = next((text for text in texts if not text or text.startswith("@") or text.endswith(("{", "}"))), "")
    return first.startswith("@") and not first.endswith(("{", "}"))
