"""The tables of words, in the order in which they were applied: a later one may name what an earlier one gave."""

ORDER = [
    "undecided",
    "beat",
    "hand",
    "judge",
    "rescue",
    "reveal",
    "kept",
    "hold",
    "containers",
    "climate",
    "glimpse",
    "wish",
    "place",
    "life",
    "line",
    "standing",
    "patience",
    "unset",
    "company",
    "fold",
]
