"""The protocol's draft: the capability that names it is the hash of the grammar in its page."""

from __future__ import annotations

import hashlib
import re
from typing import Iterator

from tree import Finding, SourceFile, Tree

PROTOCOL = "docs/reference/protocol.md"

_BLOCK = re.compile(r"^```[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_RULE = re.compile(r"^\w[\w ]* +=(?:\s|$)", re.MULTILINE)
_DRAFT = re.compile(r"\bdraft-[0-9a-f]{8}\b")


def draft(page: SourceFile) -> str:
    """`draft-` and the first 8 digits of the SHA-256 of the page's grammar, in which blanks do not count."""
    blocks = [block for block in _BLOCK.findall(page.text) if _RULE.search(block)]
    words = " ".join(word for block in blocks for word in block.split())
    return "draft-" + hashlib.sha256(words.encode()).hexdigest()[:8]


def check(tree: Tree) -> Iterator[Finding]:
    page = tree.file(PROTOCOL)
    if page is None:
        return
    present = draft(page)
    for file in tree.files:
        if file.path != PROTOCOL and not (file.is_swift and file.parts[0] == "Sources"):
            continue
        for number, line in enumerate(file.lines, 1):
            for found in _DRAFT.findall(line):
                if found != present:
                    problem = f"{found} names another grammar than that of {PROTOCOL}: write {present}"
                    yield Finding(file.path, number, "grammar", problem)
