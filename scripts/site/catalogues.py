"""A catalogue of DocC as pages: each article and each type has one, and the members of a type stand in it."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Iterator, Mapping, Sequence
from urllib.parse import quote

from docc_content import Content, Node, plain
from pages import Page, Section, SiteError, relative
from template import Link

_TYPES = {"class", "struct", "enum", "protocol", "actor"}
_DEFAULTS = "Default Implementations"
_DOCUMENTATION = "/documentation/"


class Catalogue:
    """What DocC made of one module."""

    def __init__(self, name: str, archive: Path) -> None:
        self.name = name
        folder = archive / "data" / "documentation"
        root = folder / f"{name.lower()}.json"
        if not root.is_file():
            raise SiteError(f"{root} is not there; convert the catalogue of {name} with DocC first: scripts/docs")
        files = [root, *sorted((folder / name.lower()).rglob("*.json"))]
        nodes = [json.loads(file.read_text(encoding="utf-8")) for file in files]
        self._nodes: dict[str, Node] = {node["identifier"]["url"]: node for node in nodes}
        self._root = self._nodes[f"doc://{name}/documentation/{name}"]
        # Where each page, and each member of a type, is found.
        self._places: dict[str, str] = {}
        for identifier, node in self._nodes.items():
            if _has_page(node):
                self._places[identifier] = self._path(node)
        for identifier, node in self._nodes.items():
            if _has_page(node):
                for member in _members(node):
                    self._places.setdefault(member, f"{self._places[identifier]}#{_anchor(member)}")

    def pages(self) -> Iterator[Page]:
        for identifier, node in self._nodes.items():
            if _has_page(node):
                yield self._page(identifier, node)

    def link(self) -> Link:
        """The catalogue in the list of pages, with what its topics name."""
        groups = self._root.get("topicSections", [])
        below = [Link(self._title(each), self._places[each]) for group in groups for each in group["identifiers"]
                 if each in self._places and "#" not in self._places[each]]
        return Link(self.name, self._places[self._root["identifier"]["url"]], below)

    def _title(self, identifier: str) -> str:
        return self._nodes[identifier]["metadata"]["title"]

    def _path(self, node: Node) -> str:
        url = node["variants"][0]["paths"][0] if "variants" in node else self._url(node["identifier"]["url"])
        inside = url.removeprefix(_DOCUMENTATION + self.name.lower()).strip("/")
        return f"{self.name}/{inside or 'index'}.html"

    @staticmethod
    def _url(identifier: str) -> str:
        return _DOCUMENTATION + identifier.partition(_DOCUMENTATION)[2].lower()

    def _address(self, page: str, identifier: str) -> "str | None":
        """Where something is, seen from a page. A member that no page lists is looked for at its type."""
        while identifier not in self._places:
            identifier, slash, _ = identifier.rpartition("/")
            if not slash or _DOCUMENTATION not in identifier:
                return None
        return quote(relative(page, self._places[identifier]), safe="/#.-_~:()=,!*+'")

    # One page

    def _page(self, identifier: str, node: Node) -> Page:
        path = self._places[identifier]
        content = Content(node.get("references", {}), lambda target: self._address(path, target))
        page = Page(path, node["metadata"]["title"], "", source=self._source(node))
        if node is not self._root:
            page.parent = self._above(node)
        parts = [self._head(node, content)]
        page.sections.append(Section("", page.title, 1, plain(list(node.get("abstract", [])))))
        for part in node.get("primaryContentSections", []):
            parts.append(self._part(part, content, 0))
            page.sections += _sections(part)
        for group in node.get("topicSections", []):
            if group["title"] != _DEFAULTS:
                parts.append(self._group(group, content, page))
        parts.append(self._relationships(node, content))
        page.html = "".join(parts)
        return page

    def _source(self, node: Node) -> str:
        """The file of an article."""
        title = node["identifier"]["url"].rpartition("/")[2]
        file = f"Sources/{self.name}/{self.name}.docc/{title}.md"
        return file if node["kind"] == "article" or node is self._root else ""

    def _above(self, node: Node) -> "tuple[str, str] | None":
        above = node["hierarchy"]["paths"][0][-1]
        return (self._title(above), self._places[above]) if above in self._places else None

    @staticmethod
    def _head(node: Node, content: Content) -> str:
        title, abstract = html.escape(node["metadata"]["title"], quote=False), node.get("abstract")
        return f"<h1>{title}</h1>\n" + (f"<p>{content.line(abstract)}</p>\n" if abstract else "")

    def _part(self, part: Node, content: Content, level: int) -> str:
        kind = part["kind"]
        if kind == "declarations":
            return "".join(content.declaration(each["tokens"]) for each in part["declarations"])
        if kind == "content":
            return content.blocks(part["content"], level)
        if kind == "parameters":
            named = ((html.escape(each["name"]), content.blocks(each["content"])) for each in part["parameters"])
            terms = "".join(f"<dt><code>{name}</code></dt><dd>{text}</dd>\n" for name, text in named)
            return f"<dl>\n{terms}</dl>\n"
        if kind == "mentions":
            links = ", ".join(content.link(each) for each in part["mentions"])
            return f"<p>Explained in {links}.</p>\n" if level == 0 else ""
        raise SiteError(f"DocC wrote a part of kind '{kind}'; scripts/site/catalogues.py does not know it")

    def _group(self, group: Node, content: Content, page: Page) -> str:
        """A group of topics: links to those with pages of their own, and the members themselves."""
        title, anchor = group["title"], group.get("anchor") or group["title"].replace(" ", "-")
        page.sections.append(Section(anchor, title, 2, ""))
        links, members = [], []
        for identifier in group["identifiers"]:
            if self._places.get(identifier) == f"{page.path}#{_anchor(identifier)}":
                members.append(self._member(identifier, page))
            else:
                abstract = content.abstract(identifier)
                links.append(f"<li>{content.link(identifier)}{': ' if abstract else ''}{abstract}</li>\n")
        listed = f'<ul class="topics">\n{"".join(links)}</ul>\n' if links else ""
        return f'<h2 id="{html.escape(anchor)}">{html.escape(title)}</h2>\n{listed}{"".join(members)}'

    def _member(self, identifier: str, page: Page) -> str:
        node, anchor = self._nodes[identifier], _anchor(identifier)
        content = Content(node.get("references", {}), lambda target: self._address(page.path, target))
        title = node["metadata"]["title"]
        parts = [f'<h3><code>{html.escape(title, quote=False)}</code></h3>\n']
        sections = node.get("primaryContentSections", [])
        parts += [self._part(part, content, 2) for part in sections if part["kind"] == "declarations"]
        for summary in [node.get("deprecationSummary")] if node.get("deprecationSummary") else []:
            parts.append(f'<div class="aside"><p class="kind">Deprecated</p>{content.blocks(summary)}</div>\n')
        if node.get("abstract"):
            parts.append(f"<p>{content.line(node['abstract'])}</p>\n")
        parts += [_without_heads(self._part(part, content, 2)) for part in sections if part["kind"] != "declarations"]
        words = plain([node.get("abstract", []), *[part for part in sections if part["kind"] != "declarations"]])
        page.sections.append(Section(anchor, f"{page.title}.{title}", 4, words))
        return f'<section class="member" id="{html.escape(anchor)}">\n{"".join(parts)}</section>\n'

    @staticmethod
    def _relationships(node: Node, content: Content) -> str:
        parts = []
        for relation in node.get("relationshipsSections", []):
            names = [content.link(each) for each in relation["identifiers"]]
            parts.append(f"<p><strong>{html.escape(relation['title'])}</strong> {', '.join(names)}</p>\n")
        return f'<h2 id="relationships">Relationships</h2>\n{"".join(parts)}' if parts else ""


def _has_page(node: Node) -> bool:
    metadata = node["metadata"]
    return metadata.get("role") in ("article", "collection") or metadata.get("symbolKind") in _TYPES


def _members(node: Node) -> Iterator[str]:
    """The members that stand in a type's page."""
    for group in node.get("topicSections", []):
        if group["title"] != _DEFAULTS:
            yield from group["identifiers"]


def _anchor(identifier: str) -> str:
    """The anchor of a member in the page of its type."""
    return re.sub(r"\s", "", identifier.rpartition("/")[2])


def _sections(part: Mapping) -> "list[Section]":
    """What the search knows of a part: a section for each of its headings."""
    if part["kind"] != "content":
        return []
    found: "list[Section]" = []
    for block in part["content"]:
        if block["type"] == "heading":
            found.append(Section(block["anchor"], block["text"].replace("`", ""), block["level"], ""))
        elif found:
            found[-1].text += plain([block]) + " "
    return found


def _without_heads(text: str) -> str:
    """In a member, `Discussion` and the like are more than is needed."""
    return re.sub(r'<h4 id="(?:discussion|Discussion)">.*?</h4>\n', "", text)
