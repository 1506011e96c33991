"""Pages: files and links in documents exist, and no text names a machine or a package host."""

from __future__ import annotations

import fnmatch
import re
from typing import Iterator

from tree import Finding, SourceFile, Tree

PACKAGE_HOST_ALLOWED_IN = {"Package.swift"}

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
        if "/".join(steps) not in paths:
            cure = f"the link to {target} is broken: correct it, or remove it"
            yield Finding(file.path, file.line_of(match.start()), "page", cure)


def _check_words(file: SourceFile) -> Iterator[Finding]:
    rules = [(_MACHINE_PATH, "a path of one machine; write it relative to the project")]
    if file.name not in PACKAGE_HOST_ALLOWED_IN:
        rules.append((_PACKAGE_HOST, "no package host is named outside Package.swift"))
    for pattern, cure in rules:
        for match in pattern.finditer(file.text):
            yield Finding(file.path, file.line_of(match.start()), "workplace", f"'{match.group()}': {cure}")
