"""What an outbox keeps, as records: writes without an outcome, the identity that made them, and its numbers."""
from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional

from .described import FieldForm, Form
from .pending import LONG_WAIT_MS, Condition, FormWritten, Operation, Pending, Seen

FORMAT = 1
Kept = Dict[str, Any]


class KeptWrites:
    """The state that records lead to, one after the other. `time` of a record is the wall time, in milliseconds."""

    def __init__(self) -> None:
        self.secret = self.name = ""
        self.log = self.epoch = self.last_write = 0
        self.last_numbers: Dict[str, int] = {}
        self.writes: Dict[int, Kept] = {}

    def apply(self, record: Mapping[str, Any]) -> None:
        """Takes in a record."""
        kind = record["kind"]
        if kind == "began":
            self.secret, self.name, self.last_write = record["secret"], record["name"], record["last"]
            self.last_numbers = dict(record["numbers"])
        elif kind == "welcomed":
            self.log, self.epoch = record["log"], record["epoch"]
        elif kind in ("written", "numbered"):
            earlier = self.writes.get(record["write"], record)
            self.writes[record["write"]] = {**record, "time": earlier["time"], "void": earlier.get("void", False)}
            self.last_write = max(self.last_write, record["write"])
            self.last_numbers[record["model"]] = max(self.last_numbers.get(record["model"], 0), record["number"])
        elif kind == "counted":  # a number of a write that is not kept
            self.last_numbers[record["model"]] = max(self.last_numbers.get(record["model"], 0), record["number"])
        elif kind == "withdrawn" and record["write"] in self.writes:
            self.writes[record["write"]]["void"] = True
        elif kind == "decided":
            self.writes.pop(record["write"], None)

    def begin(self, secret: bytes, name: str) -> bytes:
        """Goes on under the identity of unfinished writes; without any under a new one. Returns the secret."""
        if not self.writes:
            self.secret, self.log, self.epoch, self.last_numbers = secret.hex(), 0, 0, {}
        self.name = name
        return bytes.fromhex(self.secret)

    def unfinished(self, now: int, wall: int) -> List[Pending]:
        """The writes without an outcome, oldest first; `now` is of the session's clock, `wall` the wall time."""
        writes: List[Pending] = []
        for record in self.writes.values():
            # Where the wall clock went back, how long the write waited is unknown.
            writes.append(unkept(record, now, is_old=not 0 <= wall - record["time"] < LONG_WAIT_MS))
            writes[-1].is_void = record.get("void", False)
        return sorted(writes, key=lambda write: write.id)

    def records(self) -> List[Kept]:
        """The fewest records that lead to this state."""
        began = {"kind": "began", "format": FORMAT, "secret": self.secret, "name": self.name,
                 "last": self.last_write, "numbers": self.last_numbers}
        welcomed = [{"kind": "welcomed", "log": self.log, "epoch": self.epoch}] if self.epoch else []
        void = [{"kind": "withdrawn", "write": id} for id, each in self.writes.items() if each.get("void")]
        return [began, *welcomed, *self.writes.values(), *void]


def kept(write: Pending) -> Dict[str, Any]:
    """A write as an outbox keeps it."""
    return {"write": write.id, "model": write.model, "number": write.number, "hops": write.hops, "rules": write.rules,
            "offline": write.offline, "epoch": write.epoch, "second": write.is_second_try,
            "operations": [[each.verb, each.field, _text(each.value)] for each in write.operations],
            "conditions": [list(each) for each in write.conditions],
            "forms": {name: [each.form.present.json, each.form.former and each.form.former.json, each.is_mapped]
                      for name, each in write.forms.items()},
            "seen": {name: [_text(seen.value), seen.epoch, seen.version, seen.is_own, _text(seen.ground)]
                     for name, seen in write.seen.items()}}


def unkept(record: Mapping[str, Any], written_at: int, is_old: bool) -> Pending:
    """The write that an outbox has kept. What a function was to merge is compared instead: the function is gone."""
    rules = {name: "compare" if rule == "merge" else rule for name, rule in record["rules"].items()
             if rule != "restore"}  # it has its final values
    seen = {name: Seen(_bytes(value), epoch, version, is_own, _bytes(ground))
            for name, (value, epoch, version, is_own, ground) in record["seen"].items()}
    forms = {name: FormWritten(FieldForm(Form.read(present) or Form(), Form.read(former)), is_mapped)
             for name, (present, former, is_mapped) in record.get("forms", {}).items()}
    return Pending(record["write"], record["model"],
                   [Operation(verb, field, _bytes(value)) for verb, field, value in record["operations"]], written_at,
                   [Condition(*each) for each in record["conditions"]], rules, dict(record["offline"]), seen, forms,
                   hops=record["hops"], is_restored=True, is_old=is_old, number=record["number"], epoch=record["epoch"],
                   is_second_try=record["second"])


def _text(value: Optional[bytes]) -> Optional[str]:
    return None if value is None else value.decode()


def _bytes(text: Optional[str]) -> Optional[bytes]:
    return None if text is None else text.encode()
