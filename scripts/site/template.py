"""The frame of each page: the bar with the search, the list of all pages, the headings of this one, its neighbours."""

from __future__ import annotations

import html
from dataclasses import dataclass, field

from pages import Page, relative

ASSETS = ("site.css", "site.js")


@dataclass
class Link:
    """An entry of the list of pages. Those below it are shown while one of them, or it, is read."""

    words: str
    path: str
    below: "list[Link]" = field(default_factory=list)

    def leads_to(self, path: str) -> bool:
        return self.path == path or any(link.leads_to(path) for link in self.below)


@dataclass
class Frame:
    """What all pages have around them."""

    version: str
    groups: "list[tuple[str, list[Link]]]"

    def __post_init__(self) -> None:
        self._order = [link for _, links in self.groups for link in _flat(links)]

    def around(self, page: Page) -> str:
        """The whole page."""
        root = relative(page.path, "index.html").removesuffix("index.html")
        title = page.title if page.path == "index.html" else f"{page.title} · Bindbus"
        return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(title)}</title>
<link rel="icon" href="{root}icon.svg">
<link rel="stylesheet" href="{root}site.css">
<script src="{root}site.js"></script>
</head>
<body>
<a class="skip" href="#page">To the page</a>
<header class="bar">
<button class="open-pages" type="button" aria-expanded="false" aria-controls="all-pages">Pages</button>
<a class="name" href="{root}index.html">Bindbus</a> <span class="version">{html.escape(self.version)}</span>
<form role="search" data-root="{root}" action="#">
<input type="search" role="combobox" placeholder="Search, or press /" aria-label="Search" autocomplete="off"
 spellcheck="false" aria-expanded="false" aria-controls="found" aria-autocomplete="list">
<ul class="found" id="found" role="listbox" aria-label="Found" hidden></ul>
</form>
<button class="scheme" type="button" hidden>Scheme</button>
</header>
<div class="columns">
<nav class="all-pages" id="all-pages" aria-label="All pages">
{self._pages(page)}</nav>
<main id="page">
{self._above(page)}{page.html}{self._neighbours(page)}{_foot(page)}</main>
{_headings(page)}</div>
</body>
</html>
"""

    def _pages(self, page: Page) -> str:
        parts = []
        for heading, links in self.groups:
            parts.append(f"<h2>{html.escape(heading)}</h2>\n{self._list(links, page)}")
        return "".join(parts)

    def _list(self, links: "list[Link]", page: Page) -> str:
        lines = ["<ul>\n"]
        for link in links:
            current = ' aria-current="page"' if link.path == page.path else ""
            address = html.escape(relative(page.path, link.path))
            below = self._list(link.below, page) if link.below and link.leads_to(page.path) else ""
            lines.append(f'<li><a href="{address}"{current}>{html.escape(link.words)}</a>{below}</li>\n')
        lines.append("</ul>\n")
        return "".join(lines)

    def _above(self, page: Page) -> str:
        if page.parent is None:
            return ""
        title, path = page.parent
        return f'<p class="above"><a href="{html.escape(relative(page.path, path))}">{html.escape(title)}</a></p>\n'

    def _neighbours(self, page: Page) -> str:
        places = [place for place, link in enumerate(self._order) if link.path == page.path]
        if not places:
            return ""
        parts = []
        for place, name, words in ((places[0] - 1, "previous", "Before"), (places[0] + 1, "next", "Next")):
            if 0 <= place < len(self._order):
                link = self._order[place]
                address = html.escape(relative(page.path, link.path))
                parts.append(f'<a class="{name}" rel="{name[:4]}" href="{address}"><small>{words}</small>'
                             f"<span>{html.escape(link.words)}</span></a>\n")
        return f'<nav class="neighbours" aria-label="Before and after">\n{"".join(parts)}</nav>\n'


def _flat(links: "list[Link]") -> "list[Link]":
    return [each for link in links for each in (link, *_flat(link.below))]


def _foot(page: Page) -> str:
    return f'<p class="foot">Made of <code>{html.escape(page.source)}</code></p>\n' if page.source else ""


def _headings(page: Page) -> str:
    shown = [section for section in page.sections if section.level in (2, 3) and section.anchor]
    if len(shown) < 2:
        return ""
    lines = []
    for section in shown:
        deep = ' class="deep"' if section.level == 3 else ""
        lines.append(f'<li{deep}><a href="#{html.escape(section.anchor)}">{html.escape(section.heading)}</a></li>\n')
    listed = f'<ul>\n{"".join(lines)}</ul>\n'
    return f'<nav class="headings" aria-label="On this page">\n<h2>On this page</h2>\n{listed}</nav>\n'

