"""hold becomes retry later: the answer to a proposal that the hub does not decide yet."""

from .rewriting import Rule, names

SWIFT = ("*.swift",)
OTHER = ("Sources/BindingModel/*",)
FILES = {
    "docs/vectors/bad/outcome-hold-code.json": "docs/vectors/bad/outcome-retry-later-code.json",
    "docs/vectors/behave/hold.json": "docs/vectors/behave/retry-later.json",
    "docs/vectors/wire/outcomes-hold.json": "docs/vectors/wire/outcomes-retry-later.json",
}
RULES = [
    *names({"HoldCode": "RetryReason", "holdBack": "reasonToRetry", "heldAsTooMany": "retriedAsTooMany"}, SWIFT),
    Rule(r"\bstate\.hold\(of:", "state.retryReason(of:", SWIFT),
    Rule(r"\bfunc hold\(of\b", "func retryReason(of", SWIFT),
    Rule(r"\blet hold = reasonToRetry\(model, waiting, time\) \{ return hold \}",
         "let later = reasonToRetry(model, waiting, time) { return later }", SWIFT),
    Rule(r"\(standing, hold\)", "(standing, reason)", SWIFT),
    Rule(r"\breturn hold\.map\b", "return reason.map", SWIFT),
    Rule(r"writes\[\$0\]\?\.hold\b", "writes[$0]?.retryReason", SWIFT),
    Rule(r"writes\[id\]\?\.hold\b", "writes[id]?.retryReason", SWIFT),
    Rule(r"\bvar hold: RetryReason\?", "var retryReason: RetryReason?", SWIFT),
    Rule(r"\)\?\.hold ==", ")?.retryReason ==", SWIFT),
    Rule(r"\]\?\.hold ==", "]?.retryReason ==", SWIFT),
    Rule(r"mapValues\(\\\.hold\)", r"mapValues(\\.retryReason)", SWIFT),
    Rule(r"(?<![\w\)\]\?])\.hold\b", ".retryLater", SWIFT, OTHER),
    Rule(r"\bcase hold\b", "case retryLater", SWIFT, OTHER),
    Rule(r"(?<![\w.])hold\((?=model\.topic|proposals?\.topic|\.)", "retryLater(", SWIFT, OTHER),
    Rule(r"\bfunc hold\((?!\))", "func retryLater(", ("Sources/BindingHub/*.swift",)),
    Rule(r"\bholds: \[\(id: WriteID", "retries: [(id: WriteID", SWIFT),
    Rule(r"\bin holds \{ output", "in retries { output", SWIFT),
    Rule(r"\bholds\.(append|removeAll)\(", r"retries.\1(", SWIFT),
    Rule(r"\bcounters\.holds\b", "counters.retries", SWIFT),
    Rule(r"\bpublic var holds: UInt64", "public var retries: UInt64", SWIFT),
    *names({"holds": "retries"}, ("Tests/BindingPeerTests/Core/Drain.swift",)),
    Rule(r"\.holds\.", ".retries.", ("Tests/BindingPeerTests/Core/WritingTests.swift",)),
    Rule(r'"holds"', '"retries"', ("Tests/ProcessTests/OutputTests.swift",)),
    Rule(r'"hold"', '"retryLater"', ("docs/vectors/*", "Tests/Browser/ear.js", "*.swift")),
    Rule(r'"name": "retryLater"', '"name": "retry-later"', ("docs/*.json",)),
    Rule(r'\("retryLater", WireOutcome', '("retry-later", WireOutcome', SWIFT),
    Rule(r'good\("outcomes-hold"\)', 'good("outcomes-retry-later")', SWIFT),
    Rule(r'"outcome-hold-code"', '"outcome-retry-later-code"', SWIFT),
    Rule(r"'hold'", "'retryLater'", ("Sources/BindingWeb/Pages/pages/*.js",)),
    Rule(r"`hold`", "`retryLater`", ("*.md",)),
    Rule(r"`hold (busy|storeFull|rateLimited|starting)`", r"`retryLater \1`", ("*.md",)),
    Rule(r"\b7 hold:      ", "7 retryLater: ", ("docs/protocol.md",)),
    Rule(r"\*\*refusal, hold\*\*", "**refusal, retry later**", ("docs/reference/glossary.md",)),
    Rule(r"refusals, holds and", "refusals, reasons to retry and", ("docs/protocol.md",)),
]
