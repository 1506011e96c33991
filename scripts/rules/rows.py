"""Rows: every row of docs/design/articles.md is in the name of a test, and every row in a test name is on that page."""

from __future__ import annotations

import re
from typing import Iterator

from tree import Finding, Tree

PAGE = "docs/design/articles.md"

_ROW = re.compile(r"\bS\d\.W?\d+r?\b")
_TEST_NAME = re.compile(r'@Test\(\s*"([^"]*)"')


def check(tree: Tree) -> Iterator[Finding]:
    page = tree.file(PAGE)
    if page is None:
        return
    on_page = {match.group(): page.line_of(match.start()) for match in _ROW.finditer(page.text)}
    tested = set()
    for file in tree.swift_files("Tests", "Examples"):
        for name in _TEST_NAME.finditer(file.text):
            for row in _ROW.findall(name.group(1)):
                tested.add(row)
                if row not in on_page:
                    yield Finding(file.path, file.line_of(name.start()), "row", f"{row} is not in {PAGE}: add it")
    for row, line in on_page.items():
        if row not in tested and row != "S0.27":  # The terms of the article, which no test covers.
            yield Finding(PAGE, line, "row", f"no test is named after {row}")
