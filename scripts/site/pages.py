"""A page of the site, and the places of all pages."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field


class SiteError(Exception):
    """Something in the sources of the site that has to be corrected there; the text says where and how."""


@dataclass
class Section:
    """What stands below one heading, as the search knows it. An empty anchor is the page's beginning."""

    anchor: str
    heading: str
    level: int
    text: str


@dataclass
class Page:
    """One page: where it is written, relative to the site's root, and what it shows."""

    path: str
    title: str
    html: str
    sections: list[Section] = field(default_factory=list)
    # Where a reader of the sources finds it.
    source: str = ""
    # The title and the path of the page above it.
    parent: "tuple[str, str] | None" = None
    # Anchors that are not headings.
    anchors: set[str] = field(default_factory=set)

    def has(self, anchor: str) -> bool:
        return anchor in self.anchors or any(section.anchor == anchor for section in self.sections)


def relative(page: str, target: str) -> str:
    """How one page names another file of the site; the anchor of the target stays."""
    path, sharp, anchor = target.partition("#")
    if path == page:
        return sharp + anchor if anchor else posixpath.basename(path)
    return posixpath.relpath(path, posixpath.dirname(page) or ".") + sharp + anchor


def slug(heading: str, taken: set[str]) -> str:
    """The anchor of a heading, as hosts of Markdown files make it. A second one of the same words gets a number."""
    words = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
    anchor, number = words, 0
    while anchor in taken:
        number += 1
        anchor = f"{words}-{number}"
    taken.add(anchor)
    return anchor
