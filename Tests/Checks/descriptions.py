#!/usr/bin/env python3
"""Prints random descriptions of models as assignments of `bindpeer set`, one a line.

usage: Tests/Checks/descriptions.py COUNT [SEED]   SEED: another one each time
"""

from __future__ import annotations

import json
import random
import sys

NAMES = ["level", "on", "let", "class", "set", "status", "None", "a-b", "aB", "1st", "_x", "-", "Type", "init",
         "values", "remove", "shared", "self", "true", "field", "str", "release", "change", "with", "in", "x9"]
TEXTS = ["", "plain", "a \"quote\" \\ and \\(1)", "*/ end /*", "two\nlines", "ümlaut ß", "\u202e back", "'''", "𝄞",
         "#{x}", "\\u0041", "$(ls)", "`x`", "\u0007"]
NUMBERS = [0, 1, -1, 3, 99, 0.5, -0.25, 1e300, 1e-9, 2 ** 53, -2 ** 63, 100]
TYPES = ["boolean", "integer", "number", "string", "array", "object", "any"]
POLICIES = ["lastWrite", "compareAndSet", "text", "add", "max", "min", "union", "list", "merge", "other"]


def value(draw: random.Random, depth: int = 0) -> object:
    kind = draw.randrange(8 if depth < 2 else 4)
    if kind < 4:
        return (None, draw.random() < 0.5, draw.choice(NUMBERS), draw.choice(TEXTS))[kind]
    if kind < 6:
        return [value(draw, depth + 1) for _ in range(draw.randrange(3))]
    if kind == 6:
        return [draw.choice(TEXTS) for _ in range(draw.randrange(3))]
    return {draw.choice(TEXTS): value(draw, depth + 1) for _ in range(draw.randrange(3))}


def rule(draw: random.Random) -> dict[str, object]:
    """Of a field: whatever a hub admits."""
    made: dict[str, object] = {"type": draw.choice(TYPES)}
    fitting = {"boolean": lambda: draw.random() < 0.5, "integer": lambda: draw.randrange(-5, 9),
               "number": lambda: draw.choice(NUMBERS), "string": lambda: draw.choice(TEXTS),
               "array": lambda: [value(draw, 1) for _ in range(2)], "object": lambda: {"a": value(draw, 1)}}
    fit = fitting.get(str(made["type"]), lambda: value(draw))
    for name, chance, draws in (
            ("default", 0.8, lambda: fit() if draw.random() < 0.7 else value(draw)),
            ("choices", 0.2, lambda: [fit() for _ in range(3)]), ("maxLength", 0.2, lambda: draw.choice([0, 1, 40])),
            ("unit", 0.2, lambda: draw.choice(TEXTS)), ("policy", 0.4, lambda: draw.choice(POLICIES)),
            ("ephemeral", 0.15, lambda: True), ("title", 0.3, lambda: draw.choice(TEXTS)),
            ("help", 0.3, lambda: draw.choice(TEXTS)), ("group", 0.1, lambda: draw.choice(TEXTS)),
            ("widget", 0.1, lambda: draw.choice(TEXTS)), ("step", 0.2, lambda: abs(draw.choice(NUMBERS)) or 1),
            ("readOnly", 0.1, lambda: True), ("secret", 0.1, lambda: True), ("order", 0.5, lambda: draw.randrange(9)),
            ("pattern", 0.1, lambda: draw.choice(TEXTS))):
        if draw.random() < chance:
            made[name] = draws()
    low, high = sorted(draw.sample(NUMBERS, 2))
    made.update({name: each for name, each in (("min", low), ("max", high)) if draw.random() < 0.4})
    if draw.random() < 0.15:
        made.update(expires=draw.choice([500, 1500]), default=fit())
        for name in ("min", "max", "choices", "maxLength", "policy", "ephemeral"):
            made.pop(name, None)
    if made.get("policy") == "list":
        made.pop("ephemeral", None)
    return made


def main() -> int:
    if len(sys.argv) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 64
    seed = int(sys.argv[2]) if len(sys.argv) == 3 else random.randrange(2 ** 32)
    print(f"descriptions: seed {seed}", file=sys.stderr)
    draw = random.Random(seed)
    for number in range(int(sys.argv[1])):
        fields = {name: rule(draw) for name in draw.sample(NAMES, draw.randrange(1, 7))}
        described: dict[str, object] = {"fields": fields}
        if draw.random() < 0.2:
            described["alias"] = {"renamed": next(iter(fields))}
        model = draw.choice(["t/lamp-{}", "t/{}", "t/a/model-{}", "t/x_{}"]).format(number)
        print(f"{model}.@description:={json.dumps(described, ensure_ascii=True)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
