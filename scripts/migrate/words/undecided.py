"""undecided becomes unacknowledged: a write that was sent, and whose outcome the hub has not yet told."""

from .rewriting import parts

RULES = parts("undecided", "unacknowledged")

FILES = {"docs/vectors/bad/join-undecided-zero.json": "docs/vectors/bad/join-unacknowledged-zero.json"}
