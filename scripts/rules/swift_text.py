"""Splits Swift text into code and comments, as far as the house rules need it.

Knows nested comments, strings of one line and of many, raw strings and interpolation (whose inside is code again).
Does not know regular expression literals: one that holds a quotation mark would be misread.
"""

from __future__ import annotations

import re

_OPENING = re.compile(r'//|/\*|(#*)("""|")|\(|\)|\n')


def split(text: str) -> tuple[str, str]:
    """Returns the text twice: only its code (strings keep their quotes), and only its comments. The rest is replaced
    by spaces, so that every character keeps its line and column."""
    code, comments = list(text), [character if character == "\n" else " " for character in text]

    def blank(start: int, end: int, is_comment: bool) -> None:
        for place in range(start, end):
            if text[place] != "\n":
                if is_comment:
                    comments[place] = text[place]
                code[place] = " "

    _scan_code(text, 0, blank, until_closed=False)
    return "".join(code), "".join(comments)


def _scan_code(text: str, place: int, blank, until_closed: bool) -> int:
    """Reads code from `place` to the end, or to the closing parenthesis of an interpolation; returns its position."""
    depth = 0
    while match := _OPENING.search(text, place):
        token, place = match.group(), match.end()
        if token == "(":
            depth += 1
        elif token == ")":
            if until_closed and depth == 0:
                return match.end()
            depth -= 1
        elif token == "//":
            end = text.find("\n", place)
            place = len(text) if end < 0 else end
            blank(match.start(), place, True)
        elif token == "/*":
            place = _end_of_comment(text, place)
            blank(match.start(), place, True)
        elif match.group(2):
            place = _scan_string(text, place, match.group(2), match.group(1), blank)
    return len(text)


def _end_of_comment(text: str, place: int) -> int:
    depth = 1
    for match in re.compile(r"/\*|\*/").finditer(text, place):
        depth += 1 if match.group() == "/*" else -1
        if depth == 0:
            return match.end()
    return len(text)


def _scan_string(text: str, place: int, quote: str, hashes: str, blank) -> int:
    """Blanks the string that begins at `place`, and reads its interpolations; returns the end of the string."""
    closing = quote + hashes
    start = place
    while place < len(text):
        if text.startswith(closing, place):
            blank(start, place, False)
            return place + len(closing)
        if text.startswith("\\" + hashes, place):
            after = place + 1 + len(hashes)
            if text.startswith("(", after):
                blank(start, after, False)
                place = start = _scan_code(text, after + 1, blank, until_closed=True)
            else:
                place = after + 1
        elif text[place] == "\n" and quote == '"':
            blank(start, place, False)  # An unterminated string: the compiler reports it.
            return place
        else:
            place += 1
    blank(start, place, False)
    return place
