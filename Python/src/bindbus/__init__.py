"""Two-way data binding across processes: optimistic locally, ordered by a hub, durable, observable.

    from bindbus import Peer, model, ranged

    @model
    class Lamp:
        level: float = ranged(0.3, 0, 1)

    with Peer(name="kitchen") as peer:
        lamp = peer.share(Lamp, "lamp")
        lamp.level = 0.8
"""
from .errors import (BarrierError, BindbusError, FieldError, HistoryError, KeepError, KeysError, MisfitsError,
                     OutboxError, ShareError, WireError, WriteError)
from .models import Model, field, model, ranged
from .observing import Observer
from .outcomes import Outcome, RejectionError
from .owning import ApprovalRequest, Ownership
from .past import BarrierEnd, HistoryCommit, PresentPeer
from .peer import Peer
from .pending_write import PendingWrite
from .rights import Rights
from .shared import SharedModel
from .statuses import FieldStatus, ModelStatus, PeerStatus
from .stored_form import mapped
from .undoing import Undoing, UndoResult, UndoStatus

__all__ = [
    "ApprovalRequest", "BarrierEnd", "BarrierError", "BindbusError", "FieldError", "FieldStatus", "HistoryCommit",
    "HistoryError", "KeepError", "KeysError", "MisfitsError", "Model", "ModelStatus", "Observer", "OutboxError",
    "Outcome", "Ownership", "Peer", "PeerStatus", "PendingWrite", "PresentPeer", "RejectionError", "Rights",
    "ShareError", "SharedModel", "UndoResult", "UndoStatus", "Undoing", "WireError", "WriteError", "field",
    "mapped", "model", "ranged",
]
