"""Applies the table of a word.

A table is a module in this folder, named after its word. The first line of its documentation says what replaces the
word. It defines
  FILES  {old path: new path}
  RULES  a list of `Rule`, applied in this order to each file that matches
  HINTS  a list of `Hint`, for code that no rule can rewrite
`ORDER` names all tables, in the order in which they are applied.
"""

from __future__ import annotations

import importlib
import re
import sys
from dataclasses import dataclass
from fnmatch import fnmatch
from typing import Iterator

import tracked

from . import segments
from .order import ORDER

sys.path.insert(0, str(tracked.ROOT / "scripts" / "rules"))

from paragraphs import COLUMNS, narrowed  # noqa: E402


@dataclass(frozen=True)
class Rule:
    """Replaces `pattern`, a regular expression, in the tracked files that match one of `paths` and none of `but`; only
    in code (see `segments`) if `only_code`.

    A path is a shell pattern in which `*` also matches `/`: "Sources/BindingHub/*.swift" is all Swift of the hub.
    """

    pattern: str
    replacement: str
    paths: tuple[str, ...] = ("*.swift",)
    but: tuple[str, ...] = ()
    only_code: bool = False

    def is_for(self, path: str) -> bool:
        return fits(path, self.paths, self.but)

    def applied(self, path: str, text: str) -> str:
        if self.only_code:
            return segments.replace(self.pattern, self.replacement, path, text)
        return re.sub(self.pattern, self.replacement, text, flags=re.MULTILINE)


@dataclass(frozen=True)
class Hint:
    """What to do by hand wherever `pattern` matches after all rules; paths are those of a `Rule`."""

    pattern: str
    cure: str
    paths: tuple[str, ...] = ("*.swift",)
    but: tuple[str, ...] = ()


def fits(path: str, paths: tuple[str, ...], but: tuple[str, ...]) -> bool:
    return any(fnmatch(path, one) for one in paths) and not any(fnmatch(path, one) for one in but)


def names(table: dict[str, str], paths: tuple[str, ...] = ("*.swift",), but: tuple[str, ...] = ()) -> list[Rule]:
    """A rule for each name of a declaration, wherever it is a whole word: in code, comments and texts."""
    return [Rule(rf"\b{re.escape(old)}\b", new, paths, but) for old, new in table.items()]


def parts(old: str, new: str, paths: tuple[str, ...] = ("*",), but: tuple[str, ...] = ()) -> list[Rule]:
    """Rules for a word wherever it is a whole part of a name, as in `old` and `maxOld`, or a word of a text."""
    old_capital, new_capital = old[0].upper() + old[1:], new[0].upper() + new[1:]
    return [
        Rule(rf"(?<![A-Za-z]){old}(?![a-z])", new, paths, but),
        Rule(rf"(?<![A-Z]){old_capital}(?![a-z])", new_capital, paths, but),
    ]


def code(table: dict[str, str], paths: tuple[str, ...] = ("*.swift",), but: tuple[str, ...] = ()) -> list[Rule]:
    """A rule for each regular expression, in code only: not in the words of comments, string literals and documents.

    Text in backticks is code, and so is an interpolation of a string literal.
    """
    return [Rule(old, new, paths, but, only_code=True) for old, new in table.items()]


@dataclass(frozen=True)
class Word:
    name: str
    summary: str
    files: dict[str, str]
    rules: list[Rule]
    hints: list[Hint]


def load() -> list[Word]:
    words = []
    for name in ORDER:
        table = importlib.import_module(f"{__package__}.{name}")
        summary = (table.__doc__ or "").strip().split("\n")[0]
        words.append(Word(name, summary, getattr(table, "FILES", {}), table.RULES,
                          getattr(table, "HINTS", [])))
    return words


def replace(word: Word) -> tuple[list[str], list[str]]:
    """Moves and rewrites the files of a word; returns the moved paths, and those of changed texts."""
    moved = [old for old in word.files if (tracked.ROOT / old).exists()]
    for old in moved:
        tracked.move(old, word.files[old])
    before = {}
    for path, text in tracked.texts(but=("CHANGELOG",)):
        new = text
        for rule in (rule for rule in word.rules if rule.is_for(path)):
            new = rule.applied(path, new)
        if new != text:
            tracked.write(path, new)
            before[path] = text
    tracked.format_swift(list(before))
    for path in before:
        text = (tracked.ROOT / path).read_text(encoding="utf-8")
        narrow = text
        if path.endswith(".md"):
            narrow = narrowed(text)
        elif path.endswith(".swift"):
            narrow = _wrap_comments(before[path], text)
        if narrow != text:
            tracked.write(path, narrow)
    return moved, list(before)


def remaining(word: Word) -> Iterator[str]:
    """The lines to be changed by hand, each with its cure."""
    for path, text in tracked.texts(but=("CHANGELOG",)):
        for hint in (hint for hint in word.hints if fits(path, hint.paths, hint.but)):
            for match in re.finditer(hint.pattern, text):
                line = text.count("\n", 0, match.end()) + 1
                yield f"{path}:{line}: {hint.cure}"


_COMMENT = re.compile(r"^(\s*///? +)(\S.*)$")


def _wrap_comments(old: str, new: str) -> str:
    """Wraps comments that became too wide into the next line of their paragraph, or into a new line."""
    before, lines, at = set(old.split("\n")), new.split("\n"), 0
    while at < len(lines):
        line, parts = lines[at], _COMMENT.match(lines[at])
        at += 1
        if len(line) <= COLUMNS or line in before or not parts:
            continue
        start = parts.group(1)
        cut = line.rfind(" ", len(start), COLUMNS + 1)
        if cut <= len(start):
            continue
        lines[at - 1], rest = line[:cut], line[cut + 1 :]
        following = _COMMENT.match(lines[at]) if at < len(lines) else None
        if following and following.group(1) == start and not re.match(r"[-|`#>]|\d+\. ", following.group(2)):
            lines[at] = start + rest + " " + following.group(2)
        else:
            lines.insert(at, start + rest)
    return "\n".join(lines)
