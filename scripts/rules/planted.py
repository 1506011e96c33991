"""The self-test: plants each violation in a small project, and proves that its rule finds exactly this violation."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path
from typing import Callable, NamedTuple

# Assembled from parts, so that this file does not violate the rules itself.
UNFINISHED = "TO" + "DO"
HOST = "git" + "hub.com/"
MACHINE = "/wo" + "rk/here"

PACKAGE = """\
// swift-tools-version: 6.2
let package = Package(
  dependencies: [.package(url: "https://%sapple/swift-log", from: "1.16.0")],
  targets: [
    .systemLibrary(name: "CZMQ"),
    .target(name: "ZeroMQ", dependencies: ["CZMQ"]),
    .target(name: "BindingModel"),
    .target(name: "BindingProtocol"),
    .target(name: "Bindbus", dependencies: ["BindingPeer"]),
    .target(name: "BindingPeer", dependencies: [.target(name: "BindingModel"), "BindingProtocol", "ZeroMQ"]),
    .target(
      name: "BindingHub",
      dependencies: ["BindingProtocol", "ZeroMQ", .product(name: "Logging", package: "swift-log")]),
    .target(name: "Simulation", dependencies: ["BindingPeer", "BindingHub"]),
    .executableTarget(name: "bindhub", dependencies: ["BindingHub"]),
    .target(name: "BindingTerminal"),
    .testTarget(name: "BindingHubTests", dependencies: ["BindingHub"]),
  ])
""" % HOST

# All of this is allowed; some of it resembles a violation.
CLEAN = {
    "Package.swift": PACKAGE,
    "README.md": "[rules](docs/rules.md#one), [docs](docs/), [site](https://example.org/a) `[Int](x)`\n"
    "```swift\nlet zeros = [Int](repeating: 0, count: 3)\n```\n",
    "ARCHITECTURE.md": "`Sources/BindingHub/Core/` has `Heads.swift`, all of `docs/*.md`, run `scripts/run --fast`.\n",
    "docs/design/rules.md": "| **R1** | a rule |\n",
    "docs/reference/protocol.md": "## 5. Reading\n### 5.1 Joining\n```\njoin = topic:u32\n```\n",
    "docs/rules.md": "[back](../README.md)\n",
    "docs/wide.md": "| " + "a cell " * 30 + "|\n\n```\n" + "code " * 30 + "\n```\n\n`" + "one span " * 20 + "`\n",
    "scripts/run": "#!/bin/sh\n",
    "Sources/ZeroMQ/Socket.swift": "public import CZMQ\n#if canImport(Glibc)\n  import Glibc\n#endif\n",
    "Sources/BindingModel/Date+Foundation.swift": "public import Foundation\n",
    "Sources/BindingModel/Bridges/Views.swift": "public import UIKit\n",
    "Tests/Checks/Compile/program.swift": "import Anything\n",
    "docs/design/articles.md": "| S0.1 S1.W2 | one | S0.27 |\n",
    "Tests/BindingHubTests/Rows.swift": '@Test("S0.1 S1.W2: two rows")\nfunc rows() {}\n',
    "Sources/BindingHub/Core/Heads.swift": "import BindingProtocol\nlet first = all.randomElement(using: &dice)\n",
    "Sources/BindingHub/Link.swift": "internal import Foundation\nimport Logging\npublic import struct ZeroMQ.Socket\n",
    "Sources/BindingProtocol/Bytes.swift": """\
/* A comment! /* inside a comment: import Foundation */ try! as! */
struct Utilization { let managed = "x! \\(a != b ? "import CZMQ!" : "") try!" }
let page = \"\"\"
  fatalError(now) and "quoted!" \\(count)!
  \"\"\"
