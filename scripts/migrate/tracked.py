"""The tracked files of the tree, for all migrations."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Iterator

ROOT = Path(__file__).resolve().parent.parent.parent


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def texts(but: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Each tracked text with its path, except migrations, which contain old names, and paths with these prefixes."""
    for path in git("ls-files").splitlines():
        if path.startswith(("scripts/migrate/", *but)):
            continue
        try:
            yield path, (ROOT / path).read_text(encoding="utf-8")
        except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
            continue


def write(path: str, text: str) -> None:
    (ROOT / path).write_text(text, encoding="utf-8")


def move(old: str, new: str) -> None:
    (ROOT / new).parent.mkdir(parents=True, exist_ok=True)
    git("mv", old, new)


def format_swift(paths: list[str]) -> None:
    if swift := [path for path in paths if path.endswith(".swift")]:
        subprocess.run(["swift", "format", "--in-place", "--parallel", *swift], cwd=ROOT, check=True)
