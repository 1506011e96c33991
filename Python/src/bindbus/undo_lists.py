"""Elements of lists brought back to what they were: to where they stood, among those that are there now."""
from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

from . import values
from .lists import Elements
from .names import element
from .pending import Operation
from .undo_steps import UndoField

Place = Tuple[Optional[str], Optional[str]]  # the elements after and before which one stands


def place_in(elements: Elements, id: str) -> Place:
    """Between which others an element stands."""
    order = [each for each, _ in elements]
    if id not in order:
        return None, None
    at = order.index(id)
    return order[at - 1] if at else None, order[at + 1] if at + 1 < len(order) else None


def restoring(elements: Elements, fields: List[UndoField]) -> List[Operation]:
    """The operations that give elements of one list what they had before a step: what stood behind another one comes
    back after it."""
    order, content = [id for id, _ in elements], dict(elements)
    operations: List[Operation] = []
    rest: Dict[str, UndoField] = {}
    for each in fields:
        id = _id(each)
        if each.element is None:
            if id in content:
                operations.append(Operation("delete", each.name))
                order.remove(id)
        else:
            rest[id] = each
    while rest:
        id = next((id for id, each in rest.items() if each.place[0] not in rest), next(iter(rest)))
        operations += _restoring_one(id, rest.pop(id), order, content)
    return operations


def _restoring_one(id: str, each: UndoField, order: List[str], content: Dict[str, Any]) -> List[Operation]:
    value, operations = (each.element or [None])[0], []  # type: Any, List[Operation]
    is_here = id in content
    if not is_here or each.is_moved:
        if is_here:
            order.remove(id)
        after, before = each.place
        at = order.index(after) + 1 if after in order else order.index(before) if before in order else (
            0 if after is None else len(order))
        around = {"after": order[at - 1] if at else None, "before": order[at] if at < len(order) else None}
        anchors = {name: other for name, other in around.items() if other is not None}
        order.insert(at, id)
        operand = anchors if is_here else {**anchors, "is": value}
        operations.append(Operation("move" if is_here else "insert", each.name, values.encode(operand)))
    if is_here and values.encode(content[id]) != values.encode(value):
        operations.append(Operation("replace", each.name, values.encode(value)))
    return operations


def _id(each: UndoField) -> str:
    parts = element(each.name)
    return parts[1] if parts else ""
