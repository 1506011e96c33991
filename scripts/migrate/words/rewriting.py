"""How a table of a word is carried out.

A table is a module beside this one, named for its word, with a first line that says what becomes of it, and
  FILES  {old path: new path}
  RULES  a list of `Rule`, applied in this order to each file that a rule is for
The names in `ORDER` are all tables, in the order in which they were applied.
"""

from __future__ import annotations

import importlib
import re
import subprocess
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from .order import ORDER

ROOT = Path(__file__).resolve().parents[3]
WIDTH = 120


@dataclass(frozen=True)
class Rule:
    """Replaces `pattern`, a regular expression, in the tracked files that one of `paths` fits and none of `but` does.

    A path is a pattern as in a shell, in which `*` also stands for `/`: "Sources/BindingHub/*.swift" is all Swift of
    the hub.
    """

    pattern: str
    replacement: str
    paths: tuple[str, ...] = ("*.swift",)
    but: tuple[str, ...] = ()

    def is_for(self, path: str) -> bool:
        return any(fnmatch(path, one) for one in self.paths) and not any(fnmatch(path, one) for one in self.but)


def names(table: dict[str, str], paths: tuple[str, ...] = ("*.swift",), but: tuple[str, ...] = ()) -> list[Rule]:
    """A rule for each name of a declaration, wherever it stands as a whole word: in code, comments and texts."""
    return [Rule(rf"\b{re.escape(old)}\b", new, paths, but) for old, new in table.items()]


def parts(old: str, new: str, paths: tuple[str, ...] = ("*",), but: tuple[str, ...] = ()) -> list[Rule]:
    """Rules for a word wherever it is a whole part of a name, as in `old` and `maxOld`, or a word of a text."""
    old_capital, new_capital = old[0].upper() + old[1:], new[0].upper() + new[1:]
    return [
        Rule(rf"(?<![A-Za-z]){old}(?![a-z])", new, paths, but),
        Rule(rf"(?<![A-Z]){old_capital}(?![a-z])", new_capital, paths, but),
    ]


@dataclass(frozen=True)
class Word:
    name: str
    summary: str
    files: dict[str, str]
    rules: list[Rule]


def load() -> list[Word]:
    words = []
    for name in ORDER:
        table = importlib.import_module(f"{__package__}.{name}")
        summary = (table.__doc__ or "").strip().split("\n")[0]
        words.append(Word(name, summary, getattr(table, "FILES", {}), table.RULES))
    return words


def replace(word: Word) -> tuple[list[str], list[str]]:
    """Moves and rewrites the files of a word; the paths that were moved, and those whose text changed."""
    moved = [old for old in word.files if (ROOT / old).exists()]
    for old in moved:
        (ROOT / word.files[old]).parent.mkdir(parents=True, exist_ok=True)
        _git("mv", old, word.files[old])
    texts = {path: text for path in _git("ls-files").splitlines() if (text := _rewrite(path, word.rules))}
    if swift := [path for path in texts if path.endswith(".swift")]:
        subprocess.run(["swift", "format", "--in-place", "--parallel", *swift], cwd=ROOT, check=True)
    for path in (path for path in texts if path.endswith((".swift", ".md"))):
        text = (ROOT / path).read_text(encoding="utf-8")
        if (wrapped := _wrap(path, texts[path], text)) != text:
            (ROOT / path).write_text(wrapped, encoding="utf-8")
    return moved, list(texts)


def _rewrite(path: str, rules: list[Rule]) -> str | None:
    """The former text of a file that was rewritten; None of one in which the word does not stand."""
    rules = [rule for rule in rules if rule.is_for(path)]
    if not rules or path.startswith(("scripts/migrate/", "CHANGELOG")):
        return None
    try:
        text = (ROOT / path).read_text(encoding="utf-8")
    except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
        return None
    new = text
    for rule in rules:
        new = re.sub(rule.pattern, rule.replacement, new, flags=re.MULTILINE)
    if new == text:
        return None
    (ROOT / path).write_text(new, encoding="utf-8")
    return text


_COMMENT = re.compile(r"^(\s*///? +)(\S.*)$")
_PARAGRAPH = re.compile(r"^((?:- |\d+\. )?\s*)(\S.*)$")


def _wrap(path: str, old: str, new: str) -> str:
    """Lines that became too wide go on in the next line of the same paragraph, or in one of their own."""
    before, lines, at, in_code = set(old.split("\n")), new.split("\n"), 0, False
    shape = _PARAGRAPH if path.endswith(".md") else _COMMENT
    while at < len(lines):
        line = lines[at]
        in_code ^= path.endswith(".md") and line.lstrip().startswith("```")
        parts = shape.match(line)
        at += 1
        if len(line) <= WIDTH or line in before or not parts or in_code or line.lstrip()[0] in "|#":
            continue
        cut = line.rfind(" ", len(parts.group(1)), WIDTH + 1)
        if cut <= len(parts.group(1)):
            continue
        start = re.sub(r"^(- |\d+\. )", lambda marker: " " * len(marker.group()), parts.group(1))
        lines[at - 1], rest = line[:cut], line[cut + 1 :]
        following = shape.match(lines[at]) if at < len(lines) else None
        if following and following.group(1) == start and not re.match(r"[-|`#>]|\d+\. ", following.group(2)):
            lines[at] = start + rest + " " + following.group(2)
        else:
            lines.insert(at, start + rest)
    return "\n".join(lines)


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout
