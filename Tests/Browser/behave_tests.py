"""Plays the scripts of docs/reference/vectors/behave with bind.js. Needs no hub: behave.js is the gateway."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable

from stand import ROOT, Stand, expect

SCRIPTS = ROOT / "Sources/BindingWeb/Pages/pages"
VECTORS = sorted((ROOT / "docs/reference/vectors/behave").glob("*.json"))
HERE = "http://bindbus.test/"


def blank(stand: Stand, models: dict[str, list[str]]) -> Any:
    """A page that contains only bind.js and a control for each field, with a simulated clock."""
    rows = "".join(
        f'<section data-model="{model}">'
        + "".join(f'<label>{field} <input data-bind="{field}"></label>' for field in fields) + "</section>"
        for model, fields in models.items())
    body = f'<!doctype html><meta charset="utf-8"><title>-</title><script src="/bind.js" defer></script>{rows}'
    context = stand.browser.new_context()
    context.add_init_script(path=Path(__file__).with_name("behave.js"))
    context.route("**/*", lambda route: route.fulfill(body="", status=404))
    context.route(HERE, lambda route: route.fulfill(body=body, content_type="text/html"))
    for name in ("bind.js", "conflicts.js", "values.js", "texts.js", "elements.js", "undo.js", "sha256.js", "lists.js",
                 "list-values.js", "list-steps.js"):
        context.route(HERE + name, lambda route: route.fulfill(path=SCRIPTS / route.request.url.rpartition("/")[2]))
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(HERE)
    # bind.js loads modules before it opens a link, in real time instead of the page's.
    page.evaluate("() => bind.link().begun")
    expect(not wrong, wrong)
    return context, page


def played(path: Path) -> Callable[[Stand], None]:
    vector = json.loads(path.read_text(encoding="utf-8"))

    def run(stand: Stand) -> None:
        context, page = blank(stand, vector["models"])
        wrong: list[str] = []
        page.on("pageerror", lambda error: wrong.append(f"uncaught: {error}"))
        try:
            words = page.evaluate("(vector) => behave.play(vector)", vector)
            expect(not words, words)
            expect(not wrong, wrong)
        finally:
            context.close()

    return run


def made() -> dict[str, Callable[[Stand], None]]:
    return {path.stem: played(path) for path in VECTORS}


def test_every_script_is_named_as_its_file(stand: Stand) -> None:
    for path in VECTORS:
        vector = json.loads(path.read_text(encoding="utf-8"))
        expect(list(vector) == ["name", "about", "models", "steps"], path.name)
        expect(vector["name"] == path.stem and vector["about"].endswith("."), path.name)


def attempts(stand: Stand) -> list[float]:
    """The times of the connection attempts of a page without a gateway, in its first minute, in milliseconds."""
    context, page = blank(stand, {"lamp": ["level"]})
    try:
        return page.evaluate("async () => { await behave.pass(60000); return behave.gateway.attempts }")
    finally:
        context.close()


def test_a_disconnected_page_retries_with_growing_jittered_pauses_up_to_5_s(stand: Stand) -> None:
    tries = attempts(stand)
    pauses = [later - earlier for earlier, later in zip(tries, tries[1:])]
    stand.log(f"{len(tries)} tries in the first minute; pauses " + ", ".join(f"{pause:.0f}" for pause in pauses[:12]))
    expect(50 <= pauses[0] <= 200, f"the first pause is {pauses[0]} ms")
    expect(all(50 <= pause <= 5010 for pause in pauses), pauses)
    expect(max(pauses[5:]) >= 2000, f"the pauses do not increase: {pauses}")
    expect(10 <= len(tries) <= 60, f"{len(tries)} tries in a minute")
    expect(attempts(stand) != tries, "two pages reconnected at the same times")
