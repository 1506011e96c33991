"""Snippets: the Swift blocks of the documentation compile, and its first page names every public type.

usage: snippets.py --modules DIR --work DIR [--symbols FILE] PAGE-OR-CATALOGUE...

The blocks of one page are compiled in order, as one main file, in the language mode and with the upcoming features of
Package.swift. In a catalogue (a folder of pages) every block counts that is marked as Swift, but for one directly below
`<!-- not compiled: reason -->`; one directly below `<!-- compiled alone -->` is a file of its own. In a page outside,
only a block directly below `<!-- compiled: BindingModel -->` or `<!-- compiled: Bindbus -->` counts.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Iterator, NamedTuple

FENCE = re.compile(r"^( {0,8})(`{3,}|~{3,})[ \t]*([^\s`]*)")
ALONE = re.compile(r"<!-- compiled alone -->")
COMPILED = re.compile(r"<!-- compiled: (?:BindingModel|Bindbus) -->")
NOT_COMPILED = re.compile(r"<!-- not compiled:(.*)-->")
FEATURE = re.compile(r"\.enableUpcomingFeature\(\"(\w+)\"\)")
FEWEST_BLOCKS = 10


class Block(NamedTuple):
    """A fenced block: the number of its first line of text, its language, the line above its fence, its text."""

    line: int
    language: str
    above: str
    text: str


class Page(NamedTuple):
    path: Path
    blocks: list[Block]
    problems: list[str]


def blocks_in(text: str) -> Iterator[Block]:
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        opening = FENCE.match(lines[number])
        number += 1
        if not opening:
            continue
        above = lines[number - 2].strip() if number > 1 else ""
        indent, fence, language = opening.groups()
        start, body = number, []
        while number < len(lines) and not lines[number].lstrip().startswith(fence):
            body.append(lines[number].removeprefix(indent))
            number += 1
        if number == len(lines):
            raise ValueError(f"{start}: the code block that begins here is not closed")
        number += 1
        yield Block(start + 1, language.lower(), above, "\n".join(body))


def read_page(path: Path, is_in_catalogue: bool) -> Page:
    page = Page(path, [], [])
    try:
        for block in blocks_in(path.read_text(encoding="utf-8")):
            left_out = NOT_COMPILED.fullmatch(block.above)
            if is_in_catalogue and not block.language:
                page.problems.append(f"{path}:{block.line - 1}: name the language of the block, or `text`")
            if left_out and not left_out.group(1).strip():
                page.problems.append(f"{path}:{block.line - 2}: give a reason why this is not compiled")
            is_wanted = not left_out if is_in_catalogue else bool(COMPILED.fullmatch(block.above))
            if block.language == "swift" and is_wanted:
                page.blocks.append(block)
    except ValueError as error:
        page.problems.append(f"{path}:{error}")
    return page


def pages_in(places: list[Path]) -> list[Page]:
    pages = []
    for place in places:
        if place.is_dir():
            pages += [read_page(path, True) for path in sorted(place.rglob("*.md"))]
        else:
            pages.append(read_page(place, False))
    return pages


def sources_of(page: Page) -> Iterator[str]:
    """The source files of the page, whose diagnostics name the page and its lines."""
    together = [block for block in page.blocks if not ALONE.fullmatch(block.above)]
    alone = [[block] for block in page.blocks if ALONE.fullmatch(block.above)]
    for blocks in [together, *alone]:
        parts = [f'#sourceLocation(file: "{page.path}", line: {block.line})\n{block.text}\n' for block in blocks]
        if parts:
            yield "".join(parts)


class Compiler:
    def __init__(self, modules: Path, work: Path):
        self._work = work
        features = FEATURE.findall(Path("Package.swift").read_text(encoding="utf-8"))
        self._command = ["swiftc", "-swift-version", "6", "-warnings-as-errors", "-diagnostic-style=llvm"]
        for feature in features:
            self._command += ["-enable-upcoming-feature", feature]
        # Down to SIL, because isolation and initialisation are checked only there.
        # Modules that import C modules need their module maps: one is ours, the package manager writes the others.
        maps = [Path("Sources/CZMQ"), *(found.parent for found in modules.parent.glob("*.build/module.modulemap"))]
        self._command += [flag for folder in [modules, *maps] for flag in ("-I", str(folder))]
        self._command += ["-module-name", "Page", "-emit-sil", "-o", "/dev/null"]
        known = hashlib.sha256(" ".join(self._command).encode())
        known.update(subprocess.run(["swiftc", "--version"], capture_output=True, check=True).stdout)
        for module in sorted(modules.glob("Bind*.swiftmodule")):
            known.update(module.read_bytes())
        self._base = known.hexdigest()

    def check(self, page: Page) -> list[str]:
        """The problems of a page's blocks. An unchanged page that had none is not compiled again."""
        sources = list(sources_of(page))
        folder = self._work / page.path.stem
        folder.mkdir(parents=True, exist_ok=True)
        stamp = folder / "in-order"
        mark = hashlib.sha256("\0".join([self._base, *sources]).encode()).hexdigest()
        if stamp.exists() and stamp.read_text() == mark:
            return []
        stamp.unlink(missing_ok=True)
        problems = []
        for source in sources:
            # Only a file of this name may have statements outside functions.
            file = folder / "main.swift"
            file.write_text(source, encoding="utf-8")
            result = subprocess.run([*self._command, str(file)], capture_output=True, text=True)
            if result.returncode != 0:
                problems.append(result.stderr.strip() or f"{page.path}: the compiler ended with {result.returncode}")
        if not problems:
            stamp.write_text(mark)
        return problems


def unnamed_symbols(graph: Path, landing: Path) -> list[str]:
    """The public types that are missing from the topics of the catalogue's first page."""
    text = landing.read_text(encoding="utf-8")
    named = set(re.findall(r"^- ``([^`/]+)``", text, re.MULTILINE))
    symbols = json.loads(graph.read_text(encoding="utf-8"))["symbols"]
    types = {symbol["pathComponents"][0] for symbol in symbols if len(symbol["pathComponents"]) == 1}
    return [f"{landing}:1: add ``{name}`` to the topics" for name in sorted(types - named)]


def main() -> int:
    arguments = argparse.ArgumentParser(usage=__doc__)
    arguments.add_argument("--modules", type=Path, required=True)
    arguments.add_argument("--work", type=Path, required=True)
    arguments.add_argument("--symbols", type=Path)
    arguments.add_argument("places", type=Path, nargs="+")
    chosen = arguments.parse_args()
    pages = pages_in(chosen.places)
    problems = [problem for page in pages for problem in page.problems]
    if chosen.symbols:
        for place in chosen.places:
            if place.is_dir():
                problems += unnamed_symbols(chosen.symbols, place / f"{place.stem}.md")
    compiler = Compiler(chosen.modules, chosen.work)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for found in pool.map(compiler.check, [page for page in pages if page.blocks]):
            problems += found
    for problem in problems:
        print(problem, file=sys.stderr)
    count = sum(len(page.blocks) for page in pages)
    if count < FEWEST_BLOCKS:
        problems.append("")
        print(f"snippets: only {count} blocks were found; are these the right pages?", file=sys.stderr)
    print(f"snippets: {count} blocks, {len(problems) or 'no'} problems", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
