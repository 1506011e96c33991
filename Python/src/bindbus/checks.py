"""Whether a proposal is well-formed and within the hub's limits, before anything of it shows."""
from __future__ import annotations

from typing import Mapping

from . import names, values
from .errors import WireError, WriteError
from .pending import WITHOUT_VALUE, Operation, Pending


def check_proposal(write: Pending, limits: Mapping[int, int]) -> None:
    """Raises `WriteError` unless the hub can take the proposal."""
    count, most = len(write.operations), limits.get(3, 1_000)
    if not count:
        raise WriteError("the write names no field; write one at least")
    if count > most or len(write.conditions) > 255:
        raise WriteError(f"the write names {count} fields and {len(write.conditions)} conditions; the hub allows "
                         f"{most} and 255: write fewer at once")
    if write.hops > limits.get(13, 8):
        raise WriteError(f"the write is number {write.hops} in a chain of writes that answer each other; do not write "
                         "from an observer what makes another program write again")
    seen = set()
    for operation in write.operations:
        if operation.verb != "clear":
            _check(operation, limits)
            if operation.field in seen and names.element(operation.field) is None:
                raise WriteError(f"{operation.field} appears twice in one write; write each field once")
            seen.add(operation.field)
    if write.size > limits.get(2, 262_144):
        raise WriteError(f"the write has {write.size} bytes; the hub allows {limits.get(2, 262_144)}: write fewer "
                         "fields at once")


def _check(operation: Operation, limits: Mapping[int, int]) -> None:
    verb, field, value = operation
    try:
        names.check_field(field)
    except WireError as error:
        raise WriteError(str(error)) from None
    if (value is None) != (verb in WITHOUT_VALUE):
        raise WriteError(f"{field}: {verb} takes {'no' if verb in WITHOUT_VALUE else 'a'} value")
    if value is None:
        return
    most = limits.get(17, limits.get(1, 65_536)) if field == names.DESCRIPTION else limits.get(1, 65_536)
    if len(value) > most:
        raise WriteError(f"{field}: the value has {len(value)} bytes; the hub allows {most}: split it, or keep it "
                         "elsewhere and write its address")
    if verb in ("add", "max", "min", "union") and values.merge(verb, value, None) is None:
        raise WriteError(f"{field}: {verb} needs a {'list' if verb == 'union' else 'finite number'}")
