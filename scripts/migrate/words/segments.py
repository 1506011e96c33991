"""Finds the code in a text: in Swift everything except comments and string literals, in Markdown text in backticks.

Text in backticks in a comment is code, and so is an interpolation of a string literal.
"""

from __future__ import annotations

import re
import sys

import tracked

sys.path.insert(0, str(tracked.ROOT / "scripts" / "rules"))

import swift_text  # noqa: E402

_TICKED = re.compile(r"`[^`\n]+`")
_FENCED = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)


def replace(pattern: str, replacement: str, path: str, text: str) -> str:
    """Replaces the pattern where the entire match is code."""
    code, pieces, done = _code(path, text), [], 0
    for match in re.finditer(pattern, code, flags=re.MULTILINE):
        if match.group() == text[match.start() : match.end()]:
            pieces += [text[done : match.start()], match.expand(replacement)]
            done = match.end()
    return "".join([*pieces, text[done:]])


def _code(path: str, text: str) -> str:
    """The text, with everything except code replaced by spaces."""
    if path.endswith(".swift"):
        code, comments = map(list, swift_text.split(text))
        ticked = [match.span() for match in _TICKED.finditer("".join(comments))]
    elif path.endswith(".md"):
        code = ["\n" if character == "\n" else " " for character in text]
        ticked = [match.span() for pattern in (_FENCED, _TICKED) for match in pattern.finditer(text)]
    else:
        return text
    for start, end in ticked:
        code[start:end] = text[start:end]
    return "".join(code)
