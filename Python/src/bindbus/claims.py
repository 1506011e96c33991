"""The fields that this peer has in an ephemeral model, to be written again when the hub lacks them (section 9)."""
from __future__ import annotations

from typing import Callable, Dict, List, Optional, Tuple

from . import values
from .names import ME, SLOT
from .outcomes import Outcome
from .pending import Operation, Pending
from .replica import Replica


class Claims:
    """By field: the number of the deciding write, and the value; None where it was deleted or given up."""

    def __init__(self, tag: bytes) -> None:
        self.tag = tag
        self.fields: Dict[str, Tuple[int, Optional[bytes]]] = {}
        self.cleared_by = 0
        self.looks_for_orphans = True

    def settle(self, write: Pending, outcome: Outcome, replica: Replica) -> None:
        """Learns from the outcome of a write."""
        if outcome.succeeded:
            self.apply(write)
        elif outcome.kind in ("refused", "conflict", "unknown") and write.number and not write.is_void:
            for operation in write.overlay:
                mine = self.own(operation.field, replica)
                if outcome.kind != "refused" or self.fields.get(operation.field, (0, None))[1] != mine:
                    self._record(write.number, operation.field, mine)

    def apply(self, write: Pending) -> None:
        """Learns from a write that the hub holds."""
        for operation in write.operations:
            if operation.verb == "clear":
                self.cleared_by = max(self.cleared_by, write.number)
                self.fields = {name: each for name, each in self.fields.items() if each[0] > write.number}
            else:
                self._record(write.number, operation.field, operation.value if operation.verb == "set" else None)

    def _record(self, number: int, field: str, value: Optional[bytes]) -> None:
        if number > self.cleared_by and self.fields.get(field, (0, None))[0] <= number:
            self.fields[field] = number, value

    def missing(self, replica: Optional[Replica], is_pending: Callable[[str], bool]) -> List[Operation]:
        """The claims to write again: those that the replica lacks; without one all of them."""
        return [Operation("set", name, value) for name, (_, value) in sorted(self.fields.items())
                if value is not None and not is_pending(name)
                and (replica is None or not values.same(self.own(name, replica), value))]

    def orphans(self, replica: Replica, is_pending: Callable[[str], bool]) -> List[Operation]:
        """Own fields from before this model was joined, which nobody in this program has written since."""
        is_looking, self.looks_for_orphans = self.looks_for_orphans, False
        names = [*replica.fields, ME] if is_looking else []
        return [Operation("delete", name) for name in names if not name.startswith(SLOT) and not is_pending(name)
                and self.own(name, replica) is not None and self.fields.get(name, (0, None))[1] is None]

    def own(self, name: str, replica: Replica) -> Optional[bytes]:
        """What this peer has in a field, as the hub shows it."""
        field = replica.fields.get(name)
        if name != ME:
            return field.value if field and field.tag == self.tag else None
        for slot, each in replica.fields.items():
            said = values.decoded(each.value) if slot.startswith(SLOT) and each.value else None
            if isinstance(said, dict) and said.get("tag") == self.tag.hex() and "says" in said:
                return values.encode(said["says"])
        return None
