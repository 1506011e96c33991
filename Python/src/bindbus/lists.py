"""Lists (protocol, 6.5): their elements in order, what steps make of them, and the least steps between two."""
from __future__ import annotations

from bisect import bisect_left
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple

from . import values
from .errors import WriteError
from .names import element, is_element_id

Elements = List[Tuple[str, Any]]
Step = Tuple[str, str, Any]  # verb, id, operand


def assemble(name: str, stored: Mapping[str, Optional[bytes]]) -> Elements:
    """The elements of a list in their order, from the fields as they are stored (6.5-1)."""
    found = []
    for field, text in stored.items():
        parts = element(field)
        if parts and parts[0] == name and text is not None:
            value = values.decoded(text)
            rank = value.get("at") if isinstance(value, dict) else None
            if type(rank) is int and 0 < rank < 1 << 53 and "is" in value:
                found.append((rank, parts[1], value["is"]))
    return [(id, value) for _, id, value in sorted(found, key=lambda each: each[:2])]


def identified(name: str, array: Sequence[Any]) -> Elements:
    """The elements of an array by their member `id`. Raises `WriteError` for one without."""
    found: Elements = []
    for at, each in enumerate(array):
        id = each.get("id") if isinstance(each, dict) else None
        if isinstance(id, bool) or not isinstance(id, (str, int)) or not is_element_id(str(id)):
            raise WriteError(f"{name}: the element at {at} has no id; give each a member `id`, a whole number or 1 to "
                             "40 of A-Z a-z 0-9 _ -")
        found.append((str(id), each))
    return found


class StepError(ValueError):
    """A step that the hub refuses as malformed."""


class StepConflict(ValueError):
    """A step about an element that is there, or is not there; its text is the element's id."""


def apply(before: Elements, steps: Iterable[Step]) -> Elements:
    """The list after steps, each applied to the list as the earlier ones left it (6.5-3)."""
    order: List[str] = [id for id, _ in before]
    content: Dict[str, Any] = dict(before)
    for verb, id, operand in steps:
        is_there = id in content
        if verb in ("insert", "move"):
            _check(verb, id, operand)
        if is_there == (verb == "insert") and verb != "delete":
            raise StepConflict(id)
        if is_there and verb in ("move", "delete"):
            order.remove(id)
        if verb == "delete":
            content.pop(id, None)
        elif verb == "replace":
            content[id] = operand
        else:
            after, follower = operand.get("after"), operand.get("before")
            order.insert(order.index(after) + 1 if after in order else
                         order.index(follower) if follower in order else len(order), id)
            content[id] = operand["is"] if verb == "insert" else content[id]
    return [(id, content[id]) for id in order]


def _check(verb: str, id: str, operand: Any) -> None:
    anchors = {"after", "before"}
    if not isinstance(operand, dict) or set(operand) - anchors - ({"is"} if verb == "insert" else set()):
        raise StepError(f"{operand!r} is no operand of {verb}")
    if verb == "insert" and "is" not in operand:
        raise StepError("an insert needs the element")
    if any(not isinstance(operand[name], str) or operand[name] == id for name in anchors & set(operand)):
        raise StepError("an anchor is the id of another element")


def difference(old: Elements, new: Elements) -> List[Step]:
    """The least steps from one list to another; what is in both stays where it belongs to the longest ordered run."""
    ids, former, content = [id for id, _ in new], {id: at for at, (id, _) in enumerate(old)}, dict(old)
    if len(set(ids)) < len(ids):
        raise WriteError("two elements have one id; give each element of a list an id of its own")
    kept = _longest_run([former.get(id) for id in ids])
    steps: List[Step] = [("delete", id, None) for id, _ in old if id not in set(ids)]
    behind: Optional[str] = None
    anchors: List[Dict[str, Any]] = []
    for at in range(len(ids) - 1, -1, -1):
        around = {"after": ids[at - 1] if at else None, "before": behind}
        anchors.insert(0, {name: id for name, id in around.items() if id is not None})
        behind = ids[at] if at in kept else behind
    for at, (id, value) in enumerate(new):
        if id not in former:
            steps.append(("insert", id, {**anchors[at], "is": value}))
            continue
        if at not in kept:
            steps.append(("move", id, anchors[at]))
        if values.encode(content[id]) != values.encode(value):
            steps.append(("replace", id, value))
    return steps


def _longest_run(numbers: Sequence[Optional[int]]) -> Dict[int, None]:
    """Where a longest rising sequence stands (Schensted, 1961); None is in none."""
    ends: List[int] = []
    tails: List[int] = []
    before: Dict[int, Optional[int]] = {}
    for at, number in enumerate(numbers):
        if number is not None:
            length = bisect_left(tails, number)
            before[at] = ends[length - 1] if length else None
            ends[length:length + 1], tails[length:length + 1] = [at], [number]
    run: Dict[int, None] = {}
    step = ends[-1] if ends else None
    while step is not None:
        run[step], step = None, before[step]
    return run
