"""Code as HTML: the languages by Pygments, what is typed into terminals by our own few lines."""

from __future__ import annotations

import html
import itertools
import re

from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Keyword, Literal, Name, Number, String, Token
from pygments.util import ClassNotFound

# The kinds of words that are told apart, each with its class; everything else looks the same.
_CLASSES = [
    (Comment.Preproc, "k"), (Comment, "c"), (Keyword, "k"), (String, "s"), (Number, "n"), (Literal, "n"),
    (Name.Decorator, "d"), (Name.Tag, "k"), (Name.Attribute, "d"), (Name.Builtin.Pseudo, "k"),
]
# `NAME$ command`, `$ command`, and a key as `NAME^C`, as Tests/Checks/guides reads them.
# What stands beside a command, two spaces from it, explains it.
_TYPED = re.compile(r"(?P<prompt>(?:[a-z]+(?:@[a-z]+)?)?\$ )(?P<command>\S*(?: \S+)*)(?P<beside>.*)")
_MORE = re.compile(r"(?P<prompt>[a-z]+(?:@[a-z]+)?\| ?)(?P<output>.*)")
_TERMINALS = {"console", "terminal"}
# A block of no language in which commands are typed.
_LOOKS_TYPED = re.compile(r"^\$ ", re.MULTILINE)


def highlighted(text: str, language: str) -> str:
    """A block of code, with its frame."""
    name = html.escape(language or "text")
    is_terminal = language in _TERMINALS or not language and _LOOKS_TYPED.search(text)
    body = _terminal(text) if is_terminal else _code(text, language)
    return f'<div class="code" data-language="{name}"><pre tabindex="0"><code>{body}</code></pre></div>\n'


def _code(text: str, language: str) -> str:
    lexer = _lexer(language)
    if lexer is None:
        return html.escape(text.rstrip("\n"), quote=False)
    # Some lexers tell each letter of a comment apart.
    kinds = itertools.groupby(lexer.get_tokens(text.rstrip("\n")), lambda token: _class(token[0]))
    parts = []
    for name, tokens in kinds:
        shown = html.escape("".join(words for _, words in tokens), quote=False)
        parts.append(f'<span class="{name}">{shown}</span>' if name else shown)
    return "".join(parts).rstrip("\n")


def _lexer(language: str) -> "Lexer | None":
    try:
        return get_lexer_by_name(language, stripnl=False) if language else None
    except ClassNotFound:
        return None


def _class(kind: Token) -> str:
    return next((name for group, name in _CLASSES if kind in group), "")


def _terminal(text: str) -> str:
    lines = []
    for line in text.rstrip("\n").split("\n"):
        typed, more = _TYPED.fullmatch(line), _MORE.fullmatch(line)
        if typed:
            names = ("prompt", "command", "beside")
            prompt, command, beside = (html.escape(typed[name], quote=False) for name in names)
            lines.append(f'<span class="p">{prompt}</span><span class="typed">{command}</span>{beside}')
        elif more:
            prompt, output = (html.escape(more[name], quote=False) for name in ("prompt", "output"))
            lines.append(f'<span class="p">{prompt}</span>{output}')
        else:
            lines.append(html.escape(line, quote=False))
    return "\n".join(lines)
