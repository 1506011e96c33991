"""What becomes of a write."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .errors import WriteError

REFUSALS = ("", "malformedValue", "valueTooLarge", "proposalTooLarge", "tooManyFields", "badName", "duplicateField",
            "loop", "versionBeyondHead", "notANumber", "unknownField", "modelFull", "unknownVerb", "notPermitted",
            "doesNotFit", "notOwner", "refusedByOwner", "ownerSilent")
RETRIES = ("", "storeFull", "busy", "rateLimited", "starting", "upstream")


@dataclass(frozen=True)
class Outcome:
    """The end of a write, reported once for each.

    `kind` is `committed` (with `version` and `epoch`), `unchanged`, `refused` (with `code` and `text`), `conflict`
    (with `field`, its present `value`, `version` and `writer`), `superseded` by a later write of this program,
    `expired` (withdrawn, or given up, before it took effect), or `unknown` (with the reason in `text`).
    """

    kind: str
    version: int = 0
    epoch: int = 0
    code: str = ""
    text: str = ""
    field: str = ""
    value: Any = None
    writer: str = ""

    def __str__(self) -> str:
        if self.kind == "committed":
            return f"committed at version {self.version}"
        if self.kind == "conflict":
            what = "deleted" if self.value is None else f"set to {self.value!r}"
            return f"conflict: {self.field} changed at version {self.version}: {what} by {self.writer or 'nobody'!r}"
        return f"{self.kind}: {self.text}" if self.text else self.kind

    @property
    def succeeded(self) -> bool:
        """Whether the hub holds what was written: it was committed, or changed nothing."""
        return self.kind in ("committed", "unchanged")


class RejectionError(WriteError):
    """A write that was not applied; `outcome` tells why."""

    def __init__(self, what: str, outcome: Outcome) -> None:
        super().__init__(f"{what}: {outcome}; read the present value and write again if it should still apply")
        self.outcome = outcome


def unknown(reason: str) -> Outcome:
    """The outcome that nobody can tell any more."""
    return Outcome("unknown", text=reason)

