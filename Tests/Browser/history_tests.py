"""The history of a model in the dashboard: the hub's commits, older ones on demand, later ones as they arrive."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import guest_tests
from dashboard_tests import opened
from stand import PAGES, Stand, Tab, eventually, expect, same

# Each version that the table shows, newest first, and the text below it.
VERSIONS = "() => [...document.querySelectorAll('#past tbody tr')].map((one) => Number(one.cells[2].textContent))"
TEXTS = "() => [...document.querySelectorAll('#past tbody tr')].map((one) => one.textContent)"
END = "() => document.querySelector('#past .end').textContent"
WRITE = """async ([model, field, from, to]) => {
    for (let value = from; value <= to; value++) await bind.model(model).set(field, value)
}"""


def write(tab: Tab, model: str, field: str, first: int, last: int) -> None:
    """One commit for each number, by a page."""
    tab.eval(WRITE, [model, field, first, last])


def look(tab: Tab) -> None:
    """Opens the history, and waits for its first page. The pointer is elsewhere, because rows under it stay."""
    tab.page.get_by_role("button", name="History", exact=True).first.click()
    tab.page.mouse.move(1, 1)
    tab.until("its first page", "() => document.querySelector('#past .end span')?.textContent !== 'Reading …'")


def shows(tab: Tab, versions: list[int]) -> None:
    """Waits until the table shows exactly these versions: none twice, none left out, in this order."""
    tab.until(f"versions {versions[0] if versions else None} … {versions[-1] if versions else None}",
              f"(wanted) => JSON.stringify(({VERSIONS})()) === JSON.stringify(wanted)", versions)


def down(first: int, last: int = 1) -> list[int]:
    return list(range(first, last - 1, -1))


def ends(tab: Tab, words: str) -> None:
    tab.until(f"'{words}' below the table", f"(words) => ({END})().includes(words)", words)


def test_the_history_goes_back_to_commits_from_before_the_page_was_opened(stand: Stand) -> None:
    stand.serve()
    writer = stand.tab("/pages/controls.html").live()
    write(writer, "robot", "x", 1, 250)
    tab = opened(stand, "robot")
    look(tab)
    shows(tab, down(250, 151))
    tab.page.get_by_role("button", name="Older").click()
    shows(tab, down(250, 51))
    # Who scrolls to the end gets the next page too.
    tab.eval("() => { const one = document.querySelector('#past .scroll'); one.scrollTop = one.scrollHeight }")
    shows(tab, down(250))
    ends(tab, "The model begins here.")
    expect(not tab.page.get_by_role("button", name="Older").is_visible(), "there is a button for more")
    expect("x → 250" in tab.eval(TEXTS)[0] and "page-" in tab.eval(TEXTS)[0], tab.eval(TEXTS)[0])
    same(tab.complaints, [])


def test_commits_that_arrive_join_the_history_without_gap_or_repeat(stand: Stand) -> None:
    stand.serve()
    writer = stand.tab("/pages/controls.html").live()
    write(writer, "robot", "x", 1, 20)
    tab = opened(stand, "robot")
    look(tab)
    shows(tab, down(20))
    write(writer, "robot", "x", 21, 40)
    shows(tab, down(40))
    # What a page without a link misses arrives as one catch-up, which names no commits.
    tab.eval("() => bind.link().cut()")
    write(writer, "robot", "x", 41, 180)
    tab.eval("() => bind.link().heal()")
    write(writer, "robot", "x", 181, 200)
    shows(tab, down(200))
    # Rows stay where they are under the pointer, and what came is counted.
    tab.page.locator("#past tbody tr").first.hover()
    write(writer, "robot", "x", 201, 203)
    tab.page.get_by_role("button", name="3 new ↑").wait_for()
    shows(tab, down(200))
    tab.page.get_by_role("button", name="3 new ↑").click()
    shows(tab, down(203))
    same(tab.complaints, [])


def test_the_history_of_a_fast_writer_has_no_gap_or_repeat(stand: Stand) -> None:
    stand.serve()
    stand.set("robot.x=0")
    tab = opened(stand, "robot")
    look(tab)
    writer = stand.start("writer", "bindpeer", "pipe", "robot")
    for number in range(1, 2001):
        writer.write({"x": number})
    stand.committed("robot", "x", 2000)
    head = stand.get("robot")["version"]
    tab.until("the newest commit", f"(head) => ({VERSIONS})()[0] === head", head)
    versions = tab.eval(VERSIONS)
    same(versions, down(head, versions[-1]), "versions")
    stand.log(f"{len(versions)} rows of {head} commits")


def test_the_history_is_narrowed_to_a_field_and_a_writer(stand: Stand) -> None:
    stand.serve()
    stand.set("lamp.level=1", "lamp.on=true")
    stand.set("lamp.level=2")
    stand.python("set", "lamp", "on=false")
    stand.set("lamp.on=true")
    tab = opened(stand, "lamp")
    look(tab)
    shows(tab, down(4))
    tab.page.get_by_label("Field", exact=True).select_option("on")
    shows(tab, [4, 3, 1])
    expect(not any("level" in one for one in tab.eval(TEXTS)), tab.eval(TEXTS))
    writers = tab.eval("() => [...document.querySelectorAll('#past-writers option')].map((one) => one.value)")
    expect("shell" in writers and len(writers) == 2, writers)
    tab.page.get_by_label("Writer").fill("shell")
    tab.page.get_by_label("Writer").press("Enter")
    shows(tab, [4, 1])
    # What arrives is narrowed alike.
    stand.python("set", "lamp", "on=false")
    stand.set("lamp.level=3")
    stand.set("lamp.on=true", "lamp.level=4")
    shows(tab, [7, 4, 1])
    tab.page.get_by_label("Writer").fill("nobody")
    tab.page.get_by_label("Writer").press("Enter")
    ends(tab, "There is no such commit. The model begins here.")
    same(tab.complaints, [])


def test_the_history_says_where_it_begins_and_why(stand: Stand) -> None:
    stand.serve()
    writer = stand.tab("/pages/controls.html").live()
    write(writer, "robot", "x", 1, 1100)
    tab = opened(stand, "robot")
    look(tab)
    first = tab.until("the horizon", f"() => /before version (\\d+) are no longer kept/.exec(({END})())?.[1]")
    first = int(first)
    expect(1 < first < 900, f"the history begins at {first}")
    for _ in range(12):
        if not tab.page.get_by_role("button", name="Older").is_visible():
            break
        count = len(tab.eval(VERSIONS))
        tab.page.get_by_role("button", name="Older").click()
        tab.until("more rows", f"(count) => ({VERSIONS})().length > count"
                  " && !document.querySelector('#past .end').textContent.includes('Reading')", count)
    shows(tab, down(1100, first))
    ends(tab, f"Commits before version {first} are no longer kept.")
    words = tab.eval("""async () => {
        const { horizonWords } = await import('/dashboard-commits.js')
        return ['renumbered', 'start', 'a later word'].map((reason) => horizonWords(7, reason))
    }""")
    expect("names of deleted fields" in words[0] and "memory" in words[1] and "at version 7" in words[2], words)


def test_a_model_is_reverted_to_a_commit_from_before_the_page_was_opened(stand: Stand) -> None:
    stand.serve()
    stand.set("kiosk.greeting=hello", "kiosk.open=true")
    stand.set("kiosk.greeting=bye", "kiosk.note=new")
    stand.set("kiosk.open=false")
    tab = opened(stand, "kiosk")
    look(tab)
    shows(tab, down(3))
    button = tab.page.get_by_role("button", name="Revert kiosk to version 1")
    expect(not button.is_visible(), "it can be reverted although Edit is off")
    tab.page.get_by_label("Edit").first.click()
    button.click()
    question = tab.page.locator("#past .question").inner_text()
    for part in ('set greeting back to "hello"', "delete note", "set open back to true"):
        expect(part in question, question)
    tab.page.get_by_role("button", name="Yes", exact=True).click()
    stand.committed("kiosk", "greeting", "hello")
    same(stand.get("kiosk")["values"], {"greeting": "hello", "open": True})
    tab.page.locator("#past").get_by_text("reverted at 4").wait_for()
    tab.page.locator("#past").get_by_role("button", name="Undo").click()
    stand.committed("kiosk", "greeting", "bye")
    same(stand.get("kiosk")["values"], {"greeting": "bye", "note": "new", "open": False})
    # Somebody writes while the question stands: nothing is overwritten.
    tab.page.get_by_role("button", name="Revert kiosk to version 2").click()
    tab.page.locator("#past .question").wait_for()
    stand.set("kiosk.open=true")
    stand.set("kiosk.open=later")
    tab.page.get_by_role("button", name="Yes", exact=True).click()
    tab.page.locator("#past").get_by_text("not reverted: the field was written since").wait_for()
    same(stand.get("kiosk")["values"]["open"], "later")
    same(tab.complaints, [])


def test_the_history_of_a_field_lists_its_values_and_reverts_it_alone(stand: Stand) -> None:
    stand.serve()
    stand.set("lamp.level=1", "lamp.on=true")
    stand.set("lamp.on=false")
    stand.set("lamp.level=3")
    tab = opened(stand, "lamp")
    tab.page.get_by_role("button", name="History of level").click()
    values = "() => [...document.querySelectorAll('.history .past tbody tr')].map((one) => one.cells[1].textContent)"
    tab.until("its values", f"() => ({values})().join() === '3,1'")
    stand.set("lamp.level=4")
    tab.page.mouse.move(1, 1)
    tab.until("the new value", f"() => ({values})().join() === '4,3,1'")
    tab.page.get_by_label("Edit").first.click()
    tab.page.get_by_role("button", name="Revert lamp to version 1").click()
    same(tab.page.locator(".history .question span").inner_text(), "lamp: set level back to 1?")
    tab.page.get_by_role("button", name="Yes", exact=True).click()
    stand.committed("lamp", "level", 1)
    same(stand.get("lamp")["values"]["on"], False)
    # Who wrote it last, and when.
    title = tab.until("who wrote it", """() => [...document.querySelectorAll('#rows .writer')]
        .map((one) => one.title).find((title) => title.startsWith('this page, at version 5, '))""")
    expect(title[-8:-6].isdigit(), title)


# What cannot be read.

def answers(tab: Tab, end: str) -> None:
    """From here on the hub answers every request for history thus."""
    tab.eval("""(end) => {
        const link = bind.link(), send = link.constructor.prototype.sendJSON
        link.sendJSON = (message) => message.kind !== 'history' ? send.call(link, message)
            : setTimeout(() => link.receive({ kind: 'past', model: message.model, request: message.request, end }))
    }""", end)


def test_without_a_history_the_dashboard_says_why_and_shows_what_it_has_seen(stand: Stand) -> None:
    stand.serve()
    stand.set("lamp.level=1")
    tab = opened(stand, "lamp")
    answers(tab, "none")
    look(tab)
    ends(tab, "The hub keeps no history that a page can read: it is of an earlier release.")
    same(tab.eval(VERSIONS), [])
    tab.page.get_by_role("button", name="History of level").click()
    tab.page.get_by_text("level, since this page was opened").wait_for()
    stand.set("lamp.level=2")
    tab.until("the values that it has seen", """() => [...document.querySelectorAll('.history > td > table tbody tr')]
        .map((one) => one.cells[1].textContent).join() === '2,1'""")
    same(tab.complaints, [])


def test_a_history_that_cannot_be_read_now_is_asked_for_again(stand: Stand) -> None:
    stand.serve()
    stand.set("lamp.level=1")
    tab = opened(stand, "lamp")
    answers(tab, "unreadable")
    look(tab)
    ends(tab, "The hub cannot read its history now.")
    tab.eval("() => { delete bind.link().sendJSON }")
    tab.page.get_by_role("button", name="Try again").click()
    shows(tab, [1])
    ends(tab, "The model begins here.")


def test_a_guest_without_the_right_is_told_so(stand: Stand) -> None:
    access: dict[str, Any] = json.loads(json.dumps(guest_tests.ACCESS))
    access["roles"]["view"]["history"] = []
    guest_tests.hub(stand, "keys", "init")
    path = Path(stand.folder) / "keys" / "access.json"
    path.write_text(json.dumps(access), encoding="utf-8")
    path.chmod(0o600)
    stand.serve(PAGES, "--keys", str(path.parent))
    stand.set("public/lamp.level=10")
    stand.set("public/lamp.level=20")
    for role, words in (("view", "gus may not read the history of public/lamp."), ("touch", "The model begins here.")):
        tab = guest_tests.enter(stand, role)
        tab.page.get_by_role("treeitem").filter(has_text="lamp").first.click()
        tab.until("the field", "() => document.querySelector('#rows [data-bind=level]')?.textContent === '20'")
        look(tab)
        ends(tab, words)
        same(tab.eval(VERSIONS), [] if role == "view" else [2, 1], role)


def test_secret_values_are_hidden_in_fields_history_and_log(stand: Stand) -> None:
    stand.serve()
    stand.describe("safe", pin={"type": "string", "secret": True}, name={"type": "string"})
    stand.set("safe.pin=swordfish", "safe.name=front")
    stand.set("safe.pin=tuna")
    tab = opened(stand, "safe")
    look(tab)
    shows(tab, down(3))
    tab.page.get_by_role("button", name="History of pin").click()
    tab.until("its history", "() => document.querySelectorAll('.history .past tbody tr').length === 2")
    stand.set("safe.pin=herring")
    shows(tab, down(4))
    eventually("the log", lambda: "pin" in tab.page.locator("#log").inner_text(), stand.breathe)
    seen = tab.page.locator("body").inner_text()
    for word in ("swordfish", "tuna", "herring"):
        expect(word not in seen, f"{word} is shown")
    expect("pin → (secret)" in seen and "front" in seen, seen)
    tab.page.get_by_label("Edit").first.click()
    tab.page.locator("#past").get_by_role("button", name="Revert safe to version 2").click()
    same(tab.page.locator("#past .question span").inner_text(), "safe: set pin back to (secret)?")
    tab.page.get_by_role("button", name="Yes", exact=True).click()
    stand.committed("safe", "pin", "swordfish")
