"""The Markdown files of the checkout, as pages."""

from __future__ import annotations

import html
import posixpath
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Sequence
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.token import Token

from highlight import highlighted
from pages import Page, Section, slug

_ABSOLUTE = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)


def page_path(source: str) -> str:
    """Where the page of a Markdown file is written: beside its like, and `README` is the index of its folder."""
    folder, name = posixpath.split(source)
    name = "index" if name == "README.md" else name.removesuffix(".md")
    return posixpath.join(folder, name + ".html")


@dataclass
class Links:
    """Follows the links of one file. `resolve` gives the address of a file of the checkout, seen from the page; the
    empty text if the site has none."""

    source: str
    resolve: Callable[[str, str], str]

    def address(self, written: str) -> "str | None":
        """The address in the page; nothing for a file that the site does not have."""
        if _ABSOLUTE.match(written):
            return written
        path, sharp, anchor = written.partition("#")
        beside = posixpath.join(posixpath.dirname(self.source), unquote(path))
        return self.resolve(posixpath.normpath(beside) if path else self.source, sharp + anchor) or None


def read(root: Path, source: str, resolve: Callable[[str, str], str]) -> Page:
    """Reads one Markdown file."""
    engine = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    tokens = engine.parse((root / source).read_text(encoding="utf-8"))
    sections = _prepare(tokens, Links(source, resolve))
    rules = engine.renderer.rules
    rules["fence"] = _fence
    rules["code_block"] = _fence
    rules["html_block"] = _raw
    rules["html_inline"] = _raw
    rules["table_open"] = lambda *_: '<div class="table"><table>'
    rules["table_close"] = lambda *_: "</table></div>\n"
    body = engine.renderer.render(tokens, engine.options, {})
    return Page(page_path(source), sections[0].heading, body, sections, source)


def _prepare(tokens: Sequence[Token], links: Links) -> list[Section]:
    """Gives each heading its anchor and each link its address, and collects what the search knows."""
    sections = [Section("", "", 1, "")]
    taken: set[str] = set()
    for index, token in enumerate(tokens):
        if token.type == "heading_open":
            words = text_of(tokens[index + 1].children or [])
            anchor = slug(words, taken)
            token.attrSet("id", anchor)
            if token.tag == "h1" and not sections[0].heading:
                sections[0] = Section(anchor, words, 1, "")
            else:
                sections.append(Section(anchor, words, int(token.tag[1]), ""))
        elif token.type == "inline":
            _follow(token.children or [], links)
            if tokens[index - 1].type != "heading_open":
                sections[-1].text += text_of(token.children or []) + " "
        elif token.type in ("fence", "code_block"):
            sections[-1].text += token.content + " "
    return sections


def _follow(children: list[Token], links: Links) -> None:
    open_links: list[Token] = []
    for token in children:
        if token.type == "image":
            token.attrSet("src", links.address(str(token.attrGet("src") or "")) or "")
            token.attrSet("loading", "lazy")
        elif token.type == "link_open":
            written = str(token.attrGet("href") or "")
            address = links.address(written)
            if address is None:
                token.tag, token.attrs = "span", {"class": "source", "title": f"in the sources: {written}"}
            else:
                token.attrSet("href", address)
            open_links.append(token)
        elif token.type == "link_close":
            token.tag = open_links.pop().tag


def text_of(children: Sequence[Token]) -> str:
    """The words of a line, without its marks."""
    parts = []
    for token in children:
        if token.type in ("text", "code_inline"):
            parts.append(token.content)
        elif token.type in ("softbreak", "hardbreak"):
            parts.append(" ")
        elif token.type == "image":
            parts.append(token.content)
    return "".join(parts)


def _fence(tokens: Sequence[Token], index: int, *_: object) -> str:
    token = tokens[index]
    words = token.info.split()
    return highlighted(token.content, words[0] if words else "")


def _raw(tokens: Sequence[Token], index: int, *_: object) -> str:
    """Comments are for those who read the file; other tags are shown as they are written."""
    content = tokens[index].content
    return "" if content.lstrip().startswith("<!--") else html.escape(content)
