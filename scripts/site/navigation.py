"""The order of the pages, which docs/README.md tells: its headings, and the links of the first column of its tables."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field
from pathlib import Path
from typing import Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token

from markdown_pages import text_of
from pages import SiteError

INDEX = "docs/README.md"


@dataclass
class Entry:
    """A page with the words that lead to it."""

    words: str
    source: str


@dataclass
class Group:
    """What stands under one heading."""

    heading: str
    entries: list[Entry] = field(default_factory=list)


def read(root: Path) -> list[Group]:
    """The groups of the navigation."""
    groups: list[Group] = []
    tokens = MarkdownIt("commonmark").enable("table").parse((root / INDEX).read_text(encoding="utf-8"))
    for index, token in enumerate(tokens):
        if token.type == "heading_open" and token.tag == "h2":
            groups.append(Group(text_of(tokens[index + 1].children or [])))
        elif token.type == "td_open" and tokens[index - 1].type == "tr_open" and groups:
            groups[-1].entries += _entries(tokens[index + 1])
    if not groups:
        raise SiteError(f"{INDEX} has no headings with tables of pages; the navigation is made of them")
    return groups


def _entries(cell: Token) -> Sequence[Entry]:
    children, entries = cell.children or [], []
    # `coming from [MQTT](…), [Redis](…)`: the words before the first link belong to each.
    first = next((place for place, token in enumerate(children) if token.type == "link_open"), 0)
    prefix = text_of(children[:first])
    for index, token in enumerate(children):
        if token.type == "link_open":
            end = next(place for place in range(index, len(children)) if children[place].type == "link_close")
            path = posixpath.join(posixpath.dirname(INDEX), str(token.attrGet("href")))
            entries.append(Entry(prefix + text_of(children[index + 1 : end]), posixpath.normpath(path)))
    return entries
