"""Paragraphs: Markdown text has the same maximum width as code, except tables, code blocks and unbreakable text."""

from __future__ import annotations

import re
from typing import Iterator, NamedTuple

from rooms import LINE_COLUMNS as COLUMNS
from tree import Finding, SourceFile, Tree

_FENCE = re.compile(r"^\s*(```|~~~)")
_ITEM = re.compile(r"^(\s*(?:[-*+]|\d+\.)\s+)(?=\S)")
_OTHER = re.compile(r"^\s*(?:\||#|<!--|!\[|\[[^\]]+\]:|---)")
# Unbreakable: code, links, and adjacent punctuation.
_WORD = re.compile(r"(?:!?\[[^\]\n]*\]\([^)\n]*\)|``[^`\n]+``|`[^`\n]+`|[^\s`\[]|\[|`)+")
# At the beginning of a line this would be Markdown syntax, not a word.
_STARTS_SOMETHING = re.compile(r"^(?:[-+*#>|]|\d+\.$|```)")


class Paragraph(NamedTuple):
    """The lines `start ..< end`, counted from 0, of a paragraph or an item of a list, and how they are indented."""

    start: int
    end: int
    first: str
    rest: str


def check(tree: Tree) -> Iterator[Finding]:
    for file in pages(tree):
        for paragraph in paragraphs(file.lines):
            for number in range(paragraph.start, paragraph.end):
                line = file.lines[number]
                if len(line) > COLUMNS and len(_WORD.findall(line)) > 1:
                    yield Finding(file.path, number + 1, "width", f"{len(line)} columns; break the line at {COLUMNS}")


def pages(tree: Tree) -> Iterator[SourceFile]:
    """The Markdown files that people write."""
    for file in tree.files:
        if file.name.endswith(".md") and not file.path.startswith("Benchmarks/results/"):
            yield file


def paragraphs(lines: list[str]) -> Iterator[Paragraph]:
    number, in_code = 0, False
    while number < len(lines):
        line = lines[number]
        if _FENCE.match(line):
            in_code = not in_code
        if in_code or not line.strip() or _FENCE.match(line) or _OTHER.match(line):
            number += 1
            continue
        item = _ITEM.match(line)
        first = item.group(1) if item else line[: len(line) - len(line.lstrip())]
        start, number = number, number + 1
        while number < len(lines) and not _ends_before(lines[number - 1], lines[number]):
            number += 1
        rest = lines[start + 1] if number > start + 1 else ""
        yield Paragraph(start, number, first, rest[: len(rest) - len(rest.lstrip())] if rest else " " * len(first))


def _ends_before(line: str, following: str) -> bool:
    is_broken_on_purpose = line.endswith(("  ", "\\"))
    return is_broken_on_purpose or not following.strip() or any(
        shape.match(following) for shape in (_FENCE, _OTHER, _ITEM))


def narrowed(text: str) -> str:
    """The text with too wide paragraphs refilled; the rest is unchanged."""
    lines = text.split("\n")
    for paragraph in reversed(list(paragraphs(lines))):
        if any(len(line) > COLUMNS for line in lines[paragraph.start : paragraph.end]):
            lines[paragraph.start : paragraph.end] = filled(lines, paragraph)
    return "\n".join(lines)


def filled(lines: list[str], paragraph: Paragraph) -> list[str]:
    """The lines of the paragraph, filled to the maximum width."""
    own = lines[paragraph.start : paragraph.end]
    ending = "  " if own[-1].endswith("  ") else ""
    words = _WORD.findall(own[0][len(paragraph.first) :] + " " + " ".join(line.strip() for line in own[1:]))
    result = [paragraph.first + words[0]]
    for position, word in enumerate(words[1:], 1):
        # A word that may not begin a line moves together with the previous one.
        following = words[position + 1] if position + 1 < len(words) else ""
        room = COLUMNS - (len(following) + 1 if _STARTS_SOMETHING.match(following) else 0)
        if len(result[-1]) + 1 + len(word) <= room or _STARTS_SOMETHING.match(word):
            result[-1] += " " + word
        else:
            result.append(paragraph.rest + word)
    result[-1] += ending
    return result
