"""kept becomes unchanged: the outcome of a write of which nothing was left to do."""

from .rewriting import Rule, names

SWIFT = ("*.swift",)
OTHER = ("*/ZeroMQGate*.swift", "*/ZeroMQTransport*.swift", "*/HubLoop.swift", "*/CrashImageTests.swift",
         "*/OutboxRestartTests.swift", "*/PeerRuntime+Outbox.swift", "*/OutboxStorage.swift", "Sources/BindingModel/*")
FILES = {
    "docs/vectors/behave/kept-before-its-commits.json": "docs/vectors/behave/unchanged-before-its-commits.json",
    "docs/vectors/wire/outcomes-kept.json": "docs/vectors/wire/outcomes-unchanged.json",
}
RULES = [
    Rule(r"(?<![\w\)\]\?])\.kept\b(?!\()", ".unchanged", SWIFT, OTHER),
    Rule(r"\bcase kept\b", "case unchanged", SWIFT, OTHER),
    Rule(r"\bcounters\.kept\b", "counters.unchanged", SWIFT),
    Rule(r"\bvar kept: UInt64", "var unchanged: UInt64", ("*/HubCounters.swift",)),
    Rule(r"\bcounts\[\.kept\]", "counts[.unchanged]", SWIFT),
    Rule(r"\bin, refused, kept, expired\b", "in, refused, unchanged, expired", SWIFT),
    Rule(r'"kept-before-its-commits"', '"unchanged-before-its-commits"', ("*",)),
    Rule(r'\("kept", WireOutcome', '("unchanged", WireOutcome', SWIFT),
    Rule(r'good\("outcomes-kept"\)', 'good("outcomes-unchanged")', SWIFT),
    Rule(r'"kept"', '"unchanged"', (
        "*/WriteReport.swift", "*/HistoryPen.swift", "*/HistoryCheck*.swift", "*/OutputTests.swift",
        "*/MergeVectors.swift", "*/VectorTests.swift", "docs/vectors/*", "Examples/python/*", "Tests/Browser/behave*",
        "Tests/HistoryTests/*", "Tests/Faults/*.py", "Examples/demo/*", "Tests/Checks/*")),
    Rule(r'bad, bad, bad, "kept"', 'bad, bad, bad, "unchanged"', ("Tests/Browser/values_tests.py",)),
    Rule(r"kind(: | === )'kept'", r"kind\1'unchanged'", ("Sources/BindingWeb/Pages/pages/*.js",)),
    Rule(r"`kept`", "`unchanged`", ("*.md", "*.swift")),
    Rule(r"(\|[^|\n]*)\bkept\b(?=[^|\n]*\|)", r"\1unchanged", ("docs/outbox.md",)),
    Rule(r"\b2 kept:     ", "2 unchanged:", ("docs/protocol.md",)),
    Rule(r"\| kept(?=[ ,;|])", "| unchanged", ("docs/protocol.md",)),
    Rule(r"; kept,", "; unchanged,", ("docs/protocol.md",)),
    Rule(r"the same bytes are kept", "the same bytes are `unchanged`", ("docs/protocol.md",)),
]
