"""Symbols: writes the symbol graph of a module that exports types of other modules by name.

usage: symbols.py GRAPHS SOURCE OUTPUT

GRAPHS is a folder with the symbol graphs of the other modules, SOURCE the file with the exports
(`@_exported import struct Module.Name`), OUTPUT the graph that is written: the types that SOURCE exports, with their
members and extensions, as symbols of the module that SOURCE is in. The compiler's own graph of such a module has no
extensions, and what is not exported does not belong on an application's pages.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

EXPORT = re.compile(r"^@_exported import \w+ \w+\.(\w+)$", re.MULTILINE)


def main() -> int:
    graphs, source, output = map(Path, sys.argv[1:])
    exported = set(EXPORT.findall(source.read_text(encoding="utf-8")))
    merged: dict[str, Any] = {}
    symbols: dict[str, Any] = {}
    relationships = []
    for path in sorted(graphs.glob("*.symbols.json")):
        graph = json.loads(path.read_text(encoding="utf-8"))
        merged = merged or {key: graph[key] for key in ("metadata", "module")}
        for symbol in graph["symbols"]:
            if symbol["pathComponents"][0] in exported:
                # What another module adds to a type is a member of it here.
                symbol.pop("swiftExtension", None)
                symbols.setdefault(symbol["identifier"]["precise"], symbol)
        relationships += graph["relationships"]
    merged["module"]["name"] = source.parent.name
    merged["symbols"] = list(symbols.values())
    merged["relationships"] = [one for one in relationships if one["source"] in symbols]
    output.write_text(json.dumps(merged), encoding="utf-8")
    lacking = exported - {symbol["pathComponents"][0] for symbol in symbols.values()}
    for name in sorted(lacking):
        print(f"{output}: no symbols of {name}, which {source} exports", file=sys.stderr)
    return 1 if lacking else 0


if __name__ == "__main__":
    sys.exit(main())