let raw = #"a "quoted!" \\(word)!"#
// SAFETY: the buffer lives as long as its owner, which nobody can copy; the reason may be long,
// longer than three lines, as long as it ends
// just above what it explains, so that who reads one
// reads the other
nonisolated(unsafe) let buffer = start!
let same = first !== second, not = !same, last = list[0]!  // SAFETY: checked in the line before.
""",
    "Tests/BindingHubTests/HeadsTests.swift": "import Testing\n@testable import BindingHub\nlet sure = maybe!\n",
    "Tests/wire/Vectors.swift.json": "{}\n",
    "Sources/BindingTerminal/ProgramVersion.swift": 'static let number = "1.2.3"\n',
    "Python/pyproject.toml": '[project]\nversion = "1.2.3"\npython_version = "3.10"\n',
    # Files with types of their own, which extend another type.
    "Sources/BindingHub/Whole.swift": "struct Whole {}\n",
    **{f"Sources/BindingHub/{n}.swift": f"struct {n} {{}}\nextension Whole {{}}\n" for n in ("A1", "B1", "C1", "D1")},
    # Of a type of another module.
    **{f"Sources/BindingHub/Part+{name}.swift": "extension Part {}\n" for name in ("One", "Two", "Three", "Four")},
}


class Plant(NamedTuple):
    """A file to add or replace, the rule that it violates, and the line of the expected finding."""

    rule: str
    path: str
    text: str
    line: int = 1


def _hashes(count: int) -> list[str]:
    """Text that compresses to no less than half its size."""
    return [hashlib.sha384(str(number).encode()).hexdigest() for number in range(count)]


def _function(lines: int, head: str = "func long(_ each: (Int) -> Void = { _ in }) -> [Int]") -> str:
    return "struct S {\n" + head + " {\n" + "  step()\n" * (lines - 2) + "}\n}\n"


WIRE, HUB, CORE, MODEL = (
    "Sources/BindingProtocol/A.swift", "Sources/BindingHub/A.swift", "Sources/BindingPeer/Core/A.swift",
    "Sources/BindingModel/A.swift",
)
PLANTS = [
    Plant("layer", WIRE, "import Foundation\n"),
    Plant("layer", WIRE, "\npublic import Dispatch\n", 2),
    Plant("layer", MODEL, "import Foundation\n"),
    Plant("layer", MODEL, "import FoundationEssentials\n"),
    Plant("layer", MODEL, "import BindingProtocol\n"),
    Plant("layer", MODEL, "public import UIKit\n"),
    Plant("layer", "Sources/BindingModel/Bridges/A.swift", "public import BindingProtocol\n"),
    Plant("layer", HUB, "@preconcurrency import BindingModel\n"),
    Plant("layer", HUB, "import BindingPeer\n"),
    Plant("layer", HUB, "import BindingStore\n"),
    Plant("layer", HUB, "import GRDB\n"),
    Plant("layer", "Sources/BindingStore/A.swift", "import BindingPeer\n"),
    Plant("layer", HUB, "import CZMQ\n"),
    Plant("layer", "Sources/BindingPeer/A.swift", "internal import CZMQ\n"),
    Plant("layer", "Sources/BindingPeer/A.swift", "import Logging\n"),  # Allowed, but not declared.
    Plant("layer", "Sources/ZeroMQ/A.swift", "import Foundation\n"),
    Plant("layer", "Sources/bindhub/A.swift", "import ZeroMQ\n"),
    Plant("layer", "Sources/Unknown/A.swift", "let a = 1\n"),
    Plant("layer", "Tests/BindingHubTests/A.swift", "import BindingPeer\n"),
    Plant("layer", "Tests/BindingHubTests/A.swift", "import CZMQ\n"),
    *(
        Plant("layer", CORE, f"import BindingProtocol\nimport {name}\n", 2)
        for name in ("Glibc", "Dispatch", "Foundation")
    ),
    Plant("layer", CORE, "let now = ContinuousClock.now\n"),
    Plant("layer", CORE, "let dice = Int.random(in: 1...6)\n"),
    Plant("layer", "Package.swift", PACKAGE.replace('"CZMQ"])', '"CZMQ", "BindingProtocol"])'), 6),
    Plant("layer", "Package.swift", PACKAGE.replace('"ZeroMQ", .product', '"ZeroMQ", "BindingModel", .product'), 11),
    Plant("size", WIRE, "let a = 1\n" * 301, 301),
    Plant("size", "Tests/BindingHubTests/A.swift", "let a = 1\n" * 301, 301),
    Plant("size", WIRE, _function(71), 2),
    Plant("size", WIRE, _function(71, "init?<T>(from text: T)\n  where T: Sendable"), 2),
    Plant("size", WIRE, "protocol P {\n  func one() -> Int\n  var two: Int { get }\n}\n" + _function(71), 6),
    Plant("size", WIRE, _function(71, "var sum: Int"), 2),
    Plant("size", WIRE, "\n//" + "a" * 119 + "\n", 2),
    Plant("width", "docs/wide.md", "one\n" + "a word " * 18 + "\n", 2),
    Plant("width", "docs/wide.md", "- " + "a word " * 9 + "`code that is long`" + " more" * 10 + "\n"),
    Plant("size", "scripts/run", "#" * 121 + "\n"),
    Plant("size", "Sources/BindingWeb/Pages/pages/bind.js", "".join(f"// {hash}\n" for hash in _hashes(500))),
    *(Plant("name", WIRE, f"\nstruct {name} {{}}\n", 2) for name in ("WireUtils", "SocketManager", "HelperBox")),
    *(Plant("name", WIRE, f"actor {name} {{}}\n") for name in ("FrameHandlers", "Engine", "JSONHelper")),
    Plant("row", "docs/design/articles.md", "| S0.1 S1.W2 |\n| S4.W3r |\n", 2),
    Plant("row", "Tests/BindingHubTests/A.swift", 'let a = 1\n@Test("S9.9: a row that the page lacks")\n', 2),
    Plant("name", "Sources/BindingProtocol/StringUtils.swift", "let a = 1\n"),
    Plant("name", "scripts/build_helpers.sh", "echo\n"),
    Plant("citation", WIRE, "let r2 = 1\n// R1, (R2)\n", 2),
    Plant("citation", "Tests/BindingHubTests/A.swift", '@Test("§5.1 and §5.2: both")\nfunc both() {}\n'),
    Plant("citation", HUB, "/// See docs/rules.md and docs/gone.md.\nlet a = 1\n"),
    Plant("version", "Python/pyproject.toml", '[project]\nversion = "1.2.4"\n', 2),
    Plant("grammar", WIRE, "let one = 1\nlet draft = \"draft-" + "0" * 8 + "\"\n", 2),
    Plant("surface", "Sources/Bindbus/A.swift", "@_exported import BindingPeer\n"),
    Plant("surface", "Sources/BindingPeer/A.swift", "/// A.\npublic struct Failure: Error, Sendable {}\n", 2),
    Plant("surface", "Sources/BindingPeer/A.swift", "/// A.\npublic func wait(timeoutMilliseconds: Int) {}\n", 2),
    Plant(
        "surface", "Sources/BindingPeer/A.swift", "/// A.\npublic struct A {\n  @inlinable\n  public init() {}\n}\n",
        4),
    Plant(
        "surface", "Sources/Bindbus/A.swift",
        "".join(f"@_exported import struct BindingPeer.T{number}\n" for number in range(46)), 46),
    Plant(
        "type", HUB,
        "\nstruct A {\n" + "  var a: Int = { 1 }()\n" * 16 + "  var b: Int { 1 }\n  static let c = 1\n}\n", 2),
    Plant(
        "type", HUB,
        "struct A {\n  final class B {\n" + "    private(set) var a = 1 { didSet {} }\n" * 16 + "  }\n}\n", 2),
    Plant("type", HUB, "\nenum Part {}\n", 2),
    Plant("mutant", HUB, "let a = 1\n#if MUTANTS\n#endif\n", 2),
    Plant("marker", WIRE, f"let a = 1\n// {UNFINISHED}: later\n", 2),
    Plant("marker", "docs/a.md", f"{UNFINISHED}\n"),
    Plant("marker", "docs/a.md", "one\n" + "<" * 7 + " theirs\n", 2),
    *(
    Plant("safety", WIRE, f"// Why, but not marked as such.\n{line}\n", 2)
        for line in (
            "final class A: @unchecked Sendable {}", "nonisolated(unsafe) var a = 1", "let a = try! b()",
            "let a = b as! Int", "let a = b!", "a[0]!.run()", "f(a()!, b)", "var a: Int!", 'let a = "\\(b!)"',
            'fatalError("a")', 'preconditionFailure("a")', 'let a = Int("1")!', "if a! == b { }",
        )
    ),
    Plant("safety", WIRE, '// SAFETY: too far away.\n\n\n\nlet a = "SAFETY: in a string" + b!\n', 5),
    Plant("page", "ARCHITECTURE.md", "One\n`Gone.swift`\n", 2),
    Plant("page", "ARCHITECTURE.md", "`Sources/Gone/`\n"),
    Plant("page", "ARCHITECTURE.md", "`scripts/gone --check`\n"),
    Plant("page", "README.md", "[a](docs/gone.md)\n"),
    Plant("page", "README.md", "[a](https://example.org) and\n![picture](gone.png 'title')\n", 2),
    Plant("page", "docs/a.md", "[a](README.md)\n"),
    Plant(
        "page", "docs/README.md",
        "[a](rules.md) [b](design/rules.md) [c](design/articles.md) [d](reference/protocol.md)\n"),
    Plant("workplace", WIRE, f'let a = "{MACHINE}"\n'),
    Plant("workplace", "docs/a.md", f"one\ntwo {HOST}someone\n", 2),
    Plant("workplace", "scripts/run", "PATH=/opt/" + "swift/usr/bin\n"),
]


def _write(root: Path, files: dict) -> None:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")


def prove(findings_in: Callable[[Path], list]) -> int:
    wrong = 0
    for plant in [None, *PLANTS]:
        with tempfile.TemporaryDirectory(prefix="bindbus-lint-") as folder:
            _write(Path(folder), CLEAN)
            if plant:
                _write(Path(folder), {plant.path: plant.text})
            found = findings_in(Path(folder))
        expected = [(plant.path, plant.line, plant.rule)] if plant else []
        if [finding[:3] for finding in found] != expected:
            wrong += 1
            where = f"{plant.path}:{plant.line}: {plant.rule}: {plant.text[:200]!r}" if plant else "nothing"
            print(f"lint --self-test: planted {where}")
            print("  found " + ("nothing" if not found else "\n        ".join(map(str, found))))
    verdict = f"{wrong} judged wrongly" if wrong else "all found, nothing else"
    print(f"lint --self-test: {len(PLANTS)} violations planted, {verdict}")
    return 1 if wrong else 0
