"""A session's models: joins, and frames from the hub, each of which goes to the part that it concerns."""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Tuple

from . import messages
from .connection import Connection
from .errors import ShareError, WireError
from .grammar import Body
from .kept_models import decide_witness, restore_replica
from .outcomes import unknown
from .pool import HubPool
from .rights import rights_of
from .sync import ModelSync
from .undo import UndoBook

JOIN_MS, MOST_JOINS = 3_000, 500
FENCED, OTHER_PROTOCOL, NOT_YOURS, NOT_PERMITTED = 4, 5, 10, 14


class Following(Connection):
    """The session as it reads: replicas follow what the hub commits, through lost frames and lost hubs."""

    def __init__(self, secret: bytes, name: str, seed: int, now: int, keeps: bool, hubs: HubPool) -> None:
        super().__init__(secret, name, seed, now, keeps, hubs)
        self.log = self.epoch = self.hub_now = 0
        self.models: Dict[str, ModelSync] = {}
        self.topics: Dict[int, str] = {}
        self.prefixes: Dict[str, int] = {}
        self.last_numbers: Dict[str, int] = {}
        self.last_request = 0
        self.stop_reason = ""
        self.counters: Dict[str, int] = {}
        # What an earlier process has kept of a model, and since when that may be stale.
        self.load: Callable[[str], Optional[Tuple[Body, int]]] = lambda id: None

    # Models

    def join(self, id: str, now: int) -> ModelSync:
        """Joins a model. It can be written from now on, and catches up whenever there is a hub."""
        if self.phase == "stopped":
            raise ShareError(f"this peer has stopped ({self.stop_reason}); start a new one")
        if id not in self.models:
            self.models[id] = ModelSync(id, self.context, self.last_numbers.get(id, 0), now)
            kept = self.load(id)
            if kept is not None:
                restore_replica(self.models[id], *kept)
        self.models[id].is_left = False
        return self.models[id]

    def _forget(self, model: ModelSync, now: int) -> None:
        """Leaves a model, all of whose writes have their outcomes (5.1-12)."""
        self.last_numbers[model.model] = model.writes.last_number
        del self.models[model.model]
        if model.topic:
            del self.topics[model.topic]
            self.context.emit("unsubscribe", model.topic)
            entry = model.alive()
            if entry:
                self.send("alive", {"heartbeat": self.heartbeat, "models": [entry]}, now)
            self.send("leave", {"models": [{"topic": model.topic}]}, now)

    def join_prefix(self, prefix: str, now: int) -> None:
        """Asks for the models below a prefix, those that exist and later ones."""
        self.prefixes[prefix] = self._request()
        if self.phase == "live":
            self._send_prefix(prefix, now)

    def _send_prefix(self, prefix: str, now: int) -> None:
        self.send("join", {"joins": [{"request": self.prefixes[prefix], "form": 1, "name": prefix, "epoch": 0,
                                      "version": 0, "namesKnown": 0, "unacknowledged": 0}]}, now)

    def _request(self) -> int:
        self.last_request += 1
        return self.last_request

    def _join(self, models: List[ModelSync], now: int) -> None:
        some = [model for model in models if not model.is_ephemeral or self.can("ephemeral")]
        joins = [model.ask(self._request(), now) for model in some]
        for at in range(0, len(joins), MOST_JOINS):
            self.send("join", {"joins": joins[at:at + MOST_JOINS]}, now)

    def _join_lapsed(self, now: int) -> None:
        if self.phase == "live":
            self._join([model for model in self.models.values() if model.progress == "idle"], now)

    def _disconnect(self) -> None:
        self.topics = {}
        for model in self.models.values():
            model.disconnect(self.received_at)

    def stop(self, reason: str) -> None:
        """Ends for good. Writes end as unknown here; those that an outbox keeps are sent by the next run."""
        if self.phase == "stopped":
            return
        self._disconnect()
        self.stop_reason = reason
        self._move("stopped")
        self.context.keeps = False
        for model in self.models.values():
            model.writes.end_all(unknown(f"this peer has stopped ({reason})"))
        self.context.emit("close")

    # Time

    def next_deadline(self, now: int) -> int:
        times = [super().next_deadline(now)]
        for model in self.models.values():
            times += model.writes.next_expiry(model.heard_at(self.heard_at), self.heartbeat_ms)
        for model in self.models.values() if self.phase == "live" else ():
            if model.progress in ("asked", "catchingUp"):
                times.append(model.waiting_since + JOIN_MS)
            elif model.writes.pending and model.writes.sends_from > now:
                times.append(model.writes.sends_from)
        return min(times)

    def expire(self, now: int) -> None:
        """Ends what has become too old of fields that expire."""
        for model in self.models.values():
            model.writes.expire(now, model.heard_at(self.heard_at), self.heartbeat_ms)

    def tick(self, now: int) -> None:
        super().tick(now)
        if self.phase == "live":
            self._join([model for model in self.models.values() if model.progress in ("asked", "catchingUp")
                        and now >= model.waiting_since + JOIN_MS], now)

    # What arrives

    def receive(self, frame: bytes, now: int) -> None:
        """Handles a frame from either connection. One that breaks the grammar, or belongs to another session or start
        of the hub, is dropped and counted, and changes nothing."""
        try:
            topic, start, kind, body = messages.decode(frame)
        except WireError as error:
            self._drop("badFrames")
            if self.counters["badFrames"] in (1, 100, 10_000):  # the log is no place for a flood
                self.context.emit("notice", f"dropped a frame that breaks the protocol: {error}; update hub or peer")
            return
        if self.phase not in ("welcoming", "live") or body.get("session", self.session) != self.session:
            return self._drop("otherSession")
        if kind == "welcome" and self.phase == "welcoming":
            return self._welcome(body, start, now)
        if kind == "error":
            return self._error(body, now)
        if kind == "hubs" and (self.phase == "welcoming" or start == self.start):
            return self._learn_hubs(body, now)
        if self.phase != "live" or start != self.start or kind == "welcome":
            return self._drop("otherStart")
        self.received_at = now
        id = body.get("model", self.topics.get(body.get("topic", topic), ""))
        handler = getattr(self, f"_on_{kind}", None)
        if handler is not None:
            handler(self.models.get(id), body, now, len(frame))
        self._join_lapsed(now)

    def _drop(self, counter: str) -> None:
        self.counters[counter] = self.counters.get(counter, 0) + 1

    def _welcome(self, body: Body, start: int, now: int) -> None:
        if self.log and self.log != body["logID"] and not self._goes_over(body["logID"], now):
            return
        was_welcomed = self.was_welcomed
        self._accept(body, start, now)
        if self.log and self.log != body["logID"]:
            self._change_log()
        if was_welcomed and self.epoch and not body["flags"] & 1:
            self._not_known(body, now)
        if self.context.keeps and (self.log, self.epoch) != (body["logID"], body["epoch"]):
            self.context.emit("journal", {"kind": "welcomed", "log": body["logID"], "epoch": body["epoch"]})
        self.log, self.epoch, self.hub_now = body["logID"], body["epoch"], body["now"]
        self._move("live")
        self.context.emit("listen", self.session, body["ways"])
        for model in self.models.values():
            decide_witness(model, self.log, self.epoch, self.can("recovering"))
            model.welcomed(start, bool(body["flags"] & 1))
        self._claim(None, now)
        self._join(list(self.models.values()), now)
        for prefix in self.prefixes:
            self._send_prefix(prefix, now)

    def _goes_over(self, log: int, now: int) -> bool:
        """Whether this peer goes over to another log. If not, the hub is a stranger: nothing is sent to it (4.6-2)."""
        goes_over, is_news = self.hubs.compare(self.log, log)
        if not goes_over:
            if is_news:
                self.context.emit("notice", self.hubs.misfit)
            self.reopen(self.hubs.misfit, now)
        return goes_over

    def _not_known(self, body: Body, now: int) -> None:
        """The hub does not know this identity, which was welcomed before in this log."""

    def _claim(self, model: Optional[ModelSync], now: int) -> None:
        """Writes ephemeral fields again; of one model what it lacks, without one all."""

    def _change_log(self) -> None:
        self.context.emit("notice", "the hub has another log than before; replicas start over")
        self.epoch = 0
        for id, model in list(self.models.items()):
            if not model.is_ephemeral:
                model.writes.end_all(unknown("the hub has another log than the one that the write was made for"))
                self.models[id] = ModelSync(id, self.context, model.writes.last_number, model.stale_since)
                self.models[id].is_left = model.is_left
                self.models[id].writes.book = UndoBook(self.context.tag) if model.writes.book else None

    def _error(self, body: Body, now: int) -> None:
        self.received_at = now
        if body["code"] in (FENCED, OTHER_PROTOCOL, NOT_YOURS):
            return self.stop(body["text"] or "the hub ended this session")
        if body["fatal"]:
            return self.reopen(body["text"], now, body["code"])
        model = self.models.get(body["text"].partition(":")[0])
        if model is None:
            return self.context.emit("notice", f"the hub answered: {body['text']}")
        if body["code"] == NOT_PERMITTED:
            model.give_up(body["text"])
        if model.refusal != body["text"]:
            model.refusal = body["text"]
            self.context.emit("changed", model.model)

    def _on_topic(self, model: Optional[ModelSync], body: Body, now: int, size: int) -> None:
        if model is not None and model.topic != body["topic"]:
            if model.topic:
                self.topics.pop(model.topic, None)
                self.context.emit("unsubscribe", model.topic)
            model.assign(body["topic"])
            self.topics[body["topic"]] = model.model
            self.context.emit("subscribe", body["topic"])

    def _on_rights(self, model: Optional[ModelSync], body: Body, now: int, size: int) -> None:
        if model is not None:
            model.arriving_rights = rights_of(body)

    def _on_joined(self, model: Optional[ModelSync], body: Body, now: int, size: int) -> None:
        if model is None or model.topic != body["topic"]:
            return  # the frame that names the topic was lost: the join is sent again
        if model.request == body["request"] and model.progress in ("asked", "catchingUp"):
            if not model.is_ephemeral:
                self.epoch = body["epoch"]
            model.joined(body, self.heartbeat_count, now)
            self._claim(model, now)

    def _on_catchup(self, model: Optional[ModelSync], body: Body, now: int, size: int) -> None:
        if model is not None and model.request == body["request"]:
            model.catchup(body, self.heartbeat_count, now)
            self._claim(model, now)

    def _on_commits(self, model: Optional[ModelSync], body: Body, now: int, size: int) -> None:
        if model is not None:
            model.commits(body, size, now)

    def _on_head(self, model: Optional[ModelSync], body: Body, now: int, size: int) -> None:
        if model is not None:
            model.compare(body["epoch"], body["version"], body["digest"], now)

    def _on_heads(self, _: Any, body: Body, now: int, size: int) -> None:
        for head in body["heads"]:
            model = self.models.get(self.topics.get(head["topic"], ""))
            if model is not None:
                model.compare(self._epoch_of(model, body), head["version"], head["digest"], now)

    def _epoch_of(self, model: ModelSync, body: Body) -> int:
        """Messages about several models name the log's epoch; that of an ephemeral model is the hub's start."""
        return self.start if model.is_ephemeral else int(body["epoch"])

    def _on_ask(self, model: Optional[ModelSync], body: Body, now: int, size: int) -> None:
        if model is not None:
            model.asked = [*model.asked[-63:], body["version"]]

    def _on_askOffer(self, model: Optional[ModelSync], body: Body, now: int, size: int) -> None:
        if model is not None and model.replica.version and not model.is_ephemeral and not (
                model.is_from_file and model.starts_over):
            chunk = self.limits.get(10, 262_144)
            for offer in model.replica.offers(body["request"], body["topic"], chunk, self.can("rescue")):
                self.send("offer", offer, now)

    def _on_upstream(self, _: Any, body: Body, now: int, size: int) -> None:
        self.is_reached = bool(body["reached"])
        self.context.emit("status")

    def _on_keys(self, _: Any, body: Body, now: int, size: int) -> None:
        self.context.emit("learn", body["present"], body["next"][0]["key"] if body["next"] else None)

    def _on_approve(self, model: Optional[ModelSync], body: Body, now: int, size: int) -> None:
        if model is not None:
            self.context.emit("approve", model.model, body)

    def answer_approval(self, session: int, answer: Body, now: int) -> None:
        """The owner's answer to a question of the hub in a session; in a later one the hub asks again."""
        if self.phase == "live" and session == self.session:
            self.send("approval", answer, now)

    def _on_announce(self, _: Any, body: Body, now: int, size: int) -> None:
        for prefix, request in self.prefixes.items():
            if request == body["request"]:
                models = {each["model"]: each["fields"] for each in body["models"]}
                self.context.emit("announced", prefix, models, bool(body["complete"]))
