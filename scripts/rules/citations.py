"""Citations: every rule, section and document that a comment cites exists."""

from __future__ import annotations

import re
from typing import Iterator

from tree import Finding, SourceFile, Tree

RULES, PROTOCOL = "docs/design/rules.md", "docs/reference/protocol.md"

_CITED = re.compile(r"\b([RG]\d{1,2})\b|(?<!\d )§ ?(\d+(?:\.\d+)?)|\b(docs/[\w/.-]+\.md)\b")
_RULE = re.compile(r"^\| \*\*([RG]\d+)\*\*", re.MULTILINE)
_SECTION = re.compile(r"^#{2,3} (\d+(?:\.\d+)?)\.? ", re.MULTILINE)


def check(tree: Tree) -> Iterator[Finding]:
    rules, protocol = tree.file(RULES), tree.file(PROTOCOL)
    if rules is None or protocol is None:
        return
    known = set(_RULE.findall(rules.text)) | set(_SECTION.findall(protocol.text))
    for file in tree.files:
        for number, words in enumerate(_words(file), 1):
            for match in _CITED.finditer(words):
                rule, section, document = match.groups()
                if document:
                    if tree.file(document) is None:
                        yield Finding(file.path, number, "citation", f"{document} does not exist")
                elif (rule or section) not in known:
                    place = f"{PROTOCOL} has no section {section}" if section else f"{RULES} has no {rule}"
                    yield Finding(file.path, number, "citation", place)


def _words(file: SourceFile) -> list[str]:
    """The lines to check: comments of Swift files, names of tests, and the table of mutants."""
    if file.path == "Tests/Mutants/mutants.py":
        return file.lines
    if not file.is_swift:
        return []
    names = ["" if "@Test(" not in line and "@Suite(" not in line else line for line in file.lines]
    return [f"{comment} {name}" for comment, name in zip(file.comments, names)]
