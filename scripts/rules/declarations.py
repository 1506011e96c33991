"""Types: the number of stored properties, and of files that only extend them."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Iterator, NamedTuple

from rooms import end_of_block
from targets import is_tested, target_of
from tree import Finding, SourceFile, Tree

MOST_STORED, MOST_EXTENSIONS = 15, 3

# Plain records: options, counters and limits.
RECORDS = {
    "FaultProfile", "FieldDescription", "HubCounters", "HubMachineConfiguration", "Limits", "ProposalCursor",
    "SessionCounters", "Sixteen", "WebLimits",
}

_TYPE = re.compile(r"\b(struct|class|actor|enum|protocol|extension)\s+([A-Z][\w.]*)[^{}\n;]*(?:\n[^{};]*?)?\{")
_PROPERTY = re.compile(
    r"^[^\S\n]*(?:@[\w.]+(?:\([^)]*\))?\s+)*((?:\w+(?:\(\w+\))?\s+)*?)(?:let|var)\s+([^\n]*)", re.MULTILINE)


class Body(NamedTuple):
    """A type or an extension, and the positions of its braces."""

    kind: str
    name: str
    file: SourceFile
    start: int
    end: int


def check(tree: Tree) -> Iterator[Finding]:
    declared, extended = {}, defaultdict(list)
    for file in tree.swift_files():
        if not is_tested(tree, file):
            continue
        module = target_of(tree, file)
        found = list(bodies(file))
        # A file with a type of its own is that type's: the entry to it may stand beside it, as an extension of the
        # type that offers it. A file that only extends another type is a part of that type, and what is cut into many
        # such parts is not cut by subject.
        has_own = any(body.kind != "extension" and "." not in body.name for body in found)
        for body in found:
            if body.kind == "extension":
                if not has_own:
                    extended[module, body.name].append(body)
            elif body.kind != "protocol":
                declared[module, body.name] = body
                yield from _check_stored(body)
    for (module, name), found in sorted(extended.items(), key=lambda entry: entry[0][1]):
        if own := declared.get((module, name)):
            files = {body.file.path for body in found} - {own.file.path}
            cure = "move the subject of one extension into a type"
            yield from _check_count(own, len(files), MOST_EXTENSIONS, "files only extend it", cure)


def bodies(file: SourceFile) -> Iterator[Body]:
    """The types and extensions of a file; the name of a nested type includes its outer types."""
    around: list[Body] = []
    for match in _TYPE.finditer(file.code):
        start = match.end() - 1
        around = [body for body in around if body.end > start]
        name = ".".join([*(body.name for body in around[-1:]), match.group(2)])
        body = Body(match.group(1), name, file, start, end_of_block(file.code, start))
        around.append(body)
        yield body


def stored(body: Body) -> int:
    """The number of stored properties of an instance."""
    count = 0
    for match in _PROPERTY.finditer(_outermost(body.file.code[body.start + 1 : body.end])):
        modifiers, rest = match.group(1).split(), match.group(2)
        # A computed property has braces after its type; `didSet` and `willSet` keep it stored.
        if "static" in modifiers or ("{" in rest.split("=")[0] and "didSet" not in rest):
            continue
        count += rest[: rest.index(")")].count(",") + 1 if rest.startswith("(") else 1
    return count


def _check_stored(body: Body) -> Iterator[Finding]:
    if body.name not in RECORDS:
        cure = "move properties that belong together into a type"
        yield from _check_count(body, stored(body), MOST_STORED, "stored properties", cure)


def _check_count(body: Body, count: int, most: int, what: str, cure: str) -> Iterator[Finding]:
    if count > most:
        line = body.file.line_of(body.start)
        yield Finding(body.file.path, line, "type", f"{body.name}: {count} {what}, at most {most}: {cure}")


def _outermost(code: str) -> str:
    """The code of a body without nested braces, except the keywords of property observers."""
    pieces, depth, begun = [], 0, 0
    for match in re.finditer(r"[{}]", code):
        depth += 1 if match.group() == "{" else -1
        if match.group() == "{" and depth == 1:
            pieces.append(code[begun : match.end()])
            begun = match.end()
        elif depth == 0:
            pieces.append("didSet" if re.match(r"\s*(?:didSet|willSet)\b", code[begun:]) else "")
            begun = match.start()
    return "".join([*pieces, code[begun:]])
