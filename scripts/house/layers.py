"""Layers: which target may import what, and that Package.swift says the same."""

from __future__ import annotations

import re
from typing import Iterator

from tree import Finding, Tree

LIBC = {"Glibc", "Musl", "Darwin"}
SYSTEM = LIBC | {"Dispatch", "Foundation", "FoundationEssentials", "Observation", "Synchronization"}
NIO = {"NIOConcurrencyHelpers", "NIOCore", "NIOHTTP1", "NIOPosix", "NIOWebSocket"}
COMMAND_LINE = LIBC | {"ArgumentParser", "Dispatch", "Foundation", "Logging"}

# Imports point downward only. A new target is entered here first.
ALLOWED = {
    "CZMQ": set(),
    "CZMQGuard": set(),
    "CStoreDisk": set(),  # For tests.
    "CPages": set(),
    "ZeroMQ": LIBC | {"CZMQ", "CZMQGuard", "Dispatch"},
    "BindingModel": SYSTEM,  # Foundation: see FOUNDATION_ONLY_IN.
    "BindingControls": {"BindingModel"},
    "BindingClassic": {"BindingModel"},
    "BindingWire": LIBC,
    "BindingPeer": SYSTEM | {"BindingModel", "BindingWire", "Logging", "ZeroMQ"},
    "BindingHub": SYSTEM | {"BindingWire", "Logging", "ZeroMQ"},
    "BindingStore": SYSTEM | {"BindingHub", "BindingWire", "GRDB", "GRDBSQLite", "ZeroMQ"},
    "BindingWeb": SYSTEM | NIO | {"BindingHub", "BindingPeer", "BindingWire", "CPages", "Logging"},
    "BindingTestKit": SYSTEM | {"BindingHub", "BindingModel", "BindingPeer", "BindingWire"},
    "BindingTerminal": LIBC | {"ArgumentParser", "BindingWire"},
    "bindhub": COMMAND_LINE | {"BindingHub", "BindingStore", "BindingTerminal", "BindingWeb", "BindingWire"},
    "bindsim": COMMAND_LINE | {"BindingTestKit"},
    "bindlab": COMMAND_LINE | {"BindingModel", "BindingPeer", "BindingTestKit", "BindingWire"},
    "vitals": COMMAND_LINE | {"BindingPeer", "BindingTerminal"},
    "bindpeer": COMMAND_LINE | {"BindingPeer", "BindingTerminal"},
}
# The pure machines: no socket, lock, clock or randomness, so nothing to import but the wire's values.
PURE_FOLDERS = {
    ("BindingHub", "Core"): {"BindingWire"},
    ("BindingPeer", "Core"): {"BindingWire"},
    ("BindingWeb", "Core"): {"BindingPeer", "BindingWire"},
}
# What is there for Apple's frameworks: under `canImport`, in a folder of its own.
BRIDGES = {("BindingModel", "Bridges"): {"AppKit", "SwiftUI", "UIKit"}}
# Folders of Tests/ that are no targets: programs that must or must not compile, and stand-ins for absent frameworks.
NO_TARGETS = {"Compile", "StandIns"}
FOUNDATION_ONLY_IN = {"BindingModel": "+Foundation.swift"}
IN_TESTS = SYSTEM | {"Testing"}

_IMPORT = re.compile(
    r"^[ \t]*(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:public|package|internal|fileprivate|private)\s+)?"
    r"import\s+(?:(?:struct|class|enum|protocol|typealias|func|let|var)\s+)?(\w+)",
    re.MULTILINE,
)
_IMPURE = re.compile(
    r"\b(?:Continuous|Suspending)Clock(?:\(\)|\.now)|\bSystemRandomNumberGenerator\b"
    r"|\.(?:random|randomElement|shuffled?)\((?![^\n]*using:)"
)
_TARGET = re.compile(r"\.(target|executableTarget|testTarget|systemLibrary)\(")


def check(tree: Tree) -> Iterator[Finding]:
    declared = dict(_declared_targets(tree))
    yield from _check_package(declared)
    for file in tree.swift_files("Sources", "Tests"):
        target = file.parts[1]
        if file.parts[0] == "Tests" and target in NO_TARGETS:
            continue
        allowed = _allowed_in(file.parts)
        if allowed is None:
            yield Finding(file.path, 1, "layer", f"enter {target} with what it may import in scripts/house/layers.py")
            continue
        for match in _IMPORT.finditer(file.code):
            module, line = match.group(1), file.line_of(match.start(1))
            if file.parts[0] == "Tests":
                if module not in IN_TESTS and module not in declared.get(target, (0, set()))[1]:
                    yield Finding(file.path, line, "layer", f"{target} does not declare {module} in Package.swift")
            elif module not in allowed:
                place = "/".join(file.parts[1:3]) if tuple(file.parts[1:3]) in PURE_FOLDERS else target
                yield Finding(file.path, line, "layer", f"{place} may not import {module}; move this code to its layer")
            elif module.startswith("Foundation") and not file.name.endswith(FOUNDATION_ONLY_IN.get(target, "")):
                cure = f"in {target} only files named *{FOUNDATION_ONLY_IN[target]} import Foundation"
                yield Finding(file.path, line, "layer", cure)
            elif module in SYSTEM or tuple(file.parts[1:3]) in BRIDGES:
                continue
            elif target in declared and module not in declared[target][1]:
                cure = f"declare {module} as a dependency of {target} in Package.swift"
                yield Finding(file.path, line, "layer", cure)
        if tuple(file.parts[1:3]) in PURE_FOLDERS:
            for match in _IMPURE.finditer(file.code):
                cure = f"{match.group().strip('(')}: time and randomness are arguments of a machine"
                yield Finding(file.path, file.line_of(match.start()), "layer", cure)


def _allowed_in(parts: list[str]) -> set[str] | None:
    if parts[0] == "Tests":
        return IN_TESTS
    folder = tuple(parts[1:3])
    if folder in BRIDGES:
        return ALLOWED[parts[1]] | BRIDGES[folder]
    return PURE_FOLDERS.get(folder, ALLOWED.get(parts[1]))


def _check_package(declared: dict[str, tuple[int, set[str]]]) -> Iterator[Finding]:
    for target, (line, dependencies) in declared.items():
        if target.endswith("Tests"):
            continue
        if target not in ALLOWED:
            cure = f"enter {target} with what it may import in scripts/house/layers.py"
            yield Finding("Package.swift", line, "layer", cure)
            continue
        for dependency in sorted(dependencies - ALLOWED[target]):
            yield Finding("Package.swift", line, "layer", f"{target} may not depend on {dependency}")


def _declared_targets(tree: Tree) -> Iterator[tuple[str, tuple[int, set[str]]]]:
    """The targets of Package.swift: name → line and the names of the modules it depends on."""
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
        yield name.group(1), (package.line_of(match.start()), modules)


def _closing(text: str, place: int, pair: str) -> int:
    """Where the bracket closes whose opening is just before `place`."""
    depth = 1
    for index in range(place, len(text)):
        depth += (text[index] == pair[0]) - (text[index] == pair[1])
        if depth == 0:
            return index
    return len(text)
