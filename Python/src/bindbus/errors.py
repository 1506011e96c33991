"""The errors of this package. Each text names the fault and the cure."""
from __future__ import annotations

from typing import List


class BindbusError(Exception):
    """The base of all errors of this package."""


class WireError(BindbusError):
    """Bytes that do not follow the grammar of the protocol."""


class ShareError(BindbusError):
    """A model cannot be shared, or this peer has stopped."""


class WriteError(BindbusError, ValueError):
    """A write was rejected here. Nothing of it shows and nothing is sent."""


class FieldError(WriteError):
    """A value does not fit the declaration of its field."""


class HistoryError(BindbusError):
    """The hub has no history for this model, or did not answer in time."""


class BarrierError(BindbusError):
    """The other peers did not apply a version in time, or the hub cannot say so."""


class OutboxError(BindbusError):
    """The file of an outbox cannot be used."""


class MisfitsError(BindbusError):
    """A description is not replaced, since present values do not fit the new one. `values` says which, and why."""

    def __init__(self, values: List[str]) -> None:
        self.values = values
        super().__init__("present values do not fit; write them anew, or pass keep_misfits=True:\n  "
                         + "\n  ".join(values))


class KeysError(BindbusError):
    """The keys for a hub cannot be used, or no hub of that name was joined."""


class KeepError(BindbusError):
    """The folder that keeps the values of models cannot be used."""
