"""Layers: the allowed imports of each target, and the same dependencies in Package.swift."""

from __future__ import annotations

import re
from typing import Iterator

from targets import Target, declared, target_of
from tree import Finding, Tree

LIBC = {"Glibc", "Musl", "Darwin"}
SYSTEM = LIBC | {"Dispatch", "Foundation", "FoundationEssentials", "Observation", "Synchronization"}
NIO = {"NIOConcurrencyHelpers", "NIOCore", "NIOHTTP1", "NIOPosix", "NIOSSL", "NIOWebSocket"}
COMMAND_LINE = LIBC | {"ArgumentParser", "Dispatch", "Foundation", "Logging"}

# Imports point downward only. A new target is entered here first.
ALLOWED = {
    "CZMQ": set(),
    "CZMQGuard": set(),
    "CStoreDisk": set(),  # For tests.
    "StoreContract": SYSTEM | {"BindingHub", "BindingProtocol"},  # For tests.
    "EtcdServer": SYSTEM,  # For tests.
    "CPages": set(),
    "CBindingModel": set(),
    "ZeroMQ": LIBC | {"CZMQ", "CZMQGuard", "Dispatch"},
    "BindingModel": SYSTEM | {"CBindingModel"},  # Foundation: see FOUNDATION_ONLY_IN.
    "BindingControls": {"BindingModel"},
    "BindingClassic": {"BindingModel"},
    "BindingProtocol": LIBC,
    "BindingKeys": SYSTEM | {"BindingProtocol", "ZeroMQ"},
    "BindingPeer": SYSTEM | {"BindingKeys", "BindingModel", "BindingProtocol", "Logging", "ZeroMQ"},
    "Bindbus": {"BindingModel", "BindingPeer", "BindingProtocol"},
    "BindingHub": SYSTEM | {"BindingKeys", "BindingProtocol", "Logging", "ZeroMQ"},
    "BindbusTesting": SYSTEM | {"BindingHub", "BindingModel", "BindingProtocol"},
    "BindingStore": SYSTEM | {"BindingHub", "BindingProtocol", "GRDB", "GRDBSQLite", "ZeroMQ"},
    "CNGHTTP2": set(),
    "BindingEtcd": SYSTEM | NIO | {"BindingHub", "BindingProtocol", "CNGHTTP2"},
    "BindingWeb": SYSTEM | NIO | {"BindingHub", "BindingKeys", "BindingPeer", "BindingProtocol", "CPages", "Logging"},
    "BindingEdge": SYSTEM | {"BindingHub", "BindingKeys", "BindingPeer", "BindingProtocol", "Logging", "ZeroMQ"},
    "BindingBridge": SYSTEM | NIO | {"BindingModel", "BindingPeer", "BindingProtocol", "Logging"},
    "Simulation": SYSTEM | {"BindingEdge", "BindingHub", "BindingModel", "BindingPeer", "BindingProtocol"},
    "BindingTerminal": LIBC | {"ArgumentParser", "BindingModel", "BindingProtocol", "Dispatch"},
    "bindhub": COMMAND_LINE
    | {"BindingEdge", "BindingEtcd", "BindingHub", "BindingKeys", "BindingPeer", "BindingProtocol", "BindingStore"}
    | {"BindingTerminal", "BindingWeb", "ZeroMQ"},
    "bindbridge": COMMAND_LINE | {"BindingBridge", "BindingPeer", "BindingTerminal", "ZeroMQ"},
    "bindbench": COMMAND_LINE
    | {"BindingHub", "BindingKeys", "BindingPeer", "BindingProtocol", "BindingStore", "GRDB", "ZeroMQ"},
    "bindsim": COMMAND_LINE | {"Simulation"},
    "bindlab": COMMAND_LINE
    | {"BindingHub", "BindingKeys", "BindingModel", "BindingPeer", "BindingProtocol", "BindingStore", "Simulation"}
    | {"ZeroMQ"},
    # What the fuzzer drives.
    "FuzzTargets": SYSTEM
    | {"BindingHub", "BindingKeys", "BindingPeer", "BindingProtocol", "BindingWeb", "ZeroMQ"},
    "vitals": COMMAND_LINE | {"BindingPeer", "BindingTerminal"},
    # The hub: what a recording is played into.
    "bindpeer": COMMAND_LINE | {"BindingHub", "BindingKeys", "BindingPeer", "BindingTerminal", "ZeroMQ"},
}
# The pure state machines: no socket, lock, clock or randomness; they import only the values of the protocol.
PURE_FOLDERS = {
    ("BindingHub", "Core"): {"BindingProtocol"},
    ("BindingPeer", "Core"): {"BindingProtocol"},
    ("BindingEdge", "Core"): {"BindingHub", "BindingPeer", "BindingProtocol"},
    ("BindingWeb", "Core"): {"BindingPeer", "BindingProtocol"},
    ("BindingBridge", "Core"): {"BindingPeer", "BindingProtocol"},
}
# Code for Apple's frameworks: under `canImport`, in a separate folder.
BRIDGES = {("BindingModel", "Bridges"): {"AppKit", "SwiftUI", "UIKit"}}
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


