"""Owning a model: the hub asks its owner before it applies any other peer's write (protocol, 9.3)."""
from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Dict, Optional, Tuple

from . import names, values
from .errors import WriteError
from .grammar import Body
from .pending import Operation

if TYPE_CHECKING:
    from .shared import SharedModel

_MOST_BYTES = 1_000  # of a reason
log = logging.getLogger("bindbus")


@dataclass(frozen=True)
class ApprovalRequest:
    """A write that waits for the owner's approval: what it would set (`changes`) and delete, and who made it. `user` is
    empty at a hub without keys."""

    model: str
    changes: Dict[str, Any]
    deleted: Tuple[str, ...]
    writer: str
    tag: str
    user: str = ""


Approve = Callable[[ApprovalRequest], Optional[str]]


class Ownership:
    """This program's right to approve every other peer's write to a model. It ends when it is released, which the end
    of a `with` block does, and with the peer."""

    def __init__(self, model: "SharedModel") -> None:
        self._model = model

    @property
    def is_held(self) -> bool:
        """Whether the hub has this peer as the owner, as far as is known here."""
        with self._model._runtime.lock:
            field = self._model.ephemeral._sync.replica.fields.get(names.OWNER)
            mine = self._model._runtime.session.context.tag
            is_here = field is not None and field.value is not None and field.tag == mine
            return self._model.approve is not None and is_here

    def release(self) -> None:
        """Gives the ownership up: other peers' writes are applied without approval. Harmless when repeated."""
        with self._model._runtime.lock:
            if self._model.approve is None:
                return
            self._model.approve = None
            try:
                write_owner(self._model, None)
            except WriteError:
                pass  # a peer that has stopped owns nothing

    def __enter__(self) -> "Ownership":
        return self

    def __exit__(self, *_: Any) -> None:
        self.release()


def write_owner(model: "SharedModel", name: Optional[str]) -> Any:
    """Claims the ownership of a model under a name; None gives it up."""
    ephemeral = model.ephemeral
    operation = Operation("delete", names.OWNER) if name is None else Operation("set", names.OWNER, values.encode(name))
    return model._runtime.write(ephemeral.id, [operation], [names.OWNER], {})


def answered(approve: Optional[Approve], model: str, body: Body) -> Body:
    """The answer to the hub's question. A peer that owns nothing any more approves every write."""
    changes = {each["name"]: values.decoded(each["value"]) for each in body["fields"] if each["value"] is not None}
    deleted = tuple(each["name"] for each in body["fields"] if each["value"] is None)
    request = ApprovalRequest(model, changes, deleted, body["origin"], body["tag"].hex(), body.get("user", ""))
    reason: Optional[str] = None
    if approve is not None:
        try:
            reason = approve(request)
        except Exception as error:  # whatever it is, it refuses the write
            reason = str(error) or type(error).__name__
            if not isinstance(error, (ValueError, AssertionError)):
                log.exception("the check of %s raised; the write is refused", model)
    text = (reason or "").encode()[:_MOST_BYTES].decode(errors="ignore")
    return {"topic": body["topic"], "token": body["token"], "accept": int(reason is None), "text": text}
