"""The targets that Package.swift declares, with their folders and dependencies."""

from __future__ import annotations

import functools
import re
from typing import Iterator, NamedTuple

from tree import SourceFile, Tree

_TARGET = re.compile(r"\.(target|executableTarget|testTarget|systemLibrary)\(")


class Target(NamedTuple):
    name: str
    kind: str
    folder: str
    line: int
    modules: frozenset[str]

    @property
    def is_test(self) -> bool:
        return self.kind == "testTarget"


def target_of(tree: Tree, file: SourceFile) -> Target | None:
    """The target whose folder contains this file; the innermost if folders are nested."""
    holding = [target for target in declared(tree).values() if file.path.startswith(target.folder + "/")]
    return max(holding, key=lambda target: len(target.folder), default=None)


def is_tested(tree: Tree, file: SourceFile) -> bool:
    """Whether it is code of a target that is not a test target: all rules apply to it."""
    target = target_of(tree, file)
    return file.parts[0] == "Sources" or (target is not None and not target.is_test)


@functools.lru_cache(maxsize=2)
def declared(tree: Tree) -> dict[str, Target]:
    return {target.name: target for target in _declared(tree)}


def _declared(tree: Tree) -> Iterator[Target]:
    package = tree.file("Package.swift")
    if package is None:
        return
    end = 0
    for match in _TARGET.finditer(package.code):
        if match.start() < end:
            continue  # A `.target(name:)` among the dependencies of the one before.
        end = _closing(package.code, match.end(), "()")
        body = package.text[match.end() : end]
        name = re.search(r'name:\s*"(\w+)"', body)
        if not name:
            continue
        modules: set[str] = set()
        listed = re.search(r"dependencies:\s*\[", body)
        if listed:
            words = body[listed.end() : _closing(body, listed.end(), "[]")]
            modules |= set(re.findall(r'\.(?:product|target|byName)\(\s*name:\s*"(\w+)"', words))
            modules |= set(re.findall(r'(?<=[\[,])\s*"(\w+)"', "," + re.sub(r"\.\w+\([^)]*\)", "", words)))
        kind = match.group(1)
        placed = re.search(r'\bpath:\s*"([^"]+)"', body)
        folder = placed.group(1) if placed else f"{'Tests' if kind == 'testTarget' else 'Sources'}/{name.group(1)}"
        yield Target(name.group(1), kind, folder, package.line_of(match.start()), frozenset(modules))


def _closing(text: str, place: int, pair: str) -> int:
    """The position of the bracket that closes the one just before `place`."""
    depth = 1
    for index in range(place, len(text)):
        depth += (text[index] == pair[0]) - (text[index] == pair[1])
        if depth == 0:
            return index
    return len(text)
