"""Where the code of a text stands: in Swift all but comments and string literals, in Markdown what backticks enclose.

What a comment encloses in backticks is code, and so is an interpolation of a string.
"""

from __future__ import annotations

import re

_NOT_CODE = "\0"
_TOKEN = re.compile(r'//|/\*|(#*)("""|")')
_TICKED = re.compile(r"`[^`\n]+`")
_FENCED = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)


def code(path: str, text: str) -> str:
    """The text with every character that is not code replaced by a zero byte; line ends stay."""
    if path.endswith(".swift"):
        spans, _ = _code_until(text, 0, closing=None)
    elif path.endswith(".md"):
        spans = [match.span() for pattern in (_FENCED, _TICKED) for match in pattern.finditer(text)]
    else:
        return text
    masked = ["\n" if character == "\n" else _NOT_CODE for character in text]
    for start, end in spans:
        masked[start:end] = text[start:end]
    return "".join(masked)


def replace(pattern: str, replacement: str, path: str, text: str) -> str:
    """Replaces the pattern where the whole of a match is code."""
    pieces, done = [], 0
    for match in re.finditer(pattern, code(path, text), flags=re.MULTILINE):
        if _NOT_CODE not in match.group():
            pieces += [text[done : match.start()], match.expand(replacement)]
            done = match.end()
    return "".join([*pieces, text[done:]])


def _code_until(text: str, start: int, closing: str | None) -> tuple[list[tuple[int, int]], int]:
    """The code from `start` to the parenthesis that closes an interpolation, or to the end; where it ends."""
    spans, at, begun, depth = [], start, start, 0
    while at < len(text):
        character = text[at]
        if closing and character == "(":
            depth += 1
        elif closing and character == ")":
            if depth == 0:
                return [*spans, (begun, at)], at
            depth -= 1
        token = _TOKEN.match(text, at) if character in '/#"' else None
        if token is None:
            at += 1
            continue
        spans.append((begun, at))
        if token.group() == "//":
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
            spans += [match.span() for match in _TICKED.finditer(text, at, end)]
            at = end
        elif token.group() == "/*":
            end = text.find("*/", at)
            at = len(text) if end < 0 else end + 2
        else:
            inner, at = _literal(text, token.end(), token.group(1), token.group(2))
            spans += inner
        begun = at
    return [*spans, (begun, at)], at


def _literal(text: str, start: int, pounds: str, quotes: str) -> tuple[list[tuple[int, int]], int]:
    """The interpolations of a string literal, and where it ends."""
    spans, at = [], start
    while at < len(text):
        if text.startswith(quotes + pounds, at):
            return spans, at + len(quotes + pounds)
        if text.startswith("\\" + pounds, at):
            after = at + 1 + len(pounds)
            if text.startswith("(", after):
                inner, at = _code_until(text, after + 1, closing=")")
                spans += inner
                at += 1
            else:
                at = after + 1
        else:
            at += 1
    return spans, at
