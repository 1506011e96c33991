"""Makes the site of the documentation: the pages of docs/ and the catalogues of DocC, with one navigation and a search.

usage: build.py --output DIR [--catalogue NAME=ARCHIVE]... [--sources URL] [--root DIR]

  --output DIR               where the site is written; what is there is replaced
  --catalogue NAME=ARCHIVE   a module, and the folder into which DocC converted its catalogue; the pages are in NAME/
  --sources URL              the address of the checkout's files, which links to other files than pages lead to
  --root DIR                 the checkout (this one)

The site needs no server. Every link of a page leads to a page, a heading or a file that is there, or this fails.
exit: 0 written · 1 a page or link is wrong · 64 usage
"""

from __future__ import annotations

import argparse
import html
import json
import re
import shutil
import sys
from pathlib import Path
from urllib.parse import unquote

sys.dont_write_bytecode = True

import catalogues  # noqa: E402
import markdown_pages  # noqa: E402
import navigation  # noqa: E402
from pages import Page, SiteError, relative  # noqa: E402
from template import ASSETS, Frame, Link  # noqa: E402

HERE = Path(__file__).resolve().parent
ICON = "Sources/BindingWeb/Pages/pages/icon.svg"
VERSION = "Sources/BindingTerminal/ProgramVersion.swift"
DECISIONS = "docs/design/decisions"
PICTURES = {".png", ".svg", ".jpg"}
CATALOGUE = re.compile(r"Sources/(?P<module>\w+)/\w+\.docc/(?P<name>\w+)\.md")
_ADDRESS = re.compile(r'(?:href|src)="([^"]*)"')


