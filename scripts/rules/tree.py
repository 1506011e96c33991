"""The files of the project, and the findings of the rules."""

from __future__ import annotations

import functools
import os
import subprocess
from pathlib import Path
from typing import Iterator, NamedTuple

import swift_text

SKIPPED_FOLDERS = {".git", ".build", ".swiftpm", "__pycache__", "node_modules", ".venv"}


class Finding(NamedTuple):
    """A violation: its place, its rule, and its remedy."""

    path: str
    line: int
    rule: str
    cure: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.rule}: {self.cure}"


class SourceFile:
    """A text file of the project; `path` is relative to its root, with slashes."""

    def __init__(self, root: Path, path: str):
        self.path = path
        self.parts = path.split("/")
        self.name = self.parts[-1]
        self.is_swift = path.endswith(".swift")
        self._location = root / path

    @functools.cached_property
    def text(self) -> str:
        """The whole text; empty for a binary file."""
        try:
            return self._location.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            return ""

    @functools.cached_property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    @functools.cached_property
    def code(self) -> str:
        """Swift only: the text with comments and string contents blanked; every character keeps its position."""
        return swift_text.split(self.text)[0]

    @functools.cached_property
    def comments(self) -> list[str]:
        """Swift only: the lines with everything but comments blanked."""
        return swift_text.split(self.text)[1].splitlines()

    def line_of(self, offset: int) -> int:
        return self.text.count("\n", 0, offset) + 1


class Tree:
    """The files of the project: those that git tracks or would track; without git, all except build products."""

    def __init__(self, root: Path):
        self.root = root
        self.files = [SourceFile(root, path) for path in sorted(self._paths()) if (root / path).is_file()]
        self._by_path = {file.path: file for file in self.files}

    def file(self, path: str) -> SourceFile | None:
        return self._by_path.get(path)

    def swift_files(self, *tops: str) -> Iterator[SourceFile]:
        """The Swift files under these top folders; under any if none is named."""
        return (file for file in self.files if file.is_swift and (not tops or file.parts[0] in tops))

    def _paths(self) -> set[str]:
        if (self.root / ".git").exists():
            try:
                listed = subprocess.run(
                    ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                    cwd=self.root, capture_output=True, check=True,
                ).stdout
                return {path for path in listed.decode().split("\0") if path}
            except (OSError, subprocess.CalledProcessError):
                pass
        found = set()
        for folder, inner, names in os.walk(self.root):
            inner[:] = [name for name in inner if name not in SKIPPED_FOLDERS]
            found |= {(Path(folder) / name).relative_to(self.root).as_posix() for name in names}
        return found
