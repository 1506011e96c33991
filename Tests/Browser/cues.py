"""A list of cues, the page that edits it, and what the tests look at."""

from __future__ import annotations

import json
from typing import Any

from stand import Stand, Tab, eventually

CUES = [{"id": 3, "name": "Rain", "seconds": 4}, {"id": 7, "name": "Wind", "seconds": 5},
        {"id": 9, "name": "Dawn", "seconds": 6}]
ROWS = "() => [...document.querySelectorAll('#rows > li')].map((row) => row.querySelector('input').value)"
IDS = "() => [...document.querySelectorAll('#rows > li')].map((row) => row.dataset.row)"
CARET = """() => {
    const { value, selectionStart, selectionEnd } = document.activeElement;
    return [document.activeElement === window.control && window.control.isConnected,
            value, selectionStart, selectionEnd];
}"""


def described(stand: Stand, elements: list[Any] | None = None) -> None:
    stand.serve()
    stand.describe("show", cues={"policy": "list"})
    for element in CUES if elements is None else elements:
        append(stand, element)


def append(stand: Stand, element: Any) -> None:
    stand.set("show.cues+=" + json.dumps(element))


def cues(stand: Stand) -> Tab:
    return stand.tab("/pages/cues.html").live()


def opened(stand: Stand, elements: list[Any] | None = None) -> Tab:
    described(stand, elements)
    tab = cues(stand)
    rows(tab, *[element["name"] for element in (CUES if elements is None else elements)])
    return tab


def rows(tab: Tab, *names: str) -> None:
    """Waits until these rows show, in this order."""
    tab.until(f"the rows {names}", f"(names) => JSON.stringify(({ROWS})()) === JSON.stringify(names)", list(names))


def settled(tab: Tab) -> None:
    tab.until("all confirmed", "() => !bind.link().unconfirmed().count")


def focus(tab: Tab, name: str, start: int, end: int) -> None:
    """Puts the caret into the name of a row, and keeps the control as window.control."""
    tab.eval("""([name, start, end]) => {
        window.control = [...document.querySelectorAll('#rows input')].find((one) => one.value === name);
        window.control.focus();
        window.control.setSelectionRange(start, end);
    }""", [name, start, end])


def names(stand: Stand, model: str = "show") -> list[str]:
    return [cue["name"] for cue in stand.get(model)["values"]["cues"]]


def committed(stand: Stand, *wanted: str) -> None:
    eventually(f"the committed cues {wanted}", lambda: names(stand) == list(wanted), stand.breathe)
