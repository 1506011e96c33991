"""Tabs, a terminal and a peer in another language write concurrently and converge."""

from __future__ import annotations

import statistics
from typing import Any

from losing_tests import find, lose
from stand import Stand, Tab, eventually, expect, same

FIELDS = ("name", "note", "count", "level", "on", "left", "right")
VALUES = "(fields) => Object.fromEntries(fields.map((field) => [field, bind.model('lamp').get(field) ?? null]))"


def agree(stand: Stand, tabs: list[Tab]) -> dict[str, Any]:
    """Waits until hub, tabs and the Python peer show the same values, all confirmed; returns the values."""
    for tab in tabs:
        tab.until("no unconfirmed write", """() => ear.lights() === "live"
            && !document.querySelector("[data-bind][data-state]")""")

    def look() -> Any:
        hub = stand.get("lamp")
        wanted = {field: hub["values"].get(field) for field in FIELDS}
        if any(tab.eval(VALUES, list(FIELDS)) != wanted for tab in tabs):
            return None
        python = stand.python("get", "lamp")
        if {field: python["values"].get(field) for field in FIELDS} != wanted:
            return None
        return wanted if stand.get("lamp")["version"] == hub["version"] else None

    return eventually("equal values everywhere", look, stand.breathe)


def test_two_tabs_a_terminal_and_a_python_peer_converge_under_a_link_that_is_cut_and_healed(stand: Stand) -> None:
    left, right = stand.tab().live(), stand.tab().live()
    terminal = stand.start("terminal", "bindpeer", "pipe", "lamp")
    stand.set("lamp.name=begin")
    for tab in (left, right):
        tab.shows("lamp", "name", "begin")

    lose(left)
    left.page.fill("#name", "left, without a link")
    left.page.fill("#count", "1")
    left.page.press("#count", "Enter")
    left.eval("() => { bind.model('lamp').set('left', 'here') }")
    right.page.fill("#note", "right")
    right.page.fill("#name", "right, meanwhile")
    right.eval("() => { bind.model('lamp').set('right', 'here') }")
    terminal.write({"level": 55, "on": True})
    outcome = stand.python("set", "lamp", "count=2")
    same(outcome["outcome"], "committed")
    stand.committed("lamp", "level", 55)
    stand.committed("lamp", "name", "right, meanwhile")
    find(left)
    there = agree(stand, [left, right])
    same({name: there[name] for name in ("note", "level", "on", "left", "right")},
         {"note": "right", "level": 55, "on": True, "left": "here", "right": "here"}, "what only one of them wrote")
    same(there["name"], "left, without a link", "the later in the hub's order")
    same(there["count"], 1, "the later in the hub's order")


def test_writers_on_all_sides_converge_while_a_link_is_cut_repeatedly(stand: Stand) -> None:
    left, right = stand.tab().live(), stand.tab().live()
    terminal = stand.start("terminal", "bindpeer", "pipe", "lamp")
    for turn in range(4):
        lose(left)
        for number in range(5):
            value = turn * 10 + number
            left.page.fill("#level", str(value))
            left.page.fill("#note", f"left {value}")
            right.page.fill("#level", str(50 + value))
            right.page.fill("#name", f"right {value}")
            terminal.write({"count": value, "level": 99 - value})
        find(left)
    left.page.fill("#name", "the end")
    left.state("#name", None)
    there = agree(stand, [left, right])
    same((there["note"], there["count"], there["name"]), ("left 34", 34, "the end"))


def percentile(values: list[float], part: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


def test_a_dragged_slider_has_its_last_value_everywhere(stand: Stand) -> None:
    tab, other = stand.tab().live(), stand.tab().live()
    box = tab.page.locator("#level").bounding_box()
    assert box
    middle = box["y"] + box["height"] / 2
    tab.page.mouse.move(box["x"] + 8, middle)
    tab.page.mouse.down()
    for part in [*range(5, 96), *range(95, 4, -1), *range(5, 71)]:
        tab.page.mouse.move(box["x"] + box["width"] * part / 100, middle)
    tab.page.mouse.up()
    tab.state("#level", None)
    last = tab.eval("() => Number(document.getElementById('level').value)")
    stand.committed("lamp", "level", last)
    other.until("the last value", "(value) => Number(document.getElementById('level').value) === value", last)
    same(stand.python("get", "lamp")["values"]["level"], last, "the Python peer")
    proposals = tab.proposals("level")
    expect(all(one["decided"] is not None for one in proposals), "a proposal without outcome")
    same(proposals[-1]["operations"][0][2], last, "the last proposal")
    times = [one["decided"] - one["at"] for one in proposals]
    stand.log(f"{len(times)} writes of a dragged slider, acknowledged in the page after p50 "
              f"{statistics.median(times):.1f} ms, p90 {percentile(times, 0.9):.1f} ms, "
              f"p99 {percentile(times, 0.99):.1f} ms, longest {max(times):.1f} ms")


def test_a_field_whose_declaration_differs_from_its_description_is_marked(stand: Stand) -> None:
    stand.serve()
    stand.set("lamp.level=0.5", "lamp.on=true")
    stand.describe("lamp", level={"type": "number", "min": 0, "max": 1}, on={"type": "boolean"})
    other = stand.tab().live()
    other.eval("""() => bind.model("lamp").propose([["setIfAbsent", "@description",
        { fields: { level: { type: "number", min: 0, max: 10 } } }]]).then(() => true)""")
    marks = """() => [...document.querySelectorAll(".otherwise")].filter((mark) => !mark.hidden)
        .map((mark) => mark.title)"""
    for path in ("/form/lamp", "/"):
        tab = stand.tab(path).live()
        if path == "/":
            tab.page.get_by_text("lamp", exact=True).first.click()
        tab.until("the mark", f"() => ({marks})().length === 1")
        words = tab.eval(marks)[0]
        expect(words.endswith("declares it as number, 0...10; it is described as number, 0...1"), words)
        same(tab.eval("() => ear.stopped"), [], path)
    other.end()
    tab.until("no mark after the end of the program", f"() => ({marks})().length === 0")


def test_the_dashboard_shows_the_present_peers_of_a_model(stand: Stand) -> None:
    tab = stand.tab("/")
    stand.set("lamp.on=true")  # The first model that there is gets looked at.
    here = "() => document.getElementById('present').textContent"
    tab.until("this page among the peers", f"() => ({here})().includes('this page')")
    panel = stand.start("panel", "bindpeer", "pipe", "lamp", "--name", "panel")
    tab.until("the panel", f"() => ({here})().includes('panel')")
    panel.end()
    tab.until("the panel's absence", f"() => !({here})().includes('panel')")