def check(tree: Tree) -> Iterator[Finding]:
    targets = declared(tree)
    yield from _check_package(targets)
    for file in tree.swift_files():
        target = target_of(tree, file)
        if target is None or (not target.is_test and target.name not in ALLOWED):
            if file.parts[0] == "Sources":
                cure = f"enter {file.parts[1]} with what it may import in scripts/rules/layers.py"
                yield Finding(file.path, 1, "layer", cure)
            continue
        room = file.path[len(target.folder) + 1 :].split("/")[0]
        allowed = _allowed_in(target, room)
        for match in _IMPORT.finditer(file.code):
            module, line = match.group(1), file.line_of(match.start(1))
            if target.is_test:
                if module not in IN_TESTS and module not in target.modules:
                    yield Finding(file.path, line, "layer", f"{target.name} does not declare {module} in Package.swift")
            elif module not in allowed:
                place = f"{target.name}/{room}" if (target.name, room) in PURE_FOLDERS else target.name
                yield Finding(file.path, line, "layer", f"{place} may not import {module}; move this code to its layer")
            elif module.startswith("Foundation") and not file.name.endswith(FOUNDATION_ONLY_IN.get(target.name, "")):
                cure = f"in {target.name} only files named *{FOUNDATION_ONLY_IN[target.name]} import Foundation"
                yield Finding(file.path, line, "layer", cure)
            elif module in SYSTEM or (target.name, room) in BRIDGES:
                continue
            elif module not in target.modules:
                cure = f"declare {module} as a dependency of {target.name} in Package.swift"
                yield Finding(file.path, line, "layer", cure)
        if (target.name, room) in PURE_FOLDERS:
            for match in _IMPURE.finditer(file.code):
                cure = f"{match.group().strip('(')}: pass time and randomness as arguments of the state machine"
                yield Finding(file.path, file.line_of(match.start()), "layer", cure)


def _allowed_in(target: Target, room: str) -> set[str]:
    if target.is_test:
        return IN_TESTS
    if (target.name, room) in BRIDGES:
        return ALLOWED[target.name] | BRIDGES[target.name, room]
    return PURE_FOLDERS.get((target.name, room), ALLOWED[target.name])


def _check_package(targets: dict[str, Target]) -> Iterator[Finding]:
    for target in targets.values():
        if target.is_test:
            continue
        if target.name not in ALLOWED:
            cure = f"enter {target.name} with what it may import in scripts/rules/layers.py"
            yield Finding("Package.swift", target.line, "layer", cure)
            continue
        for dependency in sorted(target.modules - ALLOWED[target.name]):
            yield Finding("Package.swift", target.line, "layer", f"{target.name} may not depend on {dependency}")
