"""One model at a peer: how it joins, catches up, and follows what the hub commits (protocol, 5)."""
from __future__ import annotations

from typing import Dict, List, Optional

from .grammar import Body
from .outcomes import Outcome, unknown
from .overlay import Context
from .replica import Field, Replica
from .rights import Rights
from .undo import UndoBook
from .undo_steps import Point
from .writes import WriteQueue

_BUFFERED_BYTES = 1 << 20


class ModelSync:
    """The replica of a model, its writes, and the state of its join: `idle`, `asked`, `catchingUp` or `current`."""

    def __init__(self, model: str, context: Context, last_number: int, now: int) -> None:
        self.model, self.context = model, context
        self.replica = Replica()
        self.writes = WriteQueue(model, self.replica, context, last_number)
        self.is_ephemeral = self.writes.is_ephemeral
        self.progress, self.request, self.waiting_since = "idle", 0, 0
        self.topic = 0
        self.starts_over = False  # the next join asks for everything
        self.refusal = ""
        self.rights = Rights()  # everything, until the hub says otherwise
        self.arriving_rights: Optional[Rights] = None  # for the join that is under way
        self.is_from_file = False  # the replica was kept by an earlier process, and was not current since
        self.kept_log = 0
        self.is_left = False
        self.was_current = False
        self.current_since = 0  # the count of heartbeats
        self.stale_since = now
        self.may_be_anew = False  # of an ephemeral model: it may have ended since it was last current
        self.chunks: List[Body] = []
        self.buffered: List[Body] = []
        self.buffered_bytes = 0
        self.alive_sent = (0, 0)
        self.asked: List[int] = []  # versions of which the hub wants to know when they are applied
        self.healed, self.is_diverged = 0, False
        self.hops = 0  # of a write that answers what others have committed since it was last looked at

    # Joining

    def ask(self, request: int, now: int) -> Body:
        """The join that names what this peer has."""
        self.lapse(now)
        self.progress, self.request, self.waiting_since, self.chunks = "asked", request, now, []
        self.arriving_rights = None
        replica = self.replica
        return {"request": request, "form": 0, "name": self.model, "namesKnown": len(replica.ids),
                "epoch": 0 if self.starts_over else replica.epoch,
                "version": 0 if self.starts_over else replica.version, "unacknowledged": self.confirmed + 1}

    @property
    def confirmed(self) -> int:
        """The highest number up to which this peer has all outcomes."""
        return min(self.writes.by_number, default=self.writes.last_number + 1) - 1

    def lapse(self, now: int) -> None:
        """The model has to be asked for again; its values may be stale from now on."""
        if self.progress == "current":
            self.stale_since = now
            self.context.emit("changed", self.model)
        self.progress = "idle"

    def disconnect(self, heard_at: int) -> None:
        """The connection is gone; replica and writes stay."""
        self.lapse(heard_at)
        self.topic, self.asked, self.alive_sent, self.healed = 0, [], (0, 0), 0
        self._drop_buffered()

    def heard_at(self, heard_at: Optional[int]) -> Optional[int]:
        """When the hub was heard last, and the model complete; None: never in this process."""
        if heard_at is None or not self.was_current:
            return None
        return heard_at if self.progress == "current" else min(heard_at, self.stale_since)

    def assign(self, topic: int) -> None:
        """The hub has given the model a topic."""
        if self.topic:  # it was made anew: frames under the old topic use other numbers of fields
            self._drop_buffered()
        self.topic = topic

    def joined(self, body: Body, heartbeat: int, now: int) -> None:
        """The hub accepts the join, and says what follows."""
        self.refusal, self.rights = "", self.arriving_rights or Rights()
        if body["follows"]:
            self.progress, self.waiting_since, self.chunks = "catchingUp", now, []
            return
        starts_over = self.starts_over
        fits = (0 if starts_over else self.replica.version) == body["version"]
        if not fits or body["version"] and self.replica.epoch != body["epoch"]:
            self.starts_over = True
            return self.lapse(now)
        if starts_over:
            self.replica.keep_only(())
        if self.replica.epoch != body["epoch"]:
            self.writes.unhide()
        self._reach(body["version"], body["epoch"], body["mark"])
        self._become_current(heartbeat, now)

    def catchup(self, body: Body, heartbeat: int, now: int) -> None:
        """A chunk; the last one is applied with all before it (5.2-4)."""
        if self.progress != "catchingUp" or body["chunk"] != len(self.chunks):
            return
        self.waiting_since = now
        self.chunks.append(body)
        if not body["last"]:
            return
        if self._apply_chunks(body):
            return self._become_current(heartbeat, now)
        self.starts_over = True
        self.replica.forget_ids()
        self.lapse(now)

    def _apply_chunks(self, last: Body) -> bool:
        chunks, self.chunks = self.chunks, []
        start, is_snapshot, replica = self.replica.version, last["form"] == 2, self.replica
        is_other_epoch = last["epoch"] != replica.epoch
        if not is_snapshot and (is_other_epoch or last["previous"] > start or self.starts_over):
            return False
        named: Dict[str, None] = {}
        for chunk in chunks:
            if not replica.knows(chunk["names"], [entry["field"] for entry in chunk["fields"]]):
                return False
        if is_other_epoch:
            self.writes.unhide()
        for chunk in chunks:
            for entry in chunk["fields"]:
                name, origin = replica.ids[entry["field"]], chunk["origins"][entry["origin"]]
                named[name] = None
                self.writes.note(entry["number"], origin["tag"], last["epoch"], entry["version"])
                if is_snapshot or entry["version"] > start:
                    replica.commit(name, Field(entry["value"], entry["version"], origin["tag"], origin["name"],
                                               entry["number"], entry["time"]))
        if is_snapshot:
            replica.keep_only(named)
        self._reach(last["version"], last["epoch"], last["mark"])
        return True

    def _reach(self, version: int, epoch: int, mark: int) -> None:
        """The committed values have this version, and hold what was decided of our numbers up to the mark."""
        is_other_epoch = epoch != self.replica.epoch
        self.replica.version, self.replica.epoch = version, epoch
        if self.writes.book is not None:
            if is_other_epoch:
                self.writes.book.rebase(self.replica)
            self.writes.book.fold(self.replica)
        self.starts_over = False
        self.writes.hide(mark)
        # What was acknowledged in an earlier epoch is in this state, or was lost with that epoch.
        self.writes.reached(None if is_other_epoch else version)
        self.described()

    def _become_current(self, heartbeat: int, now: int) -> None:
        self.progress, self.was_current, self.current_since = "current", True, heartbeat
        self.is_from_file = False
        self.context.emit("changed", self.model)
        if self.may_be_anew:
            self.may_be_anew = False
            self.writes.end_forgotten()
        self.writes.send_again()
        buffered = self.buffered
        self._drop_buffered()
        for body in buffered:
            self.commits(body, 0, now)
        if self.is_diverged and self.progress == "current":
            self.is_diverged, self.healed = False, self.healed + 1
            self.asked.append(0)

    def _drop_buffered(self) -> None:
        self.buffered, self.buffered_bytes = [], 0

    # Following

    def commits(self, body: Body, size: int, now: int) -> None:
        """Applies published commits, or finds that it lacks some before them (5.2-5 to 5.2-8)."""
        if self.progress != "current":
            return self._buffer(body, size)
        replica = self.replica
        if body["epoch"] != replica.epoch:
            return self.lapse(now)
        if body["previous"] > replica.version:
            self.lapse(now)
            return self._buffer(body, size)
        ids = [change["field"] for commit in body["commits"] for change in commit["changes"]]
        if not replica.knows(body["names"], ids):
            replica.forget_ids()
            return self.lapse(now)
        for at, commit in enumerate(body["commits"], body["previous"] + 1):
            origin, book = body["origins"][commit["origin"]], self.writes.book
            own = book.write_of(commit["number"]) if book and origin["tag"] == self.context.tag else 0
            self.writes.note(commit["number"], origin["tag"], body["epoch"], at)
            if at <= replica.version:
                continue
            for change in commit["changes"]:
                name = replica.ids[change["field"]]
                if book and own:
                    book.commit(own, name, replica.fields.get(name), change["value"], Point(replica.epoch, at))
                replica.commit(name, Field(
                    change["value"], at, origin["tag"], origin["name"], commit["number"], body["time"]))
            replica.version = at
            if book and own:
                book.finish(own)
            if origin["tag"] != self.context.tag:
                self.hops = max(self.hops, commit["hops"] + 1)
        self.writes.reached(replica.version)
        self.described()
        self.context.emit("changed", self.model)

    def described(self) -> None:
        """The description may have changed."""
        self.writes.end_misformed()
        self.writes.learn_limits()

    def _buffer(self, body: Body, size: int) -> None:
        if self.buffered_bytes + size <= _BUFFERED_BYTES:  # what does not fit is a gap later
            self.buffered.append(body)
            self.buffered_bytes += size

    def compare(self, epoch: int, version: int, digest: int, now: int) -> None:
        """Compares the replica with the head of the hub's model (5.2-9, 5.2-10)."""
        if self.progress != "current":
            return
        if epoch != self.replica.epoch or version > self.replica.version:
            self.lapse(now)
        elif version == self.replica.version and digest != self.replica.digest():
            self.starts_over = self.is_diverged = True
            self.lapse(now)

    # What the session sends for it

    def alive(self) -> Optional[Body]:
        """What has changed since the last `alive` of this connection; None: nothing."""
        state = (self.confirmed, self.replica.version)
        if self.progress != "current" or not self.topic or state == self.alive_sent:
            return None
        self.alive_sent = state
        return {"topic": self.topic, "confirmed": state[0], "applied": state[1]}

    def report(self) -> Optional[Body]:
        """The version that the hub has asked for, once it is applied (5.3-1)."""
        version = self.replica.version
        if self.progress != "current" or not any(asked <= version for asked in self.asked):
            return None
        self.asked = [asked for asked in self.asked if asked > version]
        return {"topic": self.topic, "epoch": self.replica.epoch, "version": version, "digest": self.replica.digest(),
                "healed": self.healed}

    def welcomed(self, start: int, is_known: bool) -> None:
        """A hub welcomes the session: numbers of fields are those of an earlier one; it may be another process."""
        self.replica.forget_ids()
        if self.is_ephemeral:
            is_anew = self.was_current and self.replica.epoch != start
            self.may_be_anew = self.may_be_anew or is_anew or not is_known
            self.writes.claims.looks_for_orphans = self.writes.claims.looks_for_orphans or is_anew

    def give_up(self, why: str) -> None:
        """The hub does not let this peer read the model: drops what it has read, and ends its writes (15-16)."""
        for write in self.writes.unacknowledged():
            refused = Outcome("refused", code="notPermitted", text=why)
            self.writes.end(write, unknown(why) if write.number else refused)
        self.replica.keep_only(())
        self.replica.version, self.replica.epoch, self.is_from_file = 0, 0, False
        if self.writes.book is not None:
            self.writes.book = UndoBook(self.context.tag)
        self.context.emit("changed", self.model)