class Site:
    """All pages by their path, and the files beside them."""

    def __init__(self, root: Path, archives: "dict[str, Path]", sources: str) -> None:
        self.root, self.sources = root, sources
        self.files: set[str] = set()
        self.pages: dict[str, Page] = {}
        self.catalogues = [catalogues.Catalogue(name, archive) for name, archive in archives.items()]
        self.written = self._written()
        for path in sorted(self.written):
            self._add(markdown_pages.read(root, path, self._resolver(path)))
        for catalogue in self.catalogues:
            for page in catalogue.pages():
                self._add(page)
        self._list_decisions()

    def _written(self) -> "dict[str, str]":
        """The page of each Markdown file that the site shows."""
        folders = ("docs", "Examples", "Benchmarks", "Python")
        files = [*self.root.glob("*.md"), *(file for name in folders for file in (self.root / name).rglob("*.md"))]
        names = [str(file.relative_to(self.root)) for file in files]
        return {name: markdown_pages.page_path(name) for name in names if ".build" not in name.split("/")}

    def _add(self, page: Page) -> None:
        if page.path in self.pages:
            raise SiteError(f"{page.source} and {self.pages[page.path].source} both make {page.path}: rename one")
        self.pages[page.path] = page

    def _resolver(self, source: str):
        page = markdown_pages.page_path(source)

        def resolve(target: str, anchor: str) -> str:
            in_catalogue = CATALOGUE.fullmatch(target)
            if target in self.written:
                return relative(page, self.written[target] + anchor)
            if in_catalogue and any(each.name == in_catalogue["module"] for each in self.catalogues):
                name = "index" if in_catalogue["name"] == in_catalogue["module"] else in_catalogue["name"].lower()
                return relative(page, f"{in_catalogue['module']}/{name}.html{anchor}")
            if target == DECISIONS:
                return relative(page, f"{DECISIONS}/index.html")
            if Path(target).suffix in PICTURES:
                self.files.add(target)
                return relative(page, target)
            return f"{self.sources.rstrip('/')}/{target}{anchor}" if self.sources else ""

        return resolve

    def _list_decisions(self) -> None:
        """The folder of decisions has no page of its own: the newest first."""
        folder = [page for path, page in self.pages.items() if path.startswith(f"{DECISIONS}/")]
        index = Page(f"{DECISIONS}/index.html", "Decisions", "", parent=("Documentation", "docs/index.html"))
        lines = ["<h1>Decisions</h1>\n<p>One page for each: what was measured and chosen.</p>\n<ul>\n"]
        for page in sorted(folder, key=lambda each: each.path, reverse=True):
            page.parent = (index.title, index.path)
            day = Path(page.path).name[:10]
            lines.append(f'<li><a href="{relative(index.path, page.path)}">{html.escape(page.title)}</a> {day}</li>\n')
        index.html = "".join(lines) + "</ul>\n"
        self._add(index)

    # What is written

    def write(self, output: Path) -> None:
        frame = Frame(version(self.root), self._groups())
        shutil.rmtree(output, ignore_errors=True)
        for path, page in self.pages.items():
            file = output / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(frame.around(page), encoding="utf-8")
        for name in sorted(self.files):
            (output / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(self.root / name, output / name)
        for name in ASSETS:
            shutil.copyfile(HERE / "look" / name, output / name)
        shutil.copyfile(self.root / ICON, output / "icon.svg")
        (output / "search-index.js").write_text(self._search_index(), encoding="utf-8")

    def _groups(self) -> "list[tuple[str, list[Link]]]":
        groups = []
        for group in navigation.read(self.root):
            links = []
            for entry in group.entries:
                address = self._resolver("README.md")(entry.source, "")
                if address in self.pages:
                    links.append(Link(entry.words, address))
            groups.append((group.heading, links))
        groups[-1:-1] = [("Swift, every type", [each.link() for each in self.catalogues])] if self.catalogues else []
        return groups

    def _search_index(self) -> str:
        entries = []
        for path, page in sorted(self.pages.items()):
            for section in page.sections:
                heading = section.heading if section.level > 1 else ""
                text = " ".join(section.text.split())
                address = path + (f"#{section.anchor}" if section.level > 1 else "")
                entries.append([address, page.title, heading, text])
        return f"globalThis.searchIndex = {json.dumps(entries, ensure_ascii=False, separators=(',', ':'))};\n"


def version(root: Path) -> str:
    """The version of the programs, which stands in one place."""
    found = re.search(r'static let number = "([^"]+)"', (root / VERSION).read_text(encoding="utf-8"))
    if not found:
        raise SiteError(f"{VERSION} has no number; the site shows it")
    return found[1]


def problems(output: Path, pages: "dict[str, Page]") -> "list[str]":
    """Links of the written pages that lead nowhere."""
    found = []
    for path, page in sorted(pages.items()):
        for address in _ADDRESS.findall((output / path).read_text(encoding="utf-8")):
            if re.match(r"[a-z][a-z0-9+.-]*:", address) or address == "#":
                continue
            target, _, anchor = unquote(html.unescape(address)).partition("#")
            file = (output / path).parent / target if target else output / path
            if not file.is_file():
                found.append(f"{page.source or path}: {address} is not there; correct the link")
                continue
            other = pages.get(str(file.resolve().relative_to(output.resolve())))
            if anchor and anchor != "page" and (other is None or not other.has(anchor)):
                found.append(f"{page.source or path}: {target or path} has no heading #{anchor}; correct the link")
    return found


def main(arguments: "list[str]") -> int:
    if "-h" in arguments or "--help" in arguments:
        print(__doc__)
        return 0
    parser = argparse.ArgumentParser(prog="build.py", add_help=False)
    parser.add_argument("--output", required=True, type=Path)
    parser.add_argument("--catalogue", action="append", default=[])
    parser.add_argument("--sources", default="")
    parser.add_argument("--root", type=Path, default=HERE.parents[1])
    try:
        options = parser.parse_args(arguments)
        archives = {name: Path(archive) for name, archive in (each.split("=", 1) for each in options.catalogue)}
    except SystemExit:
        return 64
    except ValueError:
        print("build.py: --catalogue needs NAME=ARCHIVE", file=sys.stderr)
        return 64
    try:
        site = Site(options.root.resolve(), archives, options.sources)
        site.write(options.output)
    except SiteError as error:
        print(f"site: {error}", file=sys.stderr)
        return 1
    found = problems(options.output, site.pages)
    for problem in found:
        print(f"site: {problem}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
