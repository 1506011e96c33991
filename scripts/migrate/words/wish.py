"""wish and fate become admin request and result: what a command asks of a running hub by a file beside its store.

The file keeps its name, `STORE.wish`: commands of earlier releases leave it.
"""

from .rewriting import Rule, names

ALL = ("*.swift", "*.md", "*.py")
STORE = ("Sources/BindingStore/*", "Sources/bindhub/*", "Tests/BindingStoreTests/*", "docs/reference/store-format.md",
         "docs/design/decisions/2026-11-21-*-beside-the-store.md")
FILES = {
    "Sources/BindingStore/SQLiteStore+Wishes.swift": "Sources/BindingStore/SQLiteStore+AdminRequests.swift",
    "docs/design/decisions/2026-11-21-wishes-beside-the-store.md":
        "docs/design/decisions/2026-11-21-requests-beside-the-store.md",
}
RULES = [
    *names(
        {
            "StoreWish": "AdminRequest", "waitForWish": "waitForRequest", "lookForWish": "lookForRequest",
            "looksForWishAt": "looksForRequestAt",
        }, ALL),
    Rule(r"SQLiteStore\+Wishes\b", "SQLiteStore+AdminRequests", ALL),
    Rule(r"wishes-beside-the-store\b", "requests-beside-the-store", ALL),
    *names({"Fate": "Result", "fate": "result"}, ("Sources/BindingStore/*", "Sources/bindhub/*",
                                                 "Tests/BindingStoreTests/*")),
    Rule(r"(?<!\.)\bwish\b", "request", STORE),
    Rule(r"\bWish\b", "Request", STORE),
    Rule(r"(?<!\.)\bWishes\b", "Requests", STORE),
    Rule(r"\bwhat somebody wishes\b", "requests", STORE),
    Rule(r"\b(A session's|a session's) wish to hear\b", r"\1 request to hear", ALL),
    Rule(r"\bthe wish to stop\b", "the request to stop", ALL),
]
