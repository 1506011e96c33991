"""The log of the dashboard with fast writers and many models, and reverting a commit."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

from stand import PAGES, Stand, Tab, eventually, expect, same

ROWS = "() => [...document.querySelectorAll('#log li')].map((one) => one.textContent)"


def opened(stand: Stand, model: str | None = None, script: Path | None = None, **options: Any) -> Tab:
    tab = stand.tab("/", script, **options).live()
    if model:
        tab.until(f"{model} in the tree", "(id) => document.querySelector(`[data-id='${id}']`)", model)
        tab.page.locator(f"[data-id='{model}']").click()
        tab.until(f"the fields of {model}", "() => document.querySelector('#rows tr')")
    return tab


def logged(tab: Tab, *words: str) -> str:
    """Waits for a row of the log that contains these words, and returns it."""
    return tab.until(f"{words} in the log", """(words) => [...document.querySelectorAll('#log li')]
        .map((one) => one.textContent).find((text) => words.every((word) => text.includes(word)))""", list(words))


def row(tab: Tab, words: str) -> Any:
    return tab.page.locator("#log li").filter(has_text=words).first


# The log.

def test_the_log_shows_commits_of_models_that_the_page_has_not_joined(stand: Stand) -> None:
    stand.serve()
    stand.set("a.x=1")
    for number in range(60):
        stand.set(f"room/r{number:02}.x=1")
    tab = opened(stand, "a")
    joined = len(tab.eval("() => ear.sent.filter((one) => one.kind === 'join' && one.model).map((one) => one.model)"))
    stand.set("room/r57.lamp=on")
    logged(tab, "room/r57", "lamp", "shell")
    tab.until("its version in the tree",
              "() => document.querySelector(\"[data-id='room/r57'] .version\").textContent === '2'")
    again = tab.eval("() => ear.sent.filter((one) => one.kind === 'join' && one.model).length")
    same(again, joined, "models that the page has joined")
    expect(joined <= 4, f"{joined} models are joined only for the log")


def test_a_fast_writer_takes_one_row_of_the_log(stand: Stand) -> None:
    stand.serve()
    stand.set("robot.x=0", "lamp.on=true")
    tab = opened(stand, "lamp")
    writer = stand.start("writer", "bindpeer", "pipe", "robot")
    state = {"count": 0}

    def write_until(what: str, script: str) -> None:
        def look() -> Any:
            state["count"] += 1
            writer.write({"x": state["count"]})
            return tab.eval(script)
        eventually(what, look, stand.breathe)

    write_until("the robot in the log", "() => document.querySelector('#log').textContent.includes('robot')")
    stand.set("lamp.on=false")
    write_until("the lamp in the log", "() => document.querySelector('#log').textContent.includes('lamp')")
    write_until("many commits in one row",
                "() => /robot.* (\\d{2,}) commits/.test(document.querySelector('#log').textContent)")
    rows = tab.eval(ROWS)
    same(len([one for one in rows if "robot" in one]), 1, "rows of one writer")
    same(len([one for one in rows if "lamp" in one]), 1, "rows of the other")


def test_the_log_does_not_move_under_a_pointer_or_while_it_is_paused(stand: Stand) -> None:
    stand.serve()
    stand.set("lamp.on=true", "desk.x=0")
    tab = opened(stand, "lamp")
    stand.set("lamp.level=1")
    logged(tab, "level")
    row(tab, "level").hover()
    before = tab.eval(ROWS)
    stand.set("other.x=1")
    stand.set("desk.y=1")
    tab.until("the number of new commits", "() => /^[12] new/.test(document.getElementById('new-commits').textContent)")
    same(tab.eval(ROWS), before, "the log under a pointer")
    tab.page.mouse.move(1, 1)
    logged(tab, "desk", "y")
    tab.page.get_by_role("button", name="Pause").click()
    before = tab.eval(ROWS)
    rate = tab.eval("() => document.getElementById('counters').textContent")
    stand.set("third.x=1")
    tab.until("the number of new commits", "() => /^1 new/.test(document.getElementById('new-commits').textContent)")
    same(tab.eval(ROWS), before, "the log while it is paused")
    same(tab.eval("() => document.getElementById('counters').textContent"), rate, "the numbers while they are paused")
    tab.page.get_by_role("button", name="Go on").click()
    logged(tab, "third")


def test_chips_and_a_search_filter_the_log(stand: Stand) -> None:
    stand.serve()
    stand.describe("lamp", level={"type": "number", "min": 0, "max": 1})
    stand.set("lamp.level=0.5")
    tab = opened(stand, "lamp")
    stand.set("other.x=1")
    stand.set("lamp.level=0.25")
    stand.python("set", "machine", "speed=7")
    for words in ("other", "lamp", "machine"):
        logged(tab, words)
    tab.eval("() => { bind.model('lamp').propose([['set', 'level', 7]]); }")
    logged(tab, "refused")

    def only(*names: str) -> list[str]:
        for name in names:
            tab.page.get_by_role("button", name=name, exact=True).click()
        rows = tab.eval(ROWS)
        for name in names:
            tab.page.get_by_role("button", name=name, exact=True).click()
        return rows

    expect(all("lamp" in one for one in only("This model")) and len(only("This model")) >= 2, only("This model"))
    expect(not any("machine" in one for one in only("People")), only("People"))
    same(["refused" in one for one in only("Refusals")], [True], "refusals")
    tab.page.get_by_label("Find in the log").fill("SPEED")
    tab.until("the only matching row", "() => document.querySelectorAll('#log li').length === 1")
    expect("machine" in tab.eval(ROWS)[0], tab.eval(ROWS))


# Revert.

def test_revert_asks_in_place_and_can_be_undone(stand: Stand) -> None:
    stand.serve()
    stand.set("kiosk.greeting=hello", "kiosk.open=true")
    tab = opened(stand, "kiosk")
    stand.set("kiosk.greeting=seen")      # From here on the page follows it for the log, too.
    logged(tab, "greeting", "seen")
    tab.page.locator("#clear-log").click()
    stand.set("kiosk.greeting=bye")
    logged(tab, "greeting", "bye")
    button = tab.page.get_by_role("button", name="Revert version 3 of kiosk")
    expect(not button.is_visible(), "Revert is visible although Edit is off")
    tab.page.get_by_label("Edit").first.click()
    button.click()
    tab.page.get_by_text('kiosk: set greeting back to "seen"?').wait_for()
    stand.set("other.x=1")
    stand.set("kiosk.note=new")
    same(stand.get("kiosk")["values"]["greeting"], "bye", "before the answer")
    tab.page.get_by_role("button", name="No", exact=True).click()
    same(tab.eval("() => document.activeElement.textContent"), "Revert", "where the focus goes back to")
    tab.page.keyboard.press("Enter")
    tab.page.get_by_role("button", name="Yes", exact=True).click()
    stand.committed("kiosk", "greeting", "seen")
    tab.page.locator("#log").get_by_role("button", name="Undo").click()
    stand.committed("kiosk", "greeting", "bye")
    logged(tab, "undone at")


def test_revert_keeps_a_value_that_another_has_written_since(stand: Stand) -> None:
    stand.serve()
    stand.set("kiosk.greeting=hello")
    tab = opened(stand, "kiosk")
    stand.set("kiosk.greeting=seen")
    logged(tab, "greeting", "seen")
    tab.page.locator("#clear-log").click()
    tab.page.get_by_label("Edit").first.click()
    stand.set("kiosk.greeting=bye")
    logged(tab, "greeting", "bye")
    tab.page.get_by_role("button", name="Revert version 3 of kiosk").click()
    stand.set("kiosk.greeting=later")
    tab.page.get_by_role("button", name="Yes", exact=True).click()
    logged(tab, "not reverted: the field was written since")
    same(stand.get("kiosk")["values"]["greeting"], "later")


def test_a_number_typed_into_the_dashboard_is_written_once(stand: Stand) -> None:
    stand.serve()
    stand.describe("oven", setpoint={"type": "number", "min": -20, "max": 180})
    stand.set("oven.setpoint=20")
    before = stand.get("oven")["version"]
    tab = opened(stand, "oven")
    tab.page.get_by_label("Edit").first.click()
    box = tab.page.get_by_role("spinbutton")
    box.focus()
    tab.page.keyboard.press("ControlOrMeta+a")
    tab.page.keyboard.type("150", delay=30)
    tab.page.keyboard.press("Enter")
    stand.committed("oven", "setpoint", 150)
    same(stand.get("oven")["version"], before + 1, "the version after one edit")


def test_the_dashboard_asks_before_another_model_replaces_a_draft(stand: Stand) -> None:
    stand.serve()
    stand.set("a.settings:={\"x\":1}", "b.name=other")
    tab = opened(stand, "a")
    tab.page.get_by_label("Edit").first.click()
    box = tab.page.get_by_role("textbox", name="settings")
    box.fill('{"x":')
    tab.accepts = False
    tab.page.locator("[data-id='b']").click()
    same(tab.dialogs, ["confirm"])
    tab.page.get_by_label("Edit").first.click()
    same(tab.dialogs, ["confirm", "confirm"], "without Edit there are no controls")
    same(box.input_value(), '{"x":')
    expect(tab.page.url.endswith("#a"), tab.page.url)
    tab.accepts = True
    tab.page.locator("[data-id='b']").click()
    tab.until("the other model", "() => document.getElementById('model-title').textContent === 'b'")
    tab.page.locator("[data-id='a']").click()
    tab.until("the committed value", "() => document.querySelector('#rows textarea')?.value === '{\"x\":1}'")
    same(tab.dialogs, ["confirm", "confirm", "confirm"])
    same(box.get_attribute("data-state"), None)


# Peers.

# The peers reported as lagging, and the greatest reported lag.
LAGS = """() => {
    window.lags = { behind: {}, most: 0 }
    new MutationObserver(() => {
        for (const row of document.querySelectorAll('#peers tr')) {
            window.lags.most = Math.max(window.lags.most, Number(row.querySelector('.lag').textContent) || 0)
            if (row.querySelector('.lamp').dataset.state === 'behind') window.lags.behind[row.textContent] = true
        }
    }).observe(document.getElementById('peers'), { subtree: true, childList: true, characterData: true,
        attributeFilter: ['data-state'] })
}"""


def test_beside_a_fast_writer_only_a_stopped_peer_is_lagging(stand: Stand) -> None:
    stand.serve(PAGES, "--heartbeat", "500")
    stand.set("robot.x=0")
    writer = stand.start("writer", "bindpeer", "pipe", "robot")
    reader = stand.start("reader", "bindpeer", "watch", "robot")
    tab = opened(stand, "robot")
    tab.until("both peers", "() => document.querySelectorAll('#peers tr').length >= 3")
    state = {"count": 0}

    def heartbeats(count: int) -> Any:
        """Whether this number of hub reports has arrived, with a commit before each check."""
        state["count"] += 1
        writer.write({"x": state["count"]})
        return tab.eval("""(count) => ear.received.filter(one => one.kind === 'commits' && one.model === '@hub').length
            >= window.from + count""", count)

    start = "() => { window.from = ear.received.filter(one => one.kind === 'commits' && one.model === '@hub').length }"
    tab.eval(start)
    eventually("three reports", lambda: heartbeats(3), stand.breathe)
    tab.eval(LAGS)
    tab.eval(start)
    eventually("six more reports", lambda: heartbeats(6), stand.breathe)
    lags = tab.eval("() => window.lags")
    expect(lags["most"] > 3, f"the greatest reported lag is {lags['most']}")
    same(lags["behind"], {}, "peers that are told to be behind")
    reader.process.send_signal(signal.SIGSTOP)
    try:
        eventually("the lagging peer", lambda: heartbeats(0) and tab.eval("() => Object.keys(window.lags.behind)[0]"),
                   stand.breathe)
    finally:
        reader.process.send_signal(signal.SIGCONT)
