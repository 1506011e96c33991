"""whenUnset, and the verb `default` of pages, become setIfAbsent: a write that counts only where nothing was written.

On the wire it stays the number 2, and bindpeer's flag stays `--default`.
"""

from .rewriting import Rule, names

PAGES = ("Sources/BindingWeb/Pages/pages/*.js", "Examples/pages/*.js")
PROTOCOL = ("docs/reference/protocol.md",)
RULES = [
    Rule(r"/// `default` on the wire: sets the field\b", "/// Sets the field", ("*/Proposal.swift",)),
    *names({"whenUnset": "setIfAbsent"}),
    Rule(r'case "default": self = \.setIfAbsent', 'case "setIfAbsent": self = .setIfAbsent', ("*/Verb+Words.swift",)),
    # What an earlier release kept is still known by its word.
    Rule(r"(?<!\|\| verb === )'default'", "'setIfAbsent'", PAGES),
    Rule(r'\["default", "@description"', '["setIfAbsent", "@description"', ("Tests/Browser/*.py",)),
    Rule(r"\b2 default ·", "2 setIfAbsent ·", PROTOCOL),
    Rule(r"^\| `default` \| committed\b", "| `setIfAbsent` | committed", PROTOCOL),
    Rule(r"(\(but by|with verb) `default`", r"\1 `setIfAbsent`", PROTOCOL),
    Rule(r"(?<=`set`, )`default`", "`setIfAbsent`", PROTOCOL),
]
