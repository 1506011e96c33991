"""Pages: files and links in documents exist, the index names every page, and no text names a machine or a package
host."""

from __future__ import annotations

import fnmatch
import re
from typing import Iterator

from tree import Finding, SourceFile, Tree

PACKAGE_HOST_ALLOWED_IN = {"Package.swift"}
INDEX, NOT_IN_INDEX = "docs/README.md", "docs/design/decisions/"

_CODE_SPAN = re.compile(r"`([^`\n]+)`")
_LINK = re.compile(r"!?\[[^\]\n]*\]\(\s*<?([^)\s>]+)>?[^)\n]*\)")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,}).*?^ {0,3}\1", re.MULTILINE | re.DOTALL)
_NAMED_FOLDERS = ("Sources/", "Tests/", "scripts/", "docs/")
_MACHINE_PATH = re.compile(r"(?<![\w.}~-])/(?:home|Users|root|work|opt/swift)/")
_PACKAGE_HOST = re.compile(r"\bgit(?:hub|lab)\.com/")


def check(tree: Tree) -> Iterator[Finding]:
    paths = _paths_with_folders(tree)
    for file in tree.files:
        if file.path == "ARCHITECTURE.md":
            yield from _check_named_files(file, paths)
        if file.name.endswith(".md"):
            yield from _check_links(file, paths)
        yield from _check_words(file)
    yield from _check_index(tree)


def _paths_with_folders(tree: Tree) -> set[str]:
    """Every file, and every folder that contains one."""
    paths = {""}
    for file in tree.files:
        for end in range(1, len(file.parts) + 1):
            paths.add("/".join(file.parts[:end]))
    return paths


def _blanked(match: re.Match) -> str:
    return re.sub(r"[^\n]", " ", match.group())


def _check_named_files(file: SourceFile, paths: set[str]) -> Iterator[Finding]:
    for match in _CODE_SPAN.finditer(_FENCE.sub(_blanked, file.text)):
        words = match.group(1).split()
        name = words[0].rstrip("/") if words else ""
        if name.startswith(_NAMED_FOLDERS):
            exists = bool(fnmatch.filter(paths, name))
        elif name.endswith(".swift"):
            exists = bool(fnmatch.filter(paths, name) or fnmatch.filter(paths, "*/" + name))
        else:
            continue
        if not exists:
            cure = f"`{name}` does not exist: correct the name, or remove it"
            yield Finding(file.path, file.line_of(match.start()), "page", cure)


def _check_links(file: SourceFile, paths: set[str]) -> Iterator[Finding]:
    for place, target, path in _links(file):
        if path not in paths:
            cure = f"the link to {target} is broken: correct it, or remove it"
            yield Finding(file.path, file.line_of(place), "page", cure)


def _links(file: SourceFile) -> Iterator[tuple[int, str, str]]:
    """Where the links to files are, what they say, and the path that this means."""
    text = _CODE_SPAN.sub(_blanked, _FENCE.sub(_blanked, file.text))
    for match in _LINK.finditer(text):
        target = match.group(1).split("#")[0].split("?")[0]
        if not target or re.match(r"[a-z][a-z0-9+.-]*:", target):
            continue
        steps: list[str] = [] if target.startswith("/") else list(file.parts[:-1])
        for step in target.split("/"):
            if step == ".." and steps:
                steps.pop()
            elif step not in ("", "."):
                steps.append(step)
        yield match.start(), target, "/".join(steps)


def _check_index(tree: Tree) -> Iterator[Finding]:
    index = tree.file(INDEX)
    if index is None:
        return
    named = {path for _, _, path in _links(index)} | {INDEX}
    for file in tree.files:
        is_page = file.path.startswith("docs/") and file.name.endswith(".md")
        if is_page and not file.path.startswith(NOT_IN_INDEX) and file.path not in named:
            yield Finding(INDEX, 1, "page", f"{file.path} is missing: add it, with a sentence on what it says")


def _check_words(file: SourceFile) -> Iterator[Finding]:
    rules = [(_MACHINE_PATH, "a path of one machine; write it relative to the project")]
    if file.name not in PACKAGE_HOST_ALLOWED_IN:
        rules.append((_PACKAGE_HOST, "no package host is named outside Package.swift"))
    for pattern, cure in rules:
        for match in pattern.finditer(file.text):
            yield Finding(file.path, file.line_of(match.start()), "workplace", f"'{match.group()}': {cure}")
