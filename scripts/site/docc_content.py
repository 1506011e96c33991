"""The content that DocC writes as JSON, as HTML. What it writes otherwise than expected is named, not left out."""

from __future__ import annotations

import html
from typing import Any, Callable, Mapping, Sequence

from highlight import highlighted
from pages import SiteError

Node = Mapping[str, Any]


class Content:
    """Writes the nodes of one page. `address` tells where a reference leads, seen from that page."""

    def __init__(self, references: Mapping[str, Node], address: Callable[[str], "str | None"]) -> None:
        self._references, self._address = references, address

    def blocks(self, nodes: Sequence[Node], level: int = 0) -> str:
        """Blocks, with headings so many levels deeper than they are written."""
        return "".join(self._block(node, level) for node in nodes)

    def line(self, nodes: Sequence[Node]) -> str:
        """What stands in a line."""
        return "".join(self._inline(node) for node in nodes)

    def link(self, identifier: str) -> str:
        """The name of what a reference names, with a link where there is one."""
        reference = self._references.get(identifier, {"title": identifier.rpartition("/")[2]})
        title = html.escape(reference.get("title", ""), quote=False)
        name = f"<code>{title}</code>" if reference.get("kind") == "symbol" else title
        address = self._address(identifier)
        return name if address is None else f'<a href="{html.escape(address)}">{name}</a>'

    def abstract(self, identifier: str) -> str:
        """The sentence about what a reference names."""
        return self.line(self._references.get(identifier, {}).get("abstract", []))

    def declaration(self, tokens: Sequence[Node]) -> str:
        """A declaration, whose types are links."""
        parts = []
        for token in tokens:
            text = html.escape(token["text"], quote=False)
            address = self._address(token["identifier"]) if "identifier" in token else None
            if address is not None:
                text = f'<a href="{html.escape(address)}">{text}</a>'
            elif token["kind"] in ("keyword", "attribute"):
                text = f'<span class="{token["kind"][0].replace("a", "d")}">{text}</span>'
            parts.append(text)
        return f'<div class="code declaration" data-language="swift"><pre><code>{"".join(parts)}</code></pre></div>\n'

    def _block(self, node: Node, level: int) -> str:
        kind = node["type"]
        if kind == "paragraph":
            return f"<p>{self.line(node['inlineContent'])}</p>\n"
        if kind == "heading":
            tag, anchor = f"h{min(node['level'] + level, 6)}", html.escape(node["anchor"])
            return f'<{tag} id="{anchor}">{_spans(node["text"])}</{tag}>\n'
        if kind == "codeListing":
            return highlighted("\n".join(node["code"]), node.get("syntax") or "")
        if kind in ("unorderedList", "orderedList"):
            tag = kind[0] + "l"
            items = "".join(f"<li>{self.blocks(item['content'], level)}</li>\n" for item in node["items"])
            return f"<{tag}>\n{items}</{tag}>\n"
        if kind == "table":
            return self._table(node, level)
        if kind == "aside":
            name = html.escape(node.get("name") or node["style"].capitalize(), quote=False)
            return f'<div class="aside"><p class="kind">{name}</p>\n{self.blocks(node["content"], level)}</div>\n'
        if kind == "termList":
            terms = (f"<dt>{self.line(item['term']['inlineContent'])}</dt><dd>"
                     f"{self.blocks(item['definition']['content'], level)}</dd>\n" for item in node["items"])
            return f"<dl>\n{''.join(terms)}</dl>\n"
        if kind == "thematicBreak":
            return "<hr>\n"
        raise SiteError(f"DocC wrote a block of kind '{kind}'; scripts/site/docc_content.py does not know it")

    def _table(self, node: Node, level: int) -> str:
        lines = []
        for number, row in enumerate(node["rows"]):
            tag = "th" if number == 0 and node.get("header") in ("row", "both") else "td"
            cells = "".join(f"<{tag}>{self._cell(cell, level)}</{tag}>" for cell in row)
            lines.append(f"<tr>{cells}</tr>\n")
        return f'<div class="table"><table>\n{"".join(lines)}</table></div>\n'

    def _cell(self, blocks: Sequence[Node], level: int) -> str:
        if len(blocks) == 1 and blocks[0]["type"] == "paragraph":
            return self.line(blocks[0]["inlineContent"])
        return self.blocks(blocks, level)

    def _inline(self, node: Node) -> str:
        kind = node["type"]
        if kind == "text":
            return html.escape(node["text"], quote=False)
        if kind == "codeVoice":
            return f"<code>{html.escape(node['code'], quote=False)}</code>"
        if kind in ("emphasis", "strong"):
            tag = "em" if kind == "emphasis" else "strong"
            return f"<{tag}>{self.line(node['inlineContent'])}</{tag}>"
        if kind == "reference":
            return self.link(node["identifier"])
        if kind == "link":
            return f'<a href="{html.escape(node["destination"])}">{html.escape(node["title"], quote=False)}</a>'
        raise SiteError(f"DocC wrote words of kind '{kind}'; scripts/site/docc_content.py does not know it")


def _spans(text: str) -> str:
    """The words of a heading, in which DocC leaves the marks of code."""
    parts = html.escape(text, quote=False).split("`")
    return "".join(f"<code>{part}</code>" if place % 2 else part for place, part in enumerate(parts))


def plain(nodes: Any) -> str:
    """The words of nodes, for the search."""
    if isinstance(nodes, list):
        return " ".join(plain(node) for node in nodes)
    if not isinstance(nodes, dict):
        return ""
    if nodes.get("type") == "text":
        return nodes["text"]
    if nodes.get("type") == "codeVoice":
        return nodes["code"]
    if nodes.get("type") == "codeListing":
        return "\n".join(nodes["code"])
    return " ".join(plain(value) for value in nodes.values())
