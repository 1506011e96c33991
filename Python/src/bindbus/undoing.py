"""Undo and redo of a program's own writes, where others write the same model."""
from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Iterator, Optional, Tuple

from .errors import WriteError
from .observing import current_hops
from .undo import UndoBook
from .undo_steps import Point

if TYPE_CHECKING:
    from .shared import SharedModel

_HISTORY_SECONDS = 5.0


@dataclass(frozen=True)
class UndoResult:
    """What has become of an undo or a redo: `done`, with its `fields`, of which `inexact` may be rounded, because
    fractions were added; `nothing`, if there is no step; or `failed`, for `reason`: the step is dropped, so that the
    next call goes on with the one before."""

    kind: str
    fields: Tuple[str, ...] = ()
    inexact: Tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class UndoStatus:
    """The fields that an undo and a redo would change now; empty: there is nothing to undo, or to redo."""

    undoes: Tuple[str, ...] = ()
    redoes: Tuple[str, ...] = ()


class Undoing:
    """Takes back this program's own last step, never another one's: `model.undoing.undo()`.

    A field is taken back if it is still as this program left it; of an `add` the amount is subtracted, and of a text
    the words of others stay; elements of lists return to their neighbours. Unions, defaults and descriptions are not
    recorded. Sets of the same fields within a second are one step; `with undoing.group():` makes one of what it
    encloses.
    """

    def __init__(self, model: "SharedModel") -> None:
        self._model = model
        with model._runtime.lock:
            writes = model._sync.writes
            if writes.is_ephemeral:
                raise WriteError(f"{model.id} is ephemeral: its fields end with this peer, and are not undone")
            writes.book = writes.book or UndoBook(model._runtime.session.context.tag)

    @property
    def _book(self) -> UndoBook:
        book = self._model._sync.writes.book
        assert book is not None
        return book

    @property
    def status(self) -> UndoStatus:
        """What an undo and a redo would do now, for a menu."""
        with self._model._runtime.lock:
            undo, redo = self._book.top(False), self._book.top(True)
            return UndoStatus(tuple(undo.fields) if undo else (), tuple(redo.fields) if redo else ())

    def undo(self, timeout: Optional[float] = None) -> UndoResult:
        """Takes back the last step. It shows before this waits, which it does for the hub's decision, for at most
        `timeout` seconds; None: as long as it takes. Raises `TimeoutError`; the undo goes on."""
        return self._restore(False, timeout)

    def redo(self, timeout: Optional[float] = None) -> UndoResult:
        """Does again what the last undo took back, if nothing was written since."""
        return self._restore(True, timeout)

    async def aundo(self, timeout: Optional[float] = None) -> UndoResult:
        """`undo` for asyncio: does not block the event loop."""
        return await asyncio.to_thread(self.undo, timeout)

    async def aredo(self, timeout: Optional[float] = None) -> UndoResult:
        """`redo` for asyncio: does not block the event loop."""
        return await asyncio.to_thread(self.redo, timeout)

    @contextlib.contextmanager
    def group(self) -> Iterator[None]:
        """Makes one step of what is written to the model inside. Groups nest; the outermost one counts."""
        with self._model._runtime.lock:
            book = self._book
            book.begin_group()
        try:
            yield
        finally:
            with self._model._runtime.lock:
                book.end_group()

    def _restore(self, redoes: bool, timeout: Optional[float]) -> UndoResult:
        self._learn_past(redoes)
        model = self._model
        with model._runtime.lock:
            found: Any = model._sync.writes.begin_restoring(redoes)
            if isinstance(found, str):
                return UndoResult("failed", reason=found) if found else UndoResult("nothing")
            step, operations, rules = found
            fields, inexact = tuple(step.fields), tuple(step.inexact)
            if not operations:
                model._runtime.carry_out()
                return UndoResult("done", fields)
            try:
                write = model._runtime.write(model.id, operations, list(fields), {}, rules=rules, hops=current_hops(),
                                             undoes=(step, redoes))
            except WriteError as error:
                (self._book.redo if redoes else self._book.undo).append(step)
                return UndoResult("failed", fields, reason=str(error))
        outcome = write.outcome(timeout)
        if outcome.succeeded or outcome.kind == "superseded":
            return UndoResult("done", fields, inexact)
        if outcome.kind == "conflict":
            reason = outcome.text or f"{outcome.field} was changed by {outcome.writer or 'nobody'} since"
            return UndoResult("failed", fields, reason=reason)
        return UndoResult("failed", fields, reason=str(outcome))

    def _learn_past(self, redoes: bool) -> None:
        """Asks the hub's history what stood before commits that arrived together with others."""
        with self._model._runtime.lock:
            step = self._book.top(redoes)
            unknown = [(each, each.at) for each in step.fields.values() if each.kind == "set" and each.at is not None
                       and not each.is_before_known] if step else []
            can_ask = self._model._runtime.session.can("history")
        for each, at in unknown if can_ask else ():
            body = {"flags": 0, "epoch": 0, "after": 0, "through": at.version - 1, "since": 0, "until": 0, "count": 1,
                    "fields": [each.name], "writers": []}
            page: Any = {"end": 1, "reason": 0, "commits": []}  # nothing stood before the first version
            if at.version > 1:
                page = self._model._runtime.ask("history", self._model.id, body, _HISTORY_SECONDS)
            if page is not None and page["end"] <= 1:
                self._learn(each, at, page)

    def _learn(self, each: Any, at: Point, page: Any) -> None:
        change = next((change for commit in page["commits"] for change in commit["changes"]), None)
        is_known = change["state"] < 2 if change else page["end"] == 1 and page["reason"] == 0
        with self._model._runtime.lock:
            if is_known and each.at == at and not each.is_before_known:
                each.before, each.is_before_known = change["value"] if change and change["state"] == 0 else None, True
                if change:
                    each.before_at = Point(page["commits"][0]["epoch"], page["commits"][0]["version"])
